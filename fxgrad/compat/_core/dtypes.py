"""dtypes under torch's names, and torch's rules of type promotion."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ...extend import SCALARS, DTypeError, aval_of, kind_of
from ..errors import ArgumentError, ArgumentValueError, NotSupportedError, TensorError, argument_error


class dtype:
    """The type of a Tensor's elements, as `torch.float32`; `dtype.numpy` is NumPy's.

    Args:
        name: the name.
        numpy: NumPy's dtype.

    >>> torch.float32, torch.float32.is_floating_point, torch.int64.itemsize
    (torch.float32, True, 8)
    """

    __slots__ = ("is_complex", "is_floating_point", "itemsize", "name", "numpy")

    def __init__(self, name: str, numpy: np.dtype):
        self.name, self.numpy, self.itemsize = name, numpy, numpy.itemsize
        kind = kind_of(numpy)
        self.is_floating_point, self.is_complex = kind == "f", kind == "c"

    is_signed = property(lambda self: kind_of(self.numpy) in "ifc", doc="Whether it has negative numbers.")

    def to_real(self) -> dtype:
        """The dtype of the real and imaginary parts of a complex dtype."""
        return from_numpy_dtype(np.dtype(f"f{self.itemsize // 2}")) if self.is_complex else self

    def to_complex(self) -> dtype:
        """The complex dtype whose real and imaginary parts have this dtype."""
        return self if self.is_complex else complex64 if self.itemsize <= 4 else complex128

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return from_name, (self.name,)


class NamedDtype(dtype):
    """A dtype of torch's that NumPy lacks: programs compare with it, and look into tables of dtypes, but no Tensor has
    it here.

    >>> torch.float8_e5m2, torch.float8_e5m2.itemsize, torch.ones(2).dtype == torch.float8_e5m2
    (torch.float8_e5m2, 1, False)
    """

    __slots__ = ("is_signed",)

    def __init__(self, name: str, itemsize: int, kind: str):
        self.name, self.itemsize = name, itemsize
        self.is_floating_point, self.is_complex = kind == "f", kind == "c"
        self.is_signed = kind in "ifc" and name != "float8_e8m0fnu"  # of which each number is a power of two

    def __getattr__(self, name: str) -> Any:
        if name != "numpy":
            raise AttributeError(name)
        raise NotSupportedError(
            f"there are no Tensors of {self!r} here, which is a name to compare with",
            hint="torch.float16 or torch.bfloat16"
            if self.is_floating_point
            else "torch.int8 or torch.complex64",
        )


def bfloat16_numpy_dtype() -> np.dtype:
    """The extension dtype of ml_dtypes, which is imported when it is first asked for."""
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


# torch's dtypes with their names in messages: that of Tensors (`torch.FloatTensor`), and the type in C.
NAMES = {
    "float16": ("Half", "c10::Half"),
    "float32": ("Float", "float"),
    "float64": ("Double", "double"),
    "complex64": ("ComplexFloat", "c10::complex<float>"),
    "complex128": ("ComplexDouble", "c10::complex<double>"),
    "uint8": ("Byte", "unsigned char"),
    "uint16": ("UInt16", "uint16"),
    "uint32": ("UInt32", "uint32"),
    "uint64": ("UInt64", "uint64"),
    "int8": ("Char", "signed char"),
    "int16": ("Short", "short"),
    "int32": ("Int", "int"),
    "int64": ("Long", "long int"),
    "bool": ("Bool", "bool"),
    "bfloat16": ("BFloat16", "c10::BFloat16"),
}
OF_NUMPY = [name for name in NAMES if name != "bfloat16"]  # which NumPy has under the same names
ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "chalf": "complex32",
    "bit": "uint1",
}


# The dtypes that NumPy lacks: {(bytes of an entry, kind): names}.
NAMED = {
    (1, "f"): "float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu",
    (1, "i"): "int1 int2 int3 int4 int5 int6 int7 qint8",
    (
        1,
        "u",
    ): "bits1x8 bits2x4 bits4x2 bits8 quint2x4 quint4x2 quint8 uint1 uint2 uint3 uint4 uint5 uint6 uint7",
    (2, "u"): "bits16",
    (4, "c"): "complex32",
    (4, "i"): "qint32",
}


@cache
def from_name(name: str) -> dtype:
    """The dtype of a name, `bfloat16` and those that NumPy lacks included.

    Args:
        name: the name, as "float32".

    Returns:
        A dtype.

    >>> from fxgrad.compat._core.dtypes import from_name
    >>> from_name("float32")
    torch.float32
    """
    name = ALIASES.get(name, name)
    if name in WITHOUT_TENSORS:
        return WITHOUT_TENSORS[name]
    return dtype(name, bfloat16_numpy_dtype() if name == "bfloat16" else np.dtype(name))


WITHOUT_TENSORS = {
    name: NamedDtype(name, itemsize, kind)
    for (itemsize, kind), names in NAMED.items()
    for name in names.split()
}
DTYPE_BY_NUMPY = {np.dtype(name): from_name(name) for name in OF_NUMPY}
float16, float32, float64 = map(from_name, ("float16", "float32", "float64"))
complex64, complex128 = map(from_name, ("complex64", "complex128"))
uint8, uint16, uint32, uint64 = map(from_name, ("uint8", "uint16", "uint32", "uint64"))
int8, int16, int32, int64 = map(from_name, ("int8", "int16", "int32", "int64"))


def from_numpy_dtype(numpy) -> dtype:
    """Return the dtype that stands for a NumPy dtype."""
    found = DTYPE_BY_NUMPY.get(numpy)
    if found is None:
        numpy = np.dtype(numpy)
        if numpy.name == "bfloat16":
            return from_name("bfloat16")
        found = DTYPE_BY_NUMPY.get(numpy.newbyteorder("=") if numpy.isnative else numpy)
        if found is None:
            raise DTypeError(f"can't convert np.ndarray of type {numpy}", hint="use a numeric or bool array")
    return found


PYTHON_TYPES = (float, int, bool, complex)  # which stand for float64, int64, …


def is_dtype(given) -> bool:
    """Whether an object is a dtype, or a Python type that stands for one."""
    return isinstance(given, dtype) or any(given is kind for kind in PYTHON_TYPES)


def dtype_hint(given) -> str:
    """Return the torch dtype that corresponds to a NumPy dtype or to a name."""
    try:
        return repr(from_numpy_dtype(np.dtype(given)))
    except (TypeError, ValueError):
        return "a dtype of torch's, such as torch.float32"


def as_numpy_dtype(given) -> np.dtype:
    """Return NumPy's dtype for a dtype given as torch's, NumPy's or a Python type."""
    return given.numpy if isinstance(given, dtype) else np.dtype(given)


