"""Values and gradients of functions made of linear algebra, transforms, sorting and statistics, against their peers.

Decides where rules recompute, and what wrappers cost: on few numbers Python is measured, on many the kernels. The aims:
un-jitted, not slower than the faster of HIPS autograd and torch eager; jitted, not slower than jitted JAX. Arguments
select functions by a part of their name.
"""

import measure  # isort: skip  (it sets the number of threads)

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp

SIZES = {"small": 5, "medium": 200}


class Case(NamedTuple):
    """A scalar function of a namespace and arrays, and its arrays for a size."""

    function: Callable[..., Any]
    arrays: Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]


def matrices(count: int = 1) -> Callable[..., tuple]:
    """Well-conditioned square matrices."""
    return lambda rng, n: tuple(
        rng.standard_normal((n, n)) / n**0.5 + (2 + k) * np.eye(n) for k in range(count)
    )


def definite(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A positive definite matrix with distinct eigenvalues, and a vector."""
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return (q * np.linspace(1, 3, n)) @ q.T, rng.standard_normal(n)


def vectors(*lengths: int) -> Callable[..., tuple]:
    """Vectors, the first of n numbers and so on in the proportion of `lengths`."""
    return lambda rng, n: tuple(rng.standard_normal(n * length) for length in lengths)


def gaussian(np, s, x):
    """The logarithm of a Gaussian density by the factor of its covariance."""
    factor = np.linalg.cholesky(s)
    white = np.linalg.solve(factor, x)
    return -0.5 * np.sum(white**2) - np.sum(np.log(np.diagonal(factor)))


def square_root(np, s, x):
    """A quadratic form in the root of a matrix, by its eigenvectors."""
    values, vectors = np.linalg.eigh(s)
    return np.sum(np.sqrt(values) * (np.transpose(vectors) @ x) ** 2)


def polar(np, a):
    """A quadratic form in the orthogonal factor of a matrix."""
    u, s, vh = np.linalg.svd(a)
    return np.sum((u @ vh)[0] * s)


def convolved(np, x, kernel):
    """A circular convolution by spectra."""
    return np.sum(np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(kernel)) ** 2)


def logsumexp(np, x):
    """By the usual shift."""
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


CASES = {
    "solve": Case(lambda np, a, b: np.sum(np.linalg.solve(a, b) ** 2), matrices(2)),
    "inv": Case(lambda np, a: np.sum(np.linalg.inv(a) ** 2), matrices()),
    "slogdet": Case(lambda np, a: np.linalg.slogdet(a)[1], matrices()),
    "det": Case(lambda np, a: np.linalg.det(a / 2), matrices()),
    "cholesky, Gaussian": Case(gaussian, definite),
    "eigh, square root": Case(square_root, definite),
    "eigvalsh": Case(lambda np, s, x: np.sum(np.linalg.eigvalsh(s) ** 3), definite),
    "svd, polar": Case(polar, matrices()),
    "svdvals, nuclear": Case(lambda np, a: np.sum(np.linalg.svd(a, compute_uv=False)), matrices()),
    "qr": Case(lambda np, a: np.sum(np.linalg.qr(a)[1] ** 3), matrices()),
    "lstsq": Case(
        lambda np, a, b: np.sum(np.linalg.lstsq(a, b)[0] ** 2),
        lambda rng, n: (rng.standard_normal((2 * n, n)), rng.standard_normal((2 * n, 1))),
    ),
    "norm": Case(lambda np, a: np.linalg.norm(a), matrices()),
    "fft convolution": Case(convolved, vectors(4, 4)),
    "sort": Case(lambda np, x, w: np.sum(np.sort(x) * w), vectors(10, 10)),
    "median": Case(lambda np, x: np.median(x) ** 2, lambda rng, n: (rng.standard_normal(10 * n + 1),)),
    "quantile": Case(lambda np, x: np.quantile(x, 0.3) ** 2, vectors(10)),
    "convolve": Case(lambda np, x, v: np.sum(np.convolve(x, v) ** 2), vectors(5, 1)),
    "interp": Case(
        lambda np, x, xp, fp: np.sum(np.interp(x, xp, fp) ** 2),
        lambda rng, n: (
            rng.uniform(1, n - 2, 10 * n),
            np.arange(n) + 0.1 * rng.uniform(size=n),
            rng.normal(size=n),
        ),
    ),
    "polyval": Case(
        lambda np, p, x: np.sum(np.polyval(p, x)),
        lambda rng, n: (rng.standard_normal(8), rng.uniform(-1, 1, 10 * n)),
    ),
    "cov": Case(lambda np, x: np.sum(np.cov(x) ** 2), lambda rng, n: (rng.standard_normal((n, 2 * n)),)),
    "cumsum": Case(lambda np, x: np.sum(np.cumsum(x) ** 2), vectors(10)),
    "cumprod": Case(
        lambda np, x: np.sum(np.cumprod(x) ** 2), lambda rng, n: (1 + 0.1 * rng.standard_normal(10 * n),)
    ),
    "einsum chain": Case(lambda np, a, b, c: np.sum(np.einsum("ij,jk,kl->il", a, b, c) ** 2), matrices(3)),
    "logsumexp": Case(logsumexp, vectors(10)),
}


def torch_namespace(torch) -> Any:
    """Torch under NumPy's names, as far as they differ."""

    def convolve(a, v):
        full = torch.nn.functional.conv1d(a[None, None], v.flip(0)[None, None], padding=len(v) - 1)
        return full[0, 0]

    linalg = SimpleNamespace(**vars(torch.linalg))
    linalg.svd = lambda a, compute_uv=True: torch.linalg.svd(a) if compute_uv else torch.linalg.svdvals(a)
    same = ("cov", "einsum", "exp", "fft", "log", "max", "median", "quantile", "sqrt", "sum")
    return SimpleNamespace(
        **{name: getattr(torch, name) for name in same},
        linalg=linalg,
        diagonal=torch.diagonal,
        transpose=lambda a: a.mT,
        sort=lambda x: torch.sort(x).values,
        convolve=convolve,
        cumsum=lambda x: torch.cumsum(x, 0),
        cumprod=lambda x: torch.cumprod(x, 0),
    )


def contenders(case: Case, arrays: tuple[np.ndarray, ...], peers: dict) -> dict:
    """What is timed: each gives (value, gradients)."""
    everything = tuple(range(len(arrays)))

    def ours(*args):
        return case.function(fnp, *args)

    eager = fx.value_and_grad(ours, everything)
    jitted = fx.jit(eager)
    runs = {"fxgrad": lambda: eager(*arrays), "fxgrad jit": lambda: jitted(*arrays)}
    if "autograd" in peers:
        import autograd.numpy as autograd_numpy

        hips = peers["autograd"].value_and_grad(lambda args: case.function(autograd_numpy, *args))
        runs["autograd"] = lambda: hips(arrays)
    if "torch" in peers:
        torch = peers["torch"]
        namespace, leaves = torch_namespace(torch), [torch.tensor(x, requires_grad=True) for x in arrays]

        def by_torch():
            value = case.function(namespace, *leaves)
            return value, torch.autograd.grad(value, leaves, allow_unused=True)

        runs["torch"] = by_torch
    if "jax" in peers:
        jax, on_device = peers["jax"], [peers["jax"].numpy.asarray(x) for x in arrays]
        by_jax = jax.value_and_grad(lambda *args: case.function(jax.numpy, *args), everything)
        compiled = jax.jit(by_jax)
        runs["jax"] = lambda: jax.block_until_ready(by_jax(*on_device))
        runs["jax jit"] = lambda: jax.block_until_ready(compiled(*on_device))
    return runs


def able(runs: dict) -> dict:
    """The contenders that have the function; those that have must agree."""
    expected = runs["fxgrad"]()
    found = {}
    for name, run in runs.items():
        try:
            value, gradients = run()
        except (AttributeError, NotImplementedError, TypeError):
            continue
        detached = [None if g is None else np.asarray(g) for g in gradients]
        pairs = zip([value.item(), *detached], [expected[0], *expected[1]])
        if all(a is None or np.allclose(a, b, rtol=1e-6, atol=1e-7) for a, b in pairs):
            found[name] = run
        else:
            print(f"    {name} disagrees")
    return found


def main() -> None:
    peers = measure.peers("autograd", "torch", "jax")
    names = [n for n in CASES if not sys.argv[1:] or any(part in n for part in sys.argv[1:])]
    for size, n in SIZES.items():
        print(
            f"value and gradient, {size}: µs, then times over the best of autograd and torch, and over jax jit"
        )
        for name in names:
            arrays = CASES[name].arrays(np.random.default_rng(0), n)
            runs = able(contenders(CASES[name], arrays, peers))
            trial = measure.medians(runs, rounds=3)
            calls = max(1, int(1e-3 / trial["fxgrad jit"]))
            times = measure.medians(runs, rounds=15, calls=calls) if max(trial.values()) < 0.2 else trial
            eager = [times[p] for p in ("autograd", "torch") if p in times]
            ratios = [
                f"{times['fxgrad'] / min(eager):5.2f}" if eager else "    –",
                f"{times['fxgrad jit'] / times['jax jit']:5.2f}" if "jax jit" in times else "    –",
            ]
            columns = "  ".join(f"{p} {1e6 * t:.0f}" for p, t in times.items())
            print(f"  {name:20} {'  '.join(ratios)}   {columns}", flush=True)


if __name__ == "__main__":
    main()
