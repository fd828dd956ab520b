"""Python's operators on tracers. Arithmetic of weak values (Python scalars) stays weak, as in plain Python."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np
from numpy import ndarray

import fxgrad.ops.elementwise as el  # `from . import` would wait for the package, which waits for this

from ..core import source_info
from ..core.arrays import is_array_like
from ..core.aval import SCALARS, is_differentiable, kind_of
from ..core.common_errors import BUFFER_REMEDY, advise_number
from ..core.errors import ArrayConversionError, ConcretizationError, ShapeError, UnsupportedError
from ..core.interpreter import CURRENT, VALUES, PrimalTracer, Tracer, concretize, decide
from ..core.primitive import KERNEL_ERRORS, explain
from ..core.scipy_calls import asks_for_plain
from ..core.surface import is_object, own
from .kinds import NO_PARAMS
from .options import call_ufunc, of_operands
from .vocabulary import ops

MANY_OBJECTS = 10_000  # of so many entries no array of objects is made


def is_weak(value: Any) -> bool:
    return type(value) in SCALARS or (isinstance(value, Tracer) and value.weak)


def is_operand(value: Any) -> bool:
    """Whether an operator of a tracer takes a value of another type. Surface objects have operators of their own, which
    take tracers."""
    return not is_object(value) and is_array_like(value)


def binary_operator(function: Callable) -> tuple[Callable, Callable]:
    """Return the operator of an elementwise function, and its reflection."""
    primitive, current = function.primitive, CURRENT.get

    def forward(self: Tracer, other: Any) -> Any:
        kind = type(other)
        if other.dtype.hasobject if kind is ndarray else kind not in VALUES:
            return function(self, other) if is_operand(other) else NotImplemented
        try:
            y = current().interpreter.process(primitive, (self, other), NO_PARAMS)
        except KERNEL_ERRORS as error:
            explain(error, primitive, (self, other))
        return y if kind is ndarray or not self.weak or not is_weak(other) else el.weaken(y)

    def reflection(self: Tracer, other: Any) -> Any:
        kind = type(other)
        if other.dtype.hasobject if kind is ndarray else kind not in VALUES:
            return function(other, self) if is_operand(other) else NotImplemented
        try:
            y = current().interpreter.process(primitive, (other, self), NO_PARAMS)
        except KERNEL_ERRORS as error:
            explain(error, primitive, (other, self))
        return y if kind is ndarray or not self.weak or not is_weak(other) else el.weaken(y)

    return forward, reflection


def power(base: Any, exponent: Any) -> Any:
    """Compute base ** exponent; a number as exponent has the simpler rule, and the square of a root the exact one."""
    if type(exponent) in (int, float) and isinstance(base, Tracer):
        if (
            exponent == 2
            and (type(exponent) is int or kind_of(base.dtype) in "fc")
            and kind_of(base.dtype) != "b"
        ):
            return square(base)
        return el.static_power(base, p=exponent)
    return el.power(base, exponent)


@of_operands("x")
def square(x: Any, /, out: Any = None, *, where: Any = True, dtype: Any = None) -> Any:
    """The square x².

    Derivative: `2 * x`. Where x is known to be the root of s (`sqrt(s)`, `norm(v)`), it is that of s: finite at 0,
    where the chain rule through the root says 0·∞.

    >>> float(fx.grad(lambda x: fnp.square(fnp.sqrt(x)))(0.0))
    1.0
    """
    if out is not None or where is not True or dtype is not None:
        return call_ufunc("square", (x,), out, where, dtype)
    if isinstance(x, Tracer):
        radicand = getattr(x, "radicand", None)
        if radicand is not None:
            root = el.stop_gradient(x)
            return el.with_derivative_of(el.square(root), radicand())
    return el.square(x)


def remember_radicand(root: Any, radicand: Callable[[Any], Any], x: Any) -> Any:
    """Return `root`, which remembers that it is the root of `radicand(x)`."""
    if isinstance(root, Tracer):
        x = own(x)
        root.radicand = lambda: radicand(x)
    return root


@of_operands("x")
def sqrt(x: Any, /, out: Any = None, *, where: Any = True, dtype: Any = None) -> Any:
    """The root √x, NaN of negative real numbers.

    Derivative: `1 / (2 * sqrt(x))`, which is infinite at 0; the square of the root has the derivative of x.

    >>> fnp.sqrt(fnp.array([4.0, 2.25]))
    array([2. , 1.5])
    """
    if out is not None or where is not True or dtype is not None:
        return call_ufunc("sqrt", (x,), out, where, dtype)
    y = el.sqrt(x)
    return remember_radicand(y, lambda x: x, x) if isinstance(y, Tracer) else y


def divmod_(a: Any, b: Any) -> tuple[Any, Any]:
    return el.floor_divide(a, b), el.remainder(a, b)


# Python's operators of two operands, and how messages write them.
SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_BINARY = {
    "add": el.add,
    "sub": el.subtract,
    "mul": el.multiply,
    "truediv": el.divide,
    "floordiv": el.floor_divide,
    "mod": el.remainder,
    "and": el.bitwise_and,
    "or": el.bitwise_or,
    "xor": el.bitwise_xor,
    "lshift": el.left_shift,
    "rshift": el.right_shift,
}
_UNARY = {"neg": el.negative, "pos": el.positive, "abs": el.absolute, "invert": el.bitwise_not}
_COMPARISON = {
    "eq": el.equal,
    "ne": el.not_equal,
    "lt": el.less,
    "le": el.less_equal,
    "gt": el.greater,
    "ge": el.greater_equal,
}


def unary_operator(function: Callable) -> Callable:
    def method(self: Tracer) -> Any:
        return el.weaken(function(self)) if self.weak else function(self)

    return method


def comparison_operator(function: Callable) -> Callable:
    def method(self: Tracer, other: Any) -> Any:
        if type(other) in VALUES or is_operand(other):
            return function(self, other)
        return NotImplemented

    return method


def pow_(self: Tracer, exponent: Any) -> Any:
    if is_object(exponent):
        return NotImplemented
    y = power(self, exponent)
    return el.weaken(y) if self.weak and is_weak(exponent) else y


def rpow(self: Tracer, base: Any) -> Any:
    y = el.power(base, self)
    return el.weaken(y) if self.weak and is_weak(base) else y


def rdivmod(self: Tracer, other: Any) -> tuple[Any, Any]:
    return divmod_(other, self)


WHOLE = (slice(None),)

# What x[mask] is where the values of the mask are not known, None for other keys: set by numpy.selection.
select: Callable[[Tracer, Any], Any] = lambda x, key: None  # noqa: E731


def getitem(self: Any, key: Any) -> Any:
    kind = type(key)
    if (kind is slice or kind is int) and (ndim := len(self.shape)):
        y = ops.getitem(self, index=(key,) + WHOLE * (ndim - 1))
        if (ndim > 1 or kind is slice) and isinstance(y, Tracer):
            y.shown = (self, operator.getitem, key)  # as `remember_view` does, without its call
            remember_reference(self, y)
        return y
    if (isinstance(key, Tracer) or is_object(key)) and (selection := select(self, key)) is not None:
        return selection
    x, arrays, index = ops.parse_index(self, key)
    y = ops.getitem(x, *arrays, index=index)
    if not arrays:
        if has_dots(key) or any([type(entry) is not int for entry in index]):  # no number: NumPy gives a view
            return remember_view(y, self, operator.getitem, key)
    elif y.shape and not any([a.shape for a in arrays]):  # traced integers
        return remember_view(y, self, operator.getitem, key)
    return y


def has_dots(key: Any) -> bool:
    """Whether `...` is in a key, which then gives an array of NumPy's, though it has no axes."""
    return type(key) is tuple and any([entry is Ellipsis for entry in key])


