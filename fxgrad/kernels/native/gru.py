"""The forward and backward loop of a gated recurrent unit (Cho et al., 2014), whose gate r multiplies what the state
gives to n, as machine code.

    forward:   s = h·W + b;  r, z = σ(−a − s);  n = tanh(a + r·s);  h ← n + z·(h − n)
    back:      d, e = the cotangents of a and s;  dh ← dh·z + e·Wᵀ

Gates stand in the order r, z, n, the first two negative; their cotangents, in the same order, are not.
"""

from __future__ import annotations

import numpy as np

from ..matmul import dot
from . import math
from .gated import Layer, run_steps
from .ir import Function


def gru_forward_function(name: str, element: str) -> Function:
    """Return the function of the loop."""
    layer = Layer(name, element, 3, ["gates", "bias", "recurrent", "states", "inner"])
    f, size, width = layer.f, layer.size, layer.width
    recurrent, bias = layer.place("recurrent", layer.begin, width), layer.given["bias"]
    with f.loop(layer.given["steps"]) as k:
        before, after, now = layer.take_step(k.index)
        gates, inner = layer.place("gates", now, width), layer.place("inner", now, size)
        h, next_h = (layer.place("states", p, size) for p in (before, after))
        layer.multiply(size, width, h, recurrent, adds=False)
        for row, i in layer.iterate():
            here = i * size
            places = [i * width + size * p for p in range(3)]
            a = [row.load(gates, place) for place in places]
            s = [row.load(recurrent, place) + row.load(bias, size * p) for p, place in enumerate(places)]
            reset, keep = (math.apply("sigmoid", -(x + y)) for x, y in zip(a[:2], s))
            new = math.apply("tanh", a[2] + reset * s[2])
            for value, place in zip((reset, keep, new), places):
                row.store(value, gates, place)
            row.store(s[2], inner, here)
            row.store((row.load(h, here) - new) * keep + new, next_h, here)
        layer.keep_ended(h, next_h)
    return f


def gru_back_function(name: str, element: str) -> Function:
    """Return the function of the backward loop, which begins with the last step."""
    layer = Layer(name, element, 3, ["gates", "states", "inner", "outer", "d", "e", "dh"])
    f, size, width = layer.f, layer.size, layer.width
    dh = layer.place("dh", layer.begin, size)
    with f.loop(layer.given["steps"]) as back:
        before, _, now = layer.take_step(layer.given["steps"] - 1 - back.index)
        gates, d, e = (layer.place(v, now, width) for v in ("gates", "d", "e"))
        inner, h = layer.place("inner", now, size), layer.place("states", before, size)
        layer.add_outer(now, dh)
        for row, i in layer.iterate():
            here = i * size
            places = [i * width + size * p for p in range(3)]
            reset, keep, new = (row.load(gates, place) for place in places)
            u = row.load(dh, here)
            of_new = u * ((1.0 - keep) * (1.0 - new * new))
            of_reset = of_new * (row.load(inner, here) * reset * (1.0 - reset))
            of_keep = u * ((row.load(h, here) - new) * keep * (1.0 - keep))
            for rows, last in ((d, of_new), (e, of_new * reset)):
                for value, place in zip((of_reset, of_keep, last), places):
                    row.store(value, rows, place)
            row.store(u * keep, dh, here)
        layer.multiply(width, size, e, dh, adds=True)
    return f


def run_forward(
    times: range,
    counts: np.ndarray,
    weight: np.ndarray,
    gates: np.ndarray,
    bias: np.ndarray,
    states: np.ndarray,
    inner: np.ndarray,
) -> bool:
    """Take the steps of a loop, which fill gates, states and inner; return whether machine code has done so.

    gates (steps, batch, 3·size) hold what the input gives, `weight` is (size, 3·size), `bias` (3·size), `inner` (steps,
    batch, size); `states` hold the first one.
    """
    recurrent = np.empty_like(gates[0])

    def multiply(t: int, n: int) -> None:
        dot(states[t + (times.step < 0), :n], weight, recurrent[:n])

    arrays = (gates, bias, recurrent, states, inner)
    return run_steps(gru_forward_function, times, counts, weight, arrays, inner.shape[1:], multiply)


def run_back(
    times: range,
    counts: np.ndarray,
    weight: np.ndarray,
    gates: np.ndarray,
    states: np.ndarray,
    inner: np.ndarray,
    outer: np.ndarray | None,
    d: np.ndarray,
    e: np.ndarray,
    dh: np.ndarray,
) -> bool:
    """Run the steps backward: fill `d` and `e`, the cotangents of what the input and what the state gives, and leave
    those of the first state in `dh`; return whether machine code did so.

    `weight` is (3·size, size), `outer` (steps, batch, size) are the cotangents of the states by time.
    """

    def multiply(t: int, n: int) -> None:
        dh[:n] += dot(e[t, :n], weight)

    arrays = (gates, states, inner, outer, d, e, dh)
    return run_steps(gru_back_function, times, counts, weight, arrays, inner.shape[1:], multiply, back=True)
