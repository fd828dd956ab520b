"""Which array library computes: kernels are chosen by the type of the arrays.

A primitive's `make_kernel(xp)` is called once for each namespace. NumPy's types never come here (they are
`core.aval.PLAIN`); CuPy, and any library of the Array API standard that is registered, do.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .aval import PLAIN, SCALARS, check_dtype
from .errors import DTypeError, FxgradError, UnsupportedError
from .interpreter import VALUES
from .surface import is_object

if TYPE_CHECKING:
    from collections.abc import Sequence

# Array type → its namespace, None where that is of no use; filled when a type is first met.
NAMESPACES: dict[type, Any] = {}


def namespace_of(value: Any) -> Any:
    """The array namespace of a value: NumPy for plain ones, None for what is no array, or is one only to be read."""
    kind = type(value)
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


def cuda_library(values: Sequence[Any]) -> Any:
    """Return the library of all values but Python's numbers if it compiles CUDA, as CuPy does; or None."""
    spaces = {id(xp): xp for v in values if type(v) not in SCALARS for xp in [namespace_of(v)]}
    [library] = spaces.values() if len(spaces) == 1 else [None]
    return library if hasattr(library, "RawModule") else None


def evaluate(primitive: Any, args: Any, params: dict) -> Any:
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
    if len(foreign) > 1 or any(type(a) is np.ndarray and a.ndim and a.dtype.kind not in "biu" for a in args):
        names = sorted(space.__name__ for space in spaces.values())
        raise DTypeError(
            f"{primitive.name}: operands of different array libraries: {', '.join(names)}",
            hint="move them to one library first (cupy.asarray, cupy.asnumpy)",
        )
    if np in spaces.values():
        args = [xp.asarray(a) if type(a) in PLAIN and type(a) not in SCALARS else a for a in args]
    kernels = primitive.__dict__.setdefault("foreign_kernels", {})
    if xp not in kernels:
        kernel = None if primitive.make_kernel is None else primitive.make_kernel(xp)
        if kernel is None:
            raise UnsupportedError(f"{primitive.name} has no kernel for {xp.__name__}")
        kernels[xp] = kernel
    return kernels[xp](*args, **params)


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
    if issubclass(kind, np.ndarray):
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
    kind = type(value)
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
            hint="pass other objects by closure, functools.partial or as static arguments",
        )
    if has_own_operations(kind):
        raise DTypeError(
            f"{what} is a {name}, whose operations are not those of an array of its entries",
            hint="give the entries: np.asarray(x)",
        )
    try:
        entries = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, FxgradError):
            raise
        raise DTypeError(f"{what} is a {name}, which gives no array: {error}") from error
    check_dtype(entries.dtype, what)
    return entries


def dtype_in(xp: Any, dtype: Any) -> Any:
    """The dtype object of namespace `xp` for a NumPy dtype."""
    return dtype if xp is np or ("cupy" in sys.modules and xp.__name__ == "cupy") else getattr(xp, dtype.name)
