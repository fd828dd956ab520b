"""Reductions to places: rows that are summed, multiplied or compared at indices, and networks on graphs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..libraries import functional, tape
from ..line import Contenders, Run, line

SIZES = {"small": (4000, 500), "large": (100_000, 10_000)}  # rows, places
WIDTH = 16


def rows(size: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that are reduced to, rows that are given, and their places."""
    rng = np.random.default_rng(0)
    count, places = SIZES[size]
    base = 1 + 0.1 * rng.standard_normal((places, WIDTH)).astype("f4")
    return (
        base,
        1 + 0.1 * rng.standard_normal((count, WIDTH)).astype("f4"),
        rng.integers(0, places, count),
    )


def eager(reduce: Callable[..., Any], size: str) -> Contenders:
    """The gradients of a reduction on the tape."""

    def program(torch: Any, x: Any, u: Any, index: Any) -> Run:
        leaves = [v.requires_grad_() for v in (x, u)]
        cotangent = torch.ones_like(x)

        def step() -> Any:
            y = reduce(torch, x, u, index)
            for leaf in leaves:
                leaf.grad = None
            y.backward(cotangent)
            return y, *(leaf.grad for leaf in leaves)

        return step

    return tape(program, *rows(size))


def jitted(method: str, size: str) -> Contenders:
    """The value and the gradients of the sum of a reduction."""

    def program(lib: Any) -> Any:
        def loss(x: Any, u: Any, index: Any) -> Any:
            at = x.at if hasattr(x, "at") else lib.np.at(x)
            return lib.np.sum(getattr(at[index], method)(u) ** 2)

        return lib.value_and_grad(loss, (0, 1))

    return functional(program, *rows(size), by="fxgrad:jit jax:jit")


def enter(name: str, title: str, make: Callable[[str], Contenders]) -> None:
    """Enter the lines of a reduction to few and to many places."""
    for size, (count, places) in SIZES.items():

        def contenders(quick: bool, size: str = size) -> Contenders:
            return make("small" if quick else size)

        contenders.__name__ = f"{name}_{size}"
        contenders.__doc__ = f"{title}, {count} rows of {WIDTH} at {places} places"
        line(tolerance=1e-4)(contenders)


def by_entries(name: str) -> Callable[..., Any]:
    return lambda torch, x, u, i: x.scatter_reduce(0, i[:, None].expand(-1, WIDTH), u, name)


def by_rows(name: str) -> Callable[..., Any]:
    return lambda torch, x, u, i: x.index_reduce(0, i, u, name)


for method in ("add", "max", "min"):  # JAX has no gradient of products
    enter(f"at_{method}", f"jitted gradient of x.at[i].{method}", lambda size, m=method: jitted(m, size))
for reduction in ("sum", "prod", "mean", "amax", "amin"):
    enter(
        f"scatter_{reduction}",
        f"eager gradient of scatter_reduce, {reduction}",
        lambda size, r=reduction: eager(by_entries(r), size),
    )
for reduction in ("prod", "mean", "amax", "amin"):
    enter(
        f"rows_{reduction}",
        f"eager gradient of index_reduce, {reduction}",
        lambda size, r=reduction: eager(by_rows(r), size),
    )
enter(
    "rows_sum",
    "eager gradient of index_add",
    lambda size: eager(lambda torch, x, u, i: x.index_add(0, i, u), size),
)


def graph(quick: bool) -> tuple[Any, ...]:
    """The features of 2000 nodes, weights of two layers, and the ends of 20 000 edges."""
    rng = np.random.default_rng(1)
    nodes, edges = (20, 100) if quick else (2000, 20_000)
    weights = [(0.3 * rng.standard_normal((16, 16))).astype("f4") for _ in range(4)]
    return rng.standard_normal((nodes, 16)).astype("f4"), weights, *rng.integers(0, nodes, (2, edges))


@line(tolerance=1e-4)
def graph_net(quick: bool) -> Contenders:
    """jitted gradient of a graph network of two layers, 20 000 edges"""
    h, weights, *ends = graph(quick)

    def program(lib: Any) -> Any:
        def loss(weights: Any, h: Any, source: Any, target: Any) -> Any:
            for own, theirs in zip(weights[::2], weights[1::2]):
                total = lib.np.zeros_like(h)
                at = total.at if hasattr(total, "at") else lib.np.at(total)
                h = lib.np.tanh(h @ own + at[target].add(h[source] @ theirs))
            return lib.np.sum(h**2)

        return lib.value_and_grad(loss)

    return functional(program, weights, h, *ends, by="fxgrad:jit jax:jit")


@line(tolerance=1e-4)
def graph_net_tape(quick: bool) -> Contenders:
    """eager gradient of a graph network of two layers, 20 000 edges"""
    h, weights, *ends = graph(quick)

    def program(torch: Any, h: Any, weights: Any, source: Any, target: Any) -> Run:
        leaves = [w.requires_grad_() for w in weights]

        def step() -> Any:
            y = h
            for own, theirs in zip(leaves[::2], leaves[1::2]):
                total = torch.zeros_like(y).index_add(0, target, y.index_select(0, source) @ theirs)
                y = torch.tanh(y @ own + total)
            for leaf in leaves:
                leaf.grad = None
            loss = (y**2).sum()
            loss.backward()
            return loss, *(leaf.grad for leaf in leaves)

        return step

    return tape(program, h, weights, *ends)
