"""`numpy.linalg` for arrays and traced values: stacks of matrices in the last two axes, real or complex.

Everything is differentiable to any order in both modes. Matrices that NumPy takes for Hermitian (`eigh`, `cholesky`, …)
it reads from one triangle; the derivative is that of a function of Hermitian matrices, so gradients are Hermitian.
What a derivative is where eigenvalues or singular values repeat: `fxgrad.ops.spectral`.
"""
# ruff: noqa: F403

from numpy.linalg import LinAlgError

from . import decompositions, norms, products, solving
from .decompositions import *
from .norms import *
from .products import *
from .solving import *

__all__ = ["LinAlgError"]
__all__ += decompositions.__all__
__all__ += norms.__all__
__all__ += products.__all__
__all__ += solving.__all__
