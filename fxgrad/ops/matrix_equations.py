"""Equations whose unknowns are matrices: Sylvester's, Stein's and Riccati's. See `linalg` for the axes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.errors import ShapeError, UnsupportedError
from ..core.library import load_library
from .kinds import on_numpy
from .linalg import (
    adjoint,
    compute_dtype,
    conjugate_transpose,
    hermitian_part,
    identity_like,
    matrix_function,
    matrix_product,
    matrix_transpose,
    require_square,
    sum_terms,
)
from .vocabulary import ops


def sylvester_kernel(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Solve by Schur's forms (R. H. Bartels and G. W. Stewart, Comm. ACM 15, 1972); NaN where no solution is unique."""
    linalg = load_library("scipy.linalg", "scipy", "sylvester")
    dtype = np.result_type(a, b, q)
    x, output = np.empty(q.shape, dtype), "complex" if dtype.kind == "c" else "real"
    for index in np.ndindex(q.shape[:-2]) if x.size else ():
        if not all(np.isfinite(m[index]).all() for m in (a, b)):
            x[index] = np.nan
            continue
        r, u = linalg.schur(a[index].astype(dtype, copy=False), output)
        s, v = linalg.schur(b[index].astype(dtype, copy=False), output)
        middle = u.conj().T @ q[index] @ v
        (solve,) = linalg.get_lapack_funcs(("trsyl",), (r, s, middle))
        y, scale, info = solve(r, s, middle)
        x[index] = u @ (y * scale) @ v.conj().T if info == 0 else np.nan
    return x


LARGEST = 4096  # the most unknowns of one system


def solve_as_system(xp: Any, a: Any, b: Any, q: Any) -> Any:
    """Solve as a linear system of all entries of X, (A ⊗ 1 + 1 ⊗ Bᵀ)·vec X = vec Q, for libraries without Schur's form:
    of small matrices only."""
    *batch, m, n = q.shape
    if m * n > LARGEST:
        raise UnsupportedError(
            f"sylvester: for {xp.__name__} a system with {m * n} unknowns, of which {LARGEST} are the most",
            hint="compute it from NumPy's arrays: fx.device_get(x)",
        )
    left = a[..., :, None, :, None] * xp.eye(n, dtype=a.dtype)[:, None, :]
    right = xp.eye(m, dtype=b.dtype)[:, None, :, None] * xp.matrix_transpose(b)[..., None, :, None, :]
    system = xp.reshape(left + right, (*batch, m * n, m * n))
    return xp.reshape(xp.linalg.solve(system, xp.reshape(q, (*batch, m * n, 1))), (*batch, m, n))


def sylvester_aval(self: Any, a: Aval, b: Aval, q: Aval) -> Aval:
    require_square("sylvester", a)
    require_square("sylvester", b)
    if q.shape[-2:] != (a.shape[-1], b.shape[-1]) or a.shape[:-2] != q.shape[:-2] != b.shape[:-2]:
        raise ShapeError(
            f"sylvester: matrices of shapes {a.shape}, {b.shape} and {q.shape}",
            hint="a [..., m, m], b [..., n, n] and q [..., m, n]",
        )
    return Aval(q.shape, compute_dtype("sylvester", a, b, q))


def sylvester_tangent(x: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """The tangent solves AẊ + ẊB = Q̇ − ȦX − XḂ."""
    (a, b, _), (ta, tb, tq) = primals, tangents
    terms = (
        tq,
        None if ta is None else -matrix_product(ta, x),
        None if tb is None else -matrix_product(x, tb),
    )
    return sylvester(a, b, sum_terms(*terms))


# X with AX + XB = Q.
sylvester = matrix_function(
    "sylvester",
    lambda xp: sylvester_kernel if xp is np else partial(solve_as_system, xp),
    abstract_rule=sylvester_aval,
    tangent_rule=sylvester_tangent,
    transpose_rule=lambda ct, a, b, q: [None, None, sylvester(matrix_transpose(a), matrix_transpose(b), ct)],
)


def solve_stein(m: Any, w: Any) -> Any:
    """X with X = MXMᴴ + W, for M without the eigenvalue −1: (M − 1)X(M + 1)ᴴ + (M + 1)X(M − 1)ᴴ = −2W is an equation
    of Sylvester's."""
    one = identity_like(m, m.shape[-1])
    divisor = ops.inv(m + one, strict=False)
    turned = matrix_product(divisor, m - one)
    right = matrix_product(matrix_product(divisor, w), adjoint(divisor))
    return sylvester(turned, adjoint(turned), -2 * right)


# -- Riccati ------------------------------------------
def riccati_kernel(a: Any, b: Any, q: Any, r: Any, *, discrete: bool) -> np.ndarray:
    linalg = load_library("scipy.linalg", "scipy", "riccati")
    solve = linalg.solve_discrete_are if discrete else linalg.solve_continuous_are
    x = np.empty(a.shape, np.result_type(a, b, q, r))
    a, b, q, r = (m.astype(x.dtype, copy=False) for m in (a, b, q, r))  # SciPy takes no booleans from 1.20 on
    q, r = ((m + conjugate_transpose(np, m)) * 0.5 for m in (q, r))
    for index in np.ndindex(a.shape[:-2]) if x.size else ():
        x[index] = solve(a[index], b[index], q[index], r[index])
    return x


def riccati_aval(self: Any, a: Aval, b: Aval, q: Aval, r: Aval, *, discrete: bool) -> Aval:
    for matrix in (a, q, r):
        require_square("riccati", matrix)
    if a.shape != q.shape or b.shape != (*a.shape[:-1], r.shape[-1]) or r.shape[:-2] != a.shape[:-2]:
        raise ShapeError(
            f"riccati: matrices of shapes {a.shape}, {b.shape}, {q.shape} and {r.shape}",
            hint="a and q [..., n, n], b [..., n, k] and r [..., k, k]",
        )
    return Aval(a.shape, compute_dtype("riccati", a, b, q, r))


def riccati_tangent(x: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """With the gain K, C = A − BK and W = KᴴṘK + Q̇ + 2 Re(…) the tangent solves CᴴẊ + ẊC + W = 0 or Ẋ = CᴴẊC + W; the
    gain is where the cost is least, so that its own change has no part in W."""
    (a, b, _, r), (ta, tb, tq, tr) = primals, tangents
    discrete, bh = params["discrete"], adjoint(b)
    bhx = matrix_product(bh, x)
    if discrete:
        gain = ops.solve(r + matrix_product(bhx, b), matrix_product(bhx, a))
    else:
        gain = ops.solve(r, bhx)
    closed = a - matrix_product(b, gain)
    moved = sum_terms(ta, None if tb is None else -matrix_product(tb, gain), ops.zeros_like(a))
    half = matrix_product(matrix_product(adjoint(closed), x) if discrete else x, moved)
    terms = (
        half + adjoint(half),
        None if tq is None else hermitian_part(tq),
        None if tr is None else matrix_product(adjoint(gain), matrix_product(hermitian_part(tr), gain)),
    )
    if discrete:
        return solve_stein(adjoint(closed), sum_terms(*terms))
    return sylvester(adjoint(closed), closed, -sum_terms(*terms))


# The stabilizing X, of the Hermitian parts of Q and R, with AᴴX + XA − XBR⁻¹BᴴX + Q = 0, or if `discrete`
# AᴴXA − X − AᴴXB(R + BᴴXB)⁻¹BᴴXA + Q = 0.
riccati = matrix_function(
    "riccati",
    on_numpy(riccati_kernel),
    abstract_rule=riccati_aval,
    tangent_rule=riccati_tangent,
)
