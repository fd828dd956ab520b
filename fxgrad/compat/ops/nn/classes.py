"""Losses of scores and classes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .... import numpy as fnp
from ....extend import Tracer, aval_of, concretize, kind_of, ops, use_device_of
from ..._core.dtypes import type_name
from ..._core.tensor import refresh
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ...errors import ArgumentValueError, DimensionError, TensorError
from ..arguments import shape_hint
from ..direct import are_within
from .class_scores import mean_class_loss
from .linear import linear
from .loss import legacy_reduction, loss, reduce_losses
from .softmax import log_softmax

CLASSES = np.dtype("i8"), np.dtype("u1")


def check_classes(target, count: int, ignore_index: int) -> None:
    """Raise for dtypes that are no classes, and for concrete classes out of range."""
    dtype = aval_of(target).dtype
    if dtype not in CLASSES:
        name = type_name(dtype).removeprefix("torch.").removesuffix("Tensor")
        raise TensorError(
            f"expected target dtype to be Long or Byte, but got {name}",
            hint="target.long(); probabilities have the shape of the input",
        )
    if isinstance(target, Tracer):
        return
    if type(target) is np.ndarray and not np.count_nonzero(target.view(f"u{dtype.itemsize}") >= count):
        return
    with use_device_of([target], "cross_entropy"):
        wrong = (target != ignore_index) & ((target < 0) | (target >= count))
        if wrong.any():
            bad = int(target[wrong].reshape(-1)[0])
            raise DimensionError(
                f"Target {bad} is out of bounds.",
                hint=f"classes are 0 … {count - 1}; ignore_index={bad} leaves this one out",
            )


def target_scores(scores, target) -> Any:
    """The score of the target class, of scores along axis 1."""
    places = ops.restore_axes(target, aval_of(scores).shape, (1,))
    return ops.reshape(ops.take_along(scores, places, 1), shape=aval_of(target).shape)


def check_shapes(input, target) -> None:
    have, want = tuple(target.shape), tuple(input.shape)
    if (have != ()) if len(want) == 1 else (want and not have):
        raise TensorError(
            f"size mismatch (got input: {list(want)}, target: {list(have)})",
            hint=shape_hint("target", have, want[:-1]),
        )
    if want and have and want[0] != have[0]:
        raise ArgumentValueError(
            f"Expected input batch_size ({want[0]}) to match target batch_size ({have[0]}).",
            hint=f"scores as ({have[0]}, classes): x.flatten(0, -2), or x.movedim(-1, 1) where classes are last",
        )
    if have[1:] != want[2:]:
        raise TensorError(
            f"Expected target size {[want[0], *want[2:]]}, got {list(have)}",
            hint="x.movedim(-1, 1), where the classes are last; target.argmax(1), where they are one-hot",
        )


@operation("input target weight", name="nll_loss", spaces="", out=False, by_value=False)
def weighted_class_loss(input, target, weight, ignore_index: int, reduction: str, smoothing: float) -> Any:
    """The negative of the target classes' log-probabilities; mixed with the mean over all classes if there is
    smoothing. The mean is over the weights."""
    single = aval_of(input).ndim == 1
    if single:
        input, target = (ops.reshape(v, shape=(1, *aval_of(v).shape)) for v in (input, target))
    shape = aval_of(input).shape
    count = shape[1]
    counted = ops.not_equal(target, ignore_index)
    target = ops.where(counted, target, 0)
    factor = ops.convert(counted, dtype=aval_of(input).dtype)
    if weight is not None:
        factor = factor * ops.getitem(weight, target, index=(ops.ARRAY,))
    losses = ops.negative(ops.where(counted, target_scores(input, target), 0))
    losses = losses * factor if weight is not None else losses
    if smoothing:
        scores = input
        if weight is not None:
            scores = scores * ops.reshape(weight, shape=(count, *(1,) * (len(shape) - 2)))
        spread = ops.where(counted, ops.negative(ops.reduce_sum(scores, axes=(1,))), 0)
        losses = (1 - smoothing) * losses + (smoothing / count) * spread
    if reduction == "mean":
        return fnp.sum(losses) / fnp.sum(factor)
    return (
        ops.reshape(losses, shape=()) if single and reduction == "none" else reduce_losses(losses, reduction)
    )


def have_classes(scores: np.ndarray, classes: np.ndarray) -> bool:
    """Whether rows of scores, which are added up in their own precision, have a class each."""
    if scores.ndim != 2 or classes.shape != scores.shape[:1] or scores.dtype.itemsize == 2:
        return False
    return classes.dtype in CLASSES and are_within(classes, scores.shape[1])


def class_loss(input, target, weight, ignore_index: int, reduction: str, smoothing: float) -> Any:
    """Compute the loss of log-probabilities and classes, which are checked."""
    if weight is None and not smoothing and reduction == "mean":
        scores, classes = refresh(input)._fx_value, refresh(target)._fx_value
        if type(scores) is type(classes) is np.ndarray and have_classes(scores, classes):
            return mean_class_loss(input, target, ignore_index)
    shape = input.shape
    check_shapes(input, target)
    count = shape[1 if len(shape) > 1 else 0]
    check_classes(refresh(target)._fx_value, count, ignore_index)
    if weight is not None and tuple(weight.shape) != (count,):
        raise TensorError(
            f"weight tensor should be defined either for all {count} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}",
            hint=f"weight of shape ({count},), one number for each class",
        )
    usual = weight is None and not smoothing and reduction == "mean" and len(shape) == 2
    if usual and input.dtype.itemsize > 2:  # others are added up in single precision
        return mean_class_loss(input, target, ignore_index)
    return weighted_class_loss(input, target, weight, ignore_index, reduction, smoothing)


@expose("nn.functional")
def nll_loss(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index: int = -100,
    reduce=None,
    reduction: str = "mean",
) -> Any:
    """The negative of the target classes' log-probabilities, which stand along dimension 1. The mean is over the
    weights.

    Args:
        weight: of each class.
        ignore_index: the class that stands for none: entries of it do not count.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return class_loss(input, target, weight, ignore_index, reduction, 0.0)


