"""The forward and backward loop of a long short-term memory (Hochreiter and Schmidhuber, 1997) as machine code.

    forward:   a += h·W;  o, i, f = σ(−a), g = tanh(a);  c ← f·c + i·g;  y = tanh(c);  h ← o·y
    back:      v = dc + dh·o·(1 − y²);  d = the cotangents of a;  dc ← v·f;  dh ← d·Wᵀ

Gates stand in the order o, i, f, g, the first three negative; their cotangents in torch's, i, f, g, o.
"""

from __future__ import annotations

import numpy as np

from ..matmul import dot
from . import math
from .gated import Layer, run_steps
from .ir import Function


def lstm_forward_function(name: str, element: str) -> Function:
    """Return the function of the loop."""
    layer = Layer(name, element, 4, ["gates", "states", "cells", "inner"])
    f, size, width = layer.f, layer.size, layer.width
    with f.loop(layer.given["steps"]) as k:
        before, after, now = layer.take_step(k.index)
        gates, inner = layer.place("gates", now, width), layer.place("inner", now, size)
        h, c, next_h, next_c = (layer.place(v, p, size) for p in (before, after) for v in ("states", "cells"))
        layer.multiply(size, width, h, gates, adds=True)
        for row, i in layer.iterate():
            here = i * size
            places = [i * width + size * p for p in range(4)]
            a = [row.load(gates, place) for place in places]
            values = [*(math.apply("sigmoid", -x) for x in a[:3]), math.apply("tanh", a[3])]
            for value, place in zip(values, places):
                row.store(value, gates, place)
            output, enter, keep, new = values
            cell = keep * row.load(c, here) + enter * new
            y = math.apply("tanh", cell)
            row.store(cell, next_c, here)
            row.store(y, inner, here)
            row.store(output * y, next_h, here)
        layer.keep_ended(h, next_h)
        layer.keep_ended(c, next_c)
    return f


def lstm_back_function(name: str, element: str) -> Function:
    """Return the function of the backward loop, which begins with the last step."""
    layer = Layer(name, element, 4, ["gates", "cells", "inner", "outer", "d", "dh", "dc"])
    f, size, width = layer.f, layer.size, layer.width
    dh, dc = (layer.place(v, layer.begin, size) for v in ("dh", "dc"))
    with f.loop(layer.given["steps"]) as back:
        before, _, now = layer.take_step(layer.given["steps"] - 1 - back.index)
        gates, d = (layer.place(v, now, width) for v in ("gates", "d"))
        inner, cells = layer.place("inner", now, size), layer.place("cells", before, size)
        layer.add_outer(now, dh)
        for row, i in layer.iterate():
            here = i * size
            places = [i * width + size * p for p in range(4)]
            output, enter, keep, new = (row.load(gates, place) for place in places)
            u, y = row.load(dh, here), row.load(inner, here)
            v = row.load(dc, here) + u * (output * (1.0 - y * y))
            slopes = [
                v * ((1.0 - enter) * enter * new),
                v * ((1.0 - keep) * keep * row.load(cells, here)),
                v * (enter * (1.0 - new * new)),
                u * ((1.0 - output) * output * y),
            ]
            for value, place in zip(slopes, places):
                row.store(value, d, place)
            row.store(v * keep, dc, here)
        layer.multiply(width, size, d, dh, adds=False)
    return f


def run_forward(
    times: range,
    counts: np.ndarray,
    weight: np.ndarray,
    gates: np.ndarray,
    states: np.ndarray,
    cells: np.ndarray,
    inner: np.ndarray,
) -> bool:
    """Take the steps of a loop, which fill gates, states, cells and inner; return whether machine code has done so.

    gates (steps, batch, 4·size) hold what the input gives, `weight` is (size, 4·size), `inner` (steps, batch, size);
    `states` and `cells` hold the first ones.
    """

    def multiply(t: int, n: int) -> None:
        gates[t, :n] += dot(states[t + (times.step < 0), :n], weight)

    arrays = (gates, states, cells, inner)
    return run_steps(lstm_forward_function, times, counts, weight, arrays, inner.shape[1:], multiply)


def run_back(
    times: range,
    counts: np.ndarray,
    weight: np.ndarray,
    gates: np.ndarray,
    cells: np.ndarray,
    inner: np.ndarray,
    outer: np.ndarray | None,
    d: np.ndarray,
    dh: np.ndarray,
    dc: np.ndarray,
) -> bool:
    """Run the steps backward: fill `d`, the cotangents of the gates' arguments, and leave those of the first state and
    cell in `dh` and `dc`; return whether machine code did so.

    `weight` is (4·size, size), `outer` (steps, batch, size) are the cotangents of the states by time.
    """

    def multiply(t: int, n: int) -> None:
        dot(d[t, :n], weight, dh[:n])

    arrays = (gates, cells, inner, outer, d, dh, dc)
    return run_steps(lstm_back_function, times, counts, weight, arrays, inner.shape[1:], multiply, back=True)
