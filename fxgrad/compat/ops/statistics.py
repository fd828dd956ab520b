"""Covariances and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import aval_of
from .._core.dtypes import default_numpy_dtype, short_name
from .._core.errors import TensorError
from .._core.tensor import Tensor
from .._declare.named_results import make_result_type
from .._declare.operation import operation
from .declarers import kind, value_dtype
from .entries import by_entries


# -- covariances ------------------------------------------
def variable_rows(name: str, x) -> Any:
    """Return a floating matrix with a variable in every row."""
    shape = aval_of(x).shape
    if len(shape) > 2:
        raise TensorError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {len(shape)} dimensions"
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
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {len(shape)} dimensions"
        )
    if aval_of(weights).size != count:
        raise TensorError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{aval_of(weights).size} != {count}"
        )


@operation("input fweights aweights", out=False, copies_operands=True)
def cov(input, *, correction: int = 1, fweights=None, aweights=None) -> Any:
    """The covariances of the rows, which are variables; columns are observations.

    Args:
        correction: 1 for the unbiased estimate, 0 for the mean of the products.
        fweights: how often each observation occurs (integers).
        aweights: how much each observation counts.

    >>> import fxgrad.compat as torch
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
            f"cov(): expected fweights to have integral dtype but got fweights with {short} dtype"
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
def histogram_arguments(input, bins, *, range=None, weight=None, density: bool = False) -> Any:
    """The bins are a number, or a Tensor of their edges."""
    edges = bins if isinstance(bins, Tensor) else None
    bins = None if isinstance(bins, Tensor) else bins
    return (input, edges, weight), {"bins": bins, "range": range, "density": density}


@operation(
    "input edges weight",
    results=make_result_type("histogram", "hist", "bin_edges"),
    constant=(0, 1),
    arguments=histogram_arguments,
    kinds="f",
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