def remember_view(view: Any, shown: Any, step: Callable[..., Any], *further: Any) -> Any:
    """Return a result that NumPy would return as a view, `step(shown, *further)`, so that it sees writes into the
    array. The result of a number is not a view, because numbers cannot be written into."""
    if isinstance(view, Tracer) and view is not shown and (shown.shape or hasattr(shown, "shown")):
        view.shown = (shown, step, *further)
        remember_reference(shown, view)
    return view


def remember_reference(shown: Tracer, view: Any) -> None:
    """Let a tracer know, weakly, of what shows it."""
    views = getattr(shown, "views", None)
    if views is None:
        shown.views = [ref(view)]
        return
    count = len(views)
    if count >= 8 and not count & (count - 1):  # a power of two
        views[:] = [reference for reference in views if reference() is not None]
    views.append(ref(view))


def scalar_conversion(convert: Callable[[Any], Any], operation: str) -> Callable:
    """Return the method for `bool(x)` and its kin, which give the concrete value if there is one."""

    def method(self: Tracer) -> Any:
        if convert is bool and self.size != 1:
            ask_which_entry(self)
        return convert(decide(self, operation))

    return method


def ask_which_entry(x: Tracer) -> None:
    """Raise the error of `bool(x)` that NumPy raises for an array that has not one entry, whether its value is known or
    not."""
    try:
        bool(np.zeros(x.shape))
    except ValueError as error:
        raise ShapeError(
            f"bool() of {x.aval!r}: {str(error)[0].lower()}{str(error)[1:]}",
            hint="for each entry fnp.where(condition, a, b), with (x > 0) & (x < 2) in place of `and`, `or` "
            "and 0 < x < 2; for one answer fnp.all(condition) or fnp.any(condition)",
        ) from None


def number_conversion(convert: Callable[[Any], Any], operation: str) -> Callable:
    """Return the method for `float(x)` and `complex(x)`, which are refused where the value carries a derivative. The
    number would not, and it is not only asked for by name: `math.sin(x)` and `buffer[0] = x` ask for it, too."""
    known = scalar_conversion(convert, operation)

    def method(self: Tracer) -> Any:
        level: Any = self
        while isinstance(level, Tracer) and not level.is_followed:
            if level.is_differentiated:
                raise ArrayConversionError(
                    f"{operation} of a traced value {self.aval!r}: its derivative would be lost",
                    hint=f"{advise_number(source_info.user_frame().line)}; for the value alone, x.item()",
                )
            level = level.concretize(operation)
        return known(self)

    return method


