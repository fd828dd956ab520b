"""Boxes: arrays that can be written into while a program is differentiated, mapped or staged.

Traced values never change, because rules, closures and inner levels hold on to them. A box is a mutable cell outside of
all levels that holds a value, plain or traced. A write computes the updated value and stores it in the box. So
operations before a write use the old value and operations after it the new one, and derivatives are those of the pure
program. A traced value that user code writes into is replaced by a box, together with its base and all views of that:
names and views see the write, as in NumPy. The library itself keeps twins of the user's values, so that it need not
know who refers to them.

Basic indices, `reshape`, `T` and similar operations give views: boxes of windows, which read and write their root (see
`cells`).
"""

from __future__ import annotations

import math
import operator
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core import interpreter, pytree
from ..core.arrays import NAMESPACES, as_value
from ..core.aval import PLAIN, aval_of
from ..core.errors import DTypeError, ShapeError, UnsupportedError
from ..core.interpreter import EVAL, Tracer, ensure_open, levels, parts_of, twin
from ..core.surface import SurfaceObject, is_box
from ..ops.operators import SIGNS, iterate, length, refuse_strides
from . import methods  # noqa: F401  what traced values have, and boxes are to have as well
from .at_index import At
from .cells import Cell, Window, ensure_same_body, shown_error
from .composite import is_viewing, operand
from .entries import (
    entries_at,
    first_of,
    fit_values,
    is_basic,
    is_mask,
    read_key,
    stretch,
    unbox,
    without_count,
)
from .flat import Flat
from .missing import INPLACE_FUNCTIONS
from .protocol import array_ufunc
from .selection import Selection


