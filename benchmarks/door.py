"""What programs written for JAX cost through the door, beside the same programs under this library's own names.

Decides whether the door is short enough: every row has the time under `fnp` and `fx`, and how many times as long the
program of `jnp` and `jax` takes. Low quantiles of many short rounds are compared.
"""

import measure  # isort: skip  (it sets the number of threads)

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp

fx.install("jax")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


def expression(np: Any) -> Callable[[Any], Any]:
    """Five operations."""
    return lambda x: np.sin(x) * x + np.exp(x) * 2.0


def loss(np: Any) -> Callable[[Any, Any], Any]:
    """A network of two layers, whose parameters are a dict."""

    def f(params: Any, x: Any) -> Any:
        hidden = np.tanh(x @ params["w1"] + params["b1"])
        return np.mean((hidden @ params["w2"] + params["b2"]) ** 2)

    return f


def of_one(np: Any) -> Callable[[Any, Any], Any]:
    """A loss of one sample."""
    return lambda w, x: np.sum(np.tanh(w * x))


def make_rows() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """The programs by what they show: ours, and the door's."""
    rng = np.random.default_rng(0)
    shapes = {"w1": (3, 5), "b1": (5,), "w2": (5, 1), "b2": (1,)}
    params = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    x, batch = rng.normal(size=4).astype(np.float32), rng.normal(size=(8, 3)).astype(np.float32)
    xs = rng.normal(size=(6, 4)).astype(np.float32)
    theirs, x_, batch_, xs_ = jax.tree.map(jnp.asarray, (params, x, batch, xs))
    five, five_ = expression(fnp), expression(jnp)
    jitted, jitted_ = fx.jit(five), jax.jit(five_)
    step, step_ = fx.jit(fx.grad(loss(fnp))), jax.jit(jax.grad(loss(jnp)))
    grad, grad_ = fx.grad(loss(fnp)), jax.grad(loss(jnp))
    each, each_ = fx.vmap(fx.grad(of_one(fnp)), (None, 0)), jax.vmap(jax.grad(of_one(jnp)), (None, 0))
    return {
        "x + x": (lambda: fnp.add(x, x), lambda: x_ + x_),
        "jnp.sin(x)": (lambda: fnp.sin(x), lambda: jnp.sin(x_)),
        "jnp.sum(x)": (lambda: fnp.sum(x), lambda: jnp.sum(x_)),
        "jnp.dot(x, x)": (lambda: fnp.dot(x, x), lambda: jnp.dot(x_, x_)),
        "jnp.where(x, x, x)": (lambda: fnp.where(x, x, x), lambda: jnp.where(x_, x_, x_)),
        "five operations": (lambda: five(x), lambda: five_(x_)),
        "jax.jit(f)(x)": (lambda: jitted(x), lambda: jitted_(x_)),
        "jax.jit(jax.grad(loss))(dict, x)": (lambda: step(params, batch), lambda: step_(theirs, batch_)),
        "jax.grad(loss)(dict, x)": (lambda: grad(params, batch), lambda: grad_(theirs, batch_)),
        "jax.vmap(jax.grad(f))(w, xs)": (lambda: each(x, xs), lambda: each_(x_, xs_)),
        "jax.tree.map(f, dict, dict)": (
            lambda: fx.tree.map(lambda a, b: b, params, params),
            lambda: jax.tree.map(lambda a, b: b, theirs, theirs),
        ),
    }


def main() -> None:
    """Print a row a program."""
    print(f"{'':34}    fxgrad    door   times")
    for name, (own, door) in make_rows().items():
        for _ in range(300):  # until code is settled
            own(), door()
        calls = max(1, int(2e-4 / measure.medians({"fxgrad": own}, rounds=9)["fxgrad"]))
        times = measure.take_turns({"fxgrad": own, "door": door}, rounds=300, calls=calls)
        ours, theirs = (1e6 * statistics.quantiles(times[key], n=20)[1] for key in ("fxgrad", "door"))
        print(f"{name:34} {ours:8.2f} {theirs:8.2f} {theirs / ours:7.2f}")


if __name__ == "__main__":
    main()
