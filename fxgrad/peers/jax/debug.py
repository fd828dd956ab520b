"""`jax.debug`: effects of programs, whose functions get arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import debug as here
from .arrays import value_of
from .devices import SingleDeviceSharding
from .lifting import lift
from .programs import as_array, on_arrays

__all__ = ["breakpoint", "callback", "inspect_array_sharding", "print"]

breakpoint = here.breakpoint


def callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Call a function with the values of arrays, when they are there."""
    here.callback(
        on_arrays(callback, as_array), *map(value_of, args), **{n: value_of(v) for n, v in kwargs.items()}
    )


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], Any]) -> None:
    """Call a function with how an array lies: on the one device."""
    callback(SingleDeviceSharding())


print = lift(here.print)
