"""CuPy's functions, by NumPy's of the same names: those that are in `signatures.txt`, with their parameters and no
others."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np

from ._array import check_dtype, ndarray, read, run, write
from ._record import note_transfer
from .cuda import get_device_id

# Functions that have to know on the host how large their results are.
BY_VALUE = {
    "nonzero", "flatnonzero", "argwhere", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "extract", "compress", "bincount", "histogram", "histogram2d", "histogramdd", "intersect1d", "union1d", "setdiff1d",
    "setxor1d", "trim_zeros",
}  # fmt: skip
TRUTH = {
    "allclose",
    "array_equal",
    "array_equiv",
    "count_nonzero",
}  # NumPy gives Python's values, CuPy arrays
STABLE = {"sort", "argsort"}
NO_COMPLEX = {"logical_and", "logical_or", "logical_xor", "logical_not"}
WRAPPING = {"take", "put"}


class ufunc:
    """A function of each entry."""

    def __init__(self, name: str, function):
        self.__name__, self.function = name, function
        self.nin, self.nout = getattr(function, "nin", 1), getattr(function, "nout", 1)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    def __call__(self, *args, out=None, dtype=None, casting="same_kind"):
        args, given = args[: self.nin], args[self.nin :]
        if self.__name__ in NO_COMPLEX and any(getattr(x, "dtype", np.dtype(bool)).kind == "c" for x in args):
            raise TypeError(f"Wrong type (complex) of arguments for {self.__name__}")
        options = {} if not isinstance(self.function, np.ufunc) else {"dtype": dtype, "casting": casting}
        if out is not None or given:
            options["out"] = given[0] if given else out
        return run(self.__name__, self.function, *map(as_scalar, args), **options)

    def outer(self, A, B, **kwargs):
        return run(self.__name__, self.function.outer, A, B, **kwargs)

    def at(self, a, indices, b=None):
        if self.__name__ not in (
            "add",
            "subtract",
            "maximum",
            "minimum",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
        ):
            raise NotImplementedError(f"`{self.__name__}.at` is not supported yet")
        a._meet(f"{self.__name__}.at", self.function, indices, b)

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False):
        if self.__name__ not in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or"):
            raise NotImplementedError(f"`{self.__name__}.reduce` is not supported yet")
        return run(f"{self.__name__}.reduce", self.function.reduce, array, axis, dtype, out, keepdims)

    def accumulate(self, array, axis=0, dtype=None, out=None):
        if self.__name__ not in ("add", "multiply"):
            raise NotImplementedError(f"`{self.__name__}.accumulate` is not supported yet")
        return run(f"{self.__name__}.accumulate", self.function.accumulate, array, axis, dtype, out)


def as_scalar(value):
    """Return an operand of a ufunc: an array or a number."""
    if not isinstance(value, ndarray | bool | int | float | complex | np.generic):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def make_function(name: str, signature: inspect.Signature, function):
    """Return CuPy's function with that signature."""

    def call(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        args, kwargs = bound.args, bound.kwargs
        if name in BY_VALUE:
            for x in args:
                if isinstance(x, ndarray):
                    read(name, x, 8)
        if name in STABLE:
            if bound.arguments.get("kind") not in (None, "stable"):
                raise ValueError("kind can only be None or 'stable'")
            bound.arguments["kind"] = "stable"
            args, kwargs = bound.args, bound.kwargs
        if name in WRAPPING:
            kwargs = {**kwargs, "mode": "wrap"}
        if "dtype" in bound.arguments and bound.arguments["dtype"] is not None:
            check_dtype(bound.arguments["dtype"])
        if name == "repeat" and isinstance(bound.arguments["repeats"], ndarray):
            raise ValueError("cupy.ndarray object is not supported as `repeats`")
        if name == "take_along_axis":
            return run(name, take_along_axis, *args, **kwargs)
        return run(name, arrays_of(function) if name in TRUTH else function, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__signature__ = signature
    return call


def arrays_of(function):
    return lambda *args, **kwargs: np.asarray(function(*args, **kwargs))


def take_along_axis(a, indices, axis):
    """NumPy's, with positions beyond the end wrapped around."""
    n = a.size if axis is None else a.shape[axis]
    return np.take_along_axis(a, indices % n if n else indices, axis)


def read_signatures() -> dict[str, dict]:
    """Return module → name → what is called."""
    found: dict[str, dict] = {}
    section = found["cupy"] = {}
    modules = {"cupy": np, "cupy.linalg": np.linalg, "cupy.fft": np.fft}
    place = np
    for line in (Path(__file__).parent / "signatures.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section, place = found.setdefault(line[1:-1], {}), modules[line[1:-1]]
        elif line.startswith("ufuncs "):
            aliases = {"bitwise_not": "invert", "conj": "conjugate", "bitwise_invert": "invert"}
            for name in line.split()[1:]:
                function = getattr(place, aliases.get(name, name))
                section[name] = ufunc(aliases.get(name, name), function)
        elif line and not line.startswith("#"):
            name, parameters = line.split("(", 1)
            signature = inspect.signature(
                eval(f"lambda {parameters[:-1]}: None", {"nan": np.nan, **vars(np)})
            )
            section[name] = make_function(
                f"{'linalg.' * (place is np.linalg)}{name}",
                signature,
                getattr(
                    place, {"row_stack": "vstack"}.get(name, name)
                ),  # which NumPy 2.5 has by this name only
            )
    return found


FUNCTIONS = read_signatures()


# -- to and from the host ----------------------------------------------------------------------------------
def array(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False) -> ndarray:
    """An array on the current device: entries of the host go there."""
    dtype = None if dtype is None else check_dtype(dtype)
    if isinstance(obj, ndarray):
        if obj._device != get_device_id():
            note_transfer("device→device", "array", obj.nbytes, get_device_id())
            return ndarray._around(
                np.array(obj._entries, dtype, order=order, ndmin=ndmin), get_device_id(), ()
            )
        return run("array", lambda x: np.array(x, dtype, copy=copy, order=order, ndmin=ndmin), obj)
    if isinstance(obj, list | tuple) and has_arrays(obj):
        return run("array", lambda x: np.array(x, dtype, order=order, ndmin=ndmin), obj)
    entries = np.array(obj, dtype, order=order, ndmin=ndmin)
    if entries.dtype.byteorder == ">":
        entries = entries.astype(entries.dtype.newbyteorder("="))
    check_dtype(entries.dtype)
    return write("array", entries)


def has_arrays(values) -> bool:
    return any(isinstance(v, ndarray) or (isinstance(v, list | tuple) and has_arrays(v)) for v in values)


def asarray(a, dtype=None, order=None, *, copy=None, blocking=False) -> ndarray:
    return array(a, dtype, copy, order or "K", blocking=blocking)


def ascontiguousarray(a, dtype=None) -> ndarray:
    if isinstance(a, ndarray):
        return run("ascontiguousarray", lambda x: np.ascontiguousarray(x, dtype).reshape(x.shape), a)
    return array(a, dtype, order="C")


def asfortranarray(a, dtype=None) -> ndarray:
    if isinstance(a, ndarray):
        return run("asfortranarray", lambda x: np.asfortranarray(x, dtype), a)
    return array(a, dtype, order="F")


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True) -> np.ndarray:
    if isinstance(a, ndarray):
        return a.get(stream, order, out)
    return np.asarray(a, order=order)


# -- what is known without entries -------------------------------------------------------------------------
def shape(a):
    return a.shape if isinstance(a, ndarray) else np.shape(a)


def ndim(a) -> int:
    return len(shape(a))


def size(a, axis=None) -> int:
    return a.size if axis is None else a.shape[axis]


def result_type(*arrays_and_dtypes) -> np.dtype:
    return np.result_type(*(x.dtype if isinstance(x, ndarray) else x for x in arrays_and_dtypes))


def can_cast(from_, to, casting="safe") -> bool:
    return np.can_cast(from_.dtype if isinstance(from_, ndarray) else from_, to, casting)


def common_type(*arrays):
    return np.common_type(*(np.empty(0, x.dtype) for x in arrays))


def iscomplexobj(x) -> bool:
    return getattr(x, "dtype", np.asarray(0 if isinstance(x, ndarray) else x).dtype).kind == "c"


def isrealobj(x) -> bool:
    return not iscomplexobj(x)


def may_share_memory(a, b, max_work=None) -> bool:
    return np.may_share_memory(a._entries, b._entries, max_work)


def shares_memory(a, b, max_work=None) -> bool:
    return np.shares_memory(a._entries, b._entries, max_work)


def ix_(*args):
    return run("ix_", np.ix_, *args)


def get_array_module(*args):
    import cupy

    return cupy if any(isinstance(x, ndarray) for x in args) else np