@operation("input target weight", spaces="", out=False, name="probability_loss", node="DivBackward0")
def probability_loss(input, target, weight, reduction: str, smoothing: float) -> Any:
    """−Σ weight·target·log-probability over the classes, targets mixed with equal probabilities. The mean is over the
    batch."""
    shape = aval_of(input).shape
    axis = 0 if len(shape) == 1 else 1
    if smoothing:
        target = (1 - smoothing) * target + smoothing / shape[axis]
    terms = target * input
    if weight is not None:
        terms = terms * ops.reshape(weight, shape=(shape[axis], *(1,) * (len(shape) - axis - 1)))
    losses = ops.negative(ops.reduce_sum(terms, axes=(axis,)))
    return reduce_losses(losses, reduction)


@expose("nn.functional")
def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index: int = -100,
    reduce=None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy of softmax(input) along dimension 1 against classes, or against probabilities of the same
    shape.

    Args:
        weight: of each class.
        ignore_index: the class that stands for none.
        label_smoothing: the part of the probability that is spread evenly over all classes.

    >>> scores = torch.zeros(1, 4, requires_grad=True)
    >>> loss = torch.nn.functional.cross_entropy(scores, torch.tensor([2]))
    >>> loss.backward()
    >>> scores.grad.tolist()
    [[0.25, 0.25, -0.75, 0.25]]
    """
    if not 0 <= label_smoothing <= 1:
        raise TensorError(
            f"label_smoothing must be between 0.0 and 1.0. Got: {float(label_smoothing):.6g}",
            hint=f"label_smoothing={max(0.0, min(label_smoothing / 100, 1.0)):g}",
        )
    reduction = legacy_reduction(size_average, reduce, reduction)
    shape = input.shape
    scores = log_softmax(input, 0 if len(shape) == 1 else 1)
    if target.shape == shape and target.dtype.is_floating_point:
        return probability_loss(scores, target, weight, reduction, label_smoothing)
    return class_loss(scores, target, weight, ignore_index, reduction, label_smoothing)


# -- margins between scores ------------------------------------------
def as_batch(name: str, x, target, classwise: bool) -> tuple[Any, Any]:
    """Return scores and targets, of one class or `classwise`, for each entry of a batch; scores without dimensions are
    those of one class."""
    shape, given = aval_of(x).shape, aval_of(target).shape
    if len(shape) > 2 or 0 in shape[1 if len(shape) > 1 else 0 :]:
        raise TensorError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}",
            hint=f"{name} takes the scores of the classes in the last of one or two dimensions",
        )
    rows, count = (1, *(shape or (1,)))[-2:]
    wanted = (rows, count) if classwise else (rows,)
    if aval_of(target).size != prod(wanted) or len(given) > max(len(shape), 1):
        raise TensorError(
            f"inconsistent target size: {list(given)} for input of size: {list(shape)}",
            hint=shape_hint("target", given, wanted),
        )
    return ops.reshape(x, shape=(rows, count)), ops.reshape(target, shape=wanted)


@loss("input target weight", promote=None)
def multi_margin_loss(
    input, target, p: int = 1, margin: float = 1.0, weight=None, reduction: str = "mean"
) -> Any:
    """The mean over the classes i other than the target of max(margin − x[target] + xᵢ, 0)ᵖ."""
    if p not in (1, 2):
        raise ArgumentValueError("only p == 1 and p == 2 supported", hint="p=1 or p=2")
    shape = aval_of(target).shape
    x, target = as_batch("multi_margin_loss", input, target, False)
    count = aval_of(x).shape[1]
    if isinstance(target, np.ndarray) and ((target < 0) | (target >= count)).any():
        raise TensorError("target out of range", hint=f"there are {count} classes, from 0 on")
    gaps = margin - ops.restore_axes(target_scores(x, target), x.shape, (1,)) + x
    terms = ops.where(ops.less_equal(gaps, 0), 0, gaps)
    terms = terms if p == 1 else terms * terms
    own = ops.equal(np.arange(count), ops.restore_axes(target, x.shape, (1,)))
    losses = ops.reduce_sum(ops.where(own, 0, terms), axes=(1,)) / count
    if weight is not None:
        losses = losses * ops.getitem(weight, target, index=(ops.ARRAY,))
    return reduce_losses(ops.reshape(losses, shape=shape), reduction)


@loss(promote=None)
def multilabel_margin_loss(input, target, reduction: str = "mean") -> Any:
    """The margin loss of several labels: Σ max(1 − (x[j] − xᵢ), 0) over the target classes j, which end at the
    first −1, and all classes i that are none, divided by the number of classes."""
    x, target = as_batch("multilabel_margin_loss", input, target, True)
    n, count = aval_of(x).shape
    ended = ops.cumsum(ops.convert(ops.less(target, 0), dtype=np.dtype(int)), axis=1)
    valid = ops.equal(ended, 0)
    places = ops.where(valid, target, 0)
    is_target = ops.reduce_any(
        ops.logical_and(
            ops.equal(ops.reshape(places, shape=(n, count, 1)), np.arange(count)),
            ops.reshape(valid, shape=(n, count, 1)),
        ),
        axes=(1,),
    )
    gaps = (
        1
        - ops.reshape(ops.take_along(x, places, 1), shape=(n, count, 1))
        + ops.reshape(x, shape=(n, 1, count))
    )
    pairs = ops.logical_and(
        ops.reshape(valid, shape=(n, count, 1)), ops.logical_not(ops.reshape(is_target, shape=(n, 1, count)))
    )
    terms = ops.where(ops.logical_and(pairs, ops.greater(gaps, 0)), gaps, 0)
    losses = ops.reduce_sum(terms, axes=(1, 2)) / count
    return reduce_losses(ops.reshape(losses, shape=aval_of(input).shape[:-1]), reduction)


@loss("input target weight")
def multilabel_soft_margin_loss(input, target, weight=None, reduction: str = "mean") -> Any:
    """The mean over the classes of the entropy of sigmoid(x) against 0 or 1."""
    terms = target * ops.softplus(ops.negative(input)) + (1 - target) * ops.softplus(input)
    if weight is not None:
        terms = terms * weight
    losses = ops.reduce_sum(terms, axes=(aval_of(terms).ndim - 1,)) / aval_of(input).shape[-1]
    return reduce_losses(losses, reduction)


# -- classes as vectors ------------------------------------------
def one_hot_arguments(input, num_classes: int = -1) -> Any:
    """The classes are checked, and counted where their number is not given."""
    aval = aval_of(input._fx_value)
    if kind_of(aval.dtype) != "i" or aval.dtype.itemsize != 8:
        raise TensorError("one_hot is only applicable to index tensor of type LongTensor.", hint="x.long()")
    if num_classes == -1 or not isinstance(input._fx_value, Tracer):
        classes = concretize(input._fx_value, "one_hot")
        if num_classes == -1 and not aval.size:
            raise TensorError(
                "Can not infer total number of classes from empty tensor.", hint="num_classes=…"
            )
        if aval.size:
            low, high = int(classes.min()), int(classes.max())
            if low < 0:
                raise TensorError("Class values must be non-negative.", hint="x.clamp(min=0), or x - x.min()")
            if num_classes == -1:
                num_classes = high + 1
            if high >= num_classes:
                raise TensorError(
                    "Class values must be smaller than num_classes.",
                    hint=f"num_classes={high + 1}, or num_classes=-1, which counts them",
                )
    return (input,), {"num_classes": num_classes}


@operation(arguments=one_hot_arguments, spaces="nn.functional", out=False)
def one_hot(input, num_classes: int) -> Any:
    """Vectors with 1 at the class, along a new last dimension; without a number of classes there are as many as needed.

    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]), 3).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    places = ops.reshape(input, shape=(*aval_of(input).shape, 1))
    return ops.convert(ops.equal(places, np.arange(num_classes)), dtype=np.dtype(np.int64))


