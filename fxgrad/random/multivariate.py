"""Random normal vectors and orthogonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.aval import aval_of
from ..core.errors import ShapeError, StructureError
from ..core.shapes import as_shape
from ..core.typing import Array, ArrayLike, DType, Key, Shape
from ..numpy.composite import cast
from .continuous import normal
from .keys import check_one_key
from .parameters import as_real_parameter, common_shape, floating_dtype, standard_normal


def eigen_factor(cov: Any) -> Any:
    values, vectors = fnp.linalg.eigh(cov)
    return vectors * ops.sqrt(ops.maximum(values, 0.0))[..., None, :]


def svd_factor(cov: Any) -> Any:
    vectors, values, _ = fnp.linalg.svd(cov)
    return vectors * ops.sqrt(values)[..., None, :]


FACTORS = {"cholesky": fnp.linalg.cholesky, "eigh": eigen_factor, "svd": svd_factor}


def multivariate_normal(
    key: Key,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape = None,
    dtype: DType = None,
    method: str = "cholesky",
) -> Array:
    """Normal vectors of the given mean and covariance: mean + A·z with A·Aᵀ = cov and z standard normal.

    Source: Kotz, Balakrishnan and Johnson, Continuous Multivariate Distributions, 2000, chapter 45.

    Args:
        key: a key.
        mean: array [..., n].
        cov: symmetric and positive array [..., n, n]; with "cholesky" definite.
        shape: the shape of the result without its last axis, to which those of mean and cov broadcast.
        dtype: a real floating dtype.
        method: how A is found: "cholesky" is fastest, "eigh" and "svd" are for matrices that are singular.

    Returns:
        Array of shape (*shape, n), differentiable in mean and cov.

    Raises:
        ShapeError: cov is no square matrix of the size of mean, or the shapes do not broadcast.
        LinAlgError: "cholesky" of a matrix that is not definite.
        StructureError: there is no such `method`.

    >>> x = fx.random.multivariate_normal(fx.random.key(0), np.zeros(2), [[1.0, 0.9], [0.9, 1.0]], (10000,))
    >>> print(round(float(np.corrcoef(x.T)[0, 1]), 2))
    0.9
    """
    if method not in FACTORS:
        raise StructureError(
            f"multivariate_normal: method={method!r}", hint='method is "cholesky", "eigh" or "svd"'
        )
    dtype = floating_dtype(dtype, "multivariate_normal")
    mean, cov = as_real_parameter(mean, "multivariate_normal"), as_real_parameter(cov, "multivariate_normal")
    size, square = aval_of(mean).shape, aval_of(cov).shape
    if not size or square[-2:] != (size[-1], size[-1]):
        raise ShapeError(
            f"multivariate_normal: a mean [..., n] and a covariance [..., n, n] are needed, not shapes "
            f"{size} and {square}",
            hint="fnp.diag(variances) for independent entries, or a mean of as many entries as cov has rows",
        )
    shape = common_shape(shape, "multivariate_normal", size[:-1], square[:-2])
    z = standard_normal(check_one_key(key, "multivariate_normal"), (*shape, size[-1]))
    return cast(mean + fnp.einsum("...ij,...j->...i", FACTORS[method](cov), z), dtype)


def orthogonal(key: Key, n: int, shape: Shape = (), dtype: DType = None, m: int | None = None) -> Array:
    """Matrices drawn uniformly (by Haar's measure) from the orthogonal group, unitary ones for a complex dtype.

    Args:
        key: a key.
        n: the number of rows.
        shape: the shape of the result without its last two axes.
        dtype: a floating dtype, float64 by default.
        m: the number of columns, n by default; the rows or the columns, whichever are fewer, are orthonormal.

    Returns:
        Array of shape (*shape, n, m).

    Mezzadri, "How to generate random matrices from the classical compact groups" (2007).

    >>> q = fx.random.orthogonal(fx.random.key(0), 3)
    >>> bool(np.allclose(q @ q.T, np.eye(3)))
    True
    """
    n, m = as_shape((n, n if m is None else m), "orthogonal: n, m")
    dtype = np.dtype(float if dtype is None else dtype)
    wide = np.complex128 if dtype.kind == "c" else np.float64
    z = normal(check_one_key(key, "orthogonal"), (*as_shape(shape, "orthogonal"), max(n, m), min(n, m)), wide)
    q, r = fnp.linalg.qr(z)
    d = fnp.diagonal(r, axis1=-2, axis2=-1)
    q = q * (d / ops.absolute(d))[..., None, :]
    return cast(fnp.swapaxes(q, -1, -2) if n < m else q, dtype)


__all__ = ["multivariate_normal", "orthogonal"]
