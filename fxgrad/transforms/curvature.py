"""Gauss–Newton and Fisher matrices as linear operators, which do not form the matrices.

N. N. Schraudolph, "Fast curvature matrix-vector products for second-order gradient descent", Neural Computation 14
(2002); J. Martens, "New insights and perspectives on the natural gradient method", JMLR 21 (2020).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.arrays import as_value
from ..core.aval import aval_of
from ..core.errors import NonScalarError, ShapeError
from ..core.interpreter import api_boundary
from .derived_function import derive
from .jvp import linearize
from .structured import random_signs, split_entries
from .vjp import grad, vjp
from .vmap import vmap


class LinearOperator:
    """A symmetric matrix that is given only by its products with vectors.

    It is a function of pytrees like the parameters: `a(v)`; and a matrix of `shape` (n, n), whose rows are all entries
    of the parameters in the order of their leaves: `a @ v`, `a.matvec(v)`, as `scipy.sparse.linalg` calls it: `cg(a,
    b)`.

    Args:
        apply: the product with a pytree like the parameters.
        params: the parameters, or their shapes.
        damping: a multiple of the identity that is added.

    >>> a = fx.LinearOperator(lambda v: 3 * v, np.zeros(2), damping=1.0)
    >>> a.shape, a @ np.array([1.0, 2.0])
    ((2, 2), array([4., 8.]))
    """

    __slots__ = ("apply", "avals", "damping", "dtype", "shape", "structure")

    apply: Callable[[Any], Any]
    avals: list[Any]
    damping: Any
    dtype: Any
    shape: tuple[int, int]
    structure: pytree.PyTreeDef

    @api_boundary
    def __init__(self, apply: Callable[[Any], Any], params: Any, damping: Any = 0.0):
        leaves, self.structure = pytree.flatten(params)
        self.avals = [aval_of(v) for v in leaves]
        self.apply, self.damping = apply, damping
        size = sum([a.size for a in self.avals])
        self.shape = size, size
        self.dtype = np.result_type(*[a.dtype for a in self.avals]) if leaves else np.dtype(float)

    @api_boundary
    def __call__(self, vector: Any) -> Any:
        """Return the product with a pytree like the parameters."""
        product = self.apply(vector)
        if type(self.damping) is float and self.damping == 0:
            return product
        leaves, structure = pytree.flatten(product)
        moved = [ops.add(p, ops.multiply(v, self.damping)) for p, v in zip(leaves, pytree.leaves(vector))]
        return pytree.unflatten(structure, moved)

    def matvec(self, vector: Any) -> Any:
        """Return the product with a vector of n entries."""
        return self.ravel(self(self.unravel(vector)))

    rmatvec = matvec

    def matmat(self, matrix: Any) -> Any:
        """Return the product with a matrix of n rows."""
        return vmap(self.matvec, 1, 1)(matrix)

    rmatmat = matmat

    def __matmul__(self, other: Any) -> Any:
        return self.matvec(other) if aval_of(as_value(other)).ndim == 1 else self.matmat(other)

    @property
    def T(self) -> LinearOperator:
        """The transpose, which is the operator itself."""
        return self

    def todense(self) -> Any:
        """Return the matrix."""
        return self.matmat(np.eye(self.shape[0], dtype=self.dtype))

    def diagonal(self, *, key: Any = None, samples: int = 1) -> Any:
        """Return the diagonal as a vector: exact, or estimated by `samples` random products where a key is given."""
        rows = self.products(key, samples)
        found = ops.reduce_sum(rows, axes=(0,))
        return found if key is None else ops.multiply(found, 1 / samples)

    def trace(self, *, key: Any = None, samples: int = 1) -> Any:
        """Return the trace: exact, or estimated by `samples` random products where a key is given."""
        return ops.reduce_sum(self.diagonal(key=key, samples=samples), axes=(0,))

    def products(self, key: Any, samples: int) -> Any:
        """Return v·(A v) for unit vectors, or random vectors of signs, v.

        Args:
            key: a key of `fx.random`; None: all unit vectors.
            samples: how many random vectors.
        """
        if key is None:
            vectors: Any = np.eye(self.shape[0], dtype=self.dtype)
        else:
            (vectors,) = random_signs(key, samples, [np.zeros(self.shape[0], self.dtype)], "LinearOperator")
        return ops.multiply(vectors, vmap(self.matvec)(vectors))

    def ravel(self, tree: Any) -> Any:
        """Return the entries of a pytree like the parameters as one vector."""
        parts = [ops.reshape(v, shape=(a.size,)) for v, a in zip(pytree.leaves(tree), self.avals)]
        return ops.concatenate(*parts, axis=0) if parts else np.zeros(0)

    def unravel(self, vector: Any) -> Any:
        """Return a pytree like the parameters with the entries of a vector.

        Raises:
            ShapeError: the vector has another length.
        """
        vector = as_value(vector)
        shape = aval_of(vector).shape
        if shape not in ((self.shape[0],), (self.shape[0], 1)):  # SciPy's columns are vectors, too
            raise ShapeError(
                f"a vector of shape {shape} for an operator of shape {self.shape}",
                hint=f"a vector of {self.shape[0]} entries: fx.tree.ravel_pytree(tree)[0] makes one of a tree",
            )
        vector = ops.reshape(vector, shape=(self.shape[0],))
        leaves = split_entries(vector, self.avals)
        return pytree.unflatten(self.structure, leaves)

    def __repr__(self) -> str:
        return f"<linear operator of shape {self.shape}, dtype {self.dtype}>"


@api_boundary
def ggn_product(
    model: Callable[..., Any], loss: Callable[[Any], Any], *, damping: Any = 0.0
) -> Callable[..., LinearOperator]:
    """The generalized Gauss–Newton matrix Jᵀ H J of loss(model(params, …)), as a function of the arguments of `model`:
    J is the Jacobian of the model, H the Hessian of the loss by the model's result. It is positive semidefinite where
    the loss is convex, and the Fisher matrix where the loss is a negative log-likelihood of an exponential family in
    its natural parameters: squared errors, cross entropy of logits.

    Args:
        model: a function whose first argument is differentiated.
        loss: a scalar function of its result.
        damping: a number λ, for Jᵀ H J + λI.

    Returns:
        A function giving a `LinearOperator`: applied to a pytree like the parameters it gives their product; the model
        and the loss are linearized once.

    Raises:
        NonScalarError: the loss is not a number.

    >>> a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 0.0])
    >>> product = fx.ggn_product(lambda w: a @ w, lambda y: ((y - b) ** 2).sum() / 2)(np.ones(2))
    >>> product(np.array([1.0, 0.0]))
    array([10., 14.])

    Schraudolph, Neural Computation 14 (2002).
    """

    @api_boundary
    def operator_at(*args: Any, **kwargs: Any) -> LinearOperator:
        params, *rest = args

        def outputs_of(params: Any) -> Any:
            return model(params, *rest, **kwargs)

        out, push = linearize(outputs_of, params)
        _, pull = vjp(outputs_of, params)
        _, bend = linearize(grad(loss), out)

        def apply(vector: Any) -> Any:
            return pull(bend(push(vector)))[0]

        return LinearOperator(apply, params, damping)

    return derive(operator_at, ggn_product, model, loss=loss, damping=damping)


@api_boundary
def fisher_product(losses: Callable[..., Any], *, damping: Any = 0.0) -> Callable[..., LinearOperator]:
    """The mean of the outer products of per-sample gradients, (1/n) Σ gᵢgᵢᵀ, as a function of the arguments of
    `losses`. Where the losses are negative log-likelihoods of observed values, this is the empirical Fisher matrix; of
    values that are drawn from the model, it is an unbiased estimate of the Fisher matrix.

    Args:
        losses: a function giving one loss for each of n samples, in an array of any shape; its first argument is
            differentiated.
        damping: a number λ, for the matrix + λI.

    Returns:
        A function giving a `LinearOperator`, as for `ggn_product`.

    Raises:
        NonScalarError: `losses` gives a single number: the sum of the losses has no per-sample gradients.

    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> product = fx.fisher_product(lambda w: x @ w)(np.ones(2))
    >>> product.todense()
    array([[ 5.,  7.],
           [ 7., 10.]])

    Martens, JMLR 21 (2020), sections 5 and 11.
    """

    @api_boundary
    def operator_at(*args: Any, **kwargs: Any) -> LinearOperator:
        params, *rest = args

        def losses_of(params: Any) -> Any:
            return losses(params, *rest, **kwargs)

        out, push = linearize(losses_of, params)
        found = pytree.leaves(out)
        if len(found) != 1 or not aval_of(found[0]).ndim:
            raise NonScalarError(
                "fisher_product: the function must give one array with a loss for each sample",
                hint="return the losses without their sum or mean",
            )
        _, pull = vjp(losses_of, params)
        weight = 1 / max(aval_of(found[0]).size, 1)

        def apply(vector: Any) -> Any:
            (moved,), structure = pytree.flatten(push(vector))
            return pull(pytree.unflatten(structure, [ops.multiply(moved, weight)]))[0]

        return LinearOperator(apply, params, damping)

    return derive(operator_at, fisher_product, losses, damping=damping)
