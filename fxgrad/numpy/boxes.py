"""Boxes: arrays that can be written into while a program is differentiated, mapped or staged.

What NumPy makes anew of a traced value (`np.zeros_like(x)`, `np.copy(x)`, `x.copy()`) is written into by programs. A
traced value itself cannot be: rules, closures and inner levels hold on to it. A box is a cell outside of all levels
that holds a value, plain or traced; to write into it is to compute the updated value, and to hold that from now on. So
every operation before a write has the old value, every one after it the new one, and derivatives are those of the pure
program. What is computed of boxes can be written into as well, as in NumPy.

Basic indices, `reshape`, `T` and their like give views: boxes that read what their root holds and write into it.
Whether a function gives a view, NumPy itself is asked: each box knows the *positions* of its entries in its root, an
array of integers, and what NumPy makes of that array by sharing its memory is a view, with these positions.
"""

from __future__ import annotations

import operator
import sys
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core import pytree
from ..core.arrays import NAMESPACES
from ..core.aval import PLAIN, aval_of, kind_of
from ..core.errors import DTypeError, ImmutableError, ShapeError, UnsupportedError
from ..core.interpreter import CURRENT, EVAL, PrimalTracer, Tracer, as_value, ensure_open, levels
from ..core.staging import GraphInterpreter
from ..core.surface import SurfaceObject, is_box
from ..ops.operators import refuse_strides
from . import methods, protocol  # noqa: F401  what traced values have, and boxes are to have as well
from .at_index import At
from .composite import VIEWS, operand
from .entries import entries_at, fit_values, flat_key, is_basic, read_key, stretch, unbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Cell:
    """What a box holds, and how often that has been replaced.

    `context` is where the box was made, `layout` the positions of its entries, once somebody asked, and `shown` has
    weak references to the arrays that NumPy made of it without copying: `np.asarray(x)`.
    """

    __slots__ = ("context", "held", "layout", "shown", "version")

    def __init__(self, value: Any):
        self.held, self.context = operand(value), CURRENT.get()
        self.layout: Any = None
        self.shown: list[Any] = []
        self.version = 0

    def hold(self, value: Any) -> None:
        """Hold another value from now on."""
        ensure_same_body(levels(self.context), aval_of(self.held))
        if any(array() is not None for array in self.shown):
            raise ImmutableError(
                "an array is written into of which np.asarray(x) has made another one, which would not see it",
                hint="np.array(x), a copy, or the functions of fxgrad.numpy, which take x as it is",
            )
        self.held = value
        self.version += 1


def ensure_same_body(known: Iterable[Any], aval: Any) -> None:
    """Raise where a body is being staged that is not among the known levels, in which an array was made."""
    known = {*map(id, known)}
    for level in levels():
        if isinstance(level, GraphInterpreter) and id(level) not in known:
            raise ImmutableError(
                f"an array {aval!r} made outside of {level.name} is written into inside: that would happen once, "
                "while the function is staged, and not each time it runs",
                hint="x = x.copy() inside, and return it; loops take it as part of their carry",
            )


