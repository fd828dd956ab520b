"""Curvature approximations computed from per-sample gradients: diagonals and Kronecker factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import lax, ops
from ..core import pytree
from ..core.errors import StructureError, UnsupportedError
from ..core.interpreter import api_boundary
from ..numpy import linalg
from ..ops.indexing import ARRAY
from ..transforms.arguments import leaf_path
from ..transforms.derived_function import derive
from ..transforms.jacobian import hessian, put_beside
from ..transforms.vmap import vmap
from .gradients import FactoredGradients, Gradients, OneHot, contract
from .problem import Problem
from .statistics import like_params, make_statistic, mean_weights, scale, square_sums


@api_boundary
def fisher_diagonal(loss: Callable[..., Any], in_axes: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The mean of the squares |gᵢ|² of the gradients: the diagonal of the empirical Fisher matrix, if the loss is the
    negative log-likelihood of an example. For labels that are drawn from the model its expectation is the Fisher matrix
    (Kunstner et al., "Limitations of the empirical Fisher approximation for natural gradient descent", 2019).

    Args:
        loss, in_axes, has_aux: as for `squared_norms`.

    Returns, Raises: as for `second_moment`.

    >>> fx.per_sample.fisher_diagonal(lambda w, x: w @ x)(np.zeros(2), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([4.5, 8.5])
    """

    def compute(problem: Problem) -> tuple[Any, Any]:
        return like_params(problem, square_sums(problem, mean_weights(problem))), problem.kept[0]

    return make_statistic(fisher_diagonal, loss, compute, in_axes, has_aux)


@api_boundary
def ggn_diagonal(model: Callable[..., Any], loss: Callable[..., Any], in_axes: Any = 0) -> Callable[..., Any]:
    """The diagonal of the generalised Gauss–Newton matrix of the mean loss, Σᵢ JᵢᵀHᵢJᵢ / N, where Jᵢ is the Jacobian of
    the model's output and Hᵢ the Hessian of the loss in it (Schraudolph, "Fast curvature matrix-vector products",
    2002). It takes one way forward and back for each entry of the output: H = Σₖ λₖvₖvₖᵀ, so that the diagonal is
    Σₖ λₖ(Jᵀvₖ)².

    Args:
        model: a function (params, input) → array, for one example.
        loss: a function (output, target) → scalar.
        in_axes: the axis of the examples in inputs and targets, or a tuple (None, axis of inputs, axis of targets).

    Returns:
        A function (params, inputs, targets) → pytree like the parameters. Its derivatives need eigenvalues λₖ that are
        distinct.

    Raises:
        StructureError: other arguments; the output is no array.
        NonScalarError, DTypeError, AxisError: as for `squared_norms`.

    >>> diagonal = fx.per_sample.ggn_diagonal(lambda w, x: w * x, lambda y, t: fnp.sum((y - t) ** 2) / 2)
    >>> diagonal(np.ones(2), np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 2)))
    array([ 5., 10.])
    """
    name = "per_sample.ggn_diagonal"
    if not callable(model) or not callable(loss):
        raise StructureError(
            f"{name} takes two functions: the model, and the loss of its output",
            hint="the functions themselves, and not what they return",
        )

    def output(params: Any, example: Any) -> Any:
        result = model(params, example)
        if len(pytree.leaves(result)) != 1 or not hasattr(result, "shape"):
            raise StructureError(
                f"{name}: the model returns an array, not a {type(result).__name__}",
                hint="return one array: fnp.concatenate of several",
            )
        return result

    @api_boundary
    def diagonal(*args: Any) -> Any:
        if len(args) != 3:
            raise StructureError(
                f"{name}: the arguments are (params, inputs, targets), {len(args)} were given",
                hint="diagonal(params, inputs, targets)",
            )
        params, inputs, targets = args
        axes = in_axes if isinstance(in_axes, tuple | list) else (None, in_axes, in_axes)

        def vectors(x: Any, target: Any) -> tuple[Any, Any]:
            """Return the eigenvalues and the eigenvectors of the Hessian in the output, each vector like the output."""
            y = output(params, x)
            shape, size = y.shape, int(np.prod(y.shape))
            matrix = hessian(lambda flat: loss(ops.reshape(flat, shape=shape), target))(
                ops.reshape(y, shape=(size,))
            )
            values, rows = linalg.eigh(matrix)
            return values, ops.reshape(ops.permute(rows, axes=(1, 0)), shape=(size, *shape))

        values, rows = vmap(vectors, tuple(axes[1:]), (1, 1))(inputs, targets)

        def along(params: Any, x: Any, row: Any) -> Any:
            return ops.reduce_sum(ops.multiply(output(params, x), row), axes=tuple(range(row.ndim)))

        def add(total: Any, column: tuple[Any, Any]) -> tuple[Any, None]:
            value, row = column
            problem = Problem(name, along, (params, inputs, row), {}, (None, axes[1], 0), False)
            squares = square_sums(problem, ops.multiply(value, mean_weights(problem)))
            return [ops.add(t, s) for t, s in zip(total, squares)], None

        leaves, structure = pytree.flatten(params)
        total, _ = lax.scan(add, [ops.zeros_like(v) for v in leaves], (values, rows))
        return pytree.unflatten(structure, total)

    return derive(diagonal, ggn_diagonal, model, loss=loss, in_axes=in_axes)


