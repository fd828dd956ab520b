"""Descriptions of arrays as text, and the Array API's inspection of the namespace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import get_printoptions, iterable, printoptions, set_printoptions

from ..core.typing import ArrayLike
from .composite import composite
from .documentation import NO_DERIVATIVE

__array_api_version__ = np.__array_api_version__
__array_namespace_info__ = np.__array_namespace_info__


@composite(np.array_repr, derivative=NO_DERIVATIVE)
def array_repr(
    arr: ArrayLike, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str:
    """An array as the text of an expression, in a str; for a traced value, its abstract value.

    >>> fnp.array_repr(fnp.array([1.0, 2.0]))
    'array([1., 2.])'
    """
    return repr(arr)


@composite(np.array_str, derivative=NO_DERIVATIVE)
def array_str(
    a: ArrayLike, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str:
    """The entries of an array as text, in a str; for a traced value, its abstract value.

    >>> fnp.array_str(fnp.array([1.0, 2.0]))
    '[1. 2.]'
    """
    return format(a)


@composite(np.array2string, derivative=NO_DERIVATIVE)
def array2string(
    a: ArrayLike,
    max_line_width: Any = None,
    precision: Any = None,
    suppress_small: Any = None,
    separator: str = " ",
    prefix: str = "",
    *,
    formatter: Any = None,
    threshold: Any = None,
    edgeitems: Any = None,
    sign: Any = None,
    floatmode: Any = None,
    suffix: str = "",
    legacy: Any = None,
) -> str:
    """The entries of an array as text, in a str; for a traced value, the result of `format`.

    >>> fnp.array2string(fnp.array([1.0, 2.0]), separator=", ")
    '[1., 2.]'
    """
    return format(a)


__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "array2string",
    "array_repr",
    "array_str",
    "get_printoptions",
    "iterable",
    "printoptions",
    "set_printoptions",
]
