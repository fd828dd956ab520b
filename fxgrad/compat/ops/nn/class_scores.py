"""The usual negative log-likelihood as one linear primitive: minus the mean of the target classes' scores, without the
passes of its general form."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....extend import Aval, Linear, Masked, aval_of, ops
from ..._core.primitives import declare_primitive
from ..._declare.operation import operation
from ..._declare.rearrangement import Application


def counted_classes(target, ignore_index: int) -> tuple[Any, Any]:
    """Return (which targets count, the targets with 0 for the others)."""
    counted = ops.not_equal(target, ignore_index)
    return counted, ops.where(counted, target, 0)


def make_kernel(xp) -> Any:
    def mean_class_loss(x, target, *, ignore_index: int) -> Any:
        counted, rows = target != ignore_index, xp.arange(len(target))
        count = xp.count_nonzero(counted)
        if count == len(target):
            scores = x[rows, target]
        else:
            scores = xp.where(counted, x[rows, xp.where(counted, target, 0)], 0)
        total = np.add.reduce(scores) if xp is np else xp.sum(scores)
        return -total / xp.asarray(count, dtype=x.dtype)

    return mean_class_loss


def loss_transpose(ct, x: Aval, target, *, ignore_index: int) -> Masked:
    """Return minus each counted row's share of the cotangent, at its target class."""
    counted, classes = counted_classes(target, ignore_index)
    count = ops.reduce_sum(ops.convert(counted, dtype=x.dtype), axes=(0,))
    is_target = ops.equal(np.arange(x.shape[1]), ops.restore_axes(classes, x.shape, (1,)))
    is_target = ops.logical_and(is_target, ops.restore_axes(counted, x.shape, (1,)))
    return Masked(ops.where(is_target, ops.divide(ops.negative(ct), count), 0), is_target, True)


def loss_batch(x, target, *, size: int, ignore_index: int, indexed: bool = False) -> Any:
    """Return the losses of a batch of scores."""
    if not indexed:
        target = ops.broadcast_to(target, shape=(size, *aval_of(target).shape))
    counted, classes = counted_classes(target, ignore_index)
    scores = ops.take_along(x, ops.restore_axes(classes, aval_of(x).shape, (2,)), 2)
    scores = ops.where(counted, ops.reshape(scores, shape=aval_of(target).shape), 0)
    count = ops.reduce_sum(ops.convert(counted, dtype=aval_of(x).dtype), axes=(1,))
    return ops.divide(ops.negative(ops.reduce_sum(scores, axes=(1,))), count)


class MeanClassLoss(Linear):
    """Minus the mean over the rows of x of the score of the target class; rows with `ignore_index` do not count."""

    def vjp(self, apply, values, needed, params: dict, snapshot) -> tuple[Any, Any, Any]:
        x, target = values
        y = apply(x, target, **params)
        return (y, None, None) if needed[0] is None else (y, self, ([aval_of(x), snapshot(target)], params))

    def pull_plain(self, ct, residuals: tuple) -> tuple[Any, None]:
        """See `PullbackRule`."""
        (x, target), params = residuals
        counted = target != params["ignore_index"]
        count = np.count_nonzero(counted)
        rows = np.arange(count) if count == len(target) else np.flatnonzero(counted)
        result = np.zeros(x.shape, x.dtype)
        result[rows, target[rows]] = -ct / x.dtype.type(count)
        return result, None


mean_class_loss_primitive = declare_primitive(
    MeanClassLoss,
    "mean_class_loss",
    make_kernel,
    abstract_rule=lambda self, x, target, **params: Aval((), x.dtype),
    transpose_rule=loss_transpose,
    batch_rule=loss_batch,
    structural=False,
)


@operation("input target", name="nll_loss", spaces="", out=False, composite=Application)
def mean_class_loss(input, target, ignore_index: int) -> Any:
    """The loss of log-probabilities (rows, classes) and one target class for each row."""
    return mean_class_loss_primitive, (input, target), {"ignore_index": ignore_index}
