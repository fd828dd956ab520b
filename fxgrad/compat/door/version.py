"""The version of torch that this package follows, as a comparable object."""

from __future__ import annotations

import re
from typing import Any

from ... import __version__ as fxgrad_version

PARTS = re.compile(
    r"v?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|rc|alpha|beta|c|pre|preview)[-_.]?(\d*))?(?:[-_.]?post(\d*))?"
    r"(?:[-_.]?dev(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
PHASES = {"a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "pre": 3, "preview": 3, "rc": 3}
RELEASED = 4


def order_key(version: str) -> tuple | None:
    """Return the key by which a version is ordered, after PEP 440; None if the text is not a version."""
    found = PARTS.fullmatch(version.strip())
    if found is None:
        return None
    release, phase, number, post, development, local = found.groups()
    numbers = [int(n) for n in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    stage = RELEASED if phase is None else PHASES[phase.lower()]
    if development is not None and phase is None and post is None:
        stage = 0
    return (
        numbers,
        stage,
        int(number or 0),
        -1 if post is None else int(post or 0),
        float("inf") if development is None else int(development or 0),
        [
            (1, int(p), "") if p.isdigit() else (0, 0, p)
            for p in re.split("[-_.]", (local or "").lower())
            if p
        ],
    )


class TorchVersion(str):
    """A text that compares as a version with texts and with tuples of numbers.

    >>> version = TorchVersion("2.13.0+fxgrad")
    >>> version >= "2.9", version > (2, 13), version == "2.13"
    (True, True, False)

    A text that is no version is compared as a text.
    """

    __slots__ = ()

    def _keys(self, other: Any) -> tuple[Any, Any]:
        text = other if isinstance(other, str) else ".".join(map(str, other))
        mine, theirs = order_key(self), order_key(text)
        return (str(self), str(text)) if mine is None or theirs is None else (mine, theirs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str | tuple | list):
            return NotImplemented
        mine, theirs = self._keys(other)
        return mine == theirs

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        mine, theirs = self._keys(other)
        return mine < theirs

    def __le__(self, other: Any) -> bool:
        mine, theirs = self._keys(other)
        return mine <= theirs

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    __hash__ = str.__hash__


# With a local tag that says who it is.
__version__ = TorchVersion(f"2.13.0+fxgrad.{fxgrad_version}")