class Box(SurfaceObject):
    """An array that can be written into: a cell that holds a value, plain or traced, of a fixed shape and dtype.

    To transforms it is its value: they return values, and what they are given, they copy.

    >>> import fxgrad as fx, numpy as np
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
    is_box = True
    base: Any = None
    cell: Cell  # of one that is no view

    @staticmethod
    def __fxgrad_object__(value: Any, shared: bool = False) -> Any:
        """Return the value itself: what is computed of a box is none."""
        return value

    def __fxgrad_value__(self) -> Any:
        return self.value

    def __fxgrad_call__(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function of this library on the values of the boxes among its arguments. What one of NumPy's functions
        makes of a box can be written into: it is a view of the box where NumPy's would be, and a box otherwise."""
        name, reference = function.__name__, getattr(function, "reference", None)
        if reference is not None and (name in VIEWS or (name == "einsum" and has_one_operand(args))):
            return call_viewing(function, args, kwargs)
        if reference is not None and name in ("real", "imag") and args and isinstance(args[0], Box):
            return getattr(args[0], name)
        result = function(*map(unbox, args), **{name: unbox(v) for name, v in kwargs.items()})
        if reference is not None and is_box(args[0] if args else None):
            if name == "nan_to_num" and not kwargs.get("copy", True):
                return args[0].assign_result(result, name)
            if result is args[0].value and (name == "real_if_close" or not kwargs.get("copy", True)):
                return args[0]
        return result if reference is None else make_writable(result)

    # -- what it is ------------------------------------------------------------------------------------------------
    @property
    def value(self) -> Any:
        """The value that it holds now."""
        return self.cell.held

    @property
    def root(self) -> Box:
        """The box that holds the entries of this one."""
        return self

    @property
    def positions(self) -> Any:
        """The positions of the entries among those of the root."""
        cell = self.cell
        if cell.layout is None:
            cell.layout = np.arange(aval_of(cell.held).size).reshape(aval_of(cell.held).shape)
        return cell.layout

    part: str | None = None  # "real" or "imag", where these are the entries' parts
    aval = property(lambda self: aval_of(self.value))
    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: self.aval.size)
    weak = False
    flags = property(lambda self: self.positions.flags)

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps between neighbours in bytes, as NumPy's array would have them."""
        layout = self.positions
        return tuple(step // layout.itemsize * self.root.dtype.itemsize for step in layout.strides)

    # -- reading ---------------------------------------------------------------------------------------------------
    def __getitem__(self, key: Any) -> Any:
        key, known = read_key(key)
        read: Callable[[Any], Any] = lambda value: entries_at(value, key)  # noqa: E731
        if known:
            spot = self.positions[key]
            if isinstance(spot, np.ndarray) and np.may_share_memory(spot, self.positions):
                return View(self, spot, read)
        elif is_basic(key):  # a traced index
            spot = entries_at(self.positions, key)
            if aval_of(spot).ndim:
                return View(self, spot, read)
        return make_writable(read(self.value))

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

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
            return View(self, self.positions, getattr(fnp, part), part)
        return self[...] if part == "real" else fnp.imag(self.value)

    # -- writing ---------------------------------------------------------------------------------------------------
    def __setitem__(self, key: Any, values: Any) -> None:
        key, known = read_key(key)
        if known and isinstance(values, View) and values.root is self.root and values.part == self.part:
            spot = self.positions[key]  # x[i] += y ends like this, when all is done
            if isinstance(values.positions, np.ndarray) and np.array_equal(spot, values.positions):
                return
        values = fit_values(values, self.dtype)
        if self.root is not self and known:
            spot = self.positions[key]
            self.write(spot, stretch(values, np.shape(spot)))
        else:
            self.assign(self.updated(key, values))

    def updated(self, key: Any, values: Any) -> Any:
        """Return the value with other entries at an index."""
        value = operand(self.value)
        if (
            isinstance(key, Tracer) and kind_of(key.dtype) == "b" and key.ndim
        ):  # how many entries is not known
            trailing = self.ndim - key.ndim
            if aval_of(values).ndim <= trailing:
                mask = ops.reshape(key, shape=(*key.shape, *(1,) * trailing))
                return ops.where(mask, values, value)
        return At(value)[key].set(values)

    def write(self, spot: Any, values: Any) -> None:
        """Put values of the same shape in the place of the entries at positions in the root."""
        root = self.root
        flat = ops.reshape(root.value, shape=(root.size,))
        where = flat_key(spot)
        values = ops.reshape(values, shape=(aval_of(values).size,))
        if self.part is not None:
            other = entries_at(flat, where)
            parts = (values, fnp.imag(other)) if self.part == "real" else (fnp.real(other), values)
            values = ops.make_complex(*parts)
        root.cell.hold(ops.reshape(At(flat)[where].set(values), shape=root.shape))

    def assign(self, value: Any) -> None:
        """Replace all entries."""
        self.cell.hold(value)

    def assign_result(self, result: Any, operation: str) -> Box:
        """Replace all entries by the result of an operation in place, as NumPy's `out=` does."""
        result = as_value(result)
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

    def copy(self, order: str = "C") -> Box:
        """Return an array of the same entries, with a cell of its own."""
        return Root(self.value)

    def flatten(self, order: str = "C") -> Box:
        """Return an array of the entries one after another, with a cell of its own."""
        return Root(fnp.ravel(self.value, order))

    def __copy__(self) -> Box:
        return Root(self.value)

    def __deepcopy__(self, memo: Any) -> Box:
        return Root(self.value)

    def __reduce_ex__(self, version: Any) -> NoReturn:
        raise UnsupportedError(
            "an array that is written into under a transform cannot be pickled",
            hint="return it from the transformed function and pickle the result",
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        refuse_strides(self, sys._getframe(1))
        entries = np.array(self.value, dtype)
        if not copy:  # neither sees what is written into the other
            entries.flags.writeable = False
            cell = self.root.cell
            cell.shown = [array for array in cell.shown if array() is not None] + [weakref.ref(entries)]
        return entries

    def __repr__(self) -> str:
        return f"{'View' if self.root is not self else 'Box'}({self.value!r})"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)


class Root(Box):
    """A box that is no view."""

    __slots__ = ("__weakref__", "cell")

    def __init__(self, value: Any):
        self.cell = Cell(value)


class View(Box):
    """Some entries of another box, or their parts, in another order. Each sees what is written into the other."""

    __slots__ = ("__weakref__", "held", "layout", "parent", "part", "read", "seen")

    def __init__(self, parent: Box, positions: Any, read: Callable[[Any], Any], part: str | None = None):
        self.parent, self.layout, self.read, self.part = parent, positions, read, part or parent.part
        self.seen = -1

    root = property(lambda self: self.parent.root)
    base = root
    positions = property(lambda self: self.layout)

    @property
    def shape(self) -> tuple[int, ...]:
        return aval_of(self.layout).shape

    @property
    def dtype(self) -> Any:
        dtype = self.root.dtype
        return np.empty(0, dtype).real.dtype if self.part else dtype

    @property
    def value(self) -> Any:
        """The entries, read anew where something has been written."""
        version = self.root.cell.version
        if self.seen != version:
            self.held, self.seen = self.read(self.parent.value), version
        return self.held

    def assign(self, value: Any) -> None:
        if isinstance(self.layout, np.ndarray) and not self.layout.flags.writeable:
            raise ImmutableError("assignment destination is read-only", hint="x = x.copy()")
        self.write(self.layout, value)

    def write(self, spot: Any, values: Any) -> None:
        if isinstance(self.layout, np.ndarray) and not self.layout.flags.writeable:
            raise ImmutableError("assignment destination is read-only", hint="x = x.copy()")
        super().write(spot, values)


class Flat:
    """The entries of a box one after another: NumPy's `x.flat`."""

    __slots__ = ("box",)

    def __init__(self, box: Box):
        self.box = box

    def __len__(self) -> int:
        return self.box.size

    def __iter__(self) -> Iterator[Any]:
        return iter(fnp.ravel(self.box.value))

    def __getitem__(self, key: Any) -> Any:
        return fnp.ravel(self.box.value)[unbox(key)]

    def __setitem__(self, key: Any, values: Any) -> None:
        spot = self.box.positions.reshape(-1)[read_key(key)[0]]
        values = fnp.ravel(fit_values(values, self.box.dtype))
        if np.size(spot):
            order = np.arange(np.size(spot)) % aval_of(values).size
            self.box.write(spot, fnp.take(values, order, axis=0))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.box.value, dtype).ravel()


