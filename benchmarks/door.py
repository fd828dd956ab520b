"""What programs cost through the doors: those written for JAX beside the same programs under this library's own names,
and calls of NumPy and SciPy outside of transforms beside the libraries themselves.

Decides whether the doors are short enough. Every row of the first table has the time under `fnp` and `fx`, and how many
times as long the program of `jnp` and `jax` takes: low quantiles of many short rounds. A row of the second has medians,
and by how many microseconds a call is longer, of which one is allowed. `door.py jax` and `door.py numpy` print one.
"""

import measure  # isort: skip  (it sets the number of threads)

import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

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


CALLS = """
np.sin(x); np.add(x, y); np.zeros(3); np.ones((3, 3)); np.full(3, 1.0); np.arange(3); np.linspace(0, 1, 3); np.eye(3)
np.array([1.0, 2.0]); np.asarray(x); np.dot(x, y); np.matmul(a, x); np.where(mask, x, y); np.concatenate(pair)
np.stack(pair); np.sum(x); np.mean(a, axis=0); np.cumsum(x); np.sort(x); np.argmax(x); np.clip(x, 0.2, 0.5)
np.reshape(a, 9); np.transpose(a); np.take(x, n); np.outer(x, y); np.einsum("ij,j->i", a, x); np.interp(0.5, x, y)
np.diff(x); np.linalg.solve(a, x); np.linalg.norm(x); np.linalg.inv(a); np.fft.fft(x)
scipy.linalg.solve_triangular(lower, x, lower=True); scipy.linalg.cholesky(a); scipy.linalg.expm(a)
scipy.special.erf(x); scipy.special.gammaln(x); scipy.special.logsumexp(x); scipy.stats.norm.logpdf(x, 0.0, 1.0)
scipy.stats.norm.cdf(x); scipy.signal.convolve(x, y); scipy.fft.fft(x); scipy.integrate.trapezoid(y, x)
scipy.optimize.brentq(np.cos, 1.0, 2.0)
"""


def make_calls(np: Any, scipy: Any) -> dict[str, Callable[[], object]]:
    """The calls above, of NumPy and SciPy as they are given."""
    x, y, n, a = np.linspace(0.1, 0.9, 3), np.arange(3.0), np.arange(3), np.eye(3) + 0.1
    names = {"np": np, "scipy": scipy, "x": x, "y": y, "n": n, "a": a, "lower": np.tril(a), "mask": x > 0.5}
    names["pair"] = (x, y)
    return {text: eval(f"lambda: {text}", names) for text in CALLS.strip().replace("\n", "; ").split("; ")}


def print_numpy() -> None:
    """Print a row a call of NumPy or SciPy."""
    own = make_calls(np, scipy)
    with fx.install("numpy", "scipy"):
        import numpy as numpy_
        import scipy as scipy_
    door = make_calls(numpy_, scipy_)
    print(f"{'':52}  library    door  beyond (µs)")
    for text in own:
        times = measure.medians({"library": own[text], "door": door[text]}, rounds=300, calls=20)
        alone, shown = 1e6 * times["library"], 1e6 * times["door"]
        print(f"{text:52} {alone:8.2f} {shown:7.2f} {shown - alone:7.2f}")


def print_jax() -> None:
    """Print a row a program of JAX's."""
    print(f"{'':34}    fxgrad    door   times")
    for name, (own, door) in make_rows().items():
        for _ in range(300):  # until code is settled
            own(), door()
        calls = max(1, int(2e-4 / measure.medians({"fxgrad": own}, rounds=9)["fxgrad"]))
        times = measure.take_turns({"fxgrad": own, "door": door}, rounds=300, calls=calls)
        ours, theirs = (1e6 * statistics.quantiles(times[key], n=20)[1] for key in ("fxgrad", "door"))
        print(f"{name:34} {ours:8.2f} {theirs:8.2f} {theirs / ours:7.2f}")


def main() -> None:
    """Print the tables that are asked for, or both."""
    for name in sys.argv[1:] or ("jax", "numpy"):
        {"jax": print_jax, "numpy": print_numpy}[name]()


if __name__ == "__main__":
    main()
