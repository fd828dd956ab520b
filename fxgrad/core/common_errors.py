"""The errors that many functions raise about their arguments, each worded once with its hint."""

from __future__ import annotations

import re
from collections.abc import Collection
from math import prod
from typing import Any

from .advice import Shape
from .errors import ShapeError, StructureError, UnsupportedError

AXES = ("no axis", "one axis", "two axes", "three axes")


# What to write where traced values would be written into an array of NumPy's.
BUFFER_REMEDY = (
    "buffer = fnp.zeros(shape), fnp.full or fnp.array(a) inside the function (or import fxgrad.numpy as np), which "
    "make arrays that can be written into, or buffer = fnp.at(buffer)[i].set(x)"
)


def advise_number(line: str) -> str:
    """Return what to write where a number was asked for, by the user's line, which tells who asked.

    >>> advise_number('log(f"{float(x)}")'), advise_number("y = math.sin(x)")
    ("fx.debug.print('x = {}', x), which shows the value each time the function runs", 'fnp.sin(x)')
    """
    if re.search(r"\bf[\"']|print\(|\.format\(|\blog(ger|ging)?\.", line):
        return "fx.debug.print('x = {}', x), which shows the value each time the function runs"
    if re.search(r"\][^=!<>]*=[^=]", line):
        return f"for buffer[i] = x, {BUFFER_REMEDY}"
    called = re.search(r"\bmath\.(\w+)", line)
    return (
        f"fnp.{called[1]}(x)"
        if called
        else f"fnp.sin(x) instead of math.sin(x); for buffer[i] = x, {BUFFER_REMEDY}"
    )


def advise_index(line: str) -> str:
    """Return what to write where an integer was asked for, by the user's line.

    >>> advise_index("for _ in range(n):")
    'fx.lax.fori_loop(0, n, body, start) for a loop; or mark the argument static (static_argnums)'
    """
    if "range(" in line:
        return "fx.lax.fori_loop(0, n, body, start) for a loop; or mark the argument static (static_argnums)"
    return (
        "mark the argument static (static_argnums) if it is a size; where a plain array is "
        "indexed, a[i], fnp.take(a, i, axis=0) or fnp.array(a)[i]"
    )


def unknown_option(operation: str, parameter: str, value: object, options: Collection[Any]) -> StructureError:
    """What to raise for an option that there is not. The hint begins with the one that is written most like it.

    >>> print(unknown_option("pad", "mode", "reflekt", ("constant", "reflect")).hint)
    mode='reflect' or 'constant'
    """
    from difflib import get_close_matches

    written = {str(option): repr(option) for option in options}
    nearest = get_close_matches(str(value), written, n=1)
    *first, last = [written[name] for name in dict.fromkeys([*nearest, *written])]
    hint = f"{parameter}={' or '.join([', '.join(first), last] if first else [last])}"
    return StructureError(f"{operation}: there is no {parameter}={value!r}", hint=hint)


def check_option(
    operation: str, parameter: str, value: object, options: Collection[Any], aliases: Collection[Any] = ()
) -> None:
    """Raise unless an option is one of those that there are: `aliases` are others, which the hint leaves out."""
    if value not in options and value not in aliases:
        raise unknown_option(operation, parameter, value, options)


def not_a_function(operation: str, given: object) -> StructureError:
    """What to raise for a value where a transform takes a function: most often it is the result of a call.

    >>> print(not_a_function("grad", 2.0).hint)
    the function itself, grad(f), and not what it returns, grad(f(x))
    """
    return StructureError(
        f"{operation} takes a function, not a {type(given).__name__}",
        hint=f"the function itself, {operation}(f), and not what it returns, {operation}(f(x))",
    )


def check_ndim(operation: str, name: str, x: Any, ndim: int, *, or_more: bool = False) -> None:
    """Raise unless an array has so many axes, or more where it may.

    >>> check_ndim("fliplr", "m", np.ones(3), 2, or_more=True)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.ShapeError: fliplr: m has shape (3,), expected two axes or more
      at:  ...
      try: m[None], which has two axes
      see: errors/ShapeError, or help(fx.ShapeError)
    """
    have = len(x.shape)
    if have == ndim or (have > ndim and or_more):
        return
    axes = AXES[ndim] if ndim < len(AXES) else f"{ndim} axes"
    if have < ndim:
        hint = f"{name}[{', '.join(['None'] * (ndim - have))}], which has {axes}"
    elif ndim == 1:
        hint = f"{name}.ravel(), which has one axis, or fx.vmap over the first"
    else:
        hint = f"fx.vmap over the first{' axis' * (have == ndim + 1) or f' {have - ndim} axes'}"
    raise ShapeError(
        f"{operation}: {name} has shape {tuple(x.shape)}, expected {axes}{' or more' * or_more}",
        hint=hint,
    )


def wrong_shape(operation: str, name: str, have: Shape, want: Shape) -> ShapeError:
    """What to raise for an array of another shape than the one expected.

    >>> print(wrong_shape("average", "weights", (3, 1), (3,)).hint)
    weights.reshape((3,))
    >>> print(wrong_shape("average", "weights", (1,), (3,)).hint)
    fnp.broadcast_to(weights, (3,))
    """
    have, want = tuple(have), tuple(want)
    pairs = zip(have[::-1], want[::-1])
    if prod(have) == prod(want):
        hint = f"{name}.reshape({want})"
    elif len(have) <= len(want) and all(n in (1, m) for n, m in pairs):
        hint = f"fnp.broadcast_to({name}, {want})"
    else:
        hint = f"{name} of shape {want}"
    return ShapeError(f"{operation}: {name} has shape {have}, expected {want}", hint=hint)


def no_kernel(name: str, xp: Any) -> UnsupportedError:
    """What to raise for an operation that the arrays of a library, whose namespace is `xp`, do not have."""
    return UnsupportedError(
        f"{name} has no kernel for {xp.__name__}",
        hint="fx.device_get(x), NumPy's array, in which it is computed; fx.device_put takes the result back",
    )