class KroneckerFactors(NamedTuple):
    """Two matrices whose Kronecker product approximates a block of the Fisher matrix.

    `inputs` is the mean of the outer products of what the parameter is multiplied by, `outputs` that of the
    derivatives by the result (Martens and Grosse, "Optimizing neural networks with Kronecker-factored approximate
    curvature", 2015).

    >>> loss = lambda w, x: (x @ w) @ np.array([1.0, 2.0])
    >>> factors = fx.per_sample.kfac(loss)(np.zeros((1, 2)), np.array([[1.0], [3.0]]))
    >>> factors.inputs, factors.outputs
    (array([[5.]]), array([[1., 2.],
           [2., 4.]]))
    """

    inputs: Any
    outputs: Any


@api_boundary
def kfac(loss: Callable[..., Any], in_axes: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Kronecker factors of the empirical Fisher matrix, for each leaf of the parameters (Martens and Grosse,
    "Optimizing neural networks with Kronecker-factored approximate curvature", 2015; Grosse and Martens, 2016, for
    convolutions; with shared weights the "expand" form of Eschenhagen et al., 2023).

    For a leaf that meets activations a in products with cotangents δ, at R positions (of a sequence, an image),
    `inputs` is A = Σ a aᵀ / (N·R) and `outputs` is G = Σ δ δᵀ / N: the block of the mean loss is about A ⊗ G, over
    (axes that are summed with activations, other axes). For the kernels of convolutions the first are channels and
    taps, in this order. Axes that the leaf shares with both, as groups, are leading axes of the factors. Of a table
    that is looked up `inputs` is the diagonal of A; of a vector, such as a bias, A is [[1]].

    Args:
        loss, in_axes, has_aux: as for `squared_norms`.

    Returns:
        A function of parameters and batch that gives a pytree like the parameters of `KroneckerFactors`, or with
        `has_aux` (that, aux).

    Raises:
        UnsupportedError: a leaf that is no vector is not used in contractions, convolutions or lookups only.
        NonScalarError, DTypeError, AxisError, StructureError: as for `squared_norms`.

    >>> loss = lambda w, x: (x @ w) @ np.array([1.0, 2.0])
    >>> factors = fx.per_sample.kfac(loss)(np.zeros((1, 2)), np.array([[1.0], [3.0]]))
    >>> factors.inputs, factors.outputs
    (array([[5.]]), array([[1., 2.],
           [2., 4.]]))
    """

    def compute(problem: Problem) -> tuple[Any, Any]:
        ways = problem.choose_ways(factored=True)
        for i in (*ways.dense, *ways.recomputed):
            shape = problem.graph.inputs[i].aval.shape
            if len(shape) > 1:
                raise UnsupportedError(
                    f"per_sample.kfac: the parameter {leaf_path(problem.structure, i)} of shape {shape} has no "
                    "Kronecker factors: it is used in other ways than in contractions, convolutions or lookups",
                    hint="fx.per_sample.fisher_diagonal is for all parameters",
                )
        results, found = problem.run([*ways.dense, *ways.recomputed], ways.factored, 0, problem.size)
        factors = [kronecker_factors(found[i]) for i in range(len(problem.params))]
        return like_params(problem, factors), results

    return make_statistic(kfac, loss, compute, in_axes, has_aux)


def kronecker_factors(gradients: Gradients) -> KroneckerFactors:
    """Return the factors of one leaf."""
    count = max(gradients.count, 1)
    if not isinstance(gradients, FactoredGradients):
        rows = gradients.take(0, gradients.count)
        rows = ops.reshape(rows, shape=(gradients.count, int(np.prod(gradients.shape))))
        outputs = contract(rows, rows, "ni,nj->ij")
        return KroneckerFactors(
            put_beside(np.ones((1, 1), outputs.dtype), outputs), scale(outputs, 1 / count)
        )
    (part, *others) = gradients.parts
    if others:
        raise UnsupportedError(
            "per_sample.kfac: a parameter is looked up as a table and multiplied as well",
            hint="two parameters, one for each use",
        )
    stack, positions, _, _ = part.sizes
    share = 1 / (count * max(positions, 1))
    outputs = scale(contract(part.right, part.right, "nbpi,nbpj->bij"), 1 / count)
    if isinstance(part.left, OneHot):
        places = ops.reshape(part.left.places, shape=(gradients.count * positions,))
        ones = put_beside(np.full(gradients.count * positions, share, outputs.dtype), outputs)
        inputs = ops.scatter_add(ones, places, index=(ARRAY,), shape=(part.left.size,))
    else:
        inputs = scale(contract(part.left, part.left, "nbpi,nbpj->bij"), share)
        inputs = ops.reshape(inputs, shape=inputs.shape[1:]) if stack == 1 else inputs
    outputs = ops.reshape(outputs, shape=outputs.shape[1:]) if stack == 1 else outputs
    return KroneckerFactors(inputs, outputs)


__all__ = ["KroneckerFactors", "fisher_diagonal", "ggn_diagonal", "kfac"]
