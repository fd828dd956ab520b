"""Loops: a recurrent network as a scan and in Python, and a loop over scalars."""

from typing import Any

import numpy as np

from ..libraries import functional, tape
from ..line import Contenders, Run, line

BATCH, HIDDEN = 16, 64


def _recurrent(quick: bool) -> tuple:
    """Weights, and 500 steps of inputs, in float32."""
    rng, steps = np.random.default_rng(0), 10 if quick else 500
    shapes = ((HIDDEN, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN,))
    weights = tuple((rng.standard_normal(shape) / 10).astype("float32") for shape in shapes)
    return weights, rng.standard_normal((steps, BATCH, HIDDEN)).astype("float32")


@line(tolerance=1e-4)
def rnn_scan_jit(quick: bool) -> Contenders:
    """jitted value and gradient of an RNN as a scan of 500 steps"""
    start = np.zeros((BATCH, HIDDEN), "float32")

    def program(lib: Any) -> Any:
        def loss(weights: Any, xs: Any) -> Any:
            inner, inward, bias = weights

            def step(h: Any, x: Any) -> Any:
                h = lib.np.tanh(h @ inner + x @ inward + bias)
                return h, lib.np.sum(h * h)

            return lib.np.mean(lib.lax.scan(step, start, xs)[1])

        return lib.value_and_grad(loss)

    return functional(program, *_recurrent(quick), by="fxgrad:jit jax:jit")


@line(tolerance=1e-4)
def rnn_loop(quick: bool) -> Contenders:
    """eager value and gradient of an RNN as a loop of 500 steps"""
    weights, xs = _recurrent(quick)
    start = np.zeros((BATCH, HIDDEN), "float32")

    def loss_of(np: Any, start: Any, weights: Any, xs: Any) -> Any:
        inner, inward, bias = weights
        h, total = start, 0.0
        for x in xs:
            h = np.tanh(h @ inner + x @ inward + bias)
            total = total + np.sum(h * h)
        return total / len(xs)

    def on_tape(torch: Any, weights: Any, xs: Any) -> Run:
        begin, rows = torch.from_numpy(start), [*xs]
        for w in weights:
            w.requires_grad_()

        def run() -> Any:
            for w in weights:
                w.grad = None
            loss = loss_of(torch, begin, weights, rows)
            loss.backward()
            return loss, [w.grad for w in weights]

        return run

    def program(lib: Any) -> Any:
        begin = lib.array(start)
        return lib.value_and_grad(lambda weights, rows: loss_of(lib.np, begin, weights, rows))

    return {
        **tape(on_tape, weights, xs),
        **functional(program, weights, [*xs], by="fxgrad jax autograd"),
    }


@line(tolerance=1e-9)
def scalar_loop(quick: bool) -> Contenders:
    """eager gradient of a loop of 1000 steps on scalars"""
    steps = 100 if quick else 1000

    def loop(np: Any, x: Any) -> Any:
        y = x
        for _ in range(steps):
            y = np.sin(y) + 0.5 * x
        return y

    def on_tape(torch: Any) -> Run:
        x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)

        def run() -> Any:
            x.grad = None
            loop(torch, x).backward()
            return x.grad

        return run

    return {
        **functional(
            lambda lib: lib.grad(lambda x: loop(lib.np, x)),
            np.array(0.7),
            by="fxgrad jax autograd torch.func",
        ),
        **tape(on_tape),
    }
