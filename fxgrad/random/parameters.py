"""Arguments that distributions share (dtypes, shapes, parameters), and uniform numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from .. import ops
from ..core.advice import fit_numbers
from ..core.arrays import as_value
from ..core.aval import aval_of, kind_of
from ..core.docstrings import insert_before_example
from ..core.errors import DTypeError, ShapeError
from ..core.shapes import as_shape, refuse_shape
from ..core.typing import Array, ArrayLike, DType
from ..numpy.composite import cast
from ..ops.random import DRAW
from .keys import check_one_key
from .laws import Law

FLOAT64 = np.dtype(float)


F = TypeVar("F", bound=Callable[..., Any])

# What the parameters are that all distributions have.
COMMON = {
    "key": "one key",
    "shape": "the shape of the result",
    "dtype": "a real floating dtype, float64 by default",
}


def read_dtype(dtype: Any, name: str) -> np.dtype[Any]:
    """Return NumPy's dtype. A number is none: it may have been meant for a parameter of the law."""
    try:
        return np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(
            f"{name}: {dtype!r} is no dtype; the arguments are key, shape, dtype, and then what the law has",
            hint=f"{fit_numbers(f'random.{name}')}, and the parameters of the law by their names",
        ) from error


def floating_dtype(dtype: DType, name: str) -> np.dtype[Any]:
    """Return a real floating dtype; None is float64."""
    dtype = FLOAT64 if dtype is None else read_dtype(dtype, name)
    if kind_of(dtype) != "f":
        raise DTypeError(
            f"{name}: dtype is a real floating one, not {dtype}", hint='dtype=float, "float32" or "float64"'
        )
    return dtype


def integer_dtype(dtype: DType, name: str) -> np.dtype[Any]:
    """Return an integer dtype; None is int64."""
    dtype = np.dtype(np.int64) if dtype is None else read_dtype(dtype, name)
    if dtype.kind not in "iu":
        raise DTypeError(
            f"{name}: dtype is an integer one, not {dtype}", hint='dtype=int, "int32" or "int64"'
        )
    return dtype


def sampler(
    law: type[Law] | str = "",
    /,
    *,
    checked: Callable[[Any, str], Any] | None = floating_dtype,
    **parameters: str,
) -> Callable[[F], F]:
    """Declare a distribution: the decorated function computes its numbers of one key, of parameters in float64, and of
    the shape and the dtype of the result, to which they are rounded.

    Args:
        law: the law, or the source of the formulas, for the docstring.
        checked: the function (dtype, name) of what the user gives that returns the dtype; None: there is one only.
        parameters: what each parameter is, for the docstring; what all distributions have in common comes from here.
    """

    def declare(body: F) -> F:
        collect, name = argument_collector(body), body.__name__

        @wraps(body)
        def draw(*args: Any, **kwargs: Any) -> Any:
            if checked is None:
                key, *values, shape = collect(*args, **kwargs)
                key, shape, *values = prepare_arguments(key, shape, name, *values)
                return body(key, *values, shape)
            key, *values, shape, dtype = collect(*args, **kwargs)
            dtype = checked(dtype, name)
            key, shape, *values = prepare_arguments(key, shape, name, *values)
            return cast(body(key, *values, shape, dtype), dtype)

        complete(draw)
        return draw  # type: ignore[return-value]

    def complete(function: Any) -> None:
        names = inspect.signature(function).parameters
        others = [name for name in names if name not in COMMON]
        said = COMMON | parameters
        shape = ", by default that of the parameters" * bool(others and names["shape"].default is None)
        lines = ["Args:"]
        lines += [f"    {name}: {said[name]}{shape * (name == 'shape')}." for name in names]
        lines += ["", "Returns:", "    Array of that shape and dtype.", "", "Raises:"]
        lines += ["    DTypeError: the key is no key, or the dtype is of another kind."]
        lines += ["    ShapeError: the parameters do not broadcast to the shape."] * bool(others)
        source = law if isinstance(law, str) else law._source
        lines = [f"Source: {source}.", ""] * bool(source) + lines
        function.__doc__ = insert_before_example(function.__doc__ or "", "\n".join(lines))

    return declare


def argument_collector(function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Return a function of the same signature that returns the tuple of its arguments."""
    given = inspect.signature(function).parameters.values()
    stated = ", ".join([p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in given])
    namespace: dict[str, Any] = {}
    text = f"def {function.__name__}({stated}): return ({', '.join([p.name for p in given])},)"
    exec(compile(text, f"<fxgrad.random.{function.__name__}>", "exec"), namespace)
    return namespace[function.__name__]


def as_real_parameter(value: ArrayLike, name: str) -> Array:
    """Return a real parameter as a float64 array."""
    refuse_shape(value, name)
    value = as_value(value)
    aval = aval_of(value)
    if kind_of(aval.dtype) in "cb":
        raise DTypeError(
            f"{name}: parameters are real numbers, not {aval!r}",
            hint="two draws, for the real and the imaginary part",
        )
    return ops.convert(value, dtype=FLOAT64) if aval.weak or aval.dtype != FLOAT64 else value


def common_shape(shape: Any, name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a result: that of the parameters for None, else the given one, to which theirs
    broadcast."""
    given = [*shapes] if shape is None else [*shapes, as_shape(shape, name)]
    try:
        result = np.broadcast_shapes(*given)
    except ValueError:
        result = None
    if result is None or (shape is not None and result != given[-1]):
        raise ShapeError(
            f"{name}: parameters of shape {', '.join(map(str, shapes))} do not broadcast "
            f"to {'each other' if shape is None else f'the shape {given[-1]}'}",
            hint="a shape that ends with that of the parameters: shape=(draws, *parameter.shape)",
        )
    return result


def prepare_arguments(
    key: Any, shape: Any, name: str, *values: ArrayLike
) -> tuple[Any, tuple[int, ...], *tuple[Array, ...]]:
    """Return the key, the shape of the result, and the parameters in float64."""
    parameters = [as_real_parameter(v, name) for v in values]
    if not parameters:
        return check_one_key(key, name), as_shape(shape, name)
    shapes = [aval_of(p).shape for p in parameters]
    return check_one_key(key, name), common_shape(shape, name, *shapes), *parameters


def broadcast_if_needed(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast x to a shape."""
    return x if aval_of(x).shape == shape else ops.broadcast_to(x, shape=shape)


def random_words(key: Any, shape: tuple[int, ...]) -> Any:
    """Draw random words of 64 bits."""
    return ops.random_bits(key, shape=shape, domain=DRAW)


def uniform_fraction(key: Any, shape: tuple[int, ...]) -> Any:
    """Draw uniform multiples of 2⁻⁵³ in [0, 1)."""
    return ops.random_real(key, shape=shape, law="fraction")


def uniform_open(key: Any, shape: tuple[int, ...]) -> Any:
    """Draw uniform numbers in (0, 1), symmetric about ½: the middles of 2⁵² intervals."""
    return ops.random_real(key, shape=shape, law="unit")


def standard_normal(key: Any, shape: tuple[int, ...]) -> Any:
    """Draw normal numbers in float64, by inversion; at most 8.2 in size."""
    return ops.random_real(key, shape=shape, law="normal")


def standard_exponential(key: Any, shape: tuple[int, ...]) -> Any:
    """Draw exponential numbers in float64."""
    return ops.negative(ops.log(uniform_open(key, shape)))
