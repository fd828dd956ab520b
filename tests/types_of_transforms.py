"""What type checkers see of transformed functions, which keep the parameters of what they were made of.

`pyright` reads this file; nothing calls the function. A line with an error that is none is one too.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import Any, assert_type

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp


def loss(w: np.ndarray, scale: float, *, flag: bool = False) -> float:
    return scale * float(w.sum())


class Model:
    @fx.jit
    def value(self, x: int) -> float:
        return float(x)

    @fx.custom_vjp
    def square(self, x: float) -> float:
        return x * x


def examples(w: np.ndarray) -> None:
    assert_type(fx.jit(loss)(w, 1.0, flag=True), float)
    assert_type(fx.value_and_grad(loss)(w, scale=1.0), tuple[float, Any])
    assert_type(fx.vmap(loss)(w, 1.0), float)
    assert_type(fx.checkpoint(loss)(w, 1.0), float)
    assert_type(fx.checkpoint(policy=None)(loss)(w, 1.0), float)
    assert_type(fx.jit(static_argnames="flag")(loss)(w, 1.0), float)
    assert_type(fx.custom_jvp(loss)(w, 1.0), float)
    assert_type(fx.stop_gradient(1.0), float)

    # What does not fit the function is an error, which a type checker must see for the line to be without one.
    fx.grad(loss)(w, "1")  # pyright: ignore[reportArgumentType]
    fx.grad(loss)(w, 1.0, flags=True)  # pyright: ignore[reportCallIssue]
    fx.vmap(fx.grad(loss))(w)  # pyright: ignore[reportCallIssue]
    fx.jit(fx.hessian(loss))(w)  # pyright: ignore[reportCallIssue]
    fx.jacobian(loss)(w, 1.0, 2.0)  # pyright: ignore[reportCallIssue]
    fx.jacfwd(loss)(w, 1.0, 2.0)  # pyright: ignore[reportCallIssue]
    fnp.sin(w, w)  # pyright: ignore[reportCallIssue]
    fnp.add(w)  # pyright: ignore[reportCallIssue]

    assert_type(Model().value(2), float)
    assert_type(Model().square(2.0), float)
    Model().value("2")  # pyright: ignore[reportArgumentType]
