"""`assert_close`: checks that Tensors, numbers or containers agree, and reports where they differ."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.dtypes import PUBLIC, dtype, promote_types
from .._core.tensor import Tensor
from .._make.creation import as_tensor
from ..errors import ArgumentError, ArgumentValueError

# (relative, absolute) by dtype: what torch takes unless told otherwise. Whatever is not here has to be equal.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
NUMBERS = {float: TOLERANCES["float64"], complex: TOLERANCES["complex128"]}
OLD_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


class Comparison(NamedTuple):
    """How two values are compared: the parameters of `assert_close`."""

    allow_subclasses: bool
    tolerances: tuple[float, float] | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


def dtype_of(given: Any) -> dtype:
    """The dtype of a dtype, a Tensor or a number."""
    if isinstance(given, dtype):
        return given
    return given.dtype if isinstance(given, Tensor) else as_tensor(given).dtype


def default_tolerances(
    *inputs: Any, dtype_precisions: dict[dtype, tuple[float, float]] | None = None
) -> tuple[float, float]:
    """Return (rtol, atol) for Tensors or dtypes: the greatest of their default tolerances."""
    found = []
    for given in inputs:
        kind = dtype_of(given)
        if dtype_precisions is None:
            found.append(TOLERANCES.get(str(kind).removeprefix("torch."), (0.0, 0.0)))
        else:
            found.append(dtype_precisions.get(kind, (0.0, 0.0)))
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def get_tolerances(
    *inputs: Any, rtol: float | None, atol: float | None, id: tuple[Any, ...] = ()
) -> tuple[float, float]:
    """Return the given tolerances, or the default ones.

    Raises:
        ArgumentValueError: only one is given.
    """
    if (rtol is None) != (atol is None):
        raise ArgumentValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}.{place(id)}",
            hint=f"rtol={rtol or 0.0}, atol={atol or 0.0}",
        )
    return default_tolerances(*inputs) if rtol is None or atol is None else (rtol, atol)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise unless |actual − expected| ≤ atol + rtol · |expected|, entry by entry, and both are alike otherwise.

    Args:
        actual: a Tensor, an array, a number, a bool, None; or a sequence or mapping of these.
        expected: the same.
        allow_subclasses: whether one may be of a subclass of the other's class.
        rtol, atol: both or neither; by the dtypes if they are not given: 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7
            for float64, 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, and 0 for all that is not floating.
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: whether these have to agree as well.
        msg: the message, or a function of the one that there would be.

    Raises:
        AssertionError: they are not close; the message says where and by how much.
        ArgumentError: they cannot be compared.
        ArgumentValueError: only one tolerance is given.

    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    >>> torch.testing.assert_close({"a": torch.ones(2)}, {"a": torch.tensor([1.0, 3.0])})
    Traceback (most recent call last):
        ...
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.6666666865348816 at index (1,) (up to 1.3e-06 allowed)
    <BLANKLINE>
    The failure occurred for item ['a']
    """
    __tracebackhide__ = True
    tolerances = (
        get_tolerances(PUBLIC["float64"], rtol=rtol, atol=atol) if (rtol, atol) != (None, None) else None
    )
    how = Comparison(
        allow_subclasses, tolerances, equal_nan, check_device, check_dtype, check_layout, check_stride
    )
    found = compare(actual, expected, how, ())
    if found is not None:
        raise AssertionError(found if msg is None else msg(found) if callable(msg) else msg)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: `assert_close`, which also looks at the dtypes. `expected` may be a number or a list.

    Args:
        actual: a Tensor.
        rtol: the relative tolerance.
        atol: the absolute tolerance.
        equal_nan: whether NaN equals NaN.
        msg: what the error says.

    Returns:
        None.

    >>> torch.testing.assert_allclose(torch.tensor([1.0]), [1.0])
    """
    __tracebackhide__ = True
    actual = as_tensor(actual)
    if not isinstance(expected, Tensor):
        expected = as_tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        pairs = [
            OLD_TOLERANCES.get(str(x.dtype).removeprefix("torch."), (0.0, 0.0)) for x in (actual, expected)
        ]
        rtol, atol = max(r for r, _ in pairs), max(a for _, a in pairs)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )


def place(path: tuple[Any, ...]) -> str:
    """The words for the place in a container."""
    return f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}" if path else ""


def compare(actual: Any, expected: Any, how: Comparison, path: tuple[Any, ...]) -> str | None:
    """Return the mismatch of two values, None if they are close."""
    for kind in (Sequence, Mapping):
        if all(isinstance(x, kind) and not isinstance(x, str | bytes) for x in (actual, expected)):
            return compare_containers(actual, expected, how, path)
    if actual is None or expected is None:
        found = None if actual is expected else f"None mismatch: {actual} is not {expected}"
    elif all(isinstance(x, bool | np.bool_) for x in (actual, expected)):
        found = None if actual == expected else f"Booleans mismatch: {actual} is not {expected}"
    elif all(isinstance(x, numbers.Number | np.number) for x in (actual, expected)):
        found = compare_numbers(plain_number(actual), plain_number(expected), how)
    else:
        found = compare_tensors(*tensors_of(actual, expected, how, path), how)
    return None if found is None else found + place(path)


def compare_containers(actual: Any, expected: Any, how: Comparison, path: tuple[Any, ...]) -> str | None:
    """Return the mismatch of two sequences or mappings."""
    if isinstance(actual, Mapping):
        missing, additional = set(expected) - set(actual), set(actual) - set(expected)
        if missing or additional:
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing, key=str)}\n"
                f"Additional keys in the actual mapping: {sorted(additional, key=str)}{place(path)}"
            )
        keys: Any = list(actual)
    else:
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{place(path)}"
        keys = range(len(actual))
    found = (compare(actual[key], expected[key], how, (*path, key)) for key in keys)
    return next((text for text in found if text is not None), None)


def plain_number(x: Any) -> Any:
    """Return a number of Python's."""
    return x.item() if isinstance(x, np.generic) else x