class Box(SurfaceObject):
    """An array that can be written into: a cell that holds a value, plain or traced, of a fixed shape and dtype.

    For transforms it is its value: they return values, and copy their arguments.

    >>> def running_sums(x):
    ...     sums = np.zeros_like(x)
    ...     sums[0] = x[0]
    ...     for i in range(1, len(x)):
    ...         sums[i] = sums[i - 1] + x[i]
    ...     return sums
    >>> fx.jacobian(running_sums)(np.ones(3))
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 1., 1.]])
    """

    __slots__ = ()
    _fx_is_box = True
    cell: Cell

    @staticmethod
    def __fxgrad_object__(value: Any, shared: bool = False) -> Any:
        """Return the value itself: results of operations on a box are not boxes."""
        return value

    def __fxgrad_value__(self) -> Any:
        return self.value

    def __fxgrad_call__(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function of this library on the values of the boxes among its arguments. What one of NumPy's functions
        makes of a box can be written into: it is a view of the box where NumPy's would be, and a box otherwise."""
        name, reference = function.__name__, getattr(function, "reference", None)
        if reference is not None and is_viewing(name, args, kwargs):
            return call_viewing(function, args, kwargs)
        if name in INPLACE_FUNCTIONS and kwargs.get("inplace", True):
            return getattr(np, name)(*args, **{n: v for n, v in kwargs.items() if n != "inplace"})
        result = function(*map(unbox, args), **{name: unbox(v) for name, v in kwargs.items()})
        if reference is not None and is_box(args[0] if args else None):
            if name == "nan_to_num" and not kwargs.get("copy", True):
                return args[0].assign_result(result, name)
            if result is args[0].value and not kwargs.get("copy", True):
                return args[0]
        return make_writable(result, (*args, *kwargs.values()))

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any
    ) -> Any:
        """NEP 13: what a ufunc of NumPy's makes of a box can be written into."""
        result = array_ufunc(self, ufunc, method, *inputs, out=out, **options)
        return make_writable(result) if out is None and method != "at" else result

    # -- what it is ------------------------------------------------------------------------------------------------
    @property
    def value(self) -> Any:
        """The value that it holds now."""
        return self.cell.value

    _fx_value = value

    @property
    def base(self) -> Any:
        """A box of what this one is a view of, or None."""
        cell = self.cell
        return None if cell.root is cell else Buffer.of(cell.root)

    positions = property(lambda self: self.cell.positions)
    aval = property(lambda self: aval_of(self.value))
    shape = property(lambda self: self.cell.shape)
    dtype = property(lambda self: self.cell.dtype)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    weak = False
    flags = property(lambda self: self.cell.pattern.flags)

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps between neighbours in bytes, as NumPy's array would have them."""
        layout = self.cell.pattern
        return tuple(step // layout.itemsize * self.cell.root.dtype.itemsize for step in layout.strides)

    # -- reading ---------------------------------------------------------------------------------------------------
    def __getitem__(self, key: Any) -> Any:
        key, known = read_key(key)
        cell = self.cell
        read: Callable[[Any], Any] = lambda value: entries_at(value, key)  # noqa: E731
        if known:
            pattern = cell.pattern[key]
            if shares_memory(pattern, cell.pattern):
                spot = pattern if cell.positions is cell.pattern else entries_at(cell.positions, key)
                return Buffer.of(Window(cell, spot, read, pattern=pattern))
        elif is_basic(key):  # a traced index
            pattern = cell.pattern[first_of(key)]
            if isinstance(pattern, np.ndarray):
                return Buffer.of(Window(cell, entries_at(cell.positions, key), read, pattern=pattern))
        elif is_mask(key, self.shape):
            return Selection(self.value, key)
        return make_writable(read(self.value))

    __iter__, __len__ = iterate, length

    @property
    def flat(self) -> Flat:
        """The entries one after another."""
        return Flat(self)

    @flat.setter
    def flat(self, values: Any) -> None:
        Flat(self)[:] = values

    @property
    def real(self) -> Any:
        return self.view_part("real")

    @real.setter
    def real(self, values: Any) -> None:
        self.view_part("real")[...] = values

    @property
    def imag(self) -> Any:
        return self.view_part("imag")

    @imag.setter
    def imag(self, values: Any) -> None:
        self.view_part("imag")[...] = values

    def view_part(self, part: str) -> Any:
        """Return the real or imaginary parts: a view, but for the imaginary parts of real numbers."""
        if self.dtype.kind == "c":
            cell = self.cell
            return Buffer.of(Window(cell, cell.positions, getattr(ops, part), part, cell.pattern))
        return self[...] if part == "real" else make_writable(ops.imag(self.value))

    # -- writing ---------------------------------------------------------------------------------------------------
    def __setitem__(self, key: Any, values: Any) -> None:
        key, known = read_key(key)
        cell = self.cell
        if (
            known
            and isinstance(values, Box)
            and values.cell.root is cell.root
            and values.cell.part == cell.part
        ):
            spot = cell.positions[key]  # x[i] += y ends like this, when all is done
            if isinstance(values.positions, np.ndarray) and np.array_equal(spot, values.positions):
                return
        if isinstance(values, Selection):
            whole = fit_values(values.written_into(key), self.dtype)
            cell.assign(ops.where(self.spread(key), stretch(whole, self.shape), operand(self.value)))
            return
        values = fit_values(values, self.dtype)
        if is_mask(key, self.shape):
            values = without_count(values, self.ndim - key.ndim)
        if cell.root is not cell and known:
            spot = cell.positions[key]
            cell.write(spot, stretch(values, np.shape(spot)))
        else:
            cell.assign(self.updated(key, values))

    def updated(self, key: Any, values: Any) -> Any:
        """Return the value with other entries at an index."""
        value = operand(self.value)
        if is_mask(key, self.shape) and aval_of(values).ndim <= self.ndim - key.ndim:  # how many is not known
            return ops.where(self.spread(key), values, value)
        return At(value)[key].set(values)

    def spread(self, mask: Any) -> Any:
        """Return a mask over the leading axes as one that broadcasts over the others."""
        return ops.reshape(mask, shape=(*mask.shape, *(1,) * (self.ndim - mask.ndim)))

    def assign(self, value: Any) -> None:
        """Replace all entries."""
        self.cell.assign(value)

    def assign_result(self, result: Any, operation: str, where: Any = True) -> Box:
        """Replace the entries, where they are selected, by the result of an operation in place, as NumPy's `out=`
        does."""
        result = as_value(result if where is True else ops.where(unbox(where), result, self.value))
        aval = aval_of(result)
        if aval.shape != self.shape and np.broadcast_shapes(aval.shape, self.shape) != self.shape:
            raise ShapeError(
                f"{operation}: non-broadcastable output operand with shape {self.shape} doesn't match the "
                f"broadcast shape {aval.shape}",
                hint=f"x = x + y, a new array of shape {aval.shape}",
            )
        if not aval.weak and not np.can_cast(aval.dtype, self.dtype, "same_kind"):
            raise DTypeError(
                f"{operation}: cannot cast the result from {aval.dtype} to {self.dtype}, the dtype of what is "
                "written into, by the rule 'same_kind'",
                hint="x = x.astype(…) before, or x = x + y instead of x += y",
            )
        self.assign(stretch(fit_values(result, self.dtype), self.shape))
        return self

    def fill(self, value: Any) -> None:
        """Write one value into all entries."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        """Put the entries along an axis in ascending order."""
        self.assign(fnp.sort(self.value, axis=axis))

    def partition(self, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None) -> None:
        """Put the entries along an axis in the order of `numpy.partition`."""
        self.assign(fnp.partition(self.value, kth, axis=axis))

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Write values at flat positions."""
        self.assign(fnp.put(self.value, unbox(indices), fit_values(values, self.dtype), mode, inplace=False))

    def resize(self, *shape: Any, refcheck: bool = True) -> NoReturn:
        """Raise an error: a box has one shape."""
        raise UnsupportedError("x.resize(…) under a transform", hint="x = np.resize(x, shape)")

    def __delitem__(self, key: Any) -> NoReturn:
        raise ValueError("cannot delete array elements")

    # -- copies, text ----------------------------------------------------------------------------------------------
    def concretize(self, operation: str) -> Any:
        """Return the value, of which more may be known."""
        return self.value

    decide = concretize

    def copy(self, order: str = "C") -> Any:
        """Return an array of the same entries, which are its own."""
        return Buffer(self.value)

    def flatten(self, order: str = "C") -> Any:
        """Return an array of the entries one after another, which are its own."""
        return Buffer(fnp.ravel(self.value, order))

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return Buffer(self.value)

    def __reduce_ex__(self, version: Any) -> NoReturn:
        raise UnsupportedError(
            "an array that is written into under a transform cannot be pickled",
            hint="return it from the transformed function and pickle the result",
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        refuse_strides(self, sys._getframe(1))
        entries = np.array(self.value, dtype)
        if not copy:  # a write into one does not change the other
            entries.flags.writeable = False
            cell = self.cell.root
            cell.shown = [array for array in cell.shown if array() is not None] + [weakref.ref(entries)]
        return entries

    def __repr__(self) -> str:
        return f"{'Box' if self.cell.root is self.cell else 'View'}({self.value!r})"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)


class Buffer(Box):
    """A box that is an object of its own: an array that was made to be written into, or a view of one."""

    __slots__ = ("__weakref__", "cell")

    def __init__(self, value: Any):
        self.cell = Cell(value)

    @classmethod
    def of(cls, cell: Cell) -> Buffer:
        """Return the box of a cell."""
        box = object.__new__(cls)
        box.cell = cell
        return box


def make_writable(result: Any, args: Any = ()) -> Any:
    """Return the results of operations on boxes as arrays that can be written into. Traced values can be; numbers
    cannot, as in NumPy. If a result is the value of an argument, a twin is returned."""
    if type(result) is np.ndarray:
        return Buffer(result) if result.ndim else result
    if isinstance(result, Tracer):
        held = [unbox(a) for a in args]
        if any(result is value for value in held):
            return twin(result)
        if hasattr(result, "shown") and any(result.shown[0] is value for value in held):
            del result.shown  # of what a cell holds there are no views: NumPy copies here
        return result
    if type(result) in PLAIN or result is NotImplemented:
        return result
    return pytree.map(lambda y: make_writable(y, args) if isinstance(y, Tracer | np.ndarray) else y, result)


# -- functions that show an array in another way ---------------------------------------------------------------------
def call_viewing(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a function whose results may be views: those that NumPy makes views of the positions are."""
    leaves, structure = pytree.flatten((tuple(args), kwargs), is_box)
    boxes = [x for x in leaves if isinstance(x, Box)]

    def call(see: Callable[[Box], Any], how: Callable[..., Any]) -> Any:
        given, options = structure.unflatten([see(x) if isinstance(x, Box) else x for x in leaves])
        return how(*given, **options)

    if wants_dtype(kwargs, boxes):
        return make_writable(call(operator.attrgetter("value"), function), boxes)
    shown, out_structure = pytree.flatten(call(operator.attrgetter("cell.pattern"), function.reference))
    known = all(b.cell.positions is b.cell.pattern for b in boxes)
    spots = shown if known else pytree.leaves(call(operator.attrgetter("cell.positions"), function))
    results: list[Any] = []
    for i, pattern in enumerate(shown):
        parent = next((b for b in boxes if shares_memory(pattern, b.cell.pattern)), None)
        if parent is not None and pattern is parent.cell.pattern:
            results.append(parent)
        elif parent is not None:
            read = read_result(call, function, i, parent)
            results.append(Buffer.of(Window(parent.cell, spots[i], read, pattern=pattern)))
        else:
            value = pytree.leaves(call(operator.attrgetter("value"), function))[i]
            results.append(make_writable(value, boxes))
    return out_structure.unflatten(results)


def shares_memory(pattern: Any, other: Any) -> bool:
    """Whether a result is a view of an array of positions."""
    return isinstance(pattern, np.ndarray) and np.may_share_memory(pattern, other)


def read_result(
    call: Callable[..., Any], function: Callable[..., Any], i: int, parent: Box
) -> Callable[[Any], Any]:
    """Return how a view, one result of a function, is read from the value of the box that it shows."""
    return lambda value: pytree.leaves(call(lambda b: value if b is parent else b.value, function))[i]


def wants_dtype(kwargs: dict[str, Any], boxes: list[Box]) -> bool:
    """Whether a function is asked for another dtype, and so for a copy."""
    dtype = kwargs.get("dtype")
    return dtype is not None and any(np.dtype(dtype) != b.dtype for b in boxes)


# -- operators and methods -------------------------------------------------------------------------------------------
def forward(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the method that applies a function of one or two operands to values."""
    return lambda self, *other: make_writable(function(self.value, *map(unbox, other)), (self, *other))


def reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: make_writable(function(unbox(other), self.value), (self, other))


def in_place(function: Callable[..., Any], sign: str) -> Callable[..., Any]:
    """Make the method of an operator that writes its result into the left operand."""
    return lambda self, other: self.assign_result(
        function(self.value, as_value(unbox(other))), f"x {sign}= y"
    )


# What traced values are asked by levels, and boxes are not.
TRACERS_OWN = {
    "attach", "concretize", "contents", "interpreter", "is_differentiated", "radicand", "serial", "shown", "views",
}  # fmt: skip


def attach_operators() -> None:
    """Give boxes Python's operators, and the methods of traced values, which are written in terms of functions."""
    for name, sign in SIGNS.items():
        function = getattr(operator, f"__{name}__")
        setattr(Box, f"__{name}__", forward(function))
        setattr(Box, f"__r{name}__", reflected(function))
        setattr(Box, f"__i{name}__", in_place(function, sign))
    for name in ("neg", "pos", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge", "index"):
        setattr(Box, f"__{name}__", forward(getattr(operator, f"__{name}__")))
    for function in (bool, int, float, complex, divmod):
        setattr(Box, f"__{function.__name__}__", forward(function))
    more = {"__round__": forward(round), "__rdivmod__": reflected(divmod), "__hash__": None}
    for name, member in more.items():
        setattr(Box, name, member)
    for name, member in vars(Tracer).items():
        if name not in vars(Box) and not hasattr(object, name) and name not in TRACERS_OWN:
            setattr(Box, name, member)


attach_operators()
NAMESPACES[Buffer] = None  # not an array of another library, though it names a namespace


# -- traced values that are written into -----------------------------------------------------------------------------
# For each class of traced values that of the boxes which these become.
WRITTEN: dict[type, Any] = {}


def become_box(tracer: Tracer) -> None:
    """Make a box of a traced value, in its place, for a write into it; and of those that it is a view of, and of the
    views of these. What the library keeps of them are their twins."""
    top: Any = tracer
    while hasattr(top, "shown"):
        top = top.shown[0]
    ensure_open(top, "x[…] = values")
    below = list(levels())
    known = [level for level in below if level is top.interpreter]
    ensure_same_body(below[below.index(known[0]) :] if known else [], top.aval)
    if any(isinstance(view, np.ndarray) for view in living_views(top)):
        raise shown_error()
    convert(top, Cell(twin(top)))
    if not isinstance(tracer, Box):  # it turned out to be no view
        become_box(tracer)


def living_views(tracer: Any) -> Iterator[Any]:
    """Yield the live views of a traced value, and theirs."""
    for reference in getattr(tracer, "views", ()):
        view = reference()
        if view is not None:
            yield view
            yield from living_views(view)


def convert(tracer: Any, cell: Cell) -> None:
    """Make a traced value the box of a cell, and its views boxes of windows of that."""
    found = [view for reference in getattr(tracer, "views", ()) if (view := reference()) is not None]
    views = list({id(view): view for view in found}.values())  # each once
    steps = [view.shown[1:] for view in views]
    kind = type(tracer)
    for slot in (*parts_of(kind), *(vars(Tracer)[name] for name in ("radicand", "shown", "views"))):
        if slot is not INTERPRETER:
            with suppress(AttributeError):  # it is not set
                slot.__delete__(tracer)
    if hasattr(tracer, "__dict__"):  # of a user's own class
        tracer.__dict__.clear()
    if kind not in WRITTEN:
        members = {"__slots__": (), "cell": INTERPRETER, "interpreter": property(level_of)}
        box_kind: Any = type(f"Written{kind.__name__}", (Box, kind), members)
        NAMESPACES[box_kind] = None
        WRITTEN.setdefault(kind, box_kind)
    CLASS.__set__(tracer, WRITTEN[kind])
    tracer.cell = cell
    for view, (step, *further) in zip(views, steps):
        shown = step(tracer, *further)
        window = shown.cell if isinstance(shown, Box) else None
        if window is cell:  # all of it, as it is
            window = Window(cell, cell.positions, lambda value: value, pattern=cell.pattern)
        if isinstance(window, Window) and window.root is cell.root:
            window.show(twin(view))
            convert(view, window)
        else:
            del view.shown  # NumPy copies there


CLASS = vars(object)["__class__"]  # which a kind of tracers may show as another
INTERPRETER = vars(Tracer)["interpreter"]  # the slot that becomes that of the cell


def level_of(box: Box) -> Any:
    """Return the level to which the value of a box belongs."""
    value = box.value
    return value.interpreter if isinstance(value, Tracer) else EVAL.interpreter


interpreter.make_buffer, interpreter.become_box = Buffer, become_box
