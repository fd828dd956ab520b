"""Array libraries: the type of the operands chooses the kernels.

A primitive's `make_kernel(xp)` is called once for each namespace. NumPy's types never come here (they are
`core.aval.PLAIN`); CuPy, and any library of the Array API standard that is registered, do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from .aval import PLAIN, SCALARS, check_dtype
from .cache import Cache
from .costs import KEPT_BYTES
from .devices import device_of, is_on_cuda
from .errors import DeviceError, DTypeError, FxgradError, UnsupportedError
from .interpreter import VALUES, Tracer
from .labels import is_labelled
from .references import is_reference
from .surface import is_object
from .typing import Array, type_of

# Array type → its namespace, None where that is of no use; filled when a type is first met.
NAMESPACES: dict[type, Any] = {}


def namespace_of(value: Any) -> Any:
    """The array namespace of a value: NumPy for plain ones, None for other values and for arrays that are only read."""
    kind = type_of(value)
    if kind in PLAIN or isinstance(value, np.ndarray | np.generic):
        return np
    if kind in NAMESPACES:
        return NAMESPACES[kind]
    if kind.__module__.partition(".")[0] == "cupy":
        found = sys.modules["cupy"]  # imported already, since here is one of its arrays
    elif hasattr(value, "__array_namespace__"):
        found = usable_namespace(value)
    else:
        return None
    NAMESPACES[kind] = found
    if found is not None:
        VALUES.add(kind)
    return found


def usable_namespace(value: Any) -> Any:
    """Return the namespace that an array names, or None if kernels, which write into arrays of their own, cannot use
    it, as they cannot use JAX's."""
    try:
        xp = value.__array_namespace__()
        xp.zeros(1)[0] = 1
    except (TypeError, NotImplementedError):
        return None
    return xp


def has_devices(xp: Any) -> bool:
    """Whether arrays of a namespace are on devices, which work while the host goes on: who looks at an entry waits."""
    return hasattr(xp, "cuda")


def cuda_library(values: Sequence[Any]) -> Any:
    """Return the library of all values but Python's numbers if it compiles CUDA, as CuPy does; or None."""
    spaces = {id(xp): xp for v in values if type(v) not in SCALARS for xp in [namespace_of(v)]}
    [library] = spaces.values() if len(spaces) == 1 else [None]
    return library if hasattr(library, "RawModule") else None


# Whether NumPy arrays go where the other operands are, as constants of declared operations do.
CONSTANTS_FOLLOW: ContextVar[bool] = ContextVar("fxgrad constants follow", default=False)


def is_data(value: Any) -> bool:
    """Whether an operand is a NumPy array of more than positions, truth values, or one number."""
    return type(value) is np.ndarray and bool(value.ndim) and value.dtype.kind not in "biu"


def evaluate(primitive: Any, args: Any, params: dict[str, Any]) -> Any:
    """The result of a primitive on operands among which are arrays of another library.

    NumPy scalars and NumPy arrays of integers and booleans among them (positions, masks made by rules) are moved to
    that library; data is not moved silently.
    """
    spaces = {
        id(xp): xp for a in args if type(a) not in SCALARS for xp in [namespace_of(a)] if xp is not None
    }
    foreign = [xp for xp in spaces.values() if xp is not np]
    if not foreign:
        return primitive.kernel(*args, **params)
    xp = foreign[0]
    if len(foreign) > 1 or (not CONSTANTS_FOLLOW.get() and any(map(is_data, args))):
        names = sorted(space.__name__ for space in spaces.values())
        raise DTypeError(
            f"{primitive.name}: operands of different array libraries: {', '.join(names)}",
            hint='move them to one device first: fx.device_put(x, "cuda"), fx.device_get(x)',
        )
    kernels = primitive.__dict__.setdefault("foreign_kernels", {})
    if xp not in kernels:
        kernel = None if primitive.make_kernel is None else primitive.make_kernel(xp)
        if kernel is None:
            raise UnsupportedError(
                f"{primitive.name} has no kernel for {xp.__name__}",
                hint="compute it from NumPy's arrays: fx.device_get(x)" if has_devices(xp) else None,
            )
        kernels[xp] = kernel
    with use_device_of(args, primitive.name) if has_devices(xp) else NO_DEVICE:
        if np in spaces.values():
            # Programs hand operands on, and numbers of theirs, such as counts of steps, are for the host.
            programs = primitive.errors_are_users
            stay, move = (
                (PLAIN - {np.ndarray}, xp.asarray) if programs else (SCALARS, partial(move_constant, xp))
            )
            args = [move(a) if type(a) in PLAIN and type(a) not in stay else a for a in args]
        return kernels[xp](*args, **params)


NO_DEVICE = nullcontext()
# Small arrays on devices by device, dtype, shape and entries. No operation writes into them or returns one of them.
MOVED = Cache(1024)


def use_device_of(args: Sequence[Any], operation: str) -> AbstractContextManager[Any]:
    """Return the context in which the device of the operands is the one in use: that of CuPy's arrays among them."""
    if "cupy" not in sys.modules:
        return NO_DEVICE
    there = {device_of(a): a.device for a in args if is_on_cuda(a)}
    if len(there) > 1:
        names = ", ".join(map(str, there))
        raise DeviceError(
            f"{operation}: operands on different devices: {names}",
            hint='move them to one device first: fx.device_put(x, "cuda:0")',
        )
    if not there:
        return NO_DEVICE
    [device] = there.values()
    return NO_DEVICE if device.id == sys.modules["cupy"].cuda.runtime.getDevice() else device


