"""The exponential of matrices, whose derivative along T is a block of the exponential of [[A, T], [0, A]].

R. Mathias, "A chain rule for matrix functions and applications", SIAM J. Matrix Anal. Appl. 17 (1996); the scaling and
squaring of Padé's approximant as in N. J. Higham, SIAM J. Matrix Anal. Appl. 26 (2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import Aval, aval_of
from ...ops.kinds import General
from ...ops.linalg import compute_dtype, linalg_kernel, matrix_transpose, sum_terms
from .._core.primitives import declare_primitive
from .._declare.operation import operation
from .declarers import add_aliases
from .linalg import check_square

# Of the numerator of degree 13, from the highest power down; good to rounding in double precision up to norm 5.37.
PADE = (
    1, 182, 16380, 960960, 40840800, 1323241920, 33522128640, 670442572800, 10559470521600, 129060195264000,
    1187353796428800, 7771770303897600, 32382376266240000, 64764752532480000,
)  # fmt: skip
RADIUS = 5.37


def matrix_exp_kernel(a) -> Any:
    """eᴬ as the 2ˢ-th power of e^(A/2ˢ)."""
    if not a.size:
        return a
    size = np.abs(a).sum(-2).max(-1)
    halvings = np.ceil(np.log2(np.where(np.isfinite(size) & (size > RADIUS), size / RADIUS, 1))).astype(int)
    a = a / (2.0**halvings)[..., None, None].astype(a.real.dtype)
    square = a @ a
    one = np.eye(a.shape[-1], dtype=a.dtype)
    odd, even = PADE[0] * one, PADE[1] * one
    for i in range(2, len(PADE), 2):
        odd, even = odd @ square + PADE[i] * one, even @ square + PADE[i + 1] * one
    odd = a @ odd
    y = np.linalg.solve(even - odd, even + odd)
    for k in range(int(halvings.max(initial=0))):
        y = np.where((halvings > k)[..., None, None], y @ y, y)
    return y


def block_triangle(a, t, zero) -> Any:
    """The block matrix [[A, T], [0, A]]."""
    return fnp.concatenate([fnp.concatenate([a, t], -1), fnp.concatenate([zero, a], -1)], -2)


def top_right_block(x) -> Any:
    """The block at the top right."""
    n = aval_of(x).shape[-1] // 2
    return x[..., :n, n:]


def matrix_exp_slope_tangent(y, primals, tangents, params: dict) -> Any:
    """The tangent rule: along A it is the slope of the doubled matrix along diag(Ȧ, Ȧ)."""
    (a, t), (da, dt) = primals, tangents
    zero = ops.zeros_like(a)
    second = (
        None
        if da is None
        else top_right_block(matrix_exp_slope(block_triangle(a, t, zero), block_triangle(da, zero, zero)))
    )
    return sum_terms(None if dt is None else matrix_exp_slope(a, dt), second)


# The derivative of eᴬ along T.
matrix_exp_slope = declare_primitive(
    General,
    "matrix_exp_slope",
    linalg_kernel(
        "matrix_exp_slope",
        lambda xp: lambda a, t: top_right_block(matrix_exp_kernel(block_triangle(a, t, ops.zeros_like(a)))),
    ),
    abstract_rule=lambda self, a, t: Aval(a.shape, compute_dtype("matrix_exp", a, t)),
    tangent_rule=matrix_exp_slope_tangent,
    transpose_rule=lambda ct, a, t: [None, matrix_exp_slope(matrix_transpose(a), ct)],
    batch_rule=lambda a, t, *, size: matrix_exp_slope(a, t),
)

matrix_exp_primitive = declare_primitive(
    General,
    "matrix_exp",
    linalg_kernel("matrix_exp", lambda xp: matrix_exp_kernel),
    abstract_rule=lambda self, a: Aval(a.shape, compute_dtype("matrix_exp", a)),
    tangent_rule=lambda y, primals, tangents, params: matrix_exp_slope(primals[0], tangents[0]),
    batch_rule=lambda a, *, size: matrix_exp_primitive(a),
)


@operation("A", spaces="linalg", out=False)
def linalg_matrix_exp(A) -> Any:
    """The exponentials of square matrices.

    >>> import fxgrad.compat as torch
    >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    check_square("linalg.matrix_exp", A)
    return matrix_exp_primitive(A)


add_aliases(matrix_exp=linalg_matrix_exp)
