"""The page of the repository that the checkout was cloned from, to which the site links."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

REMOTE = re.compile(
    r"(?:https://(?:[^@/]+@)?|ssh://git@|git@)(?P<host>[\w.-]+)[:/](?P<path>[^:]+?)(?:\.git)?/?"
)


def page_of_origin(checkout: Path) -> str | None:
    """Return the address of the page, or None: the checkout is no clone, or one of a folder."""
    command = ["git", "-C", str(checkout), "remote", "get-url", "origin"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return page_of(answer.strip())


def page_of(remote: str) -> str | None:
    """Return the address of the page of a remote, whether it is read by HTTPS or SSH; without a name or token."""
    found = REMOTE.fullmatch(remote)
    return found and f"https://{found['host']}/{found['path']}"
