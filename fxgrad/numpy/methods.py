"""NumPy's methods and attributes on traced values. Most are the function of fxgrad.numpy of the same name.

(`ops.operators` has the operators, `protocol` the behaviour of plain NumPy on traced values, `boxes` the behaviour of
writes.)
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core import interpreter
from ..core.devices import CPU, device_of
from ..core.errors import DTypeError, FxgradError, ImmutableError, UnsupportedError
from ..core.interpreter import VALUES, Tracer, concretize, decide, levels, twin
from ..core.surface import is_box, is_object
from ..ops.operators import SIGNS, remember_view
from .at_index import At
from .flat import Flat
from .placement import device_put
from .protocol import counterpart
from .selection import Selection
from .writing import as_box

# Methods with the name and the signature of a function, but for the array itself.
FUNCTIONS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "cumprod",
    "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round",
    "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var",
)  # fmt: skip
ATTRIBUTES = {"T": "transpose", "mT": "matrix_transpose"}
# Methods that write into the array, which becomes a box.
WRITING_METHODS = ("__setitem__", "fill", "partition", "put", "sort")
# Others that no traced value has.
INPLACE_METHODS = {
    "resize": "x = fnp.resize(x, shape)",
    "setfield": "x = x.at[…].set(values)",
    "setflags": "nothing: x = x.copy() can be written into",
    "__delitem__": "x = fnp.delete(x, index)",
}
# Methods that inspect memory: a traced value has none.
MEMORY_METHODS = (
    "__dlpack__",
    "__dlpack_device__",
    "byteswap",
    "dump",
    "dumps",
    "getfield",
    "tobytes",
    "tofile",
    "view",
)


def delegate_method(name: str) -> Callable[..., Any]:
    """Make the method that calls the function of fxgrad.numpy of that name."""

    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        return counterpart(name)(self, *args, **kwargs)

    method.__doc__ = f"The function `fxgrad.numpy.{name}` of this array, with the same further arguments."
    return method


def immutable_method(name: str, hint: str) -> Callable[..., NoReturn]:
    """Make a method that raises an error, since traced values are immutable."""

    def method(self: Tracer, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImmutableError(f"x.{name}(…) on a traced value: traced values are immutable", hint=hint)

    method.__doc__ = f"NumPy's method, which raises ImmutableError here. Instead: {hint}."
    return method


def writing_method(name: str) -> Callable[..., None]:
    """Make a method that writes into a traced value, which becomes a box and is written into as such."""

    def method(self: Tracer, *args: Any, **kwargs: Any) -> None:
        getattr(as_box(self), name)(*args, **kwargs)

    method.__doc__ = "NumPy's method, which writes into the array: all its names and views show it."
    return method


def writing_operator(name: str) -> Callable[..., Any]:
    """Make the operator that writes its result into its left operand, `x += y`. A number is not written into: as in
    Python its name gets the result."""

    def method(self: Tracer, other: Any) -> Any:
        if (not self.shape and not hasattr(self, "shown")) or self.interpreter.permanent or is_foreign(other):
            return NotImplemented
        return getattr(as_box(self), name)(other)

    method.__doc__ = "Python's operator, which writes into the array: all its names and views show it."
    return method


def is_foreign(value: Any) -> bool:
    """Whether a value has operators of its own, which are asked for the result."""
    if type(value) in VALUES or is_box(value) or isinstance(value, Selection):
        return False
    return is_object(value) or getattr(value, "__array_ufunc__", True) is None or is_sparse(value)


def layout_of(x: Tracer) -> Any:
    """Return what lies in memory as the value would in NumPy."""
    if not hasattr(x, "shown"):
        return np.empty(x.shape, x.dtype)
    shown, step, *further = x.shown
    parent = interpreter.make_buffer(layout_of(shown))
    parent.cell.layout = parent.cell.value
    return getattr(step(parent, *further), "cell", parent.cell).pattern


def memory_method(name: str) -> Callable[..., NoReturn]:
    """Make a method that raises an error, since a traced value has no memory to look at."""

    def method(self: Tracer, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(
            f"x.{name}(…) on a traced value: it has no memory of its own",
            hint="x.astype(dtype) converts; x.tolist() gives plain values",
        )

    method.__doc__ = (
        "NumPy's method, which raises UnsupportedError here: a traced value has no memory to look at."
    )
    return method


# -- methods whose signature is not the function's ------------------------------------------
def reshape(self: Tracer, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    """The entries in another shape, which may be given as several integers: see `fxgrad.numpy.reshape`."""
    return fnp.reshape(self, shape[0] if len(shape) == 1 else shape, order=order, copy=copy)


def transpose(self: Tracer, *axes: Any) -> Any:
    """The array with its axes in another order, which may be given as several integers: `fxgrad.numpy.transpose`."""
    return fnp.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)


def copy(self: Tracer, order: str = "C") -> Any:
    """An array of the same entries, which are its own."""
    return twin(self)


def flatten(self: Tracer, order: str = "C") -> Any:
    """An array of the entries one after another, which are its own."""
    return twin(fnp.ravel(self, order))


def conj(self: Tracer) -> Any:
    """The complex conjugates; of real numbers the array itself."""
    return fnp.conj(self) if self.dtype.kind == "c" else self


def part(name: str) -> property:
    """Make the attribute of the real or imaginary parts, which show the array."""
    words = {"real": "The real parts", "imag": "The imaginary parts"}[name]

    def get(self: Tracer) -> Any:
        return remember_view(getattr(ops, name)(self), self, getattr, name)

    def write(self: Tracer, values: Any) -> None:
        setattr(as_box(self), name, values)

    return property(get, write, doc=f"{words}: see `fxgrad.numpy.{name}`.")


def compress(self: Tracer, condition: Any, axis: int | None = None, out: None = None) -> Any:
    """The entries along an axis at which a known condition holds: see `fxgrad.numpy.compress`."""
    return counterpart("compress")(condition, self, axis, out)


def astype(
    self: Tracer, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """The values in another dtype. The derivative passes between floating-point dtypes and ends at others.

    Args:
        dtype: the dtype.
        order, subok: accepted and without effect: the memory is not the program's concern.
        copy: False gives the array itself where it has the dtype.
        casting: which changes are allowed, as of `numpy.can_cast`; TypeError for others.
    """
    if not np.can_cast(self.dtype, dtype, casting):
        raise DTypeError(
            f"astype: cannot cast from {self.dtype} to {np.dtype(dtype)} by the rule {casting!r}",
            hint='casting="unsafe", the default',
        )
    return fnp.astype(self, dtype, copy=copy)


def to_device(self: Tracer, device: Any, /, *, stream: Any = None) -> Any:
    """The value on a device: `fx.device_put`. A `stream` is accepted and without effect."""
    return device_put(self, device)


def device(self: Tracer) -> str:
    """The name of the device of what is inside; "cpu", as NumPy's arrays say, while that is not known."""
    place = device_of(self)
    return "cpu" if place is None or place == CPU else str(place)


