"""A bounded cache of results, from which the oldest entry is dropped first."""

from __future__ import annotations

from typing import Any


class Cache(dict[Any, Any]):
    """A dict that keeps at most `limit` entries."""

    __slots__ = ("limit",)

    limit: int

    def __init__(self, limit: int = 4096):
        self.limit = limit

    def __setitem__(self, key: Any, value: Any) -> None:
        while len(self) >= self.limit:
            try:
                del self[next(iter(self))]
            except (KeyError, RuntimeError):  # another thread was faster
                continue
        super().__setitem__(key, value)