def move_constant(xp: Any, a: Any) -> Any:
    """Move a scalar of NumPy's, positions or a mask to the device in use. Rules make the same small ones again and
    again: these stay there."""
    if not has_devices(xp) or a.nbytes > KEPT_BYTES:
        return xp.asarray(a)
    key = (xp, xp.cuda.runtime.getDevice(), a.dtype, a.shape, a.tobytes())
    moved = MOVED.get(key)
    if moved is None:
        moved = xp.asarray(a)
        xp.cuda.get_current_stream().synchronize()  # it may be used in another stream next
        MOVED[key] = moved
    return moved


def move_beside(primals: Sequence[Any], tangents: Sequence[Any]) -> Sequence[Any]:
    """Return the operands of a rule that is written in operators, which do not move NumPy's arrays beside those of
    another library as operations do."""
    if any(type(p) is np.ndarray for p in primals):
        for v in (*tangents, *primals):
            xp = NAMESPACES.get(type_of(v))
            if xp is not None:
                with use_device_of([v], "a rule") if has_devices(xp) else NO_DEVICE:
                    return [move_constant(xp, p) if type(p) is np.ndarray else p for p in primals]
    return primals


PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__array_namespace__")
# What a subclass of ndarray has redefined if it computes in its own way.
OPERATIONS = (
    "__array_ufunc__",
    "__array_function__",
    "__add__",
    "__mul__",
    "__matmul__",
    "__pow__",
    "__lt__",
    "__eq__",
)


def is_array_like(value: Any) -> bool:
    """Return whether a value of another type is read as an array: by a protocol, as a buffer or as a sequence."""
    if isinstance(value, str | bytes):
        return False
    if isinstance(value, list | tuple | range) or any(hasattr(value, name) for name in PROTOCOLS):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def has_own_operations(kind: type) -> bool:
    """Return whether operators mean something else on values of a type than on arrays of their entries, as they do for
    masks, labels, units and products of matrices. What offers its memory by DLPack is shape and numbers, and nothing
    else."""
    if np.ndarray in kind.__mro__:
        return any(getattr(kind, name) is not getattr(np.ndarray, name) for name in OPERATIONS)
    if issubclass(kind, np.generic):
        return False
    named = {name for cls in kind.__mro__ for name in vars(cls)}  # its own, not those of its metaclass
    return "__mul__" in named and "__dlpack__" not in named


def read_array(value: Any, what: object = "an operand") -> Any:
    """Convert a value whose type is not in VALUES to one to compute with: an array of another library stays as it is,
    anything else becomes what NumPy reads.

    Raises:
        DTypeError: it is no array of numbers; or more than that, so that its entries would not behave as it does.
    """
    if is_object(value):
        return value.__fxgrad_value__()
    kind = type_of(value)
    if namespace_of(value) not in (None, np):
        return value
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(
            f"{what} is a masked array, whose mask would be lost",
            hint="fill it (x.filled(0)), or give x.data and x.mask, and choose by fnp.where",
        )
    if not is_array_like(value):
        raise DTypeError(
            f"{what} is a {name}, not an array or a number",
            hint="its value, ref[...]; functions of jit, loops and branches may also write into a reference of outside"
            if is_reference(value)
            else "decorate the class with fx.tree.register_dataclass, so that its fields are a pytree"
            if hasattr(kind, "__dataclass_fields__")
            else "pass other objects by closure, functools.partial or as static arguments"
            if kind.__module__ == "builtins"
            else "fx.tree.register_pytree_node makes a pytree of a class with arrays in it; pass other objects by "
            "closure, functools.partial or as static arguments",
        )
    if has_own_operations(kind) and not is_labelled(kind):
        raise DTypeError(
            f"{what} is a {name}, whose operations are not those of an array of its entries",
            hint="give the entries: np.asarray(x)",
        )
    try:
        entries = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, FxgradError):
            raise
        raise DTypeError(
            f"{what} is a {name}, which gives no array: {error}",
            hint="fnp.array(list) of what is to be its entries",
        ) from error
    check_dtype(entries.dtype, what)
    return entries


# Turns a (nested) sequence, possibly holding tracers, into an array: set by ops.shaping.
from_sequence: Callable[[Any], Any] = np.asarray


def holds_objects(value: Any) -> bool:
    """Whether a value is an array of objects, which NumPy makes of traced values: `np.array([x, y])`."""
    return type(value) is np.ndarray and value.dtype.hasobject


def read_objects(entries: np.ndarray) -> Any:
    """Return the array of the numbers and traced values that an array of objects holds; itself where it holds none that
    are traced."""
    if not any(isinstance(entry, Tracer) for entry in entries.flat):
        return entries
    return from_sequence(entries.tolist()) if entries.ndim else entries[()]


def as_value(value: Any, what: object = "an operand") -> Array:
    """Convert an operand to an array, scalar or tracer; sequences and other array-likes are converted as NumPy does."""
    if type(value) in VALUES:
        return read_objects(value) if holds_objects(value) else value
    if isinstance(value, list | tuple):
        return from_sequence(value)
    return read_array(value, what)


def dtype_in(xp: Any, dtype: Any) -> Any:
    """The dtype object of namespace `xp` for a NumPy dtype."""
    return dtype if xp is np or ("cupy" in sys.modules and xp.__name__ == "cupy") else getattr(xp, dtype.name)
