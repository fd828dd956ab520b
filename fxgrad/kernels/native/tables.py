"""Tables of numbers and addresses, which machine code of correlations reads, as part of plans for given shapes."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .arrays import HEAD, are_readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    Numbers = Sequence[int]


read_word = ctypes.c_ssize_t.from_address


def address(array: np.ndarray, *start: int) -> int:
    """Return where an array, or its entry number `start` along the first axes, is in memory."""
    first = read_word(id(array) + HEAD).value if are_readable() else array.ctypes.data
    return first + sum([i * s for i, s in zip(start, array.strides)]) if start else first


def elements(array: np.ndarray) -> list[int]:
    """Return the strides of an array, counted in entries."""
    return [s // array.itemsize for s in array.strides]


class Table:
    """Numbers and addresses for machine code, by name; what is at the addresses lives as long."""

    def __init__(self, names: Sequence[str], values: dict[str, Any]):
        self.kept: dict[str, Any] = {
            name: np.ascontiguousarray(v) for name, v in values.items() if name[:3] == "at_"
        }
        numbers = [address(self.kept[name]) if name in self.kept else int(values[name]) for name in names]
        self.numbers = np.array(numbers, np.int64)
        self.address = address(self.numbers)


class Plan(NamedTuple):
    """A correlation of operands of given shapes and strides."""

    table: Table
    options: tuple[int, ...]
    units: int
    sizes: tuple[int, ...]  # of the memory that the call provides


def grid_of_taps(sizes: Numbers, strides: Numbers, taps: Sequence[slice]) -> np.ndarray:
    """Return where the chosen taps of a kernel are in memory."""
    places = np.zeros(1, np.int64)
    for size, stride, own in zip(sizes, strides, taps):
        places = (places[:, None] + np.arange(size)[own] * stride).reshape(-1)
    return places


def odd_lines(entries: int, itemsize: int) -> int:
    """Return a number of entries that fill an odd number of lines of the cache: entries so far apart do not compete for
    the same places in it."""
    line = 64 // itemsize
    return (-(-entries // line) | 1) * line if entries else 0
