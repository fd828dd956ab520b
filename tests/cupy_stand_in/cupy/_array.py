"""The array class: entries of a NumPy array that no NumPy function gets to see, and how CuPy's functions reach them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from numpy.lib._stride_tricks_impl import DummyArray

from ._memory import Memory, MemoryPointer
from ._record import note_launch, note_transfer
from .cuda import Device, get_current_stream, get_device_id

DTYPES = {np.dtype(code) for code in "?bhilqBHILQefdFD"} | {np.dtype(ml_dtypes.bfloat16)}
# Functions whose results are places in the operand's memory, wherever that is.
VIEWS = {
    "reshape", "ravel", "transpose", "permute_dims", "matrix_transpose", "swapaxes", "moveaxis",
    "rollaxis", "flip", "fliplr", "flipud", "rot90", "squeeze", "expand_dims", "broadcast_to",
    "broadcast_arrays", "diagonal", "real", "imag", "atleast_1d", "atleast_2d", "atleast_3d", "split",
    "array_split", "hsplit", "vsplit", "dsplit", "as_strided", "view", "getitem",
}  # fmt: skip


def owner_of(entries: np.ndarray) -> np.ndarray:
    """The array that has the memory."""
    base = entries.base
    while isinstance(base, np.ndarray | DummyArray):  # the latter is what `as_strided` leaves
        entries = base if isinstance(base, np.ndarray) else entries
        base = base.base
    return entries


def unwrap(value, operands: list[ndarray]):
    """Return the entries of an operand, which is added to `operands`; NumPy's arrays are refused."""
    if isinstance(value, ndarray):
        operands.append(value)
        return value._entries
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if type(value) in (list, tuple):
        return type(value)(unwrap(v, operands) for v in value)
    if type(value) is dict:
        return {k: unwrap(v, operands) for k, v in value.items()}
    return value


def wrap(value, operands: list[ndarray], device: int):
    """Return what NumPy has computed as arrays on a device; an operand that was written into as itself."""
    if isinstance(value, np.ndarray | np.generic):
        for x in operands:
            if x._entries is value:
                return x
        return ndarray._around(np.asarray(value), device, operands)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(wrap(v, operands, device) for v in value))
    if isinstance(value, list | tuple):
        return type(value)(wrap(v, operands, device) for v in value)
    return value


def require_current(operands: list[ndarray]) -> int:
    """Return the current device, on which all operands have to be."""
    current = get_device_id()
    for x in operands:
        if x._device != current:
            raise ValueError(
                "Array device must be same as the current device: "
                f"array device = {x._device} while current = {current}"
            )
    return current


def run(name: str, function, *args, **kwargs):
    """Carry out an operation on the current device, in its current stream."""
    operands: list[ndarray] = []
    args, kwargs = unwrap(args, operands), unwrap(kwargs, operands)
    is_view = name in VIEWS and bool(operands)
    device = operands[0]._device if is_view else require_current(operands)
    with np.errstate(all="ignore"):
        result = function(*args, **kwargs)
    if isinstance(result, np.generic):
        result = np.asarray(result)  # memory, into which a graph writes again
    if not is_view:
        stream = get_current_stream()
        note_launch(name, device, stream.ptr)
        if stream.captured is not None:
            stream.captured.steps.append(lambda: repeat(function, args, kwargs, result))
    return wrap(result, operands, device)


def repeat(function, args, kwargs, result) -> None:
    """Do an operation again, into the memory of its result."""
    with np.errstate(all="ignore"):
        again = function(*args, **kwargs)
    for old, new in zip(*((r if isinstance(r, list | tuple) else [r]) for r in (result, again))):
        if isinstance(old, np.ndarray) and old is not new:
            old[...] = new


def read(name: str, x: ndarray, nbytes: int | None = None) -> np.ndarray:
    """Note that entries go to the host, and return all of them."""
    get_current_stream().refuse_capture(name)
    note_transfer("device→host", name, x.nbytes if nbytes is None else nbytes, x._device)
    return x._entries


def write(name: str, entries: np.ndarray) -> ndarray:
    """Note that entries go to the current device, and return the array of them there."""
    get_current_stream().refuse_capture(name)
    note_transfer("host→device", name, entries.nbytes, get_device_id())
    return ndarray._around(entries, get_device_id(), ())


