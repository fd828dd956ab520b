"""`-b linkcheck` where there is no network: one line that says so, in the place of one for every link."""

from __future__ import annotations

import sys
from typing import Any

import requests
from sphinx.application import Sphinx

SITE = "https://numpy.org/"  # to which most links lead


def end_if_unreachable(app: Sphinx) -> None:
    """End before a page is read if even the site that most links lead to does not answer."""
    if app.builder.name == "linkcheck" and not answers(SITE):
        print(f"linkcheck: {SITE} does not answer, so no external link was checked", file=sys.stderr)
        sys.exit(0)


def answers(address: str) -> bool:
    """Whether a server answers with a page."""
    try:
        return requests.head(address, timeout=10, allow_redirects=True).ok
    except requests.RequestException:
        return False


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", end_if_unreachable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
