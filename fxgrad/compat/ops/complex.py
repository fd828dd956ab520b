"""Operations on complex numbers: their construction from parts or from modulus and angle, conjugates and angles.

Conjugates are computed at once: there is no conjugate bit, so `is_conj` is False and `resolve_conj` has nothing to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...core.aval import aval_of
from .._core.dtypes import short_name
from .._core.errors import TensorError
from .._declare.operation import operation
from .._declare.spaces import expose
from .declarers import check_same_dtype, kind, unary


def check_parts(first, second) -> None:
    """Raise unless both have one real floating dtype."""
    names = [short_name(aval_of(x).dtype) for x in (first, second)]
    if not {*names} <= {"Half", "Float", "Double"}:
        raise TensorError(
            f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}"
        )
    words = "Expected object of scalar type {} but got scalar type {} for second argument"
    check_same_dtype(first, second, words)


@operation("real imag", spaces="function")
def complex(real, imag) -> Any:
    """real + i·imag.

    >>> import fxgrad.compat as torch
    >>> torch.complex(torch.tensor(1.0), torch.tensor(2.0)).item()
    (1+2j)
    """
    check_parts(real, imag)
    return ops.make_complex(real, imag)


@operation("abs angle", spaces="function")
def polar(abs, angle) -> Any:
    """abs·(cos(angle) + i·sin(angle))."""
    check_parts(abs, angle)
    return ops.make_complex(abs * ops.cos(angle), abs * ops.sin(angle))


@operation("input", name="conj", spaces="", out=False)
def conj_values(input) -> Any:
    """The complex conjugate."""
    return ops.conjugate(input)


@expose("function method")
def conj(input) -> Any:
    """The complex conjugate; a real Tensor itself."""
    return conj_values(input) if input.dtype.is_complex else input


def conjugate_or_copy(input) -> Any:
    """The conjugates of complex numbers, or a copy of real ones."""
    return ops.conjugate(input) if kind(input) == "c" else ops.positive(input)


conj_physical_values = unary(
    "conj_physical", conjugate_or_copy, "The complex conjugate.", promote=None, spaces=""
)


@expose("function method")
def conj_physical(input, *, out=None) -> Any:
    """The complex conjugate; a real Tensor itself."""
    return conj_physical_values(input, out=out) if input.dtype.is_complex or out is not None else input


@expose("function method")
def resolve_conj(input) -> Any:
    """The Tensor itself."""
    return input


@expose("function method")
def resolve_neg(input) -> Any:
    """The Tensor itself."""
    return input


@expose("function method")
def is_conj(input) -> bool:
    """False: conjugates are computed at once."""
    return False


@expose("function method")
def is_neg(input) -> bool:
    """False: no Tensor has a negative bit."""
    return False


def angle_values(x) -> Any:
    """The argument of complex numbers, whose derivative at 0 is 0; of real ones 0, π or NaN."""
    if kind(x) != "c":
        turned = ops.where(ops.less(x, 0), np.pi, 0.0)
        return ops.convert(ops.where(ops.isnan(x), x, turned), dtype=aval_of(x).dtype)
    zero = ops.equal(x, 0)
    return ops.where(zero, ops.angle(ops.stop_gradient(x)), ops.angle(ops.where(zero, 1, x)))


angle = unary("angle", angle_values, "The argument of complex numbers; of real ones 0 or π.", inplace=False)
