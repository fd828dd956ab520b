"""The programs by which `benchmarks.costs` measures the numbers of `fxgrad.core.costs`.

A module of fxgrad reads its numbers when it is imported, so programs import what they use.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

Call = Callable[[], Any]
EVERY = (0.0, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, math.inf)
BLOCKS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0, math.inf)  # a block has entries


class Program(NamedTuple):
    """What a number decides about: `make` returns a call for each of the sizes, `factors` are those of the number."""

    make: Callable[[int], Call]
    sizes: list[int]
    factors: tuple[float, ...] = EVERY


def powers(first: int, last: int, step: int = 2) -> list[int]:
    return [1 << k for k in range(first, last + 1, step)]


def row(n: int) -> Any:
    import numpy as np

    return np.linspace(0.1, 2.0, n)


def matrix(n: int, columns: int | None = None) -> Any:
    import numpy as np

    return np.random.default_rng(0).standard_normal((n, columns or n)) + n * np.eye(n, columns or n)


# -- machine code in place of NumPy ----------------------------------------------------------------------------------
def multiplied_stacks(n: int) -> Call:
    import numpy as np

    import fxgrad.numpy as fnp

    x = np.ones((n, 96, 96))
    return lambda: fnp.matmul(x, x)


def multiplied_matrices(*shape: int) -> Callable[[int], Call]:
    """Matrices (n, k) and (k, m) for a shape (k, m)."""

    def make(n: int) -> Call:
        import numpy as np

        import fxgrad.numpy as fnp

        x, w = np.ones((n, shape[0]), "f4"), np.ones(shape, "f4")
        return lambda: fnp.matmul(x, w)

    return make


def fused(n: int) -> Call:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    function, x = fx.jit(lambda x: fnp.exp(x) * x + 1.0), row(n)
    return lambda: function(x)


def called(n: int) -> Call:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    function, x = fx.jit(lambda x: fnp.sort(fnp.cumsum(x[::-1]) * x)[1:] - fnp.roll(x, 3)[1:]), row(n)
    return lambda: function(x)


def chained(entries: int, transform: str) -> Callable[[int], Call]:
    def make(n: int) -> Call:
        import fxgrad as fx
        import fxgrad.numpy as fnp

        def chain(x: Any) -> Any:
            for _ in range(n // 2):
                x = fnp.sin(x) * 1.5
            return fnp.sum(x)

        function, x = getattr(fx, transform)(chain), row(entries)
        return lambda: function(x)

    return make


def deferred(n: int) -> Call:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    function, x = fx.grad(lambda x: fnp.sum(fnp.sin(x) * x + fnp.exp(-x * x) * (x + 1))), row(n)
    return lambda: function(x)


def special(name: str, *operands: float) -> Callable[[int], Call]:
    def make(n: int) -> Call:
        from fxgrad.scipy import special

        function, x = getattr(special, name), row(n) / 2.5
        return lambda: function(*operands, x)

    return make


def copied(n: int) -> Call:
    import fxgrad.compat as torch

    x = torch.ones(64, n // 64, requires_grad=True)
    total = x.sum()

    def call() -> Any:
        x.grad = None
        return total.backward(retain_graph=True)

    return call


def outer(n: int) -> Call:
    import fxgrad.numpy as fnp

    x = row(math.isqrt(n))
    return lambda: fnp.outer(x, x)


def outer_of_rows(n: int) -> Call:
    import fxgrad.numpy as fnp

    x, y = row((1 << 17) // n), row(n)
    return lambda: fnp.outer(x, y)


def cumulated(n: int) -> Call:
    from fxgrad import lax

    x = row(n)
    return lambda: lax.cumlogsumexp(x)


def cumulated_rows(n: int) -> Call:
    from fxgrad import lax

    x = row(64 * n).reshape(64, n)
    return lambda: lax.cumlogsumexp(x, 0)


def accumulated(n: int) -> Call:
    from fxgrad import lax

    x = row(n)
    return lambda: lax.cumsum(x)


def pooled(n: int) -> Call:
    import fxgrad.compat as torch

    x = torch.from_numpy(row(2 * n).reshape(1, 1, -1))
    return lambda: torch.nn.functional.max_pool1d(x, 2)


def convolved(n: int) -> Call:
    import fxgrad.compat as torch

    x, w = torch.from_numpy(row(n // 3).reshape(1, 4, -1)), torch.from_numpy(row(48).reshape(4, 4, 3))
    return lambda: torch.nn.functional.conv1d(x, w)


def convolved_images(n: int) -> Call:
    import fxgrad.compat as torch

    x = torch.from_numpy(row(8 * n * n).reshape(1, 8, n, n))
    w = torch.from_numpy(row(8 * 8 * 9).reshape(8, 8, 3, 3))
    return lambda: torch.nn.functional.conv2d(x, w)


def convolved_channels(n: int) -> Call:
    import fxgrad.compat as torch

    x = torch.ones(1, n, 28, 28).contiguous(memory_format=torch.channels_last)
    return lambda: torch.nn.functional.conv2d(x, torch.ones(n, 1, 3, 3), groups=n)


def ranked(k: int) -> Call:
    import fxgrad.compat as torch

    return functools.partial(torch.topk, torch.randn(16, 2048), k)


def recurrent(n: int) -> Call:
    import fxgrad.compat as torch

    layer, x = torch.nn.LSTM(n, n), torch.ones(16, 4, n)

    def call() -> Any:
        with torch.no_grad():
            return layer(x)

    return call


def stepped(step: Callable[[Any, Any], Any]) -> Callable[[int], Call]:
    """Return the program that repeats `step(carry, constants)`, of matrices of order n, 64 times."""

    def make(n: int) -> Call:
        import fxgrad as fx

        a = matrix(n)
        function = fx.jit(lambda x: fx.lax.scan(lambda c, _: (step(c, a), None), x, None, 64)[0])
        x = matrix(n) / n
        return lambda: function(x)

    return make


def solved(c: Any, a: Any) -> Any:
    import fxgrad.numpy as fnp

    return fnp.linalg.solve(a, c)


def sorted_rows(c: Any, a: Any) -> Any:
    import fxgrad.numpy as fnp

    return fnp.sort(c[:1] * a, 1)


def multiplied(c: Any, a: Any) -> Any:
    return c @ a * 0.01


def changed(c: Any, a: Any) -> Any:
    import fxgrad.numpy as fnp

    return fnp.sin(c) + a


def hoisted(n: int) -> Call:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    w, xs = matrix(32) / 64, row(32 * n).reshape(n, 32)
    function = fx.jit(lambda xs: fx.lax.scan(lambda c, x: (fnp.tanh(c + x @ w), c), xs[0], xs))
    return lambda: function(xs)


# -- one way of NumPy's in place of another --------------------------------------------------------------------------
def indexed(n: int) -> Call:
    import numpy as np

    import fxgrad as fx
    import fxgrad.numpy as fnp

    places, x = np.arange(n)[::-1] // 2, row(n)
    function = fx.grad(lambda x: fnp.sum(x[places] ** 2))
    return lambda: function(x)


def chosen(n: int) -> Call:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    function, x = fx.jit(lambda x: fnp.where(x > 1, x, 0.0)), row(n)
    return lambda: function(x)


def stacked(n: int) -> Call:
    import fxgrad as fx

    a, x = matrix(math.isqrt(n)), matrix(math.isqrt(n), 4)
    function = fx.jit(lambda a, x, y: (a @ x, a @ y))
    return lambda: function(a, x, 2 * x)


def scaled(n: int) -> Call:
    import fxgrad as fx

    x = row(n)
    function = fx.jit(lambda a, b, x: a * (b * x) * (a + b))
    return lambda: function(2.0, 3.0, x)


def summed_rows(n: int) -> Call:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    x, b = row(16 * n).reshape(n, 16), row(16)
    function = fx.grad(lambda b: fnp.sum((x + b) ** 2))
    return lambda: function(b)


def softened(n: int) -> Call:
    import fxgrad as fx

    x = row(n).reshape(-1, 32)
    return lambda: fx.nn.softmax(x)


def activated(n: int) -> Call:
    import fxgrad as fx

    x = row(n)
    return lambda: fx.nn.gelu(x)


def raised(entries: int) -> Callable[[int], Call]:
    def make(n: int) -> Call:
        import numpy as np

        from fxgrad.kernels.power import real_power

        x, p = (row(entries), float(n)) if entries else (row(n), 5.0)
        x = (x / 2.5).astype(np.float32)
        return lambda: real_power(x, p)

    return make


def exponential(n: int) -> Call:
    import fxgrad as fx
    from fxgrad.scipy import linalg

    a = matrix(n) / n
    return lambda: fx.jvp(linalg.expm, (a,), (a,))


def lyapunov(n: int) -> Call:
    from fxgrad.scipy import linalg

    a = matrix(n) / (4 * n)
    return lambda: linalg.solve_discrete_lyapunov(a, a)


def filtered(n: int) -> Call:
    from fxgrad.scipy import signal

    x, y = row(n), row(64)
    return lambda: signal.convolve(x, y)


def triangular(columns: int, stack: int = 0) -> Callable[[int], Call]:
    def make(n: int) -> Call:
        import numpy as np

        import fxgrad as fx

        a, b = np.tril(matrix(n)), matrix(n, columns)
        if stack:
            a, b = np.stack([a] * stack), np.stack([b] * stack)
        return lambda: fx.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)

    return make


def factored(n: int) -> Call:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    a = matrix(n)
    a = a @ a.T
    function = fx.grad(lambda a: fnp.sum(fnp.linalg.cholesky(a)))
    return lambda: function(a)


def per_sample(n: int) -> Call:
    import numpy as np

    import fxgrad as fx
    import fxgrad.numpy as fnp

    w, xs = row(1 << 10), np.ones((n, 1 << 10))
    function = fx.per_sample.norms(lambda w, x: fnp.sum(fnp.sin(w) * w * x))
    return lambda: function(w, xs)


def closed_over(n: int) -> Call:
    import numpy as np

    import fxgrad as fx
    import fxgrad.numpy as fnp

    w, xs, offsets = row(n), np.ones((4, n)), row(n)
    function = fx.per_sample.norms(lambda w, x: fnp.sum(fnp.tanh(x + offsets) * w))
    return lambda: function(w, xs)


def drawn(n: int) -> Call:
    import fxgrad.compat as torch

    return lambda: torch.randn(n)


def sorted_line(n: int) -> Call:
    import fxgrad.compat as torch

    return functools.partial(torch.sort, torch.randn(n))


def transposed(n: int) -> Call:
    import fxgrad.compat as torch

    x = torch.ones(n, n).t()
    return x.contiguous


PROGRAMS: dict[str, Program] = {
    "FUSED_ENTRIES": Program(fused, powers(8, 18)),
    "FUSED_OPERATIONS": Program(chained(256, "jit"), [2, 4, 6, 8, 12]),
    "CALLED_ENTRIES": Program(called, powers(3, 15)),
    "DEFERRED_ENTRIES": Program(deferred, powers(10, 20)),
    "DEFERRED_OPERATIONS": Program(chained(1 << 17, "grad"), [2, 4, 6, 8, 12]),
    "LIBRARY_ENTRIES": Program(special("gammaln"), powers(8, 16)),
    "OUTER_ENTRIES": Program(outer, powers(12, 20)),
    "OUTER_ROW": Program(outer_of_rows, powers(2, 8)),
    "STREAMED_BYTES": Program(outer, powers(20, 24)),
    "CUMULATED_ENTRIES": Program(cumulated, powers(5, 13)),
    "CUMULATED_ROW": Program(cumulated_rows, powers(4, 12)),
    "ACCUMULATED_ENTRIES": Program(accumulated, powers(8, 16)),
    "POOLED_ENTRIES": Program(pooled, powers(3, 11)),
    "RECURRENT_STATE": Program(recurrent, powers(4, 10, 1)),
    "SOLVED_ORDER": Program(stepped(solved), powers(2, 7, 1)),
    "RANKED_ENTRIES": Program(ranked, powers(2, 10), BLOCKS[:-1]),
    "SORTED_ROW": Program(stepped(sorted_rows), powers(2, 7, 1)),
    "STEP_ENTRIES": Program(stepped(changed), powers(2, 8)),
    "STEP_PRODUCTS": Program(stepped(multiplied), powers(2, 7, 1)),
    "SHARED_STACK": Program(multiplied_stacks, powers(1, 6, 1)),
    "TRANSPOSED_BLOCK": Program(transposed, powers(8, 12, 1), BLOCKS),
    "BLOCK_LENGTH": Program(multiplied_matrices(512, 512), powers(8, 12, 1), BLOCKS),
    "BLOCK_PRODUCTS": Program(multiplied_matrices(16, 512), powers(8, 12, 1), BLOCKS),
    "ONE_THREAD_ROWS": Program(multiplied_matrices(64, 1), powers(4, 12)),
    "SHARED_ENTRIES": Program(copied, powers(14, 22)),
    "SHARED_LINE": Program(sorted_line, powers(14, 20, 1)),
    "THREAD_WORK": Program(fused, powers(18, 22, 1)),
    "INDEXED_ENTRIES": Program(indexed, powers(8, 16)),
    "WHERE_ENTRIES": Program(chosen, powers(6, 14)),
    "STACKED_ENTRIES": Program(stacked, powers(12, 20)),
    "ROW_ENTRIES": Program(softened, powers(8, 16)),
    "SCANNED_ENTRIES": Program(scaled, powers(8, 16)),
    "SUMMED_BY_ONES": Program(summed_rows, powers(6, 14)),
    "MULTIPLIED_EXPONENT": Program(raised(1 << 12), [5, 7, 15, 31, 63, 127, 255]),
    "DOUBLED_ORDER": Program(exponential, [2, 4, 8, 16, 32]),
    "STEIN_ORDER": Program(lyapunov, [2, 4, 8, 16, 32]),
    "FOURIER_PRODUCTS": Program(filtered, powers(6, 14)),
    "LAPACK_ORDER": Program(triangular(2), powers(2, 8)),
    "STACKED_LAPACK_ORDER": Program(triangular(2, 32), powers(2, 8)),
    "ONE_THREAD_ENTRIES": Program(triangular(256), powers(2, 6, 1), BLOCKS),
    "ONE_THREAD_PRODUCTS": Program(triangular(256), powers(2, 8)),
    "CACHE_ENTRIES": Program(special("ndtri"), powers(14, 20), BLOCKS),
    "NEAR_CACHE_ENTRIES": Program(raised(0), powers(12, 20), BLOCKS),
    "FAR_CACHE_ENTRIES": Program(activated, powers(14, 20), BLOCKS),
    "NODE_ENTRIES": Program(special("gammainc", 2.5), powers(8, 16), BLOCKS),
    "WINDOW_BYTES": Program(convolved_images, [16, 32, 64, 128], BLOCKS),
    "PLANE_ENTRIES": Program(convolved_images, [16, 32, 64, 128], BLOCKS),
    "TOGETHER_ENTRIES": Program(convolved_channels, [32, 64, 256], BLOCKS),
    "PANEL_ENTRIES": Program(convolved_images, [16, 32, 64, 128], BLOCKS),
    "TRIANGLE_ORDER": Program(triangular(4, 32), powers(4, 6, 1), BLOCKS),
    "CHOLESKY_ORDER": Program(factored, powers(4, 8, 1), BLOCKS),
    "HOISTED_ENTRIES": Program(hoisted, powers(4, 12)),
    "HOISTED_ROWS": Program(hoisted, powers(1, 7)),
    "WRITTEN_GRADIENTS": Program(per_sample, powers(6, 12), BLOCKS),
    "COMPARED_BYTES": Program(closed_over, powers(12, 18)),
    "DRAWN_ENTRIES": Program(drawn, powers(10, 18), BLOCKS),
    "READ_BLOCKS": Program(drawn, powers(4, 10)),
    "PAIRED_ENTRIES": Program(drawn, powers(6, 12)),
}


# Numbers that are not measured here, and why.
UNMEASURED = {
    "COMPILATION": "what is compiled is kept in a file, so that it takes this long once",
    "KERNEL_COMPILATION": "the same",
    "ROUND_TIME": "a part of the two above",
    "GROUP_OPERATIONS": "a limit of the time that a compilation takes",
    "SEGMENT_OPERATIONS": "the same",
    "STEP_INSTRUCTIONS": "the same",
    "FEWEST_DRAWS": "decides about the load of LLVM, which comes once",
    "FEWEST_WORDS": "decides about the load of NumPy's generator, which comes once",
    "LOCKED_ENTRIES": "several threads",
    "SHARED_UNITS": "the same",
    "LEAST_PRODUCTS": "the same",
    "LEAST_PLACES": "the same",
    "FEWEST_TILES": "machine code takes the place of blocks",
    "SEEN_ENTRIES": "the time of staging against what a program may save",
    "SEEN_ORDER": "the same",
    "FOLLOWED_TURNS": "the same",
    "PRUNED_EQUATIONS": "the same",
    "SCALED_ROW": "whatever lies between the rows of two operands",
    "REPEATED_STEPS": "memory against time",
    "REPEATED_ENTRIES": "the same",
    "REORDERED_GAIN": "a factor of products, not a time",
    "COEFFICIENT_RATIO": "the same",
    "LOOKING_PASSES": "the same",
    "KEPT_BYTES": "a GPU",
    "ONE_STEP_BYTES": "several processes: benchmarks/communication_cost.py",
}