def index_of(key, shape: tuple[int, ...]):
    """Return an index as NumPy takes it, and whether there are index arrays in it. Positions beyond the end wrap
    around, as on a GPU; arrays of the host go to the device first."""
    entries = list(key) if isinstance(key, tuple) else [key]
    entries = [np.asarray(e) if isinstance(e, list) else e for e in entries]
    is_advanced = any(isinstance(e, ndarray | np.ndarray) for e in entries)
    used = sum(e.ndim if is_mask(e) else e is not None and e is not Ellipsis for e in entries)
    result, axis = [], 0
    for e in entries:
        if isinstance(e, np.ndarray):
            e = write("getitem", e)
        if isinstance(e, ndarray):
            require_current([e])
            if is_mask(e):
                read("nonzero", e, 8)
                result.append(e._entries)
                axis += e.ndim
            elif e.dtype.kind in "iu":
                n = shape[axis] if axis < len(shape) else 1
                result.append(e._entries % n if n else e._entries)
                axis += 1
            else:
                raise IndexError("arrays used as indices must be of integer or boolean type.")
            continue
        result.append(e)
        if e is Ellipsis:
            axis += len(shape) - used
        elif e is not None:
            axis += 1
    return tuple(result) if isinstance(key, tuple) else result[0], is_advanced


def is_mask(entry) -> bool:
    return isinstance(entry, ndarray | np.ndarray) and entry.dtype.kind == "b"


def method(name: str):
    """Return the method that is NumPy's of that name."""

    def call(self, *args, **kwargs):
        return run(name, lambda x, *a, **k: getattr(x, name)(*a, **k), self, *args, **kwargs)

    call.__name__ = name
    return call


def operator(ufunc: np.ufunc, order: int = 1, in_place: bool = False):
    """Return the operator that is a ufunc, of (self, other), or of (other, self) for `order` −1."""

    def call(self, *other):
        if any(not is_operand(o) for o in other):
            if any(isinstance(o, np.ndarray) for o in other):
                raise TypeError(f"Unsupported type {type(other[0])}")
            return NotImplemented
        operands = (self, *other)[::order]
        return run(ufunc.__name__, ufunc, *operands, **({"out": self} if in_place else {}))

    return call


def is_operand(value) -> bool:
    return isinstance(value, ndarray | bool | int | float | complex | np.generic)


