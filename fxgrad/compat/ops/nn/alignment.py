"""The connectionist temporal classification loss, which sums over all alignments of a sequence with a shorter one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....extend import aval_of, concretize, ops
from ..._core.tensor import Tensor, refresh
from ..._declare.operation import operation
from ..._declare.spaces import SPACES, expose
from ...errors import TensorError
from .loss import check_reduction

LOG_ZERO = -1e30  # the logarithm of what is impossible, with which one can still compute


def log_sum_exp(*terms) -> Any:
    """log Σ exp(term)."""
    most: Any = ops.stop_gradient(terms[0])
    for term in terms[1:]:
        most = ops.maximum(most, ops.stop_gradient(term))
    total: Any = None
    for term in terms:
        share = ops.exp(term - most)
        total = share if total is None else total + share
    return most + ops.log(total)


def shift_states(states, by: int) -> Any:
    """Shift states to higher numbers; the first ones become impossible."""
    count = aval_of(states).shape[0]
    impossible = np.full((count, by), LOG_ZERO, aval_of(states).dtype)
    return ops.concatenate(impossible, ops.getitem(states, index=(slice(None), slice(None, -by))), axis=1)


@operation(
    "log_probs labels skips input_lengths ends",
    spaces="",
    name="_ctc_loss",
    node="CtcLossBackward0",
    out=False,
)
def ctc_loss_values(log_probs, labels, skips, input_lengths, ends) -> Any:
    """The losses -log P of sequences of states: labels with a blank before, between and behind them.

    Args:
        log_probs: (T, N, C).
        labels: (N, L), those of the states.
        skips: (N, L), whether a state may follow on the last but one.
        input_lengths: (N,).
        ends: (N,), the number of the last state.
    """
    dtype = aval_of(log_probs).dtype
    steps, count, _ = aval_of(log_probs).shape
    length = aval_of(labels).shape[1]
    spread = ops.broadcast_to(ops.reshape(labels, shape=(1, count, length)), shape=(steps, count, length))
    seen = ops.take_along(log_probs, spread, axis=2)
    first = ops.less(np.arange(length)[None], ops.minimum(ops.reshape(ends, shape=(count, 1)), 1) + 1)
    states = ops.where(first, ops.getitem(seen, index=(0,)), np.asarray(LOG_ZERO, dtype))
    for step in range(1, steps):
        ways = [states, shift_states(states, 1)]
        if length > 2:
            ways.append(ops.where(skips, shift_states(states, 2), np.asarray(LOG_ZERO, dtype)))
        after = log_sum_exp(*ways) + ops.getitem(seen, index=(step,))
        goes_on = ops.reshape(ops.less(step, input_lengths), shape=(count, 1))
        states = ops.where(goes_on, after, states)
    last = ops.take_along(states, ops.reshape(ends, shape=(count, 1)), axis=1)
    before = ops.take_along(states, ops.reshape(ops.maximum(ends - 1, 0), shape=(count, 1)), axis=1)
    before = ops.where(
        ops.reshape(ops.greater(ends, 0), shape=(count, 1)), before, np.asarray(LOG_ZERO, dtype)
    )
    losses = ops.reshape(-log_sum_exp(last, before), shape=(count,))
    return ops.where(ops.greater(losses, -LOG_ZERO / 2), np.asarray(np.inf, dtype), losses)


def as_integers(given) -> np.ndarray:
    """Convert a Tensor or a sequence to an array of integers."""
    return np.asarray(
        concretize(refresh(given)._fx_value, "ctc_loss") if isinstance(given, Tensor) else given, np.int64
    )


@expose("nn.functional")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths,
    target_lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The loss of connectionist temporal classification: -log of the probability that a sequence of classes, without
    its blanks and repetitions, is the target.

    The derivative is that of the function; torch's supposes that `log_probs` come out of `log_softmax`, and is the same
    behind that.

    Args:
        log_probs: (T, N, C) or (T, C), logarithms of the probabilities of C classes at T times.
        targets: (N, S), or all of them one after the other.
        input_lengths, target_lengths: (N,), how much of each counts.
        blank: the class that is no label.
        reduction: "none", "sum", or "mean": of the losses divided by the lengths of the targets.
        zero_infinity: 0 where no alignment is possible, instead of infinity.

    >>> even = torch.full((2, 1, 2), 0.5).log()
    >>> torch.nn.functional.ctc_loss(even, torch.tensor([[1]]), [2], [1]).exp().item()
    1.3333333730697632
    """
    check_reduction(reduction)
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    steps, count, classes = log_probs.shape
    times, sizes = np.atleast_1d(as_integers(input_lengths)), np.atleast_1d(as_integers(target_lengths))
    if not 0 <= blank < classes:
        raise TensorError(
            "blank must be in label range",
            hint=f"blank={classes - 1}, the last class, or a class more in log_probs"
            if classes
            else "log_probs of one class or more",
        )
    for name, lengths in (("input_lengths", times), ("target_lengths", sizes)):
        if len(lengths) != count:
            raise TensorError(
                f"{name} must be of size batch_size",
                hint=f"{name} of {count} entries, the size of the batch, which is log_probs.shape[1]",
            )
    if times.max(initial=0) > steps:
        n = int(times.argmax())
        raise TensorError(
            f"Expected input_lengths to have value at most {steps}, but got value {times[n]} (while checking arguments "
            "for ctc_loss_allocate_outputs)",
            hint=f"input_lengths.clamp(max={steps}); log_probs is (time, batch, classes)",
        )
    given = as_integers(targets)
    longest = sizes.max(initial=0)
    if given.ndim > 1 and longest > given.shape[1]:
        raise TensorError(
            f"Expected tensor to have size at least {longest} at dimension 1, but got size {given.shape[1]} for "
            "argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)",
            hint=f"target_lengths.clamp(max={given.shape[1]}); targets is (batch, labels)",
        )
    if given.ndim == 1:
        parts = np.split(given[: sizes.sum()], np.cumsum(sizes)[:-1])
    else:
        parts = [row[:size] for row, size in zip(given, sizes)]
    labels = np.full((count, 2 * longest + 1), blank)
    for row, part in zip(labels, parts):
        row[1 : 2 * len(part) : 2] = part
    skips = np.zeros(labels.shape, bool)
    skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    losses = ctc_loss_values(log_probs, labels, skips, times, 2 * sizes)
    torch = SPACES["function"]
    if zero_infinity:
        losses = torch["where"](torch["isinf"](losses), torch["zeros_like"](losses), losses)
    if reduction == "mean":
        return (losses / torch["from_numpy"](np.maximum(sizes, 1)).to(losses.dtype)).mean()
    return losses.sum() if reduction == "sum" else losses.squeeze(0) if single else losses
