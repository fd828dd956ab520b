"""What a sum over many processes costs by the model of Hockney: a message of b bytes takes α + b/β seconds.

Three algorithms, as Thakur, Rabenseifner and Gropp count their steps ("Optimization of collective communication
operations in MPICH", International Journal of High Performance Computing Applications 19(1), 2005, section 4.5). n
processes sum b bytes each; γ is the time in which one byte is added:

    recursive doubling   ⌈log₂ n⌉ · (α + b/β + bγ)                       every process sends all it has, ⌈log₂ n⌉ times
    Rabenseifner         2⌈log₂ n⌉ · α + (n-1)/n · (2b/β + bγ)           halves, quarters …, and back
    ring                 2(n-1) · α + (n-1)/n · (2b/β + bγ)              one n-th, to the neighbour

The last two send 2(n-1)/n · b bytes from each process, less than which no sum can do: so much a training step sends for
b bytes of parameters. The first is for few bytes, the second for many; numbers of processes that are no powers of two
take the first two a step more than is counted here. No network is that simple: what is left out are messages that
share a link, and processes that come late.
"""

from dataclasses import dataclass
from math import ceil, log2

RANKS = tuple(2**k for k in range(3, 13))  # 8 … 4096


@dataclass(frozen=True)
class Network:
    """Seconds for an empty message, bytes a second of a long one, seconds to add a byte."""

    latency: float
    bandwidth: float
    addition: float = 0.0


def sent_bytes(ranks: int, size: float) -> float:
    """Return what each process sends of `size` bytes that are summed by a ring, or by Rabenseifner's algorithm."""
    return 2 * (ranks - 1) / ranks * size


def recursive_doubling(network: Network, ranks: int, size: float) -> float:
    """Return the seconds in which `size` bytes are summed by exchanges of everything."""
    return ceil(log2(ranks)) * (network.latency + size / network.bandwidth + size * network.addition)


def rabenseifner(network: Network, ranks: int, size: float) -> float:
    """Return the seconds in which `size` bytes are summed by recursive halving, and gathered by doubling."""
    return 2 * ceil(log2(ranks)) * network.latency + transfer(network, ranks, size)


def ring(network: Network, ranks: int, size: float) -> float:
    """Return the seconds in which `size` bytes are summed, and gathered, around a ring."""
    return 2 * (ranks - 1) * network.latency + transfer(network, ranks, size)


def transfer(network: Network, ranks: int, size: float) -> float:
    """Return the part of the cost that grows with the bytes, where no byte is sent more often than needed."""
    share = (ranks - 1) / ranks
    return sent_bytes(ranks, size) / network.bandwidth + share * size * network.addition


ALGORITHMS = {"recursive doubling": recursive_doubling, "Rabenseifner": rabenseifner, "ring": ring}


def table(network: Network, sizes: dict[str, float]) -> list[list[str]]:
    """Return the rows of a table: for each number of processes and each size the seconds of every algorithm."""
    rows = [["processes", *(f"{title}, {name}" for title in sizes for name in ALGORITHMS)]]
    for ranks in RANKS:
        costs = [cost(network, ranks, size) for size in sizes.values() for cost in ALGORITHMS.values()]
        rows.append([f"{ranks}", *map(duration, costs)])
    return rows


def duration(seconds: float) -> str:
    """Return a time with its unit, to three digits.

    >>> [duration(t) for t in (2.5e-6, 0.0123456, 12.0)]
    ['2.50 µs', '12.3 ms', '12.0 s']
    """
    unit, scale = next(pair for pair in (("s", 1.0), ("ms", 1e-3), ("µs", 0.0)) if seconds >= pair[1])
    value = seconds / (scale or 1e-6)
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
