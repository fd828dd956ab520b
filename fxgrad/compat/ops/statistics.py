"""Covariances and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import aval_of
from ...core.interpreter import concretize
from .._core.dtypes import SHORT_NAMES, default_numpy_dtype
from .._core.errors import TensorError
from .._core.tensor import Tensor
from .._declare.named_results import make_result_type
from .._declare.operation import expose, operation
from .declarers import kind, value_dtype


# -- covariances ------------------------------------------
@operation("input fweights aweights", spaces="", name="cov", out=False)
def cov_values(input, fweights, aweights, correction) -> Any:
    """See `cov`."""
    x = input if kind(input) in "fc" else ops.convert(input, dtype=default_numpy_dtype("f"))
    if aval_of(x).ndim < 2:
        x = ops.reshape(x, shape=(1, aval_of(x).size))
    real = np.zeros((), value_dtype(x)).real.dtype
    count: Any = aval_of(x).shape[1]
    given = [ops.convert(w, dtype=real) for w in (fweights, aweights) if w is not None]
    w: Any = None
    total: Any = count
    if given:
        w = given[0] if len(given) == 1 else given[0] * given[1]
        total = ops.reduce_sum(w, axes=(0,))
    freedom = total - correction
    if aweights is not None:
        freedom = total - correction * ops.reduce_sum(w * given[-1], axes=(0,)) / total
    freedom = ops.maximum(freedom, 0) if given else max(freedom, 0)
    weighted = x if w is None else x * w
    mean = ops.reduce_sum(weighted, axes=(1,)) / total
    centred = x - ops.reshape(mean, shape=(aval_of(x).shape[0], 1))
    product = fnp.matmul(
        centred if w is None else centred * w, ops.permute(ops.conjugate(centred), axes=(1, 0))
    )
    found = ops.divide(product, ops.convert(freedom, dtype=real))
    return ops.reshape(found, shape=()) if aval_of(x).shape[0] == 1 else found


@expose("function method")
def cov(input: Tensor, *, correction: int = 1, fweights=None, aweights=None) -> Tensor:
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
    ensure_matrix("cov", input)
    for weights, name in ((fweights, "fweights"), (aweights, "aweights")):
        if weights is None:
            continue
        if weights.ndim > 1:
            raise TensorError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
            )
        if weights.numel() != (input.shape[-1] if input.ndim else 1):
            raise TensorError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{weights.numel()} != {input.shape[-1] if input.ndim else 1}"
            )
    if fweights is not None and (fweights.is_floating_point() or fweights.is_complex()):
        short = SHORT_NAMES[fweights.dtype.name]
        raise TensorError(
            f"cov(): expected fweights to have integral dtype but got fweights with {short} dtype"
        )
    return cov_values(input, fweights, aweights, correction)


def ensure_matrix(name: str, input: Tensor) -> None:
    if input.ndim > 2:
        raise TensorError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )


@expose("function method")
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of the rows: covariances of variables of unit variance."""
    ensure_matrix("corrcoef", input)
    return corrcoef_values(cov_values(input, None, None, 1))


@operation("input", spaces="", name="corrcoef", out=False)
def corrcoef_values(input) -> Any:
    """Covariances divided by the deviations of both variables; real ones are kept from -1 to 1."""
    if not aval_of(input).shape:
        return input / input
    size = aval_of(input).shape[0]
    each = np.arange(size)
    deviation = ops.sqrt(ops.real(ops.getitem(input, each, each, index=(ops.ARRAY, ops.ARRAY))))
    found = input / ops.reshape(deviation, shape=(size, 1)) / deviation
    return found if kind(input) == "c" else ops.minimum(ops.maximum(found, -1), 1)


# -- histograms ------------------------------------------
Histogram = make_result_type("histogram", "hist", "bin_edges")


@operation("input edges weight", name="histogram", spaces="", results=Histogram, constant=(0, 1))
def histogram_values(input, edges, weight, bins: int, range, density: bool) -> Any:
    """See `histogram`."""
    values = concretize(input, "histogram").reshape(-1)
    weights = None if weight is None else concretize(weight, "histogram").reshape(-1)
    if edges is None:
        if range is None:
            range = (values.min(), values.max()) if values.size else (0, 1)
        edges = np.histogram_bin_edges(values, bins, range).astype(values.dtype)
    edges = concretize(edges, "histogram")
    counts, _ = np.histogram(values, edges, weights=weights, density=density)
    return [counts.astype(values.dtype), edges]


@expose("function method")
def histogram(input: Tensor, bins, *, range=None, weight=None, density: bool = False, out=None) -> Any:
    """How many elements, or what weight of them, lie in each bin, and the edges of these. Bins are half open, but for
    the last.

    Args:
        bins: their number, or a Tensor of edges.
        range: (lowest, highest) edge; by default those of the elements.
        density: integrals are 1.
    """
    edges = bins if isinstance(bins, Tensor) else None
    return histogram_values(input, edges, weight, 0 if edges is bins else bins, range, density, out=out)
