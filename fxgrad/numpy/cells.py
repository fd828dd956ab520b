"""The contents of boxes: a cell holds a value, which writes replace, and a window shows some entries of a cell.

NumPy itself decides which operations give views. Each cell has the *positions* of its entries, an array of integers. If
an operation of NumPy on that array shares its memory, its result is a view with these positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import ops
from ..core.aval import aval_of
from ..core.errors import ImmutableError
from ..core.interpreter import CURRENT, levels
from ..core.staging import GraphInterpreter
from .at_index import At
from .composite import operand
from .entries import entries_at, flat_key


class Cell:
    """The value of a box that is not a view, and the number of its replacements.

    `context` is the Context in which it was made, `layout` the positions of its entries, computed on demand, and
    `shown` has weak references to the arrays that NumPy made of it without copying: `np.asarray(x)`.
    """

    __slots__ = ("context", "held", "layout", "shown", "version")
    _fx_is_cell = True
    part: str | None = None  # "real" or "imag", where these are the entries' parts

    def __init__(self, value: Any):
        self.held = value if type(value) is np.ndarray else operand(value)
        self.context = CURRENT.get()
        self.layout: Any = None
        self.shown: list[Any] = []
        self.version = 0

    value = property(lambda self: self.held)
    root = property(lambda self: self)
    aval = property(lambda self: aval_of(self.value))
    shape: Any = property(lambda self: aval_of(self.held).shape)
    dtype: Any = property(lambda self: aval_of(self.held).dtype)

    @property
    def positions(self) -> Any:
        """The positions of the entries among those of the root."""
        if self.layout is None:
            aval = aval_of(self.held)
            self.layout = np.arange(aval.size).reshape(aval.shape)
        return self.layout

    pattern = positions  # positions with the same strides that are known

    def assign(self, value: Any) -> None:
        """Replace all entries."""
        ensure_same_body(levels(self.context), aval_of(self.held))
        if any(array() is not None for array in self.shown):
            raise shown_error()
        self.held = value
        self.version += 1

    def write(self, spot: Any, values: Any) -> None:
        """Put values of the same shape in the place of the entries at positions in the root."""
        root = self.root
        shape = root.shape
        flat = ops.reshape(root.held, shape=(aval_of(root.held).size,))
        where = flat_key(spot)
        values = ops.reshape(values, shape=(aval_of(values).size,))
        if self.part is not None:
            other = entries_at(flat, where)
            parts = (values, ops.imag(other)) if self.part == "real" else (ops.real(other), values)
            values = ops.make_complex(*parts)
        root.assign(ops.reshape(At(flat)[where].set(values), shape=shape))


class Window(Cell):
    """Some entries of another cell, or their parts, in another order: `read` makes them of the value of that cell.

    >>> def f(x):
    ...     y = x.copy()
    ...     y[1:] *= 10
    ...     return y
    >>> fx.jvp(f, (np.ones(2),), (np.ones(2),))
    (array([ 1., 10.]), array([ 1., 10.]))
    """

    __slots__ = ("parent", "part", "pattern", "read", "seen")
    parent: Cell
    pattern: Any
    part: str | None

    def __init__(
        self,
        parent: Cell,
        positions: Any,
        read: Callable[[Any], Any],
        part: str | None = None,
        pattern: Any = None,
    ):
        self.parent, self.layout, self.read, self.part = parent, positions, read, part or parent.part
        self.pattern = positions if pattern is None else pattern
        self.seen = -1

    root = property(lambda self: self.parent.root)
    positions = property(lambda self: self.layout)
    shape = property(lambda self: aval_of(self.layout).shape)

    @property
    def dtype(self) -> Any:
        dtype = self.root.dtype
        return np.empty(0, dtype).real.dtype if self.part else dtype

    @property
    def value(self) -> Any:
        """The entries, read anew where something has been written."""
        version = self.root.version
        if self.seen != version:
            self.held, self.seen = self.read(self.parent.value), version
        return self.held

    def show(self, value: Any) -> None:
        """Take over a value that is known to be the entries now."""
        self.held, self.seen = value, self.root.version

    def assign(self, value: Any) -> None:
        self.write(self.layout, value)

    def write(self, spot: Any, values: Any) -> None:
        if not self.pattern.flags.writeable:
            raise ImmutableError("assignment destination is read-only", hint="x = x.copy()")
        super().write(spot, values)


def shown_error() -> ImmutableError:
    """Return the error for a write that an array of NumPy's would miss."""
    return ImmutableError(
        "an array is written into of which np.asarray(x) has made another one, which would not see it",
        hint="np.array(x), a copy, or the functions of fxgrad.numpy, which take x as it is",
    )


def ensure_same_body(known: Iterable[Any], aval: Any) -> None:
    """Raise where a body is being staged that is not among the known levels, in which an array was made."""
    known = {*map(id, known)}
    for level in levels():
        if isinstance(level, GraphInterpreter) and level.stage_effects and id(level) not in known:
            raise ImmutableError(
                f"an array {aval!r} made outside of {level.name} is written into inside: that would happen once, "
                "while the function is staged, and not each time it runs",
                hint="x = x.copy() inside, and return it; loops take it as part of their carry",
            )