_default_dtype = [float32]


def get_default_dtype() -> dtype:
    """The dtype of Tensors made from Python floats.

    Returns:
        A dtype.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return _default_dtype[0]


def set_default_dtype(d: dtype) -> None:
    """Choose the dtype of Tensors made from Python floats; complex ones take the complex dtype that fits.

    Args:
        d: a floating dtype.

    Raises:
        DTypeError: `d` is not a floating dtype.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor(1.5).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    if not isinstance(d, dtype) or not d.is_floating_point:
        words = "" if isinstance(d, dtype) else "invalid dtype object: "
        raise DTypeError(
            f"{words}only floating-point types are supported as the default type",
            hint="torch.float32, torch.float64, torch.float16 or torch.bfloat16",
        )
    _default_dtype[0] = d


def default_numpy_dtype(kind: str) -> np.dtype:
    """The dtype for Python numbers of a kind: 'b', 'i', 'f' or 'c'."""
    if kind == "f":
        return _default_dtype[0].numpy
    if kind == "c":
        return _default_dtype[0].to_complex().numpy
    return np.dtype(bool) if kind == "b" else np.dtype(np.int64)


CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
LATE_UNSIGNED = {"uint16", "uint32", "uint64"}  # which torch added late, without promotion among integers


def short_name(given) -> str:
    """torch's name for a dtype in messages, given as its own or NumPy's: 'Float'."""
    return NAMES[given.name if isinstance(given, dtype) else from_numpy_dtype(given).name][0]


def c_type_name(numpy) -> str:
    """The C type of a dtype's numbers, as in messages about products."""
    return NAMES[from_numpy_dtype(numpy).name][1]


def as_python_number(value) -> Any:
    """Convert a NumPy number, or an array without axes, to a Python number."""
    if type(value) in SCALARS:
        return value
    array = np.asarray(value)
    if array.shape or kind_of(array.dtype) not in "biufc":
        raise ArgumentError(f"must be a number, not {type(value).__name__}", hint="torch.tensor(x)")
    return array.item()


