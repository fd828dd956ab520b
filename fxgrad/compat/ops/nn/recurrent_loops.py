"""Recurrent layers on plain arrays, with explicit forward and backward loops over time.

Anything but plain arrays uses a scan, which computes the same. Here a step takes as few NumPy calls as possible, work
that does not depend on the state is done for all times at once, and a new length needs no compilation. In packed
sequences, the longest first, only unfinished sequences take a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....extend import OperandPullback, dot, native_function
from ..._core.tape import no_copy
from ..._declare.composite import Composite, needs_gradient

DTYPES = {np.dtype("f4"), np.dtype("f8")}


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
    """The values that a loop keeps: `states` and `cells` (steps + 1, batch, size) before and after each step; by time,
    `gates` after their functions and `inner`, tanh(c) of LSTM, what the state gives to n of GRU."""

    __slots__ = ("cells", "counts", "gates", "inner", "states", "times")

    def __init__(self, states: np.ndarray, gates: np.ndarray, times: range, counts: Sequence[int]):
        self.states, self.gates = states, gates
        self.cells: Any = None
        self.inner: Any = None
        self.times = times  # of the steps
        self.counts = counts  # how many sequences take each step


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
    steps, batch, width = given.input.shape
    size, dtype = given.h.shape[1], given.input.dtype
    gates = dot(given.input.reshape(steps * batch, width), arrange_gates(kind, given.weight_ih).T)
    gates = gates.reshape(steps, batch, len(given.weight_ih))
    bias = None
    if given.bias_ih is not None:
        if kind == "gru":  # whose gate r multiplies the bias of the state
            bias = arrange_gates(kind, given.bias_hh)
            gates += arrange_gates(kind, given.bias_ih)
        else:
            gates += arrange_gates(kind, given.bias_ih + given.bias_hh)
    states = np.empty((steps + 1, batch, size), dtype)
    states[0] = given.h
    lengths = given.lengths
    times = range(steps)[:: -1 if reverse else 1]
    counts = [batch if lengths is None else int(np.count_nonzero(lengths > t)) for t in times]
    trace = Trace(states, gates, times, counts)
    if kind == "lstm":
        trace.cells = np.empty_like(states)
        trace.cells[0] = given.c
    if kind in ("lstm", "gru"):
        trace.inner = np.empty((steps, batch, size), dtype)
    weight = np.ascontiguousarray(arrange_gates(kind, given.weight_hh).T)
    if kind == "lstm":
        run = native_function("lstm.run_forward")
        if run(times, np.array(counts, np.int64), gates, weight, states, trace.cells, trace.inner):
            return trace
    step = STEPS[kind]
    for k, (t, n) in enumerate(zip(times, counts)):
        a = gates[t, :n]
        recurrent = dot(states[k, :n], weight)
        step(trace, k, t, n, a, recurrent if bias is None else recurrent + bias)
        if n < batch:
            for rows in (states, trace.cells):
                if rows is not None:
                    rows[k + 1, n:] = rows[k, n:]
    return trace


# -- one step: what the first n sequences have at time t after step k, by what input and state give ------------------
def take_tanh_step(trace: Trace, k: int, t: int, n: int, a: np.ndarray, recurrent: np.ndarray) -> None:
    a += recurrent
    np.tanh(a, out=a)
    trace.states[k + 1, :n] = a


def take_relu_step(trace: Trace, k: int, t: int, n: int, a: np.ndarray, recurrent: np.ndarray) -> None:
    a += recurrent
    np.maximum(a, 0, out=a)
    trace.states[k + 1, :n] = a


def take_lstm_step(trace: Trace, k: int, t: int, n: int, a: np.ndarray, recurrent: np.ndarray) -> None:
    size = a.shape[1] // 4
    a += recurrent
    finish_sigmoid(a[:, : 3 * size])
    g = a[:, 3 * size :]
    np.tanh(g, out=g)
    c, y = trace.cells[k + 1, :n], trace.inner[t, :n]
    np.multiply(a[:, 2 * size : 3 * size], trace.cells[k, :n], out=c)
    c += a[:, size : 2 * size] * g
    np.tanh(c, out=y)
    np.multiply(a[:, :size], y, out=trace.states[k + 1, :n])


def take_gru_step(trace: Trace, k: int, t: int, n: int, a: np.ndarray, recurrent: np.ndarray) -> None:
    size = a.shape[1] // 3
    both, new, given = a[:, : 2 * size], a[:, 2 * size :], recurrent[:, 2 * size :]
    both += recurrent[:, : 2 * size]
    finish_sigmoid(both)
    trace.inner[t, :n] = given
    new += both[:, :size] * given
    np.tanh(new, out=new)
    after = trace.states[k + 1, :n]
    np.subtract(trace.states[k, :n], new, out=after)
    after *= both[:, size:]
    after += new


STEPS: dict[str, Callable[..., None]] = {
    "rnn_tanh": take_tanh_step,
    "rnn_relu": take_relu_step,
    "lstm": take_lstm_step,
    "gru": take_gru_step,
}


# -- back ------------------------------------------
def before_steps(trace: Trace, rows: np.ndarray) -> np.ndarray:
    """The rows before each step, by time."""
    return rows[:-1] if trace.times.step == 1 else rows[-2::-1]


def after_steps(trace: Trace, rows: np.ndarray) -> np.ndarray:
    """The rows after each step, by time."""
    return rows[1:] if trace.times.step == 1 else rows[:0:-1]


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
    slopes[2] *= before_steps(trace, trace.cells)
    np.multiply(i, 1 - g * g, out=slopes[3])
    return found, o * (1 - y * y)


def gru_slopes(trace: Trace, kind: str) -> tuple[np.ndarray, Any]:
    size = trace.inner.shape[2]
    found = np.empty_like(trace.gates)
    (r, z, n), slopes = split_columns(trace.gates, size), split_columns(found, size)
    np.multiply(trace.inner * r, 1 - r, out=slopes[0])
    np.multiply((before_steps(trace, trace.states) - n) * z, 1 - z, out=slopes[1])
    np.multiply(1 - z, 1 - n * n, out=slopes[2])
    return found, None


SLOPES = {"rnn_tanh": rnn_slopes, "rnn_relu": rnn_slopes, "lstm": lstm_slopes, "gru": gru_slopes}


def run_back(
    kind: str, trace: Trace, weight: np.ndarray, cts: dict[int, Any]
) -> tuple[np.ndarray, Any, Any, Any]:
    """Run the loop backward: return the cotangents of (the input's contributions, the state's contributions if they are
    separate, the first h, the first c)."""
    make = np.empty_like if min(trace.counts) == trace.gates.shape[1] else np.zeros_like
    d = make(trace.gates)
    d_state = make(trace.gates) if kind == "gru" else d
    outer = cts.get(0)
    dh = np.array(cts[1], order="C") if 1 in cts else np.zeros_like(trace.states[0])
    dc = None
    if kind == "lstm":
        dc = np.array(cts[2], order="C") if 2 in cts else np.zeros_like(dh)
        weight = np.ascontiguousarray(weight)
        outer = None if outer is None else np.ascontiguousarray(outer)
        rows = trace.gates, weight, trace.cells, trace.inner, outer, d, dh, dc
        if native_function("lstm.run_back")(trace.times, np.array(trace.counts, np.int64), *rows):
            return d, d_state, dh, dc
    (slopes, of_cell), size = SLOPES[kind](trace, kind), weight.shape[1]
    for t, n in zip(reversed(trace.times), reversed(trace.counts)):
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


# -- as the primitive of a declared operation ------------------------------------------
class LoopPullback(OperandPullback):
    """The pullback of a layer that a loop has computed. Its residuals are the operands and the Trace; what is more than
    arrays is pulled back through scans, from the operands."""

    def __init__(self, primitive: RecurrentLayer, needed: Sequence[Any], params: dict):
        self.primitive, self.params = primitive, params
        self.needed = tuple([n is not None for n in needed])

    def pull(self, ct: Any, values: Sequence[Any], trace: Trace) -> Sequence[Any]:
        """See `PullbackRule`."""
        primitive, needed = self.primitive, [True if n else None for n in self.needed]
        _, rule, residuals = primitive.vjp(primitive.call, values, needed, self.params, no_copy)
        return rule.pull(ct, *residuals)

    def pull_plain(self, cts: dict[int, Any], residuals: tuple) -> list[Any]:
        """See `PullbackRule`."""
        values, trace = residuals
        primitive = self.primitive
        with np.errstate(all="ignore"):
            found = self.cotangents(primitive.kind, primitive.arrange(values), trace, cts)
        return [found[name] if n else None for n, name in zip(self.needed, primitive.names)]

    def cotangents(self, kind: str, given: Operands, trace: Trace, cts: dict[int, Any]) -> dict[str, Any]:
        """The cotangents of the operands that need one, by name."""
        wanted = {name for n, name in zip(self.needed, self.primitive.names) if n}
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
            found["weight_hh"] = dot(
                states.T, before_steps(trace, trace.states).reshape(len(rows), dh.shape[1])
            )
        if "bias_ih" in wanted:
            found["bias_ih"] = rows.sum(0)
        if "bias_hh" in wanted:
            found["bias_hh"] = states.sum(0)
        return found


class LoopPlan:
    """The Plan of a layer on plain arrays."""

    __slots__ = ("params", "primitive", "rule")

    def __init__(self, primitive: RecurrentLayer, next_edges: Sequence[Any], params: dict):
        self.primitive, self.params = primitive, params
        self.rule = LoopPullback(primitive, next_edges, params) if needs_gradient(next_edges) else None

    def run(self, values: Sequence[Any], next_edges: Sequence[Any]) -> tuple[list[Any], Any, tuple]:
        """Return (results, pullback or None, residuals)."""
        primitive = self.primitive
        trace = run_loop(primitive.kind, primitive.arrange(values), self.params["reverse"])
        results = [after_steps(trace, trace.states).copy(), trace.states[-1].copy()]
        if trace.cells is not None:
            results.append(trace.cells[-1].copy())
        if self.rule is None:
            return results, None, ()
        return results, self.rule, (list(values), trace)


class RecurrentLayer(Composite):
    """A layer as a primitive of the tape: a scan, or a loop for arrays of one floating-point dtype."""

    in_single = False

    @property
    def kind(self) -> str:
        """The kind of its steps."""
        return self.name.removesuffix("_layer")

    @property
    def names(self) -> list[str]:
        """The names of the operands that are given."""
        return [name for name, there in zip(OPERANDS, self.pattern) if there]

    def formula(self, *values, **params) -> None:
        """None: the loop is faster than its steps, also in compiled Graphs."""

    def arrange(self, values: Sequence[Any]) -> Operands:
        """Arrange the operands that are given by their names."""
        return Operands(dict(zip(self.names, values)))

    def plan_for(self, values: Sequence[Any], next_edges: Sequence[Any], params: dict) -> Any:
        given = self.arrange(values)
        dtypes = {v.dtype for name, v in zip(self.names, values) if name != "lengths"}
        if len(dtypes) == 1 and dtypes <= DTYPES and given.weight_hr is None:
            return LoopPlan(self, next_edges, params)
        return super().plan_for(values, next_edges, params)
