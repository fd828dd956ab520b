"""The named tuples that operations with several results return."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

RETURN_TYPES: dict[str, Any] = {}  # by their names: what `torch.return_types` has


def make_result_type(name: str, *fields: str) -> Any:
    """Make the class of named tuples in which an operation returns its results.

    >>> torch.max(torch.tensor([1.0, 3.0]), dim=0).indices.item()
    1
    """
    made: Any = namedtuple(name, fields)
    made.__module__ = "fxgrad.compat.return_types"
    made.__repr__ = format_result
    RETURN_TYPES[name] = made
    return made


def format_result(self) -> str:
    """Format a named tuple of results, one field per line."""
    parts = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self))
    return f"torch.return_types.{type(self).__name__}(\n{parts})"