def compare_numbers(actual: Any, expected: Any, how: Comparison) -> str | None:
    """Return the mismatch of two numbers."""
    if how.check_dtype and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    rtol, atol = how.tolerances or max(NUMBERS.get(type(x), (0.0, 0.0)) for x in (actual, expected))
    if actual == expected or (how.equal_nan and actual != actual and expected != expected):
        return None
    difference = abs(actual - expected)
    if math.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return None
    return scalar_message(actual, expected, difference, rtol, atol)


def scalar_message(actual: Any, expected: Any, difference: Any, rtol: float, atol: float) -> str:
    """The message for a number."""
    exact = rtol == atol == 0
    relative = difference / abs(expected) if expected != 0 else math.inf
    return "\n".join(
        [
            f"Scalars are not {'equal' if exact else 'close'}!\n",
            f"Expected {expected} but got {actual}.",
            f"Absolute difference: {difference}{'' if exact else f' (up to {atol} allowed)'}",
            f"Relative difference: {relative}{'' if exact else f' (up to {rtol} allowed)'}",
        ]
    )


def tensors_of(actual: Any, expected: Any, how: Comparison, path: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    """Return both as Tensors.

    Raises:
        ArgumentError: they are not of related classes, or nothing that Tensors are made of.
    """
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    array_like = all(isinstance(x, Tensor) or hasattr(x, "__array__") for x in (actual, expected))
    if not related or not array_like or not (how.allow_subclasses or type(actual) is type(expected)):
        raise ArgumentError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
            f"{place(path)}",
            hint="compare Tensors with Tensors: torch.as_tensor(…)",
        )
    return as_tensor(actual).detach(), as_tensor(expected).detach()


def compare_tensors(actual: Tensor, expected: Tensor, how: Comparison) -> str | None:
    """Return the mismatch of two Tensors."""
    attributes = [
        ("shape", True, lambda x: x.shape),
        ("device", how.check_device, lambda x: x.device),
        ("dtype", how.check_dtype, lambda x: x.dtype),
        ("layout", how.check_layout, lambda x: x.layout),
        ("stride()", how.check_stride, lambda x: x.stride()),
    ]
    for name, wanted, of in attributes:
        if wanted and of(actual) != of(expected):
            mine, theirs = (tuple(of(x)) if name == "stride()" else of(x) for x in (actual, expected))
            return f"The values for attribute {name!r} do not match: {mine} != {theirs}."
    if actual.device.type == "meta" or expected.device.type == "meta":
        return None
    rtol, atol = how.tolerances or default_tolerances(actual, expected)
    actual, expected = (x.to_dense().cpu() for x in (actual, expected))
    if actual.dtype != expected.dtype:
        common = promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    matches = actual.isclose(expected, rtol=rtol, atol=atol, equal_nan=how.equal_nan)
    if bool(matches.all()):
        return None
    if not (actual.dtype.is_floating_point or actual.dtype.is_complex):
        actual, expected = actual.to(PUBLIC["int64"]), expected.to(PUBLIC["int64"])
    difference = (actual - expected).abs()
    if actual.ndim == 0:
        return scalar_message(actual.item(), expected.item(), difference.item(), rtol, atol)
    return tensor_message(matches, difference, difference / expected.abs(), rtol, atol)


def tensor_message(matches: Tensor, difference: Tensor, relative: Tensor, rtol: float, atol: float) -> str:
    """The message for a Tensor."""
    exact = rtol == atol == 0
    wrong = matches.numel() - int(matches.sum())
    lines = [
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n",
        f"Mismatched elements: {wrong} / {matches.numel()} ({wrong / matches.numel():.1%})",
    ]
    for name, values, bound in (("absolute", difference, atol), ("relative", relative, rtol)):
        flat = values.masked_fill(matches, 0).reshape(-1)
        index = int(flat.argmax())
        where = tuple(int(i) for i in np.unravel_index(index, tuple(matches.shape)))
        allowed = "" if exact else f" (up to {bound} allowed)"
        lines.append(f"Greatest {name} difference: {flat[index].item()} at index {where}{allowed}")
    return "\n".join(lines)


__all__ = ["assert_allclose", "assert_close", "default_tolerances", "get_tolerances"]
