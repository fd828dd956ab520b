"""Descriptions of arrays as text, and the Array API's inspection of the namespace."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.typing import ArrayLike
from .composite import NO_DERIVATIVE, composite

__array_api_version__ = np.__array_api_version__
__array_namespace_info__ = np.__array_namespace_info__
get_printoptions, printoptions, set_printoptions = np.get_printoptions, np.printoptions, np.set_printoptions
iterable = np.iterable


@composite(np.array_repr, derivative=NO_DERIVATIVE)
def array_repr(
    arr: ArrayLike, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str:
    return repr(arr)


@composite(np.array_str, derivative=NO_DERIVATIVE)
def array_str(
    a: ArrayLike, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str:
    return format(a)


@composite(np.array2string)
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
    """As `numpy.array2string`; of a traced value, what `format` gives."""
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