class ndarray:
    """An array on a device. What CuPy's array does not have this has not either: `__array__` refuses, `__index__` and
    the Array API's methods are missing, and so is `flags.writeable`."""

    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("__weakref__", "_device", "_entries", "_memory", "base")

    def __new__(cls, shape, dtype=float, memptr=None, strides=None, order="C"):
        dtype = check_dtype(dtype)
        if memptr is None:
            return cls._around(np.empty(shape, dtype, order), get_device_id(), ())
        memory = memptr.mem
        entries = np.ndarray(
            shape, dtype, memory.owner.reshape(-1).view(np.uint8), memptr.ptr - memory.ptr, strides, order
        )
        return cls._around(entries, memory.device_id, (), memory)

    @classmethod
    def _around(cls, entries: np.ndarray, device: int, operands=(), memory: Memory | None = None) -> ndarray:
        """The array of entries on a device, in the memory of the operand of which they are a part, if any."""
        check_dtype(entries.dtype)
        self = object.__new__(cls)
        owner = owner_of(entries)
        shared = next((x for x in operands if owner_of(x._entries) is owner), None)
        if not entries.flags.writeable and shared is not None:
            entries = np.lib.stride_tricks.as_strided(entries, writeable=True)
        elif not entries.flags.writeable:
            entries = owner = entries.copy()
        self._entries, self._device = entries, device
        self._memory = memory or (Memory(owner, device) if shared is None else shared._memory)
        self.base = None if shared is None else shared if shared.base is None else shared.base
        return self

    # -- what is known on the host -----------------------------------------------------------------
    shape = property(
        lambda self: self._entries.shape, lambda self, shape: setattr(self._entries, "shape", shape)
    )
    dtype = property(lambda self: self._entries.dtype)
    ndim = property(lambda self: self._entries.ndim)
    size = property(lambda self: self._entries.size)
    itemsize = property(lambda self: self._entries.itemsize)
    nbytes = property(lambda self: self._entries.nbytes)
    strides = property(lambda self: self._entries.strides)
    device = property(lambda self: Device(self._device))

    @property
    def data(self) -> MemoryPointer:
        return MemoryPointer(self._memory, self._entries.__array_interface__["data"][0])

    @property
    def flags(self) -> Flags:
        return Flags(self)

    @property
    def __cuda_array_interface__(self) -> dict:
        found = self._entries.__array_interface__
        names = ("shape", "typestr", "descr", "data", "strides")
        return {**{n: found[n] for n in names}, "data": (found["data"][0], False), "version": 3, "stream": 1}

    def __len__(self) -> int:
        return len(self._entries)

    # -- copies to the host ------------------------------------------------------------------------
    def get(self, stream=None, order="C", out=None, blocking=True) -> np.ndarray:
        entries = read("get", self)
        if out is not None:
            out[...] = entries
            return out
        return np.array(entries, order=order)

    def item(self):
        return read("item", self).item()

    def tolist(self):
        return read("tolist", self).tolist()

    def tobytes(self, order="C") -> bytes:
        return read("tobytes", self).tobytes(order)

    def __bool__(self) -> bool:
        return bool(read("bool", self))

    def __int__(self) -> int:
        return int(read("int", self))

    def __float__(self) -> float:
        return float(read("float", self))

    def __complex__(self) -> complex:
        return complex(read("complex", self))

    def __repr__(self) -> str:
        return repr(read("repr", self))

    def __str__(self) -> str:
        return str(read("str", self))

    def __format__(self, spec: str) -> str:
        return format(read("format", self), spec)

    def __reduce__(self):
        from . import array

        return array, (np.array(read("reduce", self)),)

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def set(self, arr: np.ndarray, stream=None) -> None:
        """Copy an array of the host into this one."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype or arr.shape != self.shape:
            raise TypeError(f"{arr.dtype}{arr.shape} array cannot be set to {self.dtype}{self.shape} array")
        self._entries[...] = write("set", arr)._entries

    # -- entries -----------------------------------------------------------------------------------
    def __getitem__(self, key) -> ndarray:
        index, is_advanced = index_of(key, self.shape)
        if not is_advanced and index is not Ellipsis and not (type(index) is tuple and Ellipsis in index):
            index = (
                (*index, ...) if type(index) is tuple else (index, ...)
            )  # so that NumPy gives arrays, no numbers
        return run("take" if is_advanced else "getitem", lambda x: x[index], self)

    def __setitem__(self, key, value) -> None:
        if isinstance(value, np.ndarray) and value.ndim:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        index, is_advanced = index_of(key, self.shape)
        put = assign_in_reverse if is_advanced else assign
        run("setitem", lambda x, value: put(x, index, value), self, value)

    def __iter__(self):
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def fill(self, value) -> None:
        run("fill", lambda x, v: x.fill(v), self, value)

    def scatter_add(self, slices, value) -> None:
        self._meet("scatter_add", np.add, slices, value)

    def scatter_max(self, slices, value) -> None:
        self._meet("scatter_max", np.maximum, slices, value)

    def scatter_min(self, slices, value) -> None:
        self._meet("scatter_min", np.minimum, slices, value)

    def _meet(self, name: str, ufunc: np.ufunc, slices, value) -> None:
        """Combine entries with all values that are meant for them, by CUDA's atomic functions."""
        if self.dtype.char not in ("iIlLqQefdFD" if ufunc is np.add else "iIlLqQfd"):
            raise TypeError(f"{name} is not supported for {self.dtype}")
        index, _ = index_of(slices, self.shape)
        run(name, lambda x, value: ufunc.at(x, index, value), self, value)

    # -- the same entries otherwise ----------------------------------------------------------------
    T = property(lambda self: self.transpose())
    mT = property(lambda self: self.swapaxes(-1, -2))
    real = property(lambda self: run("real", np.real, self), lambda self, v: setitem_part(self, "real", v))
    imag = property(lambda self: run("imag", np.imag, self), lambda self, v: setitem_part(self, "imag", v))

    def view(self, dtype=None, type=None) -> ndarray:
        return run("view", lambda x: x.view() if dtype is None else x.view(dtype), self)

    def copy(self, order="C") -> ndarray:
        if self._device != get_device_id():
            note_transfer("device→device", "copy", self.nbytes, get_device_id())
            return ndarray._around(np.array(self._entries, order=order), get_device_id(), ())
        return run("copy", lambda x: x.copy(order), self)

    def __copy__(self) -> ndarray:
        with self.device:
            return self.copy()

    def __deepcopy__(self, memo) -> ndarray:
        with self.device:
            return self.copy()

    def astype(self, dtype, order="K", casting=None, subok=None, copy=True) -> ndarray:
        check_dtype(dtype)
        return run("astype", lambda x: x.astype(dtype, order, casting or "unsafe", True, copy), self)

    def nonzero(self) -> tuple:
        read("nonzero", self, 8)
        return run("nonzero", lambda x: x.nonzero(), self)

    def take(self, indices, axis=None, out=None) -> ndarray:
        return run("take", lambda x, i: x.take(i, axis, out, "wrap"), self, indices)

    def sort(self, axis=-1, kind=None) -> None:
        run("sort", lambda x: x.sort(axis, "stable"), self)

    def argsort(self, axis=-1, kind=None) -> ndarray:
        return run("argsort", lambda x: x.argsort(axis, "stable"), self)

    # -- what meets NumPy --------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        import cupy

        function = getattr(cupy, ufunc.__name__, None)
        if function is None or any(isinstance(x, np.ndarray) for x in inputs):
            return NotImplemented
        if "out" in kwargs:
            [kwargs["out"]] = kwargs["out"]
        return (function if method == "__call__" else getattr(function, method))(*inputs, **kwargs)

    def __array_function__(self, func, types, args, kwargs):
        import cupy

        place = cupy
        for part in func.__module__.split(".")[1:]:
            place = getattr(place, part, None)
        function = getattr(place, func.__name__, None)
        if function is None or any(t not in (ndarray, np.ndarray) for t in types):
            return NotImplemented
        return function(*args, **kwargs)

    def __divmod__(self, other):
        return run("divmod", np.divmod, self, other)

    def __rdivmod__(self, other):
        return run("divmod", np.divmod, other, self)

    def __pow__(self, other, mod=None):
        return operator(np.power)(self, other)


