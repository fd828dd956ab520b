"""Generated parts of the docstrings of functions that NumPy or SciPy also has: whose values they return, whether and
how they can be differentiated, and which arguments they refuse.

A docstring in the source describes the function and ends with an example. The generated sentences go in between. They
are derived from the declaration; `tests/numpy/test_documentation.py` compares them with NumPy's signatures and with
derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import CO_VARARGS
from typing import Any, TypeVar

import numpy as np

from ..core.docstrings import insert_before_example

F = TypeVar("F", bound="Callable[..., Any]")

# How a function differentiates, as declarations say it; lines that follow others.
DIFFERENTIABLE = "\nIt has derivatives of every order, in both modes."
LINEAR = (
    "\nIt is linear: forward mode applies it to tangents, reverse mode applies its transpose to cotangents."
)
ZERO_DERIVATIVE = "\nIts derivative is 0 everywhere, at steps by convention."
NO_DERIVATIVE = "\nIt has no derivative: the result does not consist of floating-point numbers."

TAKES_OUT = "\nWith `out=` the result is written into that array, which is returned."
SHOWS = "\nThe result may be a view, where NumPy's is: what is written into it shows in the argument."

# The options of NumPy's ufuncs, and of those that work on vectors and matrices.
OF_UFUNCS = ("out", "where", "dtype", "casting", "order", "subok", "signature")
OF_GENERALIZED_UFUNCS = ("out", "axes", "axis", "keepdims", "dtype", "casting", "order", "subok", "signature")

# By library: what a function has in common with its namesake, and where the manual is.
AGREEMENTS = {
    "numpy": "Arguments, values, dtypes and errors, of traced values too, are those of",
    "scipy": "Arguments and values, of traced ones too, are those of",
}
MANUALS = {
    "numpy": "https://numpy.org/doc/stable/reference/generated/",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/",
}

ONLY_OPERANDS = f"\nThe ufunc's options (`{'`, `'.join(OF_UFUNCS)}`) raise TypeError."


WITH_OPTIONS = (
    "\nThe options `out`, `where` and `dtype` are those of the ufunc, of which the others "
    f"(`{'`, `'.join(OF_UFUNCS[3:])}`)\nraise TypeError."
)


def refuse_options(parameters: tuple[str, ...], generalized: bool) -> str:
    """Say which options of a ufunc are not among the parameters of the composite that stands for it."""
    options = OF_GENERALIZED_UFUNCS if generalized else OF_UFUNCS
    lacking = "`, `".join([option for option in options[1:] if option not in parameters])
    return f"{TAKES_OUT}\nUnder transforms the ufunc's other options (`{lacking}`) raise TypeError."


def describe_result(ufunc: np.ufunc, operands: str) -> str:
    """Say which shape and dtype the result of a ufunc has; `operands` are their names as text."""
    shape = f"the shape of {operands}"
    if ufunc.nin > 1:
        shape = "the shape to which the operands broadcast (ValueError where they do not)"
    if ufunc.nout > 1:
        return f"\nThe results have {shape}."
    dtype, of_complex = resolve_result(ufunc, np.int64), resolve_result(ufunc, np.complex128)
    words = f"dtype {dtype}"
    if dtype == np.int64:
        words = f"the dtype of {operands}" if ufunc.nin == 1 else "the common dtype of the operands"
        words += ", of complex numbers a real one" * (of_complex == np.float64)
    elif dtype == np.float64:
        words = f"a floating {'or complex ' * bool(of_complex)}dtype, float64 of integers"
    return f"\nThe result has {shape},\nand {words}."


def resolve_result(ufunc: np.ufunc, dtype: Any) -> Any:
    """Return the dtype of what a ufunc gives for operands of one dtype; None if it does not take these."""
    try:
        return ufunc.resolve_dtypes((np.dtype(dtype),) * ufunc.nin + (None,) * ufunc.nout)[-1]
    except TypeError:
        return None


def name_additions(options: tuple[str, ...]) -> str:
    """Name the options that a function has and its namesake has not."""
    return f"\nAdditions of this library: `{'`, `'.join(options)}`." if options else ""


def describe(text: str | None, name: str, parameters: str, derivative: str, details: str = "") -> str | None:
    """Put into a docstring, before its example, whose values a function has and how it differentiates.

    Args:
        text: the docstring in the source; None under `python -OO`.
        name: the full name of the function whose values these are: "numpy.sum".
        parameters: those that it has in common with that function, as text.
        derivative: how it differentiates, one of the lines above; empty where the text says so itself.
        details: further lines, on how the function differs from its namesake.
    """
    if text is None:
        return None
    library = name[:5]
    return insert_before_example(
        text,
        f"{AGREEMENTS[library]}\n`{name}({parameters})`.{details}{derivative}\n\n{MANUALS[library]}{name}.html",
    )


def described(
    name: str, derivative: str, details: str = "", further: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Complete the docstring of a function that is no composite; `further` are the parameters that are additions."""

    def complete(function: F) -> F:
        shared = ", ".join([p for p in parameters_of(function) if p not in further])
        said = details + name_additions(further)
        function.__doc__ = describe(function.__doc__, name, shared, derivative, said)
        return function

    return complete


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters of a function, that of further arguments included."""
    code: Any = function.__code__  # type: ignore[attr-defined]
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & CO_VARARGS)]
