"""Statistics of per-sample gradients: norms, sums, moments, inner products.

In all functions here `loss(params, *example)` is the loss of one example, and the returned function takes the
parameters and the batch. The gradient of example i is gᵢ, over all leaves of the parameters. `gradients` has the
formulas, and `problem` analyses the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.aval import aval_of, dtype_of
from ..core.common_errors import not_a_function
from ..core.errors import ShapeError, StructureError
from ..core.interpreter import api_boundary
from ..core.surface import release_all
from ..numpy.linalg.norms import shortening
from ..transforms.arguments import admit, admit_tangents
from ..transforms.derived_function import derive
from ..transforms.jacobian import put_beside
from .gradients import Gradients, square, take_rows
from .kept import compute_again, keep_program
from .problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..core.typing import ArrayLike, PyTree

    Statistic = Callable[..., Any]


def make_statistic(
    statistic: Callable[..., Any],
    loss: Callable[..., Any],
    compute: Callable[[Problem], Any],
    in_axes: Any,
    has_aux: bool,
    **options: Any,
) -> Statistic:
    """Make the function of parameters and batch: compute(problem) gives what it returns, or with the results of the
    loss, where it is not known otherwise, (value, results)."""
    name = f"per_sample.{statistic.__name__}"
    if not callable(loss):
        raise not_a_function(name, loss)

    def of_batch(*args: Any, **kwargs: Any) -> Any:
        problem = Problem(name, loss, args, kwargs, in_axes, has_aux)
        value, results = compute_again(problem, compute, *options.values())
        leaves, structure = pytree.flatten(value)
        value = pytree.unflatten(structure, release_all(leaves))
        if not has_aux:
            return value
        return value, pytree.unflatten(problem.out_structure, release_all(results))[1]

    kept = api_boundary(keep_program(of_batch, loss, *options.values()))
    return derive(kept, statistic, loss, in_axes=in_axes, has_aux=has_aux, **options)


def add_up(values: Sequence[Any]) -> Any:
    """Return the sum of the statistics of the leaves."""
    total, *rest = values
    for value in rest:
        total = ops.add(total, value)
    return total


def like_params(problem: Problem, leaves: Sequence[Any]) -> PyTree:
    """Return the pytree of the parameters with other leaves."""
    return pytree.unflatten(problem.structure, leaves)


@api_boundary
def squared_norms(
    loss: Callable[..., Any], in_axes: Any = 0, has_aux: bool = False, *, per_leaf: bool = False
) -> Statistic:
    """The squared norms ‖gᵢ‖² of the gradients of the examples.

    Args:
        loss: a function (params, *example) → scalar, as for `fx.grad`.
        in_axes: the axis of the examples in all arguments after the parameters, or a tuple as `vmap` takes it, whose
            first entry is None. Keyword arguments are mapped over axis 0.
        has_aux: `loss` returns (value, aux).
        per_leaf: one norm for each leaf of the parameters, instead of one for all together.

    Returns:
        A function of parameters and batch that gives an array (N,), or with `per_leaf` a pytree like the parameters of
        such arrays; with `has_aux` (that, aux), where aux has a leading axis. The dtype is that of the gradients,
        float32 for half precision.

    Raises:
        NonScalarError, DTypeError: as by `fx.grad`.
        AxisError, StructureError: the batch or `in_axes` do not fit, as with `fx.vmap`.

    >>> loss = lambda w, x: fnp.sum(w @ x)
    >>> fx.per_sample.squared_norms(loss)(np.ones((2, 2)), np.array([[1.0, 0.0], [1.0, 2.0]]))
    array([ 2., 10.])
    """

    def compute(problem: Problem) -> tuple[Any, Any]:
        squares = problem.squared_norms()
        return like_params(problem, squares) if per_leaf else add_up(squares), problem.kept[0]

    return make_statistic(squared_norms, loss, compute, in_axes, has_aux, per_leaf=per_leaf)


@api_boundary
def norms(
    loss: Callable[..., Any], in_axes: Any = 0, has_aux: bool = False, *, per_leaf: bool = False
) -> Statistic:
    """The norms ‖gᵢ‖ of the gradients of the examples. Arguments, results and errors as for `squared_norms`. Where a
    norm is zero, its derivative is zero.

    >>> loss = lambda w, x: (w @ x) ** 2 / 2
    >>> fx.per_sample.norms(loss)(np.array([1.0, 0.0]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([15.,  0.])
    """

    def compute(problem: Problem) -> tuple[Any, Any]:
        value = like_params(problem, problem.leaf_norms()) if per_leaf else problem.norms()
        return value, problem.kept[0]

    return make_statistic(norms, loss, compute, in_axes, has_aux, per_leaf=per_leaf)


@api_boundary
def weighted_sum(
    loss: Callable[..., Any],
    weights: ArrayLike | Callable[[Any], Any],
    in_axes: Any = 0,
    has_aux: bool = False,
) -> Statistic:
    """The weighted sum Σᵢ wᵢgᵢ of the gradients of the examples.

    Args:
        loss, in_axes, has_aux: as for `squared_norms`.
        weights: an array (N,), or a function from the norms (N,) to one, through which derivatives go.

    Returns:
        A function of parameters and batch that gives a pytree like the parameters, or with `has_aux` (that, aux).

    Raises:
        ShapeError: the weights are not one for each example.
        NonScalarError, DTypeError, AxisError, StructureError: as for `squared_norms`.

    >>> loss = lambda w, x: w @ x
    >>> batch = np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> fx.per_sample.weighted_sum(loss, np.array([1.0, -1.0]))(np.zeros(2), batch)
    array([3., 3.])
    >>> fx.per_sample.weighted_sum(loss, lambda norms: 1 / norms)(np.zeros(2), batch)
    array([0.6, 1.8])
    """

    def compute(problem: Problem) -> tuple[Any, Any]:
        if callable(weights):
            found = weights(problem.norms())
            total = problem.weighted_sum(admit_weights(found, problem))
            return like_params(problem, total), problem.kept[0]
        results, total = problem.pull_back(range(len(problem.params)), admit_weights(weights, problem))
        return like_params(problem, total), results

    return make_statistic(weighted_sum, loss, compute, in_axes, has_aux, weights=weights)


def admit_weights(weights: Any, problem: Problem) -> Any:
    """Admit weights, one for each example."""
    weights = admit(weights, f"{problem.name}: the weights")
    shape = aval_of(weights).shape
    if shape != (problem.size,):
        raise ShapeError(
            f"{problem.name}: the weights have shape {shape}, there are {problem.size} examples",
            hint=f"an array of shape ({problem.size},), or a function from the norms to one",
        )
    return ops.convert(weights, dtype=problem.graph.out_avals[0].dtype)


@api_boundary
def clipped_sum(
    loss: Callable[..., Any], max_norm: ArrayLike, in_axes: Any = 0, has_aux: bool = False
) -> Statistic:
    """The sum Σᵢ min(1, C/‖gᵢ‖) gᵢ of the gradients, each clipped to the norm C, as for training with differential
    privacy (Abadi et al., "Deep learning with differential privacy", 2016). Norms and sum take one forward and backward
    pass, except for parameters whose gradients are recomputed.

    Args:
        loss, in_axes, has_aux: as for `squared_norms`.
        max_norm: the norm C, above zero; with ∞ none is shortened.

    Returns: as for `weighted_sum`.

    Raises:
        ShapeError, StructureError, …: as for `weighted_sum`.
        ValueError: `max_norm` is a number that is not above zero.

    >>> loss = lambda w, x: w @ x
    >>> fx.per_sample.clipped_sum(loss, 1.0)(np.zeros(2), np.array([[3.0, 4.0], [0.0, 0.5]]))
    array([0.6, 1.3])
    """
    if isinstance(max_norm, float | int) and not max_norm > 0:
        raise StructureError(
            f"clipped_sum: max_norm={max_norm} is no norm to clip to",
            hint="a number above zero: max_norm=1.0, say",
        )

    def compute(problem: Problem) -> tuple[Any, Any]:
        weights = shortening(problem.norms(), max_norm)
        return like_params(problem, problem.weighted_sum(admit_weights(weights, problem))), problem.kept[0]

    return make_statistic(clipped_sum, loss, compute, in_axes, has_aux, max_norm=max_norm)


@api_boundary
def mean(loss: Callable[..., Any], in_axes: Any = 0, has_aux: bool = False) -> Statistic:
    """The mean of the gradients of the examples, which is the gradient of the mean loss: one forward and backward pass.

    Args:
        loss, in_axes, has_aux: as for `squared_norms`.

    Returns, Raises: as for `weighted_sum`.

    >>> fx.per_sample.mean(lambda w, x: w @ x)(np.zeros(2), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([1.5, 2.5])
    """

    def compute(problem: Problem) -> tuple[Any, Any]:
        results, means = problem.pull_back(range(len(problem.params)), mean_weights(problem))
        return like_params(problem, means), results

    return make_statistic(mean, loss, compute, in_axes, has_aux)


@api_boundary
def second_moment(loss: Callable[..., Any], in_axes: Any = 0, has_aux: bool = False) -> Statistic:
    """The sum of squares Σᵢ |gᵢ|² of the gradients, entry by entry.

    Args:
        loss, in_axes, has_aux: as for `squared_norms`.

    Returns, Raises: as for `weighted_sum`; of half precision the squares are float32.

    >>> fx.per_sample.second_moment(lambda w, x: w @ x)(np.zeros(2), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([ 9., 17.])
    """

    def compute(problem: Problem) -> tuple[Any, Any]:
        return like_params(problem, square_sums(problem, even_weights(problem))), problem.kept[0]

    return make_statistic(second_moment, loss, compute, in_axes, has_aux)


def square_sums(problem: Problem, weights: Any, centers: Sequence[Any] | None = None) -> list[Any]:
    """Return Σᵢ wᵢ|gᵢ − center|² of each leaf."""

    def statistic(leaf: int, gradients: Gradients, start: int, stop: int) -> Any:
        center = None if centers is None else centers[leaf]
        return gradients.square_sum(take_rows(weights, start, stop), center)

    return problem.fold(statistic, add_up)


def scale(value: Any, factor: float) -> Any:
    """Return a value times a number, in its own dtype."""
    return ops.multiply(value, np.asarray(factor, dtype_of(value)))


def mean_weights(problem: Problem) -> Any:
    """Return the weights of a mean; that of no examples is zero."""
    return even_weights(problem, 1 / max(problem.size, 1))


def even_weights(problem: Problem, weight: float = 1.0) -> Any:
    """Return one weight for all examples, where these are."""
    weights = np.full(problem.size, weight).astype(problem.graph.out_avals[0].dtype)
    mapped = [x for x, m in zip([*problem.params, *problem.examples], problem.is_mapped) if m]
    return put_beside(weights, mapped[0])


@api_boundary
def variance(
    loss: Callable[..., Any], in_axes: Any = 0, has_aux: bool = False, *, ddof: int = 0
) -> Statistic:
    """The variance Σᵢ |gᵢ − ḡ|² / (N − ddof) of the gradients, entry by entry, about their mean ḡ. It is taken about
    the mean, block by block of the examples, and so exact where gradients hardly differ.

    Args:
        loss, in_axes, has_aux: as for `squared_norms`.
        ddof: 1 for the estimate without bias.

    Returns, Raises: as for `second_moment`.

    >>> fx.per_sample.variance(lambda w, x: w @ x)(np.zeros(2), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([2.25, 2.25])
    """

    def compute(problem: Problem) -> tuple[Any, Any]:
        return like_params(problem, moments(problem, ddof)[1]), problem.kept[0]

    return make_statistic(variance, loss, compute, in_axes, has_aux, ddof=ddof)


def moments(problem: Problem, ddof: int) -> tuple[list[Any], list[Any]]:
    """Return means and variances of each leaf."""
    means = problem.weighted_sum(mean_weights(problem))
    sums = square_sums(problem, even_weights(problem), means)
    with np.errstate(all="ignore"):
        factor = np.divide(1.0, problem.size - ddof)
    return means, [scale(s, factor) for s in sums]


@api_boundary
def signal_to_noise(
    loss: Callable[..., Any], in_axes: Any = 0, has_aux: bool = False, *, ddof: int = 0
) -> Statistic:
    """The ratio |ḡ|² / variance of the gradients, entry by entry (Liu et al., "Understanding why neural networks
    generalize well through GSNR of parameters", 2020). Where the variance is zero it is infinite, or NaN if the mean is
    zero too.

    Args:
        loss, in_axes, has_aux, ddof: as for `variance`.

    Returns, Raises: as for `second_moment`.

    >>> fx.per_sample.signal_to_noise(lambda w, x: w * x)(0.0, np.array([1.0, 3.0]))
    np.float64(4.0)
    """

    def compute(problem: Problem) -> tuple[Any, Any]:
        means, variances = moments(problem, ddof)
        with np.errstate(all="ignore"):
            ratios = [ops.divide(square(m), v) for m, v in zip(means, variances)]
        return like_params(problem, ratios), problem.kept[0]

    return make_statistic(signal_to_noise, loss, compute, in_axes, has_aux, ddof=ddof)


@api_boundary
def inner_products(loss: Callable[..., Any], in_axes: Any = 0, has_aux: bool = False) -> Statistic:
    """The inner products ⟨gᵢ, v⟩ with one vector: the derivatives of the losses along it, by one forward pass.

    Args:
        loss, in_axes, has_aux: as for `squared_norms`; a tuple `in_axes` has no entry for the vector.

    Returns:
        A function (params, *batch, vector), whose last argument is a pytree like the parameters, that gives an array
        (N,), or with `has_aux` (that, aux).

    Raises:
        StructureError, ShapeError, DTypeError: the vector does not fit the parameters.
        NonScalarError, AxisError: as for `squared_norms`.

    >>> products = fx.per_sample.inner_products(lambda w, x: w @ x)
    >>> products(np.zeros(2), np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([1.0, -1.0]))
    array([-1., -1.])
    """
    name = "per_sample.inner_products"

    @api_boundary
    def of_batch(*args: Any, **kwargs: Any) -> Any:
        if len(args) < 2:
            raise StructureError(
                f"{name}: the vector is missing", hint=f"{name}(loss)(params, batch, vector)"
            )
        examples, vector = args[:-1], args[-1]
        problem = Problem(name, loss, examples, kwargs, in_axes, has_aux)
        given, structure = pytree.flatten(vector)
        tangents = admit_tangents(name, "the vector", problem.params, problem.structure, given, structure)
        results, products = problem.push_forward(tangents)
        (products,) = release_all([products])
        if not has_aux:
            return products
        return products, pytree.unflatten(problem.out_structure, release_all(results))[1]

    if not callable(loss):
        raise not_a_function(name, loss)
    return derive(of_batch, inner_products, loss, in_axes=in_axes, has_aux=has_aux)


@api_boundary
def gram(loss: Callable[..., Any], in_axes: Any = 0, has_aux: bool = False) -> Statistic:
    """The inner products ⟨gᵢ, gⱼ⟩ of all pairs of examples: the neural tangent kernel of the loss (Jacot et al.,
    "Neural tangent kernel", 2018). Recomputed gradients are all formed.

    Args:
        loss, in_axes, has_aux: as for `squared_norms`.

    Returns:
        A function of parameters and batch that gives an array (N, N), or with `has_aux` (that, aux).

    Raises:
        NonScalarError, DTypeError, AxisError, StructureError: as for `squared_norms`.

    >>> fx.per_sample.gram(lambda w, x: w @ x)(np.zeros(2), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[25.,  4.],
           [ 4.,  1.]])
    """

    def compute(problem: Problem) -> tuple[Any, Any]:
        kept = [gradients.gram() for gradients in problem.kept[1].values()]
        leaves = problem.ways.recomputed
        if leaves:
            found = problem.run(leaves, {}, 0, problem.size)[1]
            kept += [gradients.gram() for gradients in found.values()]
        return add_up(kept), problem.kept[0]

    return make_statistic(gram, loss, compute, in_axes, has_aux)


__all__ = [
    "clipped_sum", "gram", "inner_products", "mean", "norms", "second_moment", "signal_to_noise", "squared_norms",
    "variance", "weighted_sum",
]  # fmt: skip
