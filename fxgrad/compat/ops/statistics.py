"""Covariances and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import aval_of, concretize, ops
from .._core.dtypes import default_numpy_dtype, short_name
from .._core.error_messages import not_implemented_error
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.named_results import make_result_type
from .._declare.operation import operation
from .._declare.spaces import expose
from .._make.devices import CPU, device_of, move_array
from ..errors import TensorError
from .declarers import kind, value_dtype
from .entries import by_entries


# -- covariances ------------------------------------------
def variable_rows(name: str, x) -> Any:
    """Return a floating matrix with a variable in every row."""
    shape = aval_of(x).shape
    if len(shape) > 2:
        raise TensorError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {len(shape)} dimensions",
            hint="x.flatten(1), one variable in each row",
        )
    x = x if kind(x) in "fc" else ops.convert(x, dtype=default_numpy_dtype("f"))
    return x if len(shape) == 2 else ops.reshape(x, shape=(1, aval_of(x).size))


def covariance(x, correction, fweights=None, aweights=None) -> Any:
    """The covariances of the rows of a matrix; a number for one row."""
    rows, count = x.shape
    total, freedom, weigh = count, max(count - correction, 0), lambda values: values
    if fweights is not None or aweights is not None:
        real = np.zeros((), value_dtype(x)).real.dtype
        frequency, importance = (
            np.ones(count, real) if w is None else ops.convert(ops.reshape(w, shape=(count,)), dtype=real)
            for w in (fweights, aweights)
        )
        w = frequency * importance
        total = ops.reduce_sum(w, axes=(0,))
        freedom = total - correction * ops.reduce_sum(w * importance, axes=(0,)) / total
        freedom, weigh = ops.maximum(freedom, 0), lambda values: values * w
    mean = ops.reduce_sum(weigh(x), axes=(1,)) / total
    apart = x - ops.reshape(mean, shape=(rows, 1))
    found = fnp.matmul(weigh(apart), ops.permute(ops.conjugate(apart), axes=(1, 0))) / freedom
    return ops.reshape(found, shape=()) if rows == 1 else found


def check_weights(name: str, weights, count: int) -> None:
    """Raise unless there is one weight for each observation."""
    shape = aval_of(weights).shape
    if len(shape) > 1:
        raise TensorError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {len(shape)} dimensions",
            hint=f"{name}.flatten()",
        )
    if aval_of(weights).size != count:
        raise TensorError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{aval_of(weights).size} != {count}",
            hint=f"{count} weights, one for each column of x",
        )


@operation("input fweights aweights", out=False, copies_operands=True)
def cov(input, *, correction: int = 1, fweights=None, aweights=None) -> Any:
    """The covariances of the rows, which are variables; columns are observations.

    Args:
        correction: 1 for the unbiased estimate, 0 for the mean of the products.
        fweights: how often each observation occurs (integers).
        aweights: how much each observation counts.

    >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    x = variable_rows("cov", input)
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None:
            check_weights(name, weights, x.shape[1])
    if fweights is not None and kind(fweights) in "fc":
        short = short_name(aval_of(fweights).dtype)
        raise TensorError(
            f"cov(): expected fweights to have integral dtype but got fweights with {short} dtype",
            hint="aweights=…, or fweights.long()",
        )
    if aweights is not None and kind(aweights) != "f":
        short = short_name(aval_of(aweights).dtype)
        raise TensorError(
            f"cov(): expected aweights to have floating point dtype but got aweights with {short} dtype",
            hint="aweights.float()",
        )
    return covariance(x, correction, fweights, aweights)


@operation("input", out=False, copies_operands=True)
def corrcoef(input) -> Any:
    """The correlations of the rows: covariances of variables of unit variance."""
    found = covariance(variable_rows("corrcoef", input), 1)
    if not found.ndim:
        return found / found
    deviation = ops.sqrt(ops.real(fnp.diagonal(found)))
    found = found / ops.reshape(deviation, shape=(*deviation.shape, 1)) / deviation
    return found if kind(found) == "c" else ops.minimum(ops.maximum(found, -1), 1)


# -- histograms ------------------------------------------
def histogram_arguments(input, bins=100, *, range=None, weight=None, density: bool = False) -> Any:
    """The bins are a number, or a Tensor of their edges."""
    edges = bins if isinstance(bins, Tensor) else None
    bins = None if isinstance(bins, Tensor) else bins
    return (input, edges, weight), {"bins": bins, "range": range, "density": density}


@operation(
    "input edges weight",
    results=make_result_type("histogram", "hist", "bin_edges"),
    constant=(0, 1),
    arguments=histogram_arguments,
)
@by_entries
def histogram(input, edges, weight, bins, range, density: bool) -> Any:
    """How many elements, or what weight of them, lie in each bin, and the edges of these. Bins are half open, but for
    the last.

    Args:
        bins: their number, or a Tensor of edges.
        range: (lowest, highest) edge; by default those of the elements.
        density: integrals are 1.
    """
    values, weights = np.reshape(input, -1), None if weight is None else np.reshape(weight, -1)
    if edges is None:
        if range is None:
            range = (values.min(), values.max()) if values.size else (0, 1)
        edges = np.histogram_bin_edges(values, bins, range).astype(values.dtype)
    counts, _ = np.histogram(values, edges, weights=weights, density=density)
    return [counts.astype(values.dtype), edges]


HistogramResult = make_result_type("histogramdd", "hist", "bin_edges")


@expose()
def histogramdd(input: Tensor, bins, range=None, weight: Tensor | None = None, density: bool = False) -> Any:
    """How many points, or what weight of them, lie in each box of a grid, and the edges along each dimension.

    Args:
        input: floating points of (…, n).
        bins: how many boxes, or n such numbers, or n Tensors of edges.
        range: n times the lowest and the highest edge, one after the other; by default those of the points.
        weight: that of each point, 1 unless it is given.
        density: integrals are 1.

    Raises:
        RuntimeError: `bins` are not as many as the points have coordinates.

    >>> torch.histogramdd(torch.tensor([[0.0, 0.0], [1.0, 3.0]]), [2, 2]).hist.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    dtype = input._fx_value.dtype
    if kind(input) != "f":
        raise not_implemented_error("histogramdd", dtype)
    points = concretize(refresh(input)._fx_value, "histogramdd()")
    count = points.shape[-1]
    bins = list(bins) if isinstance(bins, tuple | list) else [bins] * count
    bins = [b.item() if isinstance(b, Tensor) and not b.shape else b for b in bins]
    if len(bins) != count:
        raise TensorError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input.",
            hint=f"{count} of them, not {len(bins)}",
        )
    place = device_of(points)
    points = np.reshape(move_array(points, CPU), (-1, count))
    weights = None
    if weight is not None:
        weights = np.ravel(move_array(concretize(refresh(weight)._fx_value, "histogramdd()"), CPU))
    if range is None:
        ends = [(x.min(), x.max()) if x.size else (0, 1) for x in points.T]
    else:
        ends = list(zip(range[::2], range[1::2]))
    edges = [
        move_array(refresh(b)._fx_value, CPU)
        if isinstance(b, Tensor)
        else np.histogram_bin_edges(x, b, end).astype(dtype)
        for x, b, end in zip(points.T, bins, ends)
    ]
    with np.errstate(all="ignore"):  # densities of no points
        counts = np.histogramdd(points, edges, weights=weights, density=density)[0]
    tape = current_tape()
    return HistogramResult(
        make_tensor(tape, move_array(counts.astype(dtype), place)),
        tuple([make_tensor(tape, move_array(e, place)) for e in edges]),
    )
