"""The arrays of programs written for JAX, and functions of this library on them.

An `Array` is a surface object: for transforms it is a pytree whose one leaf is its value, an array, a Python number
(then it is weak) or a traced value. Its operators and methods, and functions that are lifted to it, are those of this
library, but for JAX's meanings: dtypes (see `dtypes`), indices out of bounds, and that nothing can be written into.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from ... import numpy as fnp
from ... import ops
from ...core import pytree
from ...core.arrays import as_value
from ...core.aval import PLAIN, SCALARS, aval_of, is_differentiable
from ...core.errors import ConcretizationError, DTypeError, ImmutableError, IndexingError
from ...core.fp_errors import ERROR_STATE, IGNORE, call_silently, run_silently
from ...core.interpreter import CURRENT, Tracer
from ...core.surface import SurfaceObject, is_object, make_object
from ...numpy.at_index import At as FullAt
from .avals import ShapedArray, ShapeDtypeStruct
from .devices import OnDevice
from .dtypes import (
    NARROW,
    SINGLE,
    ScalarKind,
    dtype_of,
    fit_integer,
    fit_number,
    narrow,
    outranks,
    with_common_dtype,
    wrap_number,
)
from .errors import as_jax_raises
from .indices import BOUNDS, check_index, is_simple, is_within

WORD = np.dtype(np.int32)
FLOAT, GET_STATE = np.float32, ERROR_STATE.get
INSTANCES: set[type] = set()  # the classes of arrays and of keys
AS_ARRAY: dict[type, Callable[[Any], Any]] = {
    ndarray: np.asarray
}  # what makes arrays of objects of packages' classes


class ArrayKind(type):
    """The class of `Array`, which says what `isinstance` means."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) in INSTANCES

    def __call__(cls, *args: object, **options: object) -> NoReturn:
        raise TypeError("jax.Array is for isinstance and annotations; jnp.array makes arrays")


