"""Python replacements for built-in functions in a followed program: functions of C do not show their progress at a
decision."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from ...core.interpreter import Tracer


def least(*values: Any, key: Callable[[Any], Any] | None = None, **default: Any) -> Any:
    """Return what `min` does."""
    values = list_values(values)
    if not values or not any([isinstance(v, Tracer) for v in values]):
        return builtins.min(values, key=key, **default)
    found, rest = values[0], values[1:]
    while rest:
        value, rest = rest[0], rest[1:]
        is_less = value < found if key is None else key(value) < key(found)
        if is_less:
            found = value
    return found


def greatest(*values: Any, key: Callable[[Any], Any] | None = None, **default: Any) -> Any:
    """Return what `max` does."""
    values = list_values(values)
    if not values or not any([isinstance(v, Tracer) for v in values]):
        return builtins.max(values, key=key, **default)
    found, rest = values[0], values[1:]
    while rest:
        value, rest = rest[0], rest[1:]
        is_greater = value > found if key is None else key(value) > key(found)
        if is_greater:
            found = value
    return found


def list_values(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of an iterable, if it is the one argument."""
    return tuple(values[0]) if len(values) == 1 else values


STAND_INS: dict[str, Any] = {"min": least, "max": greatest}