@expose("nn.functional")
def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options=None,
) -> Any:
    """The cross entropy of classes whose scores are a linear map of the input.

    Args:
        input: (N, size) or (size,).
        linear_weight: (classes, size), or (classes, *places, size) where each place has a class of its own.
        target: classes (N, *places), or probabilities (N, classes, *places).
        linear_bias: (classes, *places), or None.
        weight, reduction, label_smoothing: see `cross_entropy`.
        ignore_index: the class that does not count; −100 where none is given.
        options: accepted; they concern the memory that torch needs.

    Raises:
        RuntimeError: shapes that do not fit, or a class to ignore among probabilities.

    >>> x, w = torch.zeros(2, 3), torch.zeros(4, 3)
    >>> torch.nn.functional.linear_cross_entropy(x, w, torch.tensor([0, 3])).exp().item()
    4.0
    """
    if input.ndim not in (1, 2):
        raise TensorError(
            f"expected input with dimensionality 1 or 2, got {input.ndim}",
            hint="x.flatten(0, -2)" if input.ndim else "x.reshape(1)",
        )
    if linear_weight.ndim < 2:
        raise TensorError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}",
            hint="linear_weight.unsqueeze(0), one class",
        )
    classes, *places, size = linear_weight.shape
    if input.shape[-1] != size:
        raise TensorError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {size}, respectively",
            hint="linear_weight.movedim(…): (classes, …, in_features)"
            if input.shape[-1] not in linear_weight.shape[:1]
            else "linear_weight.mT, (classes, in_features)",
        )
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *places):
        raise TensorError(
            f"expected linear_bias shape {(classes, *places)}, got {tuple(linear_bias.shape)}",
            hint=shape_hint("linear_bias", linear_bias.shape, (classes, *places)),
        )
    if places and input.ndim == 1:
        raise TensorError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {size}), got unbatched input with shape {tuple(input.shape)}",
            hint="input.unsqueeze(0)",
        )
    shape = (*input.shape[:-1], classes, *places)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise TensorError(
            "ignore_index cannot be specified when target contains probabilities",
            hint="ignore_index=None; weight=… with 0 for that class",
        )
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape(-1, size), bias).reshape(shape)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        scores,
        target,
        weight,
        ignore_index=ignored,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
