"""`numpy.linalg` for arrays and traced values: stacks of matrices in the last two axes, real or complex.

Everything is differentiable to any order in both modes. Matrices that NumPy takes for Hermitian (`eigh`, `cholesky`, …)
it reads from one triangle; the derivative is that of a function of Hermitian matrices, so gradients are Hermitian.
What a derivative is where eigenvalues or singular values repeat: `fxgrad.ops.spectral`.
"""
# ruff: noqa: F403

from typing import TYPE_CHECKING

from numpy.linalg import LinAlgError as LinAlgError

from ...core.face import LazyPackage

if TYPE_CHECKING:
    from .decompositions import *
    from .norms import *
    from .products import *
    from .solving import *

LazyPackage.of(__name__, parts=("norms", "solving", "products", "decompositions"), listed=("LinAlgError",))
