"""NumPy's `x.flat` under transforms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import numpy as fnp
from ..core.aval import aval_of
from .entries import fit_values, read_key, unbox
from .writing import as_box


class Flat:
    """The entries of an array under transforms one after another: NumPy's `x.flat`."""

    __slots__ = ("x",)

    def __init__(self, x: Any):
        self.x = x

    base = property(lambda self: self.x)

    def __len__(self) -> int:
        return self.x.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries())

    def __getitem__(self, key: Any) -> Any:
        return self.entries()[unbox(key)]

    def entries(self) -> Any:
        """Return the entries as they are now, in an array of their own."""
        return fnp.copy(fnp.ravel(unbox(self.x)))

    copy = entries

    def __setitem__(self, key: Any, values: Any) -> None:
        box = as_box(self.x)
        spot = box.positions.reshape(-1)[read_key(key)[0]]
        values = fnp.ravel(fit_values(values, box.dtype))
        if np.size(spot):
            order = np.arange(np.size(spot)) % aval_of(values).size
            box.cell.write(spot, fnp.take(values, order, axis=0))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(unbox(self.x), dtype).ravel()
