"""Recursive filters, whose outputs depend on their earlier outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.library import load_library
from .kinds import General, register
from .vocabulary import ops


def all_pole_kernel(xp: Any) -> Any:
    def filter_arrays(a: Any, x: Any) -> Any:
        """SciPy's filter, applied for each set of coefficients."""
        signal = load_library("scipy.signal", "scipy", "a recursive filter")
        dtype = np.result_type(a, x)
        compute = dtype if dtype.kind in "fc" and dtype.itemsize >= 4 else np.dtype(np.float32)
        y, a = np.empty(x.shape, compute), a.astype(compute)
        for place in np.ndindex(a.shape[:-1]):
            y[place] = signal.lfilter(np.ones(1, compute), np.append(compute.type(1), a[place]), x[place])
        return y.astype(dtype, copy=False)

    def filter_entries(a: Any, x: Any) -> Any:
        a = xp.reshape(a, (*a.shape[:-1], *(1,) * (x.ndim - a.ndim), a.shape[-1]))
        y = xp.zeros(x.shape, dtype=xp.result_type(a, x))
        for t in range(x.shape[-1]):
            k = min(t, a.shape[-1])
            y[..., t] = x[..., t] - xp.sum(a[..., :k] * xp.flip(y[..., t - k : t], axis=-1), axis=-1)
        return y

    return filter_arrays if xp is np else filter_entries


def delayed_sum(a: Any, y: Any) -> Any:
    """Σₖ aₖ·y₋ₖ for k from 1, along the last axis; the leading axes of a are those of y."""
    count, (*lead, order) = aval_of(y).shape[-1], aval_of(a).shape
    rank = aval_of(y).ndim
    a = ops.reshape(a, shape=(*lead, *(1,) * (rank - len(lead) - 1), order))
    full = ops.convolve(ops.pad(y, widths=((0, 0),) * (rank - 1) + ((1, 0),)), a)
    return ops.getitem(full, index=(*(slice(None),) * (rank - 1), slice(0, count, None)))


def all_pole_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """What a tangent of the coefficients changes is an input to the same filter."""
    (a, _), (ta, tx) = primals, tangents
    source = tx if ta is None else ops.negative(delayed_sum(ta, y))
    if ta is not None and tx is not None:
        source = ops.add(tx, source)
    return all_pole(a, source)


def all_pole_transpose(ct: Any, a: Any, x: Aval) -> list[Any]:
    """The filter is linear in x, and its transpose runs backwards."""
    last = (aval_of(ct).ndim - 1,)
    return [None, ops.flip(all_pole(a, ops.flip(ct, axes=last)), axes=last)]


class AllPole(General):
    """A primitive whose coefficients serve all sequences of a batch, unless they are mapped themselves."""

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        a, x = values
        if not is_batched[0] and aval_of(a).ndim == 1:
            return self.call(a, x), True
        return super().batch(values, is_batched, size, params)


# yₜ = xₜ − Σₖ aₖ·yₜ₋ₖ along the last axis, for k from 1: coefficients (…, K), whose leading axes are those of x.
all_pole = register(
    AllPole(
        "all_pole",
        all_pole_kernel,
        abstract_rule=lambda self, a, x: Aval(x.shape, np.result_type(a.dtype, x.dtype)),
        tangent_rule=all_pole_tangent,
        transpose_rule=all_pole_transpose,
        batch_rule=lambda a, x, *, size: all_pole(a, x),
    )
).call
