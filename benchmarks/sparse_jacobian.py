"""Derivatives of a function of many variables each of which touches a few others, beside dense ones and JAX's.

Decides whether a pattern is worth finding: the Jacobian of n banded equations and the Hessian of a chain, by as many
products as the pattern has colors, take a time and a memory that grow with n, dense ones with its square.
"""

import measure  # isort: skip  (it sets the number of threads)

import argparse
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp


def banded(x: Any, np: Any) -> Any:
    """Broyden's tridiagonal equations."""
    before, after = np.concatenate([x[:1] * 0, x[:-1]]), np.concatenate([x[1:], x[:1] * 0])
    return (3 - 2 * x) * x - before - 2 * after + 1


def chain(x: Any, np: Any) -> Any:
    """Rosenbrock's function."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def peak_memory(call: Callable[[], object]) -> float:
    """The most memory that NumPy and SciPy hold at a time, in MB."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def contenders(name: str, fun: Callable, n: int, with_dense: bool) -> dict[str, Callable[[], object]]:
    x = np.random.default_rng(0).normal(size=n)
    transform = {"Jacobian": fx.jacobian, "Hessian": fx.hessian}[name]

    def of_arrays(x: Any) -> Any:
        return fun(x, fnp)

    sparse = transform(of_arrays, sparsity="auto")
    jitted, dense = fx.jit(sparse), fx.jit(transform(of_arrays))
    found: dict[str, Callable[[], object]] = {"sparse, jit": lambda: jitted(x), "sparse": lambda: sparse(x)}
    if not with_dense:
        return found
    found["dense, jit"] = lambda: dense(x)
    if np.abs(sparse(x).toarray() - dense(x)).max() > 1e-9:
        raise AssertionError(f"{name}: sparse and dense differ")
    if "jax" in measure.installed("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        theirs = {"Jacobian": jax.jacfwd, "Hessian": jax.hessian}[name](lambda x: fun(x, jax.numpy))
        theirs = jax.jit(theirs)
        found["dense, jax.jit"] = lambda: theirs(x).block_until_ready()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[1000, 10_000])
    parser.add_argument(
        "--dense-up-to", type=int, default=2000, help="the size up to which dense ones take part"
    )
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    for n in options.sizes:
        for name, fun in (("Jacobian", banded), ("Hessian", chain)):
            runs = contenders(name, fun, n, n <= options.dense_up_to)
            print(f"{name} of {n} variables")
            measure.report(measure.medians(runs, options.rounds), "sparse, jit")
            print("  peak memory, MB:", {what: round(peak_memory(run), 1) for what, run in runs.items()})


if __name__ == "__main__":
    main()
