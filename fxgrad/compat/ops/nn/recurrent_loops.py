"""Recurrent layers on plain arrays, with explicit forward and backward loops over time.

Anything but plain arrays uses a scan, which computes the same. Here a step takes as few NumPy calls as possible, work
that does not depend on the state is done for all times at once, and a new length needs no compilation. In packed
sequences, the longest first, only unfinished sequences take a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....extend import dot, native_function

GATED = {"lstm", "gru"}  # the kinds with a loop of machine code


OPERANDS = ("input", "h", "c", "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr", "lengths")


class Operands:
    """The operands of a layer, None for those that are not given."""

    __slots__ = OPERANDS
    input: Any
    h: Any
    c: Any
    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any
    weight_hr: Any
    lengths: Any

    def __init__(self, given: dict[str, Any]):
        for name in OPERANDS:
            setattr(self, name, given.get(name))


class Trace:
    """The values that a loop keeps, by time: `states` and `cells` (steps + 1, batch, size) before and after each step,
    the first ones at the end where time runs backward; `gates` after their functions; `inner`, which is tanh(c) of
    LSTM, and of GRU what the state gives to n."""

    def __init__(self, kind: str, given: Operands, reverse: bool, arrays: Sequence[np.ndarray] = ()):
        steps, batch, _ = given.input.shape
        size, lengths = given.h.shape[1], given.lengths
        self.reverse, self.times = reverse, range(steps)[:: -1 if reverse else 1]
        active = steps * [batch] if lengths is None else [np.count_nonzero(lengths > t) for t in self.times]
        self.counts = np.array(active, np.int64)  # how many sequences take each step
        self.cells: Any = None
        self.inner: Any = None
        if arrays:
            self.states, self.gates, *rest = arrays
        else:
            self.states = self.start_with(given.h)
            self.gates = np.empty((steps, batch, len(given.weight_ih)), given.h.dtype)
            rest = [np.empty((steps, batch, size), given.h.dtype)] if kind in GATED else []
            rest += [self.start_with(given.c)] if kind == "lstm" else []
        if rest:
            self.inner, *rest = rest
        if rest:
            (self.cells,) = rest

    def arrays(self) -> list[np.ndarray]:
        """Return the arrays that are kept."""
        return [v for v in (self.states, self.gates, self.inner, self.cells) if v is not None]

    def start_with(self, first: np.ndarray) -> np.ndarray:
        """Return rows, of which the one before the first step is given."""
        rows = np.empty((len(self.times) + 1, *first.shape), first.dtype)
        rows[-1 if self.reverse else 0] = first
        return rows

    def before_steps(self, rows: np.ndarray) -> np.ndarray:
        """The rows before the step at each time."""
        return rows[1:] if self.reverse else rows[:-1]

    def after_steps(self, rows: np.ndarray) -> np.ndarray:
        """The rows after the step at each time."""
        return rows[:-1] if self.reverse else rows[1:]

    def results(self) -> list[np.ndarray]:
        """Return the results of the layer: the states, the last one, and the last cell if there is one."""
        last = [v[0 if self.reverse else -1].copy() for v in (self.states, self.cells) if v is not None]
        return [self.after_steps(self.states).copy(), *last]


def arrange_gates(kind: str, rows: np.ndarray) -> np.ndarray:
    """Arrange the rows of a weight or bias by gates in the order of the loop: the gates of σ first and negated, because
    σ(x) is 1/(1 + exp(−x)). Of LSTM o, i, f, g, as the loop back reads them; of GRU r, z, n."""
    if kind == "lstm":
        size = len(rows) // 4
        return np.concatenate([-rows[3 * size :], -rows[: 2 * size], rows[2 * size : 3 * size]])
    if kind == "gru":
        size = len(rows) // 3
        return np.concatenate([-rows[: 2 * size], rows[2 * size :]])
    return rows


def finish_sigmoid(x: np.ndarray) -> None:
    """1/(1 + exp(x)), in place."""
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


def run_loop(kind: str, given: Operands, reverse: bool) -> Trace:
    """Run the loop of a layer."""
    trace = Trace(kind, given, reverse)
    gates = trace.gates
    steps, batch, width = given.input.shape
    weight = arrange_gates(kind, given.weight_ih).T
    dot(given.input.reshape(steps * batch, width), weight, gates.reshape(steps * batch, gates.shape[2]))
    bias = np.zeros(weight.shape[1], gates.dtype)
    if given.bias_ih is not None:
        if kind == "gru":  # whose gate r multiplies the bias of the state
            bias = arrange_gates(kind, given.bias_hh)
            gates += arrange_gates(kind, given.bias_ih)
        else:
            gates += arrange_gates(kind, given.bias_ih + given.bias_hh)
    weight = np.ascontiguousarray(arrange_gates(kind, given.weight_hh).T)
    known = trace.times, trace.counts, weight, gates
    if kind == "lstm":
        if native_function("lstm.run_forward")(*known, trace.states, trace.cells, trace.inner):
            return trace
    elif kind == "gru" and native_function("gru.run_forward")(*known, bias, trace.states, trace.inner):
        return trace
    step = STEPS[kind]
    kept = [
        (trace.before_steps(v), trace.after_steps(v)) for v in (trace.states, trace.cells) if v is not None
    ]
    for t, n in zip(trace.times, trace.counts):
        recurrent = dot(kept[0][0][t, :n], weight)
        recurrent += bias
        inner = None if trace.inner is None else trace.inner[t, :n]
        step(gates[t, :n], recurrent, inner, *[v[t, :n] for pair in kept for v in pair])
        for before, after in kept if n < batch else ():
            after[t, n:] = before[t, n:]
    return trace


# -- one step: fill gates a, `inner`, and the rows after it, from what input and state give, and the rows before it
def take_tanh_step(a: np.ndarray, recurrent: np.ndarray, inner: None, h, next_h) -> None:
    a += recurrent
    np.tanh(a, out=a)
    next_h[:] = a


def take_relu_step(a: np.ndarray, recurrent: np.ndarray, inner: None, h, next_h) -> None:
    a += recurrent
    np.maximum(a, 0, out=a)
    next_h[:] = a


def take_lstm_step(a: np.ndarray, recurrent: np.ndarray, inner: np.ndarray, h, next_h, c, next_c) -> None:
    size = a.shape[1] // 4
    a += recurrent
    finish_sigmoid(a[:, : 3 * size])
    g = a[:, 3 * size :]
    np.tanh(g, out=g)
    np.multiply(a[:, 2 * size : 3 * size], c, out=next_c)
    next_c += a[:, size : 2 * size] * g
    np.tanh(next_c, out=inner)
    np.multiply(a[:, :size], inner, out=next_h)


def take_gru_step(a: np.ndarray, recurrent: np.ndarray, inner: np.ndarray, h, next_h) -> None:
    size = a.shape[1] // 3
    both, new = a[:, : 2 * size], a[:, 2 * size :]
    both += recurrent[:, : 2 * size]
    finish_sigmoid(both)
    inner[:] = recurrent[:, 2 * size :]
    new += both[:, :size] * inner
    np.tanh(new, out=new)
    np.subtract(h, new, out=next_h)
    next_h *= both[:, size:]
    next_h += new


STEPS: dict[str, Callable[..., None]] = {
    "rnn_tanh": take_tanh_step,
    "rnn_relu": take_relu_step,
    "lstm": take_lstm_step,
    "gru": take_gru_step,
}


# -- back ------------------------------------------
# -- slopes, by time: (the derivatives of the states in what the gates are functions of, or of c for the last three of
# LSTM; what c gets of h)
def split_columns(rows: np.ndarray, size: int) -> list[np.ndarray]:
    """The parts of so many columns."""
    return [rows[:, :, start : start + size] for start in range(0, rows.shape[2], size)]


def rnn_slopes(trace: Trace, kind: str) -> tuple[np.ndarray, Any]:
    y = trace.gates
    return 1 - y * y if kind == "rnn_tanh" else (y > 0).astype(y.dtype), None


def lstm_slopes(trace: Trace, kind: str) -> tuple[np.ndarray, Any]:
    y, size = trace.inner, trace.inner.shape[2]
    found = np.subtract(1, trace.gates)
    found *= trace.gates
    o, i, _, g = split_columns(trace.gates, size)
    slopes = split_columns(found, size)
    slopes[0] *= y
    slopes[1] *= g
    slopes[2] *= trace.before_steps(trace.cells)
    np.multiply(i, 1 - g * g, out=slopes[3])
    return found, o * (1 - y * y)


def gru_slopes(trace: Trace, kind: str) -> tuple[np.ndarray, Any]:
    size = trace.inner.shape[2]
    found = np.empty_like(trace.gates)
    (r, z, n), slopes = split_columns(trace.gates, size), split_columns(found, size)
    np.multiply(trace.inner * r, 1 - r, out=slopes[0])
    np.multiply((trace.before_steps(trace.states) - n) * z, 1 - z, out=slopes[1])
    np.multiply(1 - z, 1 - n * n, out=slopes[2])
    return found, None


SLOPES = {"rnn_tanh": rnn_slopes, "rnn_relu": rnn_slopes, "lstm": lstm_slopes, "gru": gru_slopes}


def run_back(
    kind: str, trace: Trace, weight: np.ndarray, cts: dict[int, Any]
) -> tuple[np.ndarray, Any, Any, Any]:
    """Run the loop backward: return the cotangents of (the input's contributions, the state's contributions if they are
    separate, the first h, the first c)."""
    make = np.empty_like if trace.counts.min() == trace.gates.shape[1] else np.zeros_like
    d = make(trace.gates)
    d_state = make(trace.gates) if kind == "gru" else d
    outer = cts.get(0)
    dh = np.array(cts[1], order="C") if 1 in cts else np.zeros_like(trace.states[0])
    dc = None
    outer = None if outer is None else np.ascontiguousarray(outer)
    weight = np.ascontiguousarray(weight)
    known = trace.times, trace.counts, weight, trace.gates
    if kind == "lstm":
        dc = np.array(cts[2], order="C") if 2 in cts else np.zeros_like(dh)
        if native_function("lstm.run_back")(*known, trace.cells, trace.inner, outer, d, dh, dc):
            return d, d_state, dh, dc
    elif kind == "gru":
        rows = trace.states, trace.inner, outer, d, d_state, dh
        if native_function("gru.run_back")(*known, *rows):
            return d, d_state, dh, dc
    (slopes, of_cell), size = SLOPES[kind](trace, kind), weight.shape[1]
    for t, n in zip(trace.times[::-1], trace.counts[::-1]):
        if outer is not None:
            dh += outer[t]
        u, du = dh[:n], d[t, :n]
        if kind == "lstm":
            v = dc[:n]  # type: ignore[index]
            v += u * of_cell[t, :n]
            step = slopes[t, :n]
            np.multiply(u, step[:, :size], out=du[:, 3 * size :])
            others = step[:, size:].reshape(n, 3, size)
            np.multiply(v[:, None], others, out=du[:, : 3 * size].reshape(n, 3, size))
            v *= trace.gates[t, :n, 2 * size : 3 * size]
            dh[:n] = dot(du, weight)
        elif kind == "gru":
            step = slopes[t, :n]
            ds = d_state[t, :n]
            np.multiply(u[:, None], step[:, size:].reshape(n, 2, size), out=du[:, size:].reshape(n, 2, size))
            np.multiply(du[:, 2 * size :], step[:, :size], out=du[:, :size])
            ds[:, : 2 * size] = du[:, : 2 * size]
            np.multiply(du[:, 2 * size :], trace.gates[t, :n, :size], out=ds[:, 2 * size :])
            u *= trace.gates[t, :n, size : 2 * size]
            u += dot(ds, weight)
        else:
            np.multiply(u, slopes[t, :n], out=du)
            dh[:n] = dot(du, weight)
    return d, d_state, dh, dc


def pull_back(
    kind: str, given: Operands, trace: Trace, cts: dict[int, Any], wanted: Sequence[str]
) -> list[np.ndarray]:
    """Return the cotangents of the operands of these names, for those of the results, by their positions."""
    d, d_state, dh, dc = run_back(kind, trace, given.weight_hh, cts)
    x = given.input
    steps, batch, width = d.shape
    rows, states = d.reshape(steps * batch, width), d_state.reshape(steps * batch, width)
    found = {"h": dh, "c": dc}
    if "input" in wanted:
        found["input"] = dot(rows, given.weight_ih).reshape(x.shape)
    if "weight_ih" in wanted:
        found["weight_ih"] = dot(rows.T, x.reshape(len(rows), x.shape[2]))
    if "weight_hh" in wanted:
        found["weight_hh"] = dot(states.T, trace.before_steps(trace.states).reshape(len(rows), dh.shape[1]))
    if "bias_ih" in wanted:
        found["bias_ih"] = rows.sum(0)
    if "bias_hh" in wanted:
        found["bias_hh"] = states.sum(0)
    return [found[name] for name in wanted]