def item(self: Tracer, *index: Any) -> Any:
    """The value of the only entry, or of the one at `index`, as a Python number. Its derivative ends here."""
    return np.asarray(decide(self, "x.item()")).item(*index)


def tolist(self: Tracer) -> Any:
    """The values as nested lists of Python numbers. Their derivative ends here."""
    return np.asarray(concretize(self, "x.tolist()")).tolist()


def round_method(self: Tracer, ndigits: int | None = None) -> Any:
    """Implement `round(x)`, an int, and `round(x, n)`."""
    return int(fnp.round(self)) if ndigits is None else fnp.round(self, ndigits)


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse matrix of SciPy."""
    return type(value).__module__.startswith("scipy.sparse.")


def matmul(self: Tracer, other: Any) -> Any:
    """Return self @ other."""
    if (
        is_object(other) or getattr(other, "__array_ufunc__", True) is None
    ):  # which has an operator of its own
        return NotImplemented
    if is_sparse(other):
        return import_module("fxgrad.scipy.sparse").coo_array(other).__rmatmul__(self)
    return fnp.matmul(self, other)


def rmatmul(self: Tracer, other: Any) -> Any:
    """Return other @ self."""
    if type(other) not in VALUES and is_sparse(other):
        return import_module("fxgrad.scipy.sparse").coo_array(other) @ self
    return fnp.matmul(other, self)


def contains(self: Tracer, item: Any) -> bool:
    """Whether any entry equals the item."""
    return bool(fnp.any(self == item))


# -- what is printed ------------------------------------------
def format_if_known(self: Tracer, spec: str = "") -> str | None:
    """Format the value, or return None where it is not known (staged, batched, escaped)."""
    try:
        return format(concretize(self, "format()"), spec)
    except FxgradError:
        return None


def describe_tracer(self: Tracer) -> str:
    """Describe a traced value: `Traced<f64[2]> of level 1: grad = [1. 2.]`"""
    chain = list(levels())
    place = [f"level {len(chain) - i}: " for i, level in enumerate(chain) if level is self.interpreter]
    text, value = f"Traced<{self.aval!r}> of {''.join(place)}{self.interpreter.name}", format_if_known(self)
    return f"{text} = {value}" if value is not None else text if place else f"{text}, which has returned"


def format_tracer(self: Tracer, spec: str) -> str:
    """Format the value if it is known, else its abstract value: `f64[3]`."""
    value = format_if_known(self, spec)
    return repr(self.aval) if value is None else value


# What NumPy's loops over arrays of objects call on the entries: `np.sin(np.array([x, y]))` calls x.sin().
ENTRY_FUNCTIONS = (
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "ceil", "cos", "cosh", "deg2rad",
    "degrees", "exp", "exp2", "expm1", "fabs", "floor", "fmod", "hypot", "log", "log10", "log1p", "log2", "logaddexp",
    "logaddexp2", "rad2deg", "radians", "rint", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip


def refuse_pickle(self: Tracer, protocol: Any = None) -> NoReturn:
    raise UnsupportedError(
        f"a traced value {self.aval!r} of {self.interpreter.name} cannot be pickled",
        hint="return it from the transformed function and pickle the result",
    )


Tracer.attach(**{name: delegate_method(name) for name in (*FUNCTIONS, *ENTRY_FUNCTIONS)})
Tracer.attach(**{name: property(delegate_method(function)) for name, function in ATTRIBUTES.items()})
Tracer.attach(**{name: immutable_method(name, hint) for name, hint in INPLACE_METHODS.items()})
Tracer.attach(**{name: writing_method(name) for name in WRITING_METHODS})
Tracer.attach(**{f"__i{name}__": writing_operator(f"__i{name}__") for name in SIGNS})
Tracer.attach(**{name: memory_method(name) for name in MEMORY_METHODS})
Tracer.attach(
    itemsize=property(lambda self: self.dtype.itemsize, doc="The bytes of an entry."),
    nbytes=property(lambda self: self.size * self.dtype.itemsize, doc="The bytes of all entries."),
    at=property(At),
    base=property(
        lambda self: self.shown[0] if hasattr(self, "shown") else None,
        doc="The value that this one is a view of, or None.",
    ),
    flat=property(Flat, lambda self, values: as_box(self).flat.__setitem__(slice(None), values)),
    flags=property(
        lambda self: layout_of(self).flags,
        doc="NumPy's flags of an array, or a view, of this shape and dtype.",
    ),
    strides=property(
        lambda self: layout_of(self).strides,
        doc="The strides in bytes of an array, or a view, of this shape and dtype.",
    ),
    device=property(device),
    to_device=to_device,
    reshape=reshape,
    transpose=transpose,
    flatten=flatten,
    compress=compress,
    conj=conj,
    conjugate=conj,
    real=part("real"),
    imag=part("imag"),
    copy=copy,
    astype=astype,
    item=item,
    tolist=tolist,
    __round__=round_method,
    __matmul__=matmul,
    __rmatmul__=rmatmul,
    __contains__=contains,
    __copy__=twin,
    __deepcopy__=lambda self, memo: twin(self),
    __repr__=describe_tracer,
    __str__=describe_tracer,
    __format__=format_tracer,
    __reduce_ex__=refuse_pickle,
)