def make_writable(result: Any) -> Any:
    """Return what is computed of boxes as arrays that can be written into; numbers cannot be, as in NumPy."""
    if isinstance(result, Tracer) or type(result) is np.ndarray:
        return Root(result) if result.ndim else result
    if type(result) in PLAIN or result is NotImplemented:
        return result
    return pytree.map(lambda y: make_writable(y) if isinstance(y, Tracer | np.ndarray) else y, result)


# -- functions that show an array in another way ---------------------------------------------------------------------
def call_viewing(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a function whose results may be views: those that NumPy makes views of the positions are."""
    leaves, structure = pytree.flatten((tuple(args), kwargs), is_box)
    boxes = [x for x in leaves if isinstance(x, Box)]

    def call(see: Callable[[Box], Any], how: Callable[..., Any]) -> Any:
        given, options = structure.unflatten([see(x) if isinstance(x, Box) else x for x in leaves])
        return how(*given, **options)

    if not all(isinstance(b.positions, np.ndarray) for b in boxes) or wants_dtype(kwargs, boxes):
        return make_writable(call(operator.attrgetter("value"), function))
    shown, out_structure = pytree.flatten(call(operator.attrgetter("positions"), function.reference))
    results: list[Any] = []
    for i, spot in enumerate(shown):
        parent = next((b for b in boxes if np.may_share_memory(spot, b.positions)), None)
        if parent is not None and spot is parent.positions:
            results.append(parent)
        elif parent is not None:
            results.append(View(parent, spot, read_result(call, function, i, parent)))
        else:
            results.append(make_writable(pytree.leaves(call(operator.attrgetter("value"), function))[i]))
    return out_structure.unflatten(results)


def has_one_operand(args: Any) -> bool:
    """Whether these are arguments of einsum, in the string or in the sublist form, with one array among them."""
    return len(args) == 2 or (len(args) == 3 and not isinstance(args[0], str))


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
    return lambda self, *other: make_writable(function(self.value, *map(unbox, other)))


def reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: make_writable(function(unbox(other), self.value))


def in_place(function: Callable[..., Any], sign: str) -> Callable[..., Any]:
    """Make the method of an operator that writes its result into the left operand."""
    return lambda self, other: self.assign_result(
        function(self.value, as_value(unbox(other))), f"x {sign}= y"
    )


BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip


# What traced values are asked by levels, and boxes are not.
TRACERS_OWN = {"attach", "concretize", "contents", "interpreter", "is_differentiated", "radicand", "serial"}


def attach_operators() -> None:
    """Give boxes Python's operators, and the methods of traced values, which are written in terms of functions."""
    for name, sign in BINARY.items():
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
NAMESPACES[Root] = NAMESPACES[View] = None  # not arrays of another library, though they name a namespace


# -- computed values that are written into ---------------------------------------------------------------------------
# For each class of traced values that of the boxes which these become.
WRITTEN: dict[type, Any] = {}


def become_box(tracer: Tracer) -> None:
    """Make a box of a traced value in its place, for a write into it. Nothing else may refer to the object: what has
    been computed with it keeps the value, of which another object is made."""
    ensure_open(tracer, "x[…] = values")
    below = list(levels())
    known = [level for level in below if level is tracer.interpreter]
    ensure_same_body(below[below.index(known[0]) :] if known else [], tracer.aval)
    kind = type(tracer)
    if isinstance(tracer, PrimalTracer):
        _ = tracer.primal  # which is computed now, if that was put off
    value = object.__new__(kind)
    slots = {
        name: vars(c)[name]
        for c in kind.__mro__
        for name in vars(c).get("__slots__", ())
        if name != "__weakref__"
    }
    for slot in slots.values():
        try:
            slot.__set__(value, slot.__get__(tracer))
            slot.__delete__(tracer)
        except AttributeError:
            continue  # it is not set
    if kind not in WRITTEN:
        members = {"__slots__": (), "cell": vars(Tracer)["interpreter"], "interpreter": property(level_of)}
        box_kind: Any = type(f"Written{kind.__name__}", (Box, kind), members)
        NAMESPACES[box_kind] = None
        WRITTEN.setdefault(kind, box_kind)
    box: Any = tracer
    box.__class__ = WRITTEN[kind]
    box.cell = Cell(value)


def level_of(box: Box) -> Any:
    """Return the level to which the value of a box belongs."""
    value = box.value
    return value.interpreter if isinstance(value, Tracer) else EVAL.interpreter
