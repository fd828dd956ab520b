"""`numpy.linalg` for arrays and traced values: stacks of matrices in the last two axes, real or complex.

Everything is differentiable to any order in both modes. Where NumPy assumes a Hermitian matrix (`eigh`, `cholesky`, …),
it reads one triangle; the derivative is that of a function of Hermitian matrices, so gradients are Hermitian.
`fxgrad.ops.spectral` defines derivatives at repeated eigenvalues and singular values.
"""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from numpy.linalg import LinAlgError as LinAlgError

from ...core.face import LazyPackage

if TYPE_CHECKING:
    from .norms import *
    from .solving import *
    from .products import *
    from .decompositions import *

LazyPackage.of(__name__, listed=("LinAlgError",))
