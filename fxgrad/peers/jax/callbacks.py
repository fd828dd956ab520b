"""`pure_callback` and `io_callback` with functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import pytree
from ...transforms import callback as here
from .arrays import array_of, value_of
from .dtypes import narrow
from .programs import is_value, map_leaves

__all__ = ["io_callback", "pure_callback"]


def on_known_arrays(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program's function of arrays as one of values that are known."""

    def called(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.map(
            lambda leaf: array_of(np.asarray(leaf)) if is_value(leaf) else leaf, (args, kwargs)
        )
        return pytree.map(lambda y: narrow(np.asarray(y)), callback(*args, **kwargs))

    return called


def pure_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of arrays without effects: `fx.pure_callback`."""
    for option in ("sharding", "vectorized"):
        kwargs.pop(option, None)
    found = here.pure_callback(
        on_known_arrays(callback), result_shape_dtypes, *value_of(args), **value_of(kwargs)
    )
    return map_leaves(found)


def io_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of arrays with effects, in the program's order: `fx.io_callback`."""
    kwargs.pop("sharding", None)
    found = here.io_callback(
        on_known_arrays(callback), result_shape_dtypes, *value_of(args), **value_of(kwargs)
    )
    return map_leaves(found)
