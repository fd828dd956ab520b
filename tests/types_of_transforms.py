"""What type checkers see of transformed functions, which keep the parameters of what they were made of.

`pyright` reads this file; nothing calls the function. A line with an error that is none is one too.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import Any, assert_type

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    assert_type(fx.vmap(loss)(w, 1.0), float)
    assert_type(fx.checkpoint(loss)(w, 1.0), float)
    assert_type(fx.checkpoint(policy=None)(loss)(w, 1.0), float)
    assert_type(fx.jit(static_argnames="flag")(loss)(w, 1.0), float)
    assert_type(fx.custom_jvp(loss)(w, 1.0), float)
    assert_type(fx.stop_gradient(1.0), float)

    # What does not fit the function is an error, which a type checker must see for the line to be without one.
    fx.grad(loss)(w, "1")  # pyright: ignore[reportArgumentType]
    fx.grad(loss)("w", 1.0)  # pyright: ignore[reportArgumentType]
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


def energy(x: NDArray[np.float64], scale: float = 1.0) -> np.ndarray:
    return scale * fnp.sum(fnp.sin(x) ** 2)


def of_tree(params: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    return fnp.tanh(params["w"] @ x)


def with_aux(x: np.ndarray, y: float) -> tuple[fx.Array, int]:
    return fnp.sum(x) * y, 1


def unannotated(x, y=1.0):
    return fnp.sin(x) * y


def of_anything(x: ArrayLike) -> fx.Array:
    return fnp.sum(x)


def derivatives(x: NDArray[np.float64], params: dict[str, np.ndarray]) -> None:
    """A derivative is of the type of the argument, with an annotation or without."""
    assert_type(fx.grad(energy)(x, 2.0), NDArray[np.float64])
    assert_type(fx.grad(of_tree)(params, x), dict[str, np.ndarray])
    assert_type(fx.grad(unannotated)(x, y=2.0), NDArray[np.float64])
    assert_type(fx.grad(unannotated)(params), dict[str, np.ndarray])
    assert_type(fx.grad(of_anything)(x), NDArray[np.float64])
    assert_type(fx.grad(lambda x: x**2)(2.0), float)
    assert_type(fx.grad(lambda p: of_tree(p, x).sum())(params), dict[str, np.ndarray])
    assert_type(fx.grad(fx.grad(unannotated))(x), NDArray[np.float64])
    assert_type(fx.vmap(fx.grad(unannotated))(x), NDArray[np.float64])
    assert_type(fx.jit(fx.grad(energy))(x), NDArray[np.float64])
    assert_type(fx.grad(with_aux, has_aux=True)(x, 2.0), tuple[np.ndarray, int])
    assert_type(fx.grad(with_aux, argnums=(0, 1), check=True)(x, 2.0), tuple[np.ndarray, float])

    assert_type(fx.value_and_grad(energy)(x), tuple[np.ndarray, NDArray[np.float64]])
    assert_type(fx.value_and_grad(unannotated)(params)[1], dict[str, np.ndarray])
    assert_type(fx.value_and_grad(with_aux, has_aux=True)(x, 2.0), tuple[tuple[fx.Array, int], np.ndarray])
    assert_type(
        fx.value_and_grad(of_tree, argnums=(0, 1))(params, x),
        tuple[np.ndarray, tuple[dict[str, np.ndarray], np.ndarray]],
    )

    value, pullback = fx.vjp(of_tree, params, x)
    assert_type(value, np.ndarray)
    assert_type(pullback(value), tuple[dict[str, np.ndarray], NDArray[np.float64]])
    assert_type(fx.vjp(with_aux, x, 1.0, has_aux=True)[2], int)
    assert_type(fx.jvp(energy, (x,), (x,)), tuple[np.ndarray, np.ndarray])
    assert_type(fx.jvp(with_aux, (x, 1.0), (x, 1.0), has_aux=True), tuple[fx.Array, fx.Array, int])
    assert_type(fx.linearize(energy, x)[1](x), np.ndarray)
    assert_type(fx.linear_transpose(energy, x)(1.0), tuple[NDArray[np.float64]])
    assert_type(fx.hvp(energy, (x,), (x,)), NDArray[np.float64])
    assert_type(fx.jacobian(of_anything, mode="fwd")(x), fx.Array)
    assert_type(fx.jacobian(energy, sparsity="auto")(x), Any)
    assert_type(fx.hessian(energy)(x), fx.Array)
    fx.vjp(energy, "x")  # pyright: ignore[reportArgumentType]


def arrays(x: np.ndarray, y: NDArray[np.float64]) -> np.ndarray:
    """What functions return has the members of arrays, and no others."""
    z = fnp.sin(x)
    assert_type(z, fx.Array)
    assert_type(z.T @ z, fx.Array)
    assert_type(z.shape, tuple[Any, ...])
    assert_type(fnp.where(x > 0, x, y), fx.Array)
    assert_type(fnp.where(x > 0), tuple[fx.Array, ...])
    assert_type(fnp.unique(x, return_counts=True), tuple[fx.Array, ...])
    assert_type(fnp.linspace(0.0, 1.0, retstep=True), tuple[fx.Array, fx.Array])
    assert_type(fnp.result_type(x), np.dtype[Any])
    assert_type(fnp.sin([1, 2.0, z[0]]) + fnp.sin(1) + fnp.stack([[z[0], 1.0], z]), fx.Array)
    fnp.sin({1.0, 2.0})  # pyright: ignore[reportArgumentType]
    fnp.asarray(x, dtype=1.5)  # pyright: ignore[reportArgumentType]
    print(z.nonsense)  # pyright: ignore[reportAttributeAccessIssue]
    print(fx.grad(energy)(y).nonsense)  # pyright: ignore[reportAttributeAccessIssue]
    return fnp.sum(z, axis=0)