BFLOAT16_MAX = float.fromhex("0x1.fep+127")
COMPLEX_TYPES, INTEGER_TYPES = (complex, np.complexfloating), (int, np.integer)


@cache
def dtype_limits(numpy: np.dtype) -> tuple[Any, Any]:
    """The least and the greatest number of a dtype."""
    if numpy.kind in "iu":
        return int(np.iinfo(numpy).min), int(np.iinfo(numpy).max)
    greatest = BFLOAT16_MAX if numpy.kind == "V" else float(np.finfo(numpy).max)
    return -greatest, greatest


def cast_number(value: Any, numpy) -> np.ndarray:
    """Convert a Python number to an array of a dtype, dropping a fraction or imaginary part that the dtype does not
    have. Raise if the number is out of the dtype's range; negative whole numbers wrap around in unsigned dtypes."""
    value = as_python_number(value)
    kind, given, fits = kind_of(numpy), value, True
    if kind == "b":
        return np.asarray(bool(value))
    least, greatest = dtype_limits(numpy)
    if isinstance(value, COMPLEX_TYPES):
        fits = not greatest < abs(value.imag) < math.inf if kind == "c" else not value.imag
        value = value if kind == "c" else value.real
    if kind in "iu":
        wraps = not least and isinstance(value, INTEGER_TYPES)
        fits = fits and (-greatest if wraps else least) <= value <= greatest
    else:
        fits = fits and not greatest < abs(value.real) < math.inf
    if not fits:
        name = f"{numpy.name}_t" if kind in "iu" else c_type_name(numpy)
        raise TensorError(f"value cannot be converted to type {name} without overflow", hint=f"not {given}")
    return np.asarray(int(value) if kind in "iu" else value).astype(numpy)


def round_number(value: Any, numpy) -> np.ndarray:
    """Convert a number as `cast_number` does, but to infinity beyond the range of half precision."""
    value = as_python_number(value)
    if numpy.itemsize != 2 or kind_of(numpy) != "f" or type(value) not in (float, int):
        return cast_number(value, numpy)
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(numpy)


def type_name(numpy) -> str:
    """Torch's name for Tensors of a dtype in messages, such as 'torch.FloatTensor'."""
    return f"torch.{short_name(numpy)}Tensor"


def complex_dtype_for(numpy: np.dtype) -> np.dtype:
    """The complex dtype whose parts have a floating dtype, or the smallest one if there is none."""
    return np.dtype("c16" if numpy.itemsize == 8 else "c8")


@cache
def common_dtype(a: np.dtype, b: np.dtype) -> np.dtype:
    """The common dtype of two operands of the same rank in promotion."""
    if a == b:
        return a
    low, high = sorted((a, b), key=lambda d: CATEGORY[kind_of(d)])
    kinds = kind_of(low), kind_of(high)
    if kinds == ("f", "c"):
        return np.promote_types(high, complex_dtype_for(low))
    if kinds[1] != "f" and not LATE_UNSIGNED.isdisjoint((a.name, b.name)):
        names = " and ".join(NAMES[d.name][0] for d in (a, b))
        raise TensorError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {names}",
            hint="convert one of them first: x.to(torch.int64)",
        )
    if CATEGORY[kinds[0]] != CATEGORY[kinds[1]]:
        return high
    if {a.name, b.name} == {"bfloat16", "float16"}:
        return float32.numpy
    return np.promote_types(a, b)


