"""`jax.numpy.linalg`: what differs from `fxgrad.numpy.linalg`."""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

import numpy as np

from ...numpy import linalg as here
from .arrays import lift
from .avals import ShapeDtypeStruct, shaped_of
from .callbacks import pure_callback
from .numpy import asarray

__all__ = ["cholesky", "eigh", "eigvalsh", "qr"]


def symmetrized(function: Any) -> Any:
    """Return a function of a Hermitian matrix as JAX has it: of the Hermitian part of any matrix."""
    lifted = lift(function)

    @wraps(function)
    def of_part(a: Any, *args: Any, symmetrize_input: bool = True, **options: Any) -> Any:
        if symmetrize_input:
            a = asarray(a)
            a = (a + a.mT.conj()) / 2
        return lifted(a, *args, **options)

    return of_part


cholesky, eigh, eigvalsh = map(symmetrized, (here.cholesky, here.eigh, here.eigvalsh))


def qr(a: Any, mode: str = "reduced") -> Any:
    """Return the factors of A = QR; for `mode="raw"` LAPACK's reflections, which have no derivative."""
    if mode != "raw":
        return lift(here.qr)(a, mode)
    *batch, m, n = (aval := shaped_of(a)).shape
    shapes = [ShapeDtypeStruct(shape, aval.dtype) for shape in ((*batch, n, m), (*batch, min(m, n)))]
    factor = partial(np.linalg.qr, mode="raw")
    return pure_callback(lambda a: tuple(factor(np.asarray(a))), tuple(shapes), a, vmap_method="expand_dims")