METHODS = """
all any argmax argmin argpartition choose clip compress conj conjugate cumprod cumsum diagonal dot flatten max mean min
partition prod put ravel repeat reshape round searchsorted squeeze std sum swapaxes trace transpose var
"""
for each in METHODS.split():
    setattr(ndarray, each, method(each))

OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "lshift": np.left_shift, "rshift": np.right_shift, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "matmul": np.matmul,
}  # fmt: skip
for each, function in OPERATORS.items():
    if each != "pow":
        setattr(ndarray, f"__{each}__", operator(function))
    setattr(ndarray, f"__r{each}__", operator(function, -1))
    if each != "matmul":
        setattr(ndarray, f"__i{each}__", operator(function, in_place=True))
for each, function in {
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "invert": np.invert,
}.items():
    setattr(ndarray, f"__{each}__", operator(function))
COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
for each, function in COMPARISONS.items():
    setattr(ndarray, f"__{each}__", operator(function))


def assign(x: np.ndarray, index, value) -> None:
    x[index] = value


def assign_in_reverse(x: np.ndarray, index, value) -> None:
    """Assign the last one first: which of several values for one entry stays is open on a GPU."""
    places = np.arange(x.size).reshape(x.shape)[index]
    values = np.broadcast_to(value, places.shape)
    x[np.unravel_index(places.ravel()[::-1], x.shape)] = values.ravel()[::-1]


def setitem_part(x: ndarray, part: str, value) -> None:
    run("setitem", lambda x, v: setattr(x, part, v), x, value)


class Flags:
    """What CuPy knows of how entries lie in memory."""

    def __init__(self, x: ndarray):
        self.c_contiguous, self.f_contiguous = x._entries.flags.c_contiguous, x._entries.flags.f_contiguous
        self.owndata = x.base is None

    forc = property(lambda self: self.c_contiguous or self.f_contiguous)
    fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)

    def __getitem__(self, name: str) -> bool:
        return getattr(self, {"C": "c_contiguous", "F": "f_contiguous"}.get(name, name.lower()))

    def __repr__(self) -> str:
        return "\n".join(
            f"  {n.upper()} : {getattr(self, n)}" for n in ("c_contiguous", "f_contiguous", "owndata")
        )


def check_dtype(dtype) -> np.dtype:
    """Return a dtype that CuPy has."""
    dtype = np.dtype(dtype)
    if dtype not in DTYPES:
        raise ValueError(f"Unsupported dtype {dtype}")
    return dtype