def result_numpy_dtype(values) -> np.dtype:
    """torch's result dtype of an operation on values (arrays, traced values, Python numbers): of the highest category
    among tensors with axes, tensors without, and numbers, the first in this order that reaches it decides.

    Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
    """
    ranks: list[np.dtype | None] = [None, None, None]
    for v in values:
        if v is None:
            continue
        if type(v) is np.ndarray:
            rank, found = (0 if v.ndim else 1), v.dtype
        else:
            aval = aval_of(v)
            rank, found = (0 if aval.shape else 1), aval.dtype
            if aval.weak:
                rank, found = 2, default_numpy_dtype(kind_of(aval.dtype))
        have = ranks[rank]
        ranks[rank] = found if have is None or have is found else common_dtype(have, found)
    result = None
    for found in ranks:
        if found is None:
            continue
        if result is None:
            result = found
        elif CATEGORY[kind_of(found)] > CATEGORY[kind_of(result)]:
            # A complex number or Tensor without axes takes the precision of those that outrank it.
            result = complex_dtype_for(result) if kind_of(result) == "f" else common_dtype(result, found)
    assert result is not None
    return result


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The dtype to which operands of two dtypes are promoted.

    Args:
        type1: a dtype.
        type2: a dtype.

    Returns:
        A dtype.

    Raises:
        TypeError: an argument is no `torch.dtype`.

    >>> torch.promote_types(torch.int32, torch.float16)
    torch.float16
    """
    return from_numpy_dtype(common_dtype(type1.numpy, type2.numpy))


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether results of one dtype may be written into a Tensor of the other: no category is lost.

    Args:
        from_: a dtype.
        to: a dtype.

    Returns:
        A bool.

    >>> torch.can_cast(torch.float32, torch.int64), torch.can_cast(torch.int64, torch.float32)
    (False, True)
    """
    return CATEGORY[kind_of(from_.numpy)] <= CATEGORY[kind_of(to.numpy)]


def info_dtype(name: str, given) -> dtype:
    """Return the dtype for an argument of finfo or iinfo, which may be a Python type."""
    if not is_dtype(given):
        raise argument_error(name, "type", 1, "torch.dtype", given, dtype_hint(given))
    return given if isinstance(given, NamedDtype) else from_numpy_dtype(as_numpy_dtype(given))


class finfo:
    """The limits of a floating dtype.

    Args:
        type: a floating or complex dtype; the default one unless it is given.

    Raises:
        TypeError: the dtype is not floating.

    >>> torch.finfo(torch.float16).max
    65504.0
    """

    def __init__(self, type=None):
        found = (get_default_dtype() if type is None else info_dtype("finfo", type)).to_real()
        if not found.is_floating_point:
            raise DTypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'",
                hint=f"torch.iinfo({found!r})",
            )
        if found.name == "bfloat16" or isinstance(found, NamedDtype):
            import ml_dtypes

            limits: Any = ml_dtypes.finfo(found.name.removesuffix("_x2"))
        else:
            limits = np.finfo(found.numpy)
        self.bits, self.dtype = 8 * found.itemsize, found.name
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = 1.0 if found.itemsize == 1 else 10.0**-limits.precision

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{n}={getattr(self, n):g}' for n in names)}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype.

    Args:
        type: an integer dtype.

    Raises:
        TypeError: it is none.

    >>> torch.iinfo(torch.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, type):
        type = info_dtype("iinfo", type)
        if kind_of(type.numpy) == "b":
            raise DTypeError(
                "torch.bool is not supported by torch.iinfo",
                hint="torch.uint8, whose numbers also take one byte; True and False are 1 and 0",
            )
        if kind_of(type.numpy) not in "iu":
            raise DTypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'",
                hint=f"torch.finfo({type!r})",
            )
        limits = np.iinfo(type.numpy)
        self.bits, self.dtype = 8 * type.itemsize, type.name
        self.min, self.max = int(limits.min), int(limits.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


# What torch's namespace has, `torch.bool` and `torch.float` included.
PUBLIC: dict[str, Any] = {
    **{name: from_name(name) for name in (*OF_NUMPY, *WITHOUT_TENSORS)},
    **{alias: from_name(name) for alias, name in ALIASES.items()},
    "can_cast": can_cast,
    "finfo": finfo,
    "iinfo": iinfo,
    "promote_types": promote_types,
}


def check_numpy_dtype(numpy) -> None:
    """Raise for a NumPy dtype that torch does not have."""
    if numpy in DTYPE_BY_NUMPY:
        return
    if (
        numpy.kind in "OSUTMm"
        or (numpy.kind == "V" and numpy.name != "bfloat16")
        or numpy.name == "longdouble"
    ):
        raise ArgumentError(
            f"can't convert np.ndarray of type {numpy.type.__module__}.{numpy.type.__name__}. The only supported types "
            "are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
            "uint8, and bool.",
            hint="array.astype(float) for numbers, lists of one length for rows, an index for each text",
        )
    if not numpy.isnative:
        raise ArgumentValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported.",
            hint="array.astype(array.dtype.newbyteorder('='))",
        )
    from_numpy_dtype(numpy)
