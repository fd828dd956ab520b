"""Recurrent layers: a step repeated along a sequence, as one operation for each layer and direction.

The part of a step that does not depend on the state, input @ weight_ihᵀ + bias, is one product for the whole sequence;
the steps are a scan (`control.loops`), whose derivatives of all orders are scans again. Sources: Elman, 1990,
doi:10.1207/s15516709cog1402_1 (RNN); Hochreiter and Schmidhuber, 1997, doi:10.1162/neco.1997.9.8.1735, with forget
gates by Gers et al., 2000, and projections by Sak et al., 2014, arXiv:1402.1128 (LSTM); Cho et al., 2014,
arXiv:1406.1078 (GRU).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ....extend import Aval, Cache, Graph, aval_of, ops, stage
from ..._core.tensor import wrap
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ...errors import TensorError
from ..joining import cat, stack
from .dropout import dropout as drop_entries
from .packing import pad_packed, unpad_packed
from .recurrent_layer import RecurrentLayer


def apply_rows(x, weight) -> Any:
    """x @ weightᵀ, for rows or sequences of rows."""
    head = "ab"[: aval_of(x).ndim - 1]
    return ops.contract(x, weight, spec=f"{head}Z,YZ->{head}Y")


def split_gates(x, count: int) -> list[Any]:
    """The gates that lie one after the other along the last axis."""
    head, total = (slice(None, None, None),) * (aval_of(x).ndim - 1), aval_of(x).shape[-1]
    width = total // count
    return [ops.getitem(x, index=(*head, slice(i, i + width, None))) for i in range(0, total, width)]


# -- a step: (what the input gives, state, weight_hh, bias_hh, weight_hr) → the next state ----------------------
def lstm_step(x, state: list[Any], weight, bias, projection) -> list[Any]:
    h, c = state
    i, f, g, o = split_gates(x + apply_rows(h, weight), 4)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    h = ops.sigmoid(o) * ops.tanh(c)
    return [h if projection is None else apply_rows(h, projection), c]


def gru_step(x, state: list[Any], weight, bias, projection) -> list[Any]:
    (h,) = state
    recurrent = apply_rows(h, weight)
    xr, xz, xn = split_gates(x, 3)
    hr, hz, hn = split_gates(recurrent if bias is None else recurrent + bias, 3)
    z = ops.sigmoid(xz + hz)
    n = ops.tanh(xn + ops.sigmoid(xr + hr) * hn)
    return [n + z * (h - n)]


STEPS: dict[str, Callable[..., list[Any]]] = {
    "rnn_tanh": lambda x, state, weight, *rest: [ops.tanh(x + apply_rows(state[0], weight))],
    "rnn_relu": lambda x, state, weight, *rest: [ops.relu(x + apply_rows(state[0], weight))],
    "lstm": lstm_step,
    "gru": gru_step,
}


def gates_of(kind: str, input, weight, bias, recurrent_bias) -> Any:
    """The contributions of the input to the gates of each step. The bias of the state is added to it, unless a gate
    multiplies that first."""
    x = apply_rows(input, weight)
    x = x if bias is None else x + bias
    return x if recurrent_bias is None or kind == "gru" else x + recurrent_bias


BODIES = Cache(256)


def stage_step(kind: str, consts: list[Any], state: list[Any], rows: list[Any]) -> Graph:
    """Stage a step from (the weights weight_hh, bias_hh, weight_hr that exist; the state; rows of the input's
    contributions and of whether the sequence continues) to (the next state; h)."""
    avals = [
        Aval(aval_of(v).shape, aval_of(v).dtype) for v in (*(c for c in consts if c is not None), *state)
    ]
    avals += [Aval(aval_of(v).shape[1:], aval_of(v).dtype) for v in rows]
    given = tuple([c is not None for c in consts])
    key = (kind, given, len(state), tuple(avals))
    if key not in BODIES:

        def step(*values) -> list[Any]:
            rest = iter(values)
            weight, bias, projection = [next(rest) if there else None for there in given]
            before = [next(rest) for _ in state]
            x, *goes_on = rest
            after = STEPS[kind](x, before, weight, bias, projection)
            for active in goes_on:  # sequences that have ended, or not begun, keep their state
                after = [ops.where(active, new, old) for new, old in zip(after, before)]
            return [*after, after[0]]

        BODIES[key] = stage(step, avals, kind, sites=False)
    return BODIES[key]


def declare_layer(kind: str) -> Any:
    """Declare one direction of one layer: (sequence of states h, the last h, the last c or none)."""

    def layer(
        input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, lengths, reverse: bool
    ) -> list[Any]:
        from ....extend import run_scan  # brings passes over Graphs with it

        steps, count, _ = aval_of(input).shape
        rows = [gates_of(kind, input, weight_ih, bias_ih, bias_hh)]
        if lengths is not None:
            times = np.arange(steps).reshape(steps, 1, 1)
            rows.append(ops.less(times, ops.reshape(lengths, shape=(1, count, 1))))
        consts, state = (
            [weight_hh, bias_hh if kind == "gru" else None, weight_hr],
            [h] if c is None else [h, c],
        )
        body = stage_step(kind, consts, state, rows)
        consts = [v for v in consts if v is not None]
        params = {"consts": len(consts), "carry": len(state), "length": steps, "reverse": reverse}
        *last, states = run_scan(steps, *consts, *state, *rows, body=body, **params)
        return [states, *last]

    layer.__doc__ = f"One direction of one layer of {kind}."
    return operation(
        "input h c weight_ih weight_hh bias_ih bias_hh weight_hr lengths",
        name=f"{kind}_layer",
        node=f"{kind.title().replace('_', '')}LayerBackward0",
        spaces="",
        out=False,
        results=tuple,
        by_value=False,
        composite=RecurrentLayer,
    )(layer)


LAYERS = {kind: declare_layer(kind) for kind in STEPS}


def declare_cell(kind: str) -> Any:
    """Declare one step of a batch: the next state."""
    step = STEPS[kind]

    def arguments(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Any:
        states = tuple(hx) if kind == "lstm" else (hx, None)
        for h in states[: 1 + (kind == "lstm")]:
            check_cell(input, h, w_ih, w_hh)
        return (input, *states, w_ih, w_hh, b_ih, b_hh), {}

    def cell(input, h, c, w_ih, w_hh, b_ih, b_hh) -> Any:
        following = step(
            gates_of(kind, input, w_ih, b_ih, b_hh), [h] if c is None else [h, c], w_hh, b_hh, None
        )
        return following if kind == "lstm" else following[0]

    cell.__doc__ = f"The state of {kind} after one step from the state `hx`."
    return operation(
        "input h c w_ih w_hh b_ih b_hh",
        name=f"{kind}_cell",
        spaces="function",
        out=False,
        results=tuple if kind == "lstm" else None,
        arguments=arguments,
    )(cell)


def check_cell(input, h, w_ih, w_hh) -> None:
    """Raise unless input and state have the sizes of the weights."""
    if input.shape[-1] != w_ih.shape[-1]:
        raise TensorError(
            f"input has inconsistent input_size: got {input.shape[-1]} expected {w_ih.shape[-1]}",
            hint=f"a cell of input_size={input.shape[-1]}",
        )
    if h.shape[-1] != w_hh.shape[-1]:
        raise TensorError(
            f"hidden0 has inconsistent hidden_size: got {h.shape[-1]}, expected {w_hh.shape[-1]}",
            hint=f"torch.zeros(batch, {w_hh.shape[-1]})",
        )
    if tuple(h.shape[:-1]) != tuple(input.shape[:-1]):
        raise TensorError(
            f"Input batch size {input.shape[0]} doesn't match hidden0 batch size {h.shape[0]}",
            hint="both are (batch, size)",
        )


CELLS = {kind: declare_cell(kind) for kind in STEPS}


# -- several layers and directions ------------------------------------------
def gather_weights(params: Sequence[Any], biases: bool, count: int) -> list[list[Any]]:
    """Group a flat list of parameters by `count` layers and directions: weight_ih, weight_hh, bias_ih, bias_hh and
    weight_hr, None for a missing one."""
    each = len(params) // count
    if each * count != len(params) or each - 2 * biases not in (2, 3):
        raise TensorError(
            f"{len(params)} parameters were given for {count} layers and directions",
            hint="each has weight_ih, weight_hh, then bias_ih, bias_hh, then weight_hr where there is one",
        )
    found: list[list[Any]] = []
    for start in range(0, len(params), each):
        own: list[Any] = list(params[start : start + each])
        last = own.pop() if len(own) % 2 else None
        found.append([*own, *[None] * (4 - len(own)), last])
    return found


def run_layers(
    kind: str,
    sequence: Any,
    hx: Any,
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    drop: Callable[[Any], Any] | None,
    bidirectional: bool,
    lengths: Any = None,
) -> tuple[Any, ...]:
    """Run all layers along a sequence (time, batch, size), with dropout between them if there is: (states of the last
    layer, last state of each)."""
    directions = 1 + bool(bidirectional)
    weights = gather_weights(params, bool(has_biases), num_layers * directions)
    starts = [h.unbind(0) for h in (hx if kind == "lstm" else (hx,))]
    lasts: list[list[Any]] = []
    for number in range(num_layers):
        outputs = []
        for direction in range(directions):
            place = number * directions + direction
            h, c = starts[0][place], starts[1][place] if kind == "lstm" else None
            w = weights[place]
            states, *last = LAYERS[kind](sequence, h, c, *w, lengths, direction == 1)
            outputs.append(states)
            lasts.append(last)
        sequence = outputs[0] if directions == 1 else cat(outputs, -1)
        if drop and number < num_layers - 1:
            sequence = drop(sequence)
    return sequence, *[stack(list(h)) for h in zip(*lasts)]


def declare_recurrence(kind: str) -> None:
    """Expose a recurrent network under torch's name, for sequences of one length and for packed sequences."""

    def run_padded(
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    ) -> tuple[Any, ...]:
        sequence = input.transpose(0, 1) if batch_first else input
        if not sequence.shape[0]:
            raise TensorError(
                "Expected sequence length to be larger than 0 in RNN",
                hint=f"batch_first={not batch_first}"
                if input.shape[batch_first ^ True]
                else "skip an empty sequence",
            )
        drop = partial(drop_entries, p=dropout) if dropout and train else None
        states, *last = run_layers(kind, sequence, hx, params, has_biases, num_layers, drop, bidirectional)
        return (states.transpose(0, 1) if batch_first else states, *last)

    def run_packed(
        data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
    ) -> tuple[Any, ...]:
        def drop_packed(sequence) -> Any:  # as torch does, which draws for what is packed only
            dropped = drop_entries(unpad_packed(sequence, batch_sizes), dropout)
            return pad_packed(dropped, batch_sizes, 0.0, None)[0]

        sequence, lengths = pad_packed(data, batch_sizes, 0.0, None)
        drop = drop_packed if dropout and train else None
        states, *last = run_layers(
            kind, sequence, hx, params, has_biases, num_layers, drop, bidirectional, wrap(lengths)
        )
        return (unpad_packed(states, batch_sizes), *last)

    def recurrence(*args, **kwargs) -> tuple[Any, ...]:
        is_packed = "batch_sizes" in kwargs or (len(args) > 3 and not isinstance(args[3], bool))
        return (run_packed if is_packed else run_padded)(*args, **kwargs)

    recurrence.__name__ = recurrence.__qualname__ = kind
    recurrence.__doc__ = (
        f"The layers of {kind} along a sequence, as `nn.{kind.partition('_')[0].upper()}` calls them: (input, hx, "
        "params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or (data, batch_sizes, hx, "
        "params, has_biases, num_layers, dropout, train, bidirectional) for packed sequences."
    )
    expose("function")(recurrence)


for name in STEPS:
    declare_recurrence(name)