class Array(OnDevice, SurfaceObject, metaclass=ArrayKind):
    """An array, or a traced value: what `jax.numpy` takes and returns."""

    __slots__ = ("__weakref__", "_fx_sharding", "_fx_value")
    __array_priority__ = 100  # NumPy's arrays leave operators to this one
    at: Any  # see `updates`

    # -- as a surface object ---------------------------------------------------------------------------------------
    @staticmethod
    def __fxgrad_object__(value: Any, shared: bool = False) -> Any:
        array = NEW(Array)
        array._fx_value = narrow(value)
        return array

    def __fxgrad_flatten__(self) -> tuple[tuple[Any, ...], None]:
        return (self._fx_value,), None

    @classmethod
    def __fxgrad_unflatten__(cls, _: None, leaves: Any) -> Any:
        (value,) = leaves
        kind = type(value)
        # Mostly, and quicker.
        if (kind is ndarray or kind is FLOAT or isinstance(value, Tracer)) and value.dtype is SINGLE:
            array = NEW(Array)
            array._fx_value = value
            return array
        return make_object(Array, value)

    def __fxgrad_call__(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        from .lifting import lift  # which is made of arrays

        return lift(function)(*args, **kwargs)

    # -- what it is ------------------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return () if type(self._fx_value) in SCALARS else self._fx_value.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the entries."""
        return dtype_of(self._fx_value)

    @property
    def aval(self) -> ShapedArray:
        """The shape and dtype, and whether it is weak."""
        return ShapedArray(self.shape, self.dtype, self.weak_type)

    @property
    def weak_type(self) -> bool:
        """Whether it is a Python number, which takes the precision of arrays beside it."""
        value = self._fx_value
        return type(value) in SCALARS or (isinstance(value, Tracer) and value.aval.weak)

    ndim = property(lambda self: len(self.shape), doc="The number of axes.")
    size = property(lambda self: int(np.prod(self.shape)), doc="The number of entries.")
    itemsize = property(lambda self: self.dtype.itemsize, doc="The bytes of an entry.")
    nbytes = property(lambda self: self.size * self.itemsize, doc="The bytes of all entries.")
    vma = property(lambda self: frozenset(), doc="The axes of meshes along which it differs: none.")

    @property
    def _trace(self) -> Any:
        """The level that its value belongs to."""
        from .levels import find_top_trace  # which are made of transforms, and these of arrays

        return find_top_trace([self])

    def on_device_size_in_bytes(self) -> int:
        """Return the bytes of all entries."""
        return self.nbytes

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the first entry."""
        return np.asarray(self).ctypes.data

    # -- as a Python object ----------------------------------------------------------------------------------------
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = self._fx_value
        entries = np.asarray(self.dtype.type(value) if type(value) in SCALARS else value)
        if dtype is not None or copy:
            return entries.astype(entries.dtype if dtype is None else dtype)
        entries = entries.view()
        entries.flags.writeable = False
        return entries

    def __jax_array__(self) -> Array:
        return self

    def __repr__(self) -> str:
        if isinstance(self._fx_value, Tracer):
            return describe_traced(self)
        if self.size:
            entries = np.array2string(np.asarray(self), separator=", ", prefix="Array(", suffix=")")
        else:
            entries = f"[], shape={self.shape}"
        weak = ", weak_type=True" if self.weak_type else ""
        return f"Array({entries}, dtype={self.dtype.name}{weak})"

    def __str__(self) -> str:
        return repr(self) if isinstance(self._fx_value, Tracer) else str(np.asarray(self))

    def __format__(self, form: str) -> str:
        return format(self.item() if not self.shape and form else str(self), form)

    def __reduce__(self) -> Any:
        return array_of, (np.array(self),)

    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, memo: Any) -> Array:
        return self  # nothing can be written into it

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        if operand_of(value) is NotImplemented:
            raise TypeError(f"an array has numbers, among which a {type(value).__name__} cannot be")
        return bool((self == value).any())

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise ImmutableError(
            "x[index] = values: arrays of JAX's programs are immutable", hint="x = x.at[index].set(values)"
        )

    def item(self, *index: Any) -> Any:
        """Return an entry as a Python number."""
        return self.known_value().item(*index)

    def tolist(self) -> Any:
        """Return the entries as nested lists of Python numbers."""
        return self.known_value().tolist()

    def known_value(self) -> Any:
        """Return the value as one with NumPy's methods."""
        return self._fx_value if isinstance(self._fx_value, Tracer) else np.asarray(self)

    def tobytes(self, order: Any = "C") -> bytes:
        """Return the bytes of the entries."""
        return np.asarray(self).tobytes(order)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other  # type: ignore[operator]

    __hash__ = None  # type: ignore[assignment]

    # -- methods that are not a function's -------------------------------------------------------------------------
    def __getitem__(self, key: Any) -> Any:
        value: Any = self._fx_value
        kind = type(value)
        if type(key) is int and (kind is ndarray or issubclass(kind, Tracer)) and value.shape:
            n = value.shape[0]  # the nearest entry, if it is beyond
            return array_of(value[key if -n <= key < n else 0 if key < 0 else n - 1])
        if kind is ndarray and is_simple(key, value.shape):
            return array_of(value[key])
        key = value_of(key)
        check_index(key)
        if kind in SCALARS:
            value = np.asarray(value, self.dtype)
        if is_within(key, self.shape):
            return array_of(as_value(value)[key])
        return array_of(FullAt(as_value(value))[key].get(mode="clip"))

    def astype(self, dtype: Any, copy: bool = True, device: Any = None) -> Any:
        """Return the entries in another dtype."""
        return convert(self._fx_value, dtype)

    def reshape(self, *shape: Any, order: str = "C", **options: Any) -> Any:
        """Return the entries in another shape."""
        shape = value_of(shape[0] if len(shape) == 1 else shape)
        try:
            return array_of(fnp.reshape(self._fx_value, shape, order=order))
        except ValueError as error:
            raise as_jax_raises(error, "reshape", (self, shape)) from None

    def transpose(self, *axes: Any) -> Any:
        """Return the array with its axes in another order."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        try:
            return array_of(fnp.transpose(self._fx_value, order))
        except ValueError as error:
            raise as_jax_raises(error, "transpose", (self, order)) from None

    def flatten(self, order: str = "C", **options: Any) -> Any:
        """Return the entries along one axis."""
        return self.reshape(-1, order=order)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """Return the bits of the entries as another dtype."""
        value = self._fx_value
        entries = np.asarray(value, self.dtype) if value.__class__ in SCALARS else fnp.asarray(value)
        return array_of(entries.view(value_of(dtype)))

    def copy(self) -> Array:
        """Return the array."""
        return self

    def delete(self) -> None:
        """Give up the array: its memory is freed when nothing holds it."""

    def to_device(self, device: Any, *, stream: Any = None) -> Array:
        """Return the array: there is one device."""
        return self


def describe_traced(array: Array) -> str:
    """Return the text of a traced array: of which transform it is, and its value as far as that is known."""
    value = array._fx_value
    kind = f"{array.dtype.name}[{','.join(map(str, array.shape))}]"
    primal = getattr(value, "primal", None)
    if primal is not None:
        if hasattr(value, "tangent"):
            return f"JVPTracer(primal={array_of(primal)}, tangent={array_of(value.tangent)})"
        short = kind.replace("float", "f").replace("complex", "c")
        return f"GradTracer(primal={array_of(primal)}, typeof(tangent)={short})"
    if hasattr(value, "value"):
        batched = array_of(value.value)
        axes = ",".join(map(str, batched.shape))
        return f"VmapTracer(aval={kind}, batched={batched.dtype.name}[{axes}])"
    return f"JitTracer({'~' * array.weak_type}{kind})"


class WeakArray(Array):
    """An array that takes the precision of others beside it, as Python's numbers do: what was made of these alone, or
    of integers and a floating-point number. Weak numbers themselves are held as such, by an `Array`."""

    __slots__ = ()
    weak_type = property(lambda self: True)  # type: ignore[assignment]

    @staticmethod
    def __fxgrad_object__(value: Any, shared: bool = False) -> Any:
        array = NEW(WeakArray)
        array._fx_value = narrow(value)
        return array

    @classmethod
    def __fxgrad_unflatten__(cls, _: None, leaves: Any) -> Any:
        return make_object(WeakArray, *leaves)

    def __getitem__(self, key: Any) -> Any:
        return weaken(super().__getitem__(key))

    def reshape(self, *shape: Any, order: str = "C", **options: Any) -> Any:
        return weaken(super().reshape(*shape, order=order, **options))

    def transpose(self, *axes: Any) -> Any:
        return weaken(super().transpose(*axes))


NEW = Array.__new__
INSTANCES.update([Array, WeakArray])


def weaken(value: Any) -> Any:
    """Return an array, or the value of one, as a weak array or number; truth values are never weak."""
    value = value_of(value)
    if dtype_of(value).kind == "b" or not hasattr(value, "shape"):
        return array_of(value)
    number = value if value.shape else ops.weaken(value)
    is_number = type(number) in SCALARS or (isinstance(number, Tracer) and number.aval.weak)  # but under vmap
    return array_of(number) if is_number else WeakArray.__fxgrad_object__(value)


def strengthen(value: Any) -> Any:
    """Return a weak array as one that is not; anything else as it is."""
    return array_of(value._fx_value) if type(value) is WeakArray else value


# -- values and arrays -----------------------------------------------------------------------------------------------
def value_of(argument: Any) -> Any:
    """Return an argument as this library takes it: the values of arrays, NumPy's arrays in dtypes that arrays may have,
    and dtypes for scalar types; also inside lists, tuples and dicts."""
    kind = type(argument)
    if kind is Array:
        return argument._fx_value
    if kind in SCALARS:
        return argument
    if kind is ndarray or isinstance(argument, np.generic):
        return narrow(argument)
    if kind is list or kind is tuple:
        return kind(map(value_of, argument))
    if kind is dict:
        return {name: value_of(value) for name, value in argument.items()}
    if isinstance(argument, ScalarKind):
        return argument.dtype
    if kind is slice:
        if type(argument.start) in BOUNDS and type(argument.stop) in BOUNDS and type(argument.step) in BOUNDS:
            return argument
        return slice(*map(index_of, (argument.start, argument.stop, argument.step)))
    if is_object(argument) and (argument._fx_is_box or kind is WeakArray):
        return argument._fx_value
    if hasattr(kind, "__jax_array__"):
        return argument.__jax_array__()._fx_value
    if kind in AS_ARRAY:
        return value_of(AS_ARRAY[kind](argument))
    is_named = isinstance(argument, tuple) and hasattr(argument, "_fields")
    return kind(*map(value_of, argument)) if is_named else argument


def index_of(bound: Any) -> Any:
    """Return a bound of a slice as a Python integer."""
    try:
        return bound if bound is None or type(bound) is int else operator.index(value_of(bound))
    except ConcretizationError:
        raise IndexingError(
            "the bounds of a slice are known integers", hint="jax.lax.dynamic_slice, whose sizes are known"
        ) from None


def array_of(value: Any) -> Any:
    """Return a result of this library as programs see it: arrays, numbers and traced values as an `Array`, also inside
    containers."""
    kind = type(value)
    if (
        kind is ndarray or kind is FLOAT or isinstance(value, Tracer)
    ) and value.dtype is SINGLE:  # most results
        array = NEW(Array)
        array._fx_value = value
        return array
    if kind is Array or value is None or kind is str:
        return value
    if kind in PLAIN or isinstance(value, np.generic | Tracer):
        held: Any = value
        if kind is bool:  # of which there are no weak ones
            held = np.bool_(held)
        elif kind is int:
            if not -(2**31) <= held < 2**31:
                held = fit_integer(held)
        elif kind not in SCALARS and held.dtype in NARROW:
            held = narrow(held)
        elif kind is ndarray and held.dtype.kind in "OSU":
            raise DTypeError(
                f"arrays have numbers, not entries of {held.dtype}", hint="a list, or numpy's array"
            )
        array = NEW(Array)
        array._fx_value = held
        return array
    if is_object(value):
        return array_of(value._fx_value) if value._fx_is_box else value
    return pytree.map(lambda v: v if v is value or type(v) is bool else array_of(v), value, is_leaf=is_object)


def convert(value: Any, dtype: Any) -> Any:
    """Return a value as an array of a dtype: of complex numbers for real ones the real part, of floats for booleans
    whether they are not 0."""
    if type(dtype) in SCALARS:
        raise DTypeError(f"{dtype!r} is no dtype", hint="jnp.float32, say, or x.dtype of an array")
    dtype = dtype_of(value_of(dtype))
    value = as_value(value)
    if (
        is_differentiable(aval_of(value).dtype)
        and aval_of(value).dtype.kind == "c"
        and dtype.kind not in "cb"
    ):
        value = fnp.real(value)
    if type(value) in SCALARS:
        value = np.asarray(value)[()]
    is_rounded = aval_of(value).dtype.kind in "fV" and dtype.kind in "iu"
    return array_of(saturate(value, dtype) if is_rounded else value.astype(dtype))


def saturate(value: Any, dtype: Any) -> Any:
    """Return floats as integers: what is beyond these as the nearest, NaN as 0."""
    bounds = np.iinfo(dtype)
    if not isinstance(value, Tracer) and np.all(np.abs(value) < min(bounds.max, 2**24)) and dtype.kind == "i":
        return value.astype(dtype)  # mostly, and quicker
    wide = fnp.where(fnp.isnan(value), 0.0, value).astype(np.float64)
    greatest = bounds.max if dtype.itemsize < 8 else np.nextafter(float(bounds.max), 0.0)
    return fnp.clip(wide, bounds.min, greatest).astype(dtype)


def described(argument: Any) -> Any:
    """Return an argument whose shape and dtype are asked for as a value: also one without data."""
    if isinstance(argument, ShapeDtypeStruct):
        return argument.placeholder()
    return value_of(argument)


# -- operators and methods -------------------------------------------------------------------------------------------
def operand_of(other: Any) -> Any:
    """Return the other operand of an operator as a value; NotImplemented for what is no number or array."""
    kind = type(other)
    if kind is Array:
        return other._fx_value
    if kind in SCALARS:
        return other
    if kind in PLAIN or isinstance(other, np.generic | Tracer):
        return narrow(other)
    if hasattr(kind, "__jax_array__"):
        return other.__jax_array__()._fx_value
    if kind is list or kind is tuple:
        raise DTypeError(f"an operand is a {kind.__name__}, not an array or a number", hint="jnp.array(…)")
    return NotImplemented


def make_operator(function: Callable[[Any, Any], Any], plain: Any, reflected: bool = False) -> Any:
    """Make the method of an operator of two operands: of a function, and of what computes it on NumPy's arrays."""
    current = CURRENT.get
    keeps_weak = (
        plain not in (operator.pow, operator.matmul) and getattr(plain, "__module__", "") == "_operator"
    )

    def method(self: Array, other: Any) -> Any:
        a = self._fx_value
        b = other._fx_value if type(other) is Array else other
        # Mostly, and quicker.
        if (type(a) is ndarray or type(a) is FLOAT) and ((dtype := a.dtype) is SINGLE or dtype is WORD):
            kind = type(b)
            if (
                b.dtype is dtype if kind is ndarray or kind is FLOAT else kind in SCALARS
            ) and not current().observer:
                try:
                    y = run_silently(plain, b, a) if reflected else run_silently(plain, a, b)
                    # As `array_of`, without its call.
                    if (type(y) is ndarray or type(y) is FLOAT) and y.dtype is SINGLE:
                        array = NEW(Array)
                        array._fx_value = y
                        return array
                    if kind in SCALARS and outranks(b, dtype):
                        return weaken(y)
                    return array_of(y)
                except Exception:  # which is explained below, unless another thread computes
                    pass
        if type(other) is not Array:
            b = operand_of(other)
        if type(b) in SCALARS:
            if type(a) not in SCALARS and a.dtype is not SINGLE and a.dtype.kind == "V":
                b = fit_number(b, a.dtype)
            elif type(b) is int and type(a) not in SCALARS and a.dtype.kind in "iu":
                b = wrap_number(b, a.dtype)
        elif b is NotImplemented:
            return NotImplemented
        elif type(a) in SCALARS or a.dtype is not b.dtype:
            a, b = with_common_dtype([a, b])
        is_weak = type(b) in SCALARS and type(a) not in SCALARS and outranks(b, a.dtype)
        if reflected:
            a, b = b, a
        try:
            call = plain if keeps_weak and not current().observer else function
            y = call(a, b) if GET_STATE() is IGNORE else call_silently(call, a, b)
            return weaken(y) if is_weak else array_of(y)
        except (ValueError, TypeError) as error:
            raise as_jax_raises(error, function.__name__, (a, b)) from None

    return method


def make_conversion(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make the method of an operator of one operand whose result is Python's."""
    return lambda self: function(self._fx_value)


OPERATORS = {
    "add": fnp.add, "sub": fnp.subtract, "mul": fnp.multiply, "truediv": fnp.divide, "floordiv": fnp.floor_divide,
    "mod": fnp.remainder, "pow": fnp.power, "matmul": fnp.matmul, "and": fnp.bitwise_and, "or": fnp.bitwise_or,
    "xor": fnp.bitwise_xor, "lshift": fnp.left_shift, "rshift": fnp.right_shift,
}  # fmt: skip


def attach_operators() -> None:
    """Give arrays Python's operators."""
    for name, function in OPERATORS.items():
        plain = getattr(operator, f"__{name}__")
        setattr(Array, f"__{name}__", make_operator(function, plain))
        setattr(Array, f"__r{name}__", make_operator(function, plain, reflected=True))
    for name, ufunc in COMPARISONS.items():
        setattr(Array, f"__{name}__", make_operator(getattr(fnp, ufunc), getattr(np, ufunc)))
    for function in (bool, int, float, complex, operator.index):
        setattr(Array, f"__{function.__name__}__", make_conversion(function))


COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip
attach_operators()
