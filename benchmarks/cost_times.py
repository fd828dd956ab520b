"""The work whose times, as NumPy takes them, are in `fxgrad.core.costs`: `benchmarks.costs` measures them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.cost_programs import Call, convolved, matrix, outer, pooled, recurrent, row, special


class Work(NamedTuple):
    """What takes a time: NumPy's call for each of two sizes, and how often the work is in the smaller, and the larger
    call. The time is what the larger takes more, for each piece of work that it has more."""

    make: Callable[[int], Call]
    sizes: tuple[int, int]
    pieces: tuple[float, float]


def of_entries(name: str, operands: int = 1) -> Callable[[int], Call]:
    """Return the program that calls a function of NumPy's on n entries."""

    def make(n: int) -> Call:
        import numpy as np

        function, given = getattr(np, name), [row(n)] * operands
        return lambda: function(*given)

    return make


def summed_in_runs(n: int) -> Call:
    """Sums of n runs of two entries."""
    x = row(2 * n).reshape(n // 16, 2, 8, 2)
    return lambda: x.sum((1, 3))


def swapped(n: int) -> Call:
    """Swaps of n entries, each with itself or a later one."""
    import numpy as np

    from fxgrad.compat._make.variates import swap_in_turn

    places = np.arange(n) + (row(n) * 1e6).astype(int) % np.arange(n, 0, -1)
    return lambda: swap_in_turn(places)


def repeated(prepare: Callable[[], Call]) -> Callable[[int], Call]:
    """Return the program that makes a call n times."""

    def make(n: int) -> Call:
        call = prepare()
        return lambda: [call() for _ in range(n)]

    return make


def added() -> Call:
    import numpy as np

    x = row(4)
    return lambda: np.add(x, x)


def small_solution() -> Call:
    import numpy as np

    a = matrix(4)
    return lambda: np.linalg.solve(a, a)


def scattered(n: int) -> Call:
    import numpy as np

    x, places, y = np.zeros(64), np.arange(n) % 64, row(n)
    return lambda: np.add.at(x, places, y)


def gathered() -> Call:
    import fxgrad.compat as torch

    x, places = torch.ones(8, 8), torch.zeros(8, 8, dtype=torch.int64)
    return lambda: torch.gather(x, 1, places)


def sampled(n: int) -> Call:
    import fxgrad.compat as torch

    grid = torch.zeros(1, n, 1, 2)
    return lambda: torch.nn.functional.grid_sample(torch.ones(1, 1, 8, 8), grid, align_corners=False)


def unrolled(n: int) -> Call:
    import fxgrad.compat as torch  # the steps of an LSTM

    layer, x = torch.nn.LSTM(1, 1), torch.ones(n, 1, 1)

    def call() -> Any:
        with torch.no_grad():
            return layer(x)

    return call


def numbers(law: str, *parameters: Any) -> Callable[[int], Call]:
    """Return the program that draws n random numbers."""

    def make(n: int) -> Call:
        import fxgrad as fx

        key, draw = fx.random.key(0), getattr(fx.random, law)
        return lambda: draw(key, *parameters, (n,))

    return make


def twisted(n: int) -> Call:
    """Return the program that generates n words of torch's generator as NumPy does."""
    import numpy as np

    bits = np.random.MT19937(0)
    return lambda: bits.random_raw(n)


def words_of_keys(n: int) -> Call:
    """A word for each of n keys."""
    import fxgrad as fx

    keys, draw = fx.random.split(fx.random.key(0), n), fx.vmap(lambda key: fx.random.bits(key, (1,)))
    return lambda: draw(keys)


FEW, MANY = 1 << 8, 1 << 14
ENTRIES = (FEW, MANY), (FEW, MANY)
TIMES: dict[str, Work] = {
    "OPERATION_TIME": Work(repeated(added), (1, 65), (1, 65)),
    "SLOW_OPERATION_TIME": Work(repeated(small_solution), (1, 65), (1, 65)),
    "ENTRY_TIME": Work(of_entries("add", 2), *ENTRIES),
    "FUNCTION_TIME": Work(of_entries("sinh"), *ENTRIES),
    "SPECIAL_TIME": Work(repeated(lambda: special("erf")(FEW)), (1, 17), (1, 17)),
    "SPECIAL_PASSES": Work(special("erf"), (FEW, MANY), (FEW * 0.5, MANY * 0.5)),  # of ENTRY_TIME each
    "RUN_PASSES": Work(summed_in_runs, (FEW, MANY), (FEW * 0.5, MANY * 0.5)),  # of ENTRY_TIME each
    "OUTER_TIME": Work(outer, *ENTRIES),
    "CUMULATION_TIME": Work(of_entries("cumsum"), *ENTRIES),
    "RANKING_TIME": Work(of_entries("argsort"), *ENTRIES),
    "SWAP_TIME": Work(swapped, *ENTRIES),
    "SAMPLE_TIME": Work(sampled, (FEW, MANY), (4 * FEW, 4 * MANY)),
    "COMPOSED_TIME": Work(repeated(gathered), (1, 17), (1, 17)),
    "SCATTER_TIME": Work(scattered, *ENTRIES),
    "CONVOLUTION_TIME": Work(repeated(lambda: convolved(48)), (1, 17), (1, 17)),
    "PRODUCT_TIME": Work(convolved, (3 << 12, 3 << 16), (48 << 10, 48 << 14)),
    "POOL_TIME": Work(repeated(lambda: pooled(4)), (1, 17), (1, 17)),
    "TAP_TIME": Work(pooled, (FEW, MANY), (2 * FEW, 2 * MANY)),
    "RECURRENT_STEP_TIME": Work(unrolled, (8, 72), (8, 72)),
    "STATE_TIME": Work(recurrent, (8, 24), (16 * 4 * 8, 16 * 4 * 24)),
    "DRAW_TIME": Work(repeated(lambda: words_of_keys(512)), (1, 9), (1, 9)),
    "KEY_TIME": Work(words_of_keys, (1, 17), (1, 17)),
    "WORD_TIME": Work(numbers("bits"), *ENTRIES),
    "TWISTED_TIME": Work(twisted, *ENTRIES),
    "NUMBER_TIME": Work(numbers("normal"), *ENTRIES),
    "REJECTION_TIME": Work(numbers("loggamma", 2.5), *ENTRIES),
}
