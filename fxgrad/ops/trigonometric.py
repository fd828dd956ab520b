"""Cosine and sine transforms along an axis, unscaled as in SciPy. All are linear.

The matrices of types 1 and 4 are symmetric up to weights of the end points, and those of types 2 and 3 are each other's
transposes up to such weights: K. R. Rao and P. Yip, "Discrete Cosine Transform", 1990.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.library import load_library
from .kinds import linear
from .projection import project
from .vocabulary import ops


def transform_arrays(x: Any, wave: str, form: int, axis: int) -> Any:
    """Transform arrays of NumPy by SciPy's function."""
    fft = load_library("scipy.fft", "scipy", f"the {wave} transform")
    if x.dtype.kind == "V":  # bfloat16, which SciPy does not know
        x = x.astype(np.float32)
    return {"cosine": fft.dct, "sine": fft.dst}[wave](x, form, axis=axis)


def trigonometric_kernel(xp: Any) -> Any:
    def transform(x: Any, *, wave: str, form: int, axis: int) -> Any:
        if xp is np:
            return transform_arrays(x, wave, form, axis)
        matrix = xp.asarray(transform_arrays(np.eye(x.shape[axis]), wave, form, 0))
        matrix = xp.astype(matrix, x.dtype)
        return xp.moveaxis(xp.tensordot(matrix, x, axes=((1,), (axis,))), 0, axis)

    return transform


def trigonometric_aval(self: Any, x: Aval, *, wave: str, form: int, axis: int) -> Aval:
    return Aval(x.shape, np.result_type(x.dtype, np.float64 if x.dtype.kind in "biu" else np.float32))


def scale_ends(x: Any, axis: int, first: float, last: float) -> Any:
    """Multiply the first and the last entry along an axis."""
    place = np.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    for weight, end in ((first, 0), (last, len(place) - 1)):
        x = x if weight == 1 else ops.where(place == end, x * weight, x)
    return x


def trigonometric_transpose(ct: Any, x: Aval, *, wave: str, form: int, axis: int) -> Any:
    other = {1: 1, 2: 3, 3: 2, 4: 4}[form]
    before, after = (1.0, 1.0), (1.0, 1.0)
    if wave == "cosine":  # whose ends count once where all others count twice
        before, after = {1: ((2.0, 2.0), (0.5, 0.5)), 2: ((2.0, 1.0), after), 3: (before, (0.5, 1.0))}.get(
            form, (before, after)
        )
    else:
        before, after = {2: ((1.0, 2.0), after), 3: (before, (1.0, 0.5))}.get(form, (before, after))
    ct = trigonometric_transform(scale_ends(ct, axis, *before), wave=wave, form=other, axis=axis)
    return project(scale_ends(ct, axis, *after), x)


# Σ 2·x_n·cos(π…) and Σ 2·x_n·sin(π…) of the forms (types) 1 to 4, in SciPy's normalization "backward".
trigonometric_transform = linear(
    "trigonometric_transform",
    trigonometric_kernel,
    abstract_rule=trigonometric_aval,
    transpose_rule=trigonometric_transpose,
    batch_rule=lambda x, *, size, wave, form, axis: trigonometric_transform(
        x, wave=wave, form=form, axis=axis + 1
    ),
    structural=False,
)