def multiplies_sparse_matrix(frame: Any) -> bool:
    """Whether SciPy's sparse matrices ask for an operand: where that is an object without axes, they leave the product
    to the operand."""
    return frame.f_code.co_name == "_matmul_dispatch" and frame.f_globals["__name__"].startswith(
        "scipy.sparse."
    )


def refuse_strides(value: Any, frame: Any) -> None:
    """Raise where `as_strided` asks for an array: it reads memory by steps in bytes, and what it would get of a traced
    value lies elsewhere, entry after entry."""
    if frame.f_code.co_name == "as_strided" and frame.f_globals["__name__"].startswith("numpy.lib"):
        raise UnsupportedError(
            f"np.lib.stride_tricks.as_strided of a traced value {value.aval!r}, which has no memory",
            hint="np.lib.stride_tricks.sliding_window_view, or an array of indices: x[i[:, None] + j]",
        )


def array(self: Tracer, dtype: Any = None, copy: Any = None) -> Any:
    """What `np.array([x, y])` asks for: an array of objects, the entries. Operations and transforms read it as the
    array of these (see `core.arrays.read_objects`)."""
    asking = sys._getframe(1)
    refuse_strides(self, asking)
    if multiplies_sparse_matrix(asking):
        whole = np.empty(1, object)
        whole[0] = self
        return whole.reshape(())
    if not carries_derivative(self):  # positions, mostly, and arguments that are not differentiated
        try:
            return lend_entries(self, np.array(concretize(self, "np.asarray()"), dtype), copy)
        except ConcretizationError:
            pass
    if (
        self.size > MANY_OBJECTS
        or kind_of(self.dtype) in "iub"
        or (dtype is not None and np.dtype(dtype) != object)
        or asks_for_plain(asking)  # whose compiled code takes the entries of an array of objects for numbers
    ):
        hint = (
            "use fxgrad.numpy (fnp.asarray, fnp.stack) instead of np.asarray and np.array; for buffer[i] = x, "
            f"{BUFFER_REMEDY}; fnp.take(a, i, axis=0) where a plain array is indexed, a[i], by a traced i; "
            "for the value alone: x.item()"
        )
        if dtype is not None:
            hint = f"x.astype({str(np.dtype(dtype))!r}) converts a traced value; or {hint}"
        raise ArrayConversionError(
            f"a traced value {self.aval!r} of {self.interpreter.name} cannot become a plain NumPy array: "
            "its derivative would be lost",
            hint=hint,
        )
    entries = np.empty(max(self.size, 1), object)
    flat = ops.reshape(self, shape=(self.size,))
    for i in range(self.size):
        entries[i] = ops.getitem(flat, index=(i,)) if self.shape else self
    return lend_entries(self, entries[: self.size].reshape(self.shape), copy)


def carries_derivative(x: Any) -> bool:
    """Whether a value carries a derivative at any level, which a plain number would lose."""
    while isinstance(x, Tracer):
        if x.is_differentiated:
            return True
        found = x.contents()
        if len(found) != 1 and not isinstance(x, PrimalTracer):
            return is_differentiable(x.dtype)  # whether it does is not known
        x = found[0]
    return False


def lend_entries(x: Tracer, entries: np.ndarray, copy: Any) -> np.ndarray:
    """Return the entries of an array as NumPy's own array of them; unless that is a `copy`, neither of the two may be
    written into while it lives, for the other would not see it."""
    if not copy:
        entries.flags.writeable = False
        top = x
        while hasattr(top, "shown"):
            top = top.shown[0]
        remember_reference(top, entries)
    return entries


def length(self: Tracer) -> int:
    if not self.shape:
        raise TypeError("len() of unsized object")
    return self.shape[0]


def iterate(self: Any) -> Any:
    if not self.shape:
        raise TypeError("iteration over a 0-d array")
    return (self[i] for i in range(self.shape[0]))  # which may have become a box on the way


for _name, _function in _BINARY.items():
    _forward, _reflected = binary_operator(_function)
    Tracer.attach(**{f"__{_name}__": _forward, f"__r{_name}__": _reflected})
Tracer.attach(**{f"__{_name}__": unary_operator(_function) for _name, _function in _UNARY.items()})
Tracer.attach(**{f"__{_name}__": comparison_operator(_function) for _name, _function in _COMPARISON.items()})
Tracer.attach(
    __pow__=pow_,
    __rpow__=rpow,
    __divmod__=divmod_,
    __rdivmod__=rdivmod,
    __getitem__=getitem,
    __len__=length,
    __iter__=iterate,
    __bool__=scalar_conversion(bool, "bool()"),
    __int__=scalar_conversion(int, "int()"),
    __float__=number_conversion(float, "float()"),
    __complex__=number_conversion(complex, "complex()"),
    __index__=scalar_conversion(operator.index, "use as an index"),
    __array__=array,
    __array_priority__=1000.0,
    __pandas_priority__=10_000,  # pandas leaves them to ours, which say what to write
    __hash__=None,
)
