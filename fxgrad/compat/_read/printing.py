"""Tensors as text, in torch's format."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...extend import Tracer, kind_of, levels
from .._core.dtypes import from_numpy_dtype, get_default_dtype
from .._core.duals import get_tangent
from .._core.memory import is_array
from .._core.meta import MetaTracer
from .._core.tensor import TENSOR_CLASSES, Tensor, refresh
from .._declare.spaces import expose
from .._make.devices import device_of
from ..errors import ArgumentValueError, TensorError


class PrintOptions(NamedTuple):
    """The print options: see `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_print_options = [PROFILES["default"]]


@expose()
def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how Tensors are written.

    Args:
        precision: digits after the point (4).
        threshold: a Tensor with more entries than this is shown by its edges (1000).
        edgeitems: so many entries at each edge (3).
        linewidth: characters in a line (80).
        profile: "default", "short" or "full": all of these at once, before the others are changed.
        sci_mode: whether numbers have an exponent; None, as it is after every call without it: where it helps.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1 / 3])
    tensor([0.33])
    >>> torch.set_printoptions(profile="default")
    """
    options = _print_options[0]
    if profile is not None:
        if profile not in PROFILES:
            raise ArgumentValueError(f"no profile {profile!r}", hint=", ".join(PROFILES))
        options = PROFILES[profile]
    given = dict(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth)
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _print_options[0] = options._replace(sci_mode=sci_mode, **chosen)


@expose()
def get_printoptions() -> dict[str, Any]:
    """The options of `set_printoptions`."""
    return _print_options[0]._asdict()


class NumberFormat(NamedTuple):
    """A way to write numbers, and the width in characters."""

    write: Callable[[Any], str]
    width: int


# -- numbers ------------------------------------------
def real_format(values: np.ndarray, options: PrintOptions) -> NumberFormat:
    """Return the format for numbers that stand beside each other: all in one form, right-aligned."""
    write: Callable[[Any], str] = str
    if values.dtype.kind == "f":
        values = values.astype(float)
        values = values[np.isfinite(values) & (values != 0)]  # the others are written beside these
        write = float_format(values, options)
    width = max((len(write(v)) for v in values.tolist()), default=1)
    return NumberFormat(lambda v: write(v).rjust(width), width)


def float_format(values: np.ndarray, options: PrintOptions) -> Callable[[float], str]:
    """Return a function that formats floating-point numbers like these: with a bare point if all are whole, otherwise
    with a fixed number of digits, or with an exponent if their sizes differ widely."""
    finite = np.abs(values)
    whole = bool((finite == np.ceil(finite)).all())
    exponents = finite.size > 0 and options.sci_mode
    if finite.size and exponents is None:
        sizes = finite.max() / finite.min() > 1000 or finite.max() > 1e8
        exponents = bool(sizes or (not whole and finite.min() < 1e-4))
    if exponents:
        return lambda v: f"{v:.{options.precision}e}"
    if whole:
        return lambda v: f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"
    return lambda v: f"{v:.{options.precision}f}"


def complex_format(values, options: PrintOptions) -> NumberFormat:
    """Return the format for complex numbers: real parts and imaginary parts are each aligned among themselves."""
    real, imag = real_format(values.real, options), real_format(values.imag, options)

    def write(v: complex) -> str:
        part = imag.write(v.imag).lstrip()
        return f"{real.write(v.real)}{'' if part.startswith('-') else '+'}{part}j"

    return NumberFormat(write, real.width + imag.width + 1)


# -- arrays ------------------------------------------
def edge_entries(array: np.ndarray, count: int) -> np.ndarray:
    """The entries of a large array that are shown."""
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * count:
            chosen = [*range(count), *range(array.shape[axis] - count, array.shape[axis])]
            array = array.take(chosen, axis)
    return array


def rows_text(
    array: np.ndarray, indent: int, form: NumberFormat, summarize: bool, options: PrintOptions
) -> str:
    """Nested brackets of an array's rows; the first bracket stands behind `indent` characters."""
    if not array.ndim:
        return form.write(array.item())
    count = options.edgeitems
    cut = summarize and len(array) > 2 * count
    shown = [*array[:count], *array[len(array) - count :]] if cut else list(array)
    if array.ndim == 1:
        texts = [form.write(v.item()) for v in shown]
        if cut:
            texts.insert(count, " ...")
        per_line = max(1, (options.linewidth - indent) // (form.width + 2))
        lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [rows_text(part, indent + 1, form, summarize, options) for part in shown]
    if cut:
        parts.insert(count, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def entries_text(array: np.ndarray, indent: int) -> str:
    """The entries of an array as text."""
    options = _print_options[0]
    summarize = array.size > options.threshold
    shown = edge_entries(array, options.edgeitems) if summarize else array
    if kind_of(array.dtype) == "f" and array.dtype.kind == "V":
        array, shown = array.astype(np.float32), shown.astype(np.float32)
    form = (complex_format if array.dtype.kind == "c" else real_format)(shown.reshape(-1), options)
    return rows_text(array, indent, form, summarize, options)


# -- Tensors ------------------------------------------
def suffix_texts(value, array, dtype) -> list[str]:
    """The remarks on device, size and dtype that follow the entries."""
    found = []
    place = device_of(value)
    if place.type != "cpu":
        found.append(f"device='{place}'")
    default = get_default_dtype()
    if not array.size:
        if array.ndim != 1:
            found.append(f"size={tuple(array.shape)}")
        shown = dtype is default
    else:
        shown = dtype in (default, default.to_complex()) or dtype.name in ("int64", "bool")
    if not shown:
        found.append(f"dtype={dtype}")
    return found


def history_texts(tensor: Tensor) -> list[str]:
    """The remarks on a Tensor's gradient and tangent."""
    found = []
    try:
        node = tensor.grad_fn
    except TensorError:  # a view that can have none any more: see `_core.views.rebase_error`
        found.append("grad_fn=<Invalid>")
    else:
        if node is not None:
            found.append(f"grad_fn=<{node.name().rpartition('::')[2]}>")
        elif tensor.requires_grad:
            found.append("requires_grad=True")
    tangent = get_tangent(tensor)
    if tangent is not None:
        found.append(f"tangent={tangent}")
    return found


def tensor_text(tensor: Tensor, prefix: str = "tensor(") -> str:
    """The text of a Tensor, as `repr` gives it."""
    value = refresh(tensor)._fx_value
    if isinstance(value, MetaTracer):
        dtype = [] if tensor.dtype is get_default_dtype() else [f"dtype={tensor.dtype}"]
        size = f"size={tuple(value.shape)}"
        return join_parts(
            f"{prefix}...",
            [f"device='{device_of(value)}'", size, *dtype, *history_texts(tensor)],
            len(prefix),
        )
    if tensor._fx_tape.name == "grad":
        return level_text("GradTrackingTensor", tensor._fx_tape, [], [value])
    if not is_array(value):
        return tracer_text(value, history_texts(tensor))
    return array_text(value, prefix, tensor.dtype, history_texts(tensor))


def classified_text(tensor: Tensor) -> str:
    """The text of a Tensor with its class, if it is a user's, and whether it is a Parameter."""
    kind = type(tensor)
    if kind in TENSOR_CLASSES:
        return tensor_text(tensor)
    text = tensor_text(tensor, f"{kind.__name__}(")
    base = next(c for c in kind.__mro__ if c in TENSOR_CLASSES)
    return f"{base.__name__}({text})" if base is not Tensor else text


def join_parts(start: str, parts: Sequence[str], indent: int) -> str:
    """Join parts, starting a new line where one would be too long."""
    result, last = start, len(start) - start.rfind("\n") + 1  # as torch counts
    for part in parts:
        if last + len(part) + 2 > _print_options[0].linewidth:
            result, last = f"{result},\n{' ' * indent}{part}", indent + len(part)
        else:
            result, last = f"{result}, {part}", last + len(part) + 2
    return result + ")"


def tracer_text(value, notes: Sequence[str] = ()) -> str:
    """The text of a traced value, as torch has it for batches, and for what is differentiated."""
    kind, level, inside = type(value).__name__, value.interpreter, value.contents()
    if kind == "TapeTracer" and level.name == "tape":
        return content_text(inside[0])
    if kind in ("TapeTracer", "JVPTracer"):
        return level_text("GradTrackingTensor", level, notes, inside[:1])
    if kind == "BatchTracer":
        return level_text("BatchedTensor", level, ["bdim=0", *notes], inside)
    return level_text(kind, level, [f"{value.aval!r}", *notes], inside)


def level_text(kind: str, level, parts: Sequence[str], inside: Sequence[Any]) -> str:
    """The text of a value of a level, whose number counts from the outermost, and of the values further out of which
    it is made."""
    opened = [other for other in levels() if other.name != "tape"]
    number = len(opened) - opened.index(level) if level in opened else 0
    start = ", ".join([f"lvl={number}", *parts])
    if not inside:
        return f"{kind}({start})"
    lines = textwrap.indent(",\n".join(map(content_text, inside)), "    ")
    return f"{kind}({start}, value=\n{lines}\n)"


def content_text(value) -> str:
    """The text of a value further out: an array or a traced value."""
    return tracer_text(value) if isinstance(value, Tracer) else array_text(value)


def array_text(value, prefix: str = "tensor(", dtype: Any = None, notes: Sequence[str] = ()) -> str:
    """The text of an array, as that of a Tensor of this dtype with these remarks."""
    array = np.asarray(value) if isinstance(value, np.ndarray | np.generic) else value.get()
    body = entries_text(array, len(prefix)) if array.size else "[]"
    suffix = suffix_texts(value, array, dtype or from_numpy_dtype(array.dtype))
    return join_parts(prefix + body, [*suffix, *notes], len(prefix))


@expose("method", "__repr__")
def representation(self: Tensor, *, tensor_contents=None) -> str:
    """The entries, and what there is to say of dtype, device and gradient.

    >>> torch.tensor([1.0, 2.0], requires_grad=True) * 2
    tensor([2., 4.], grad_fn=<MulBackward0>)
    """
    return classified_text(self)
