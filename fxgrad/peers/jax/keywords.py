"""Keywords with JAX's names, for functions whose parameters have NumPy's or SciPy's names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from inspect import Parameter, signature, unwrap
from typing import Any

import numpy as np

from ...core.errors import StructureError, UnsupportedError

KEYWORDS = "_fx_keywords"  # the attribute of a function that has them

# Operands by position. NumPy's and SciPy's names differ among functions, JAX's differ otherwise.
OPERANDS = {
    0: "x x1 a A p val arr arrays array prototype start M typ",
    1: "y x2 b B q",
    2: "C",
}
POSITIONS = {name: place for place, names in OPERANDS.items() for name in names.split()}
# How XLA is to carry out what has one way here: of any function, and of some.
MEANINGLESS = frozenset(["accuracy", "out_sharding", "precision", "sharding"])
MEANINGLESS_OF = {
    "delete": "assume_unique_indices",
    "digitize": "method",
    "eigh": "turbo",
    "expm": "max_squarings upper_triangular",
    "isin": "method",
    "log_ndtr": "series_order",
    "polar": "eps max_iterations method",
    "polyval": "unroll",
    "searchsorted": "method",
    "slogdet": "method",
    "solve": "debug",
    "solve_sylvester": "method tol",
    "solve_triangular": "debug",
    "sph_harm_y": "n_max",
    "sqrtm": "blocksize",
    "vmap": "spmd_axis_name sum_match",
    **dict.fromkeys(["grad", "linear_transpose", "value_and_grad", "vjp"], "reduce_axes"),
}
# What JAX has for NumPy's sake and refuses, or what only None or False is here.
UNSUPPORTED = frozenset(
    [
        "algorithm",
        "concrete",
        "dtype",
        "eigvals",
        "out",
        "out_dtype",
        "return_residual",
        "subset_by_index",
        "where",
    ]
)

# Parameters by position, where JAX's order is another, or where they have to be named here. Of two functions of one
# name the row is of that which has all these parameters.
ORDERS = {
    "arange": "start stop step dtype",
    "argmax": "a axis out keepdims",
    "argmin": "a axis out keepdims",
    "average": "a axis weights returned keepdims",
    "clip": "arr min max",
    "concatenate": "arrays axis dtype",
    "corrcoef": "x y rowvar dtype",
    "count_nonzero": "a axis keepdims",
    "cov": "m y rowvar bias ddof fweights aweights dtype",
    "dstack": "tup dtype",
    "eigh": "a b lower eigvals_only overwrite_a overwrite_b turbo eigvals type check_finite",
    "empty_like": "prototype dtype shape",
    "full_like": "a fill_value dtype shape",
    "histogram": "a bins range weights density",
    "histogram2d": "x y bins range weights density",
    "histogramdd": "sample bins range weights density",
    "hstack": "tup dtype",
    "nanargmax": "a axis out keepdims",
    "nanargmin": "a axis out keepdims",
    "nanmean": "a axis dtype out keepdims where",
    "nanstd": "a axis dtype out ddof keepdims where mean",
    "nanvar": "a axis dtype out ddof keepdims where mean",
    "ones_like": "a dtype shape",
    "solve": "a b lower overwrite_a overwrite_b debug check_finite assume_a",
    "solve_triangular": "a b trans lower unit_diagonal overwrite_b debug check_finite",
    "sph_harm_y": "n m theta phi diff_n n_max",
    "stack": "arrays axis out dtype",
    "unwrap": "p discont axis period",
    "vstack": "tup dtype",
    "zeros_like": "a dtype shape",
}


def in_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a lifted function as one whose positional arguments come in JAX's order."""
    keywords: Keywords = getattr(function, KEYWORDS)
    order = ORDERS.get(getattr(function, "__name__", ""), "").split()
    if not order:
        return function
    own = keywords.look()
    first = next((i for i, name in enumerate(order) if i >= len(own) or name != own[i]), len(order))
    first = max(first, 1)  # operands have other names
    if first == len(order) or not all(name in keywords for name in order[first:]):
        return function
    keywords.order = order

    @wraps(function)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        if len(args) <= first:
            return function(*args, **kwargs)
        return function(*args[:first], **dict(zip(order[first:], args[first:])), **kwargs)

    return ordered


def place_of_out(function: Callable[..., Any], name: str) -> int:
    """Return the position of a function's `out`, into which nothing is written here."""
    ufunc = getattr(np, name, None)
    if isinstance(ufunc, np.ufunc):
        return ufunc.nin
    code = getattr(unwrap(function), "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code else ()
    return names.index("out") if "out" in names else sys.maxsize


def refuse_out(name: str, args: Sequence[Any], place: int) -> None:
    """Raise an error for an argument in the place of `out`, unless it is None where others may follow."""
    ufunc = getattr(np, name, None)
    if isinstance(ufunc, np.ufunc):
        raise StructureError(
            f"{name}() takes {place} positional argument{'s' * (place > 1)}, {len(args)} were given",
            hint="x.at[index].set(values) for an updated copy",
        )
    if args[place] is not None:
        raise UnsupportedError(
            f"{name}: arrays are immutable, out= is not supported", hint="the result of the call"
        )


class Keywords:
    """The parameters of a function, by which calls in JAX's words become calls in its own."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.meaningless = MEANINGLESS.union(
            MEANINGLESS_OF.get(getattr(function, "__name__", ""), "").split()
        )
        self.names: list[str] | None = None  # by position
        self.order: list[str] | None = None  # by position as JAX has them, where that differs

    def look(self) -> list[str]:
        """Read the signature, which most functions are never asked for."""
        try:
            parameters = signature(self.function).parameters.values()
        except (TypeError, ValueError):  # built in
            parameters = ()
        self.is_open = not parameters or any(p.kind is Parameter.VAR_KEYWORD for p in parameters)
        self.own = {
            p.name for p in parameters if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        }
        by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        self.names = [p.name for p in parameters if p.kind in by_place]
        return self.names

    @cached_property
    def plain(self) -> set[str]:
        """The function's own names that mean the same to NumPy, whatever the operands are."""
        self.look()
        others = {"device", "preferred_element_type", *UNSUPPORTED} - {"dtype"}
        return self.own.difference(POSITIONS, MEANINGLESS, others)

    def __contains__(self, name: str) -> bool:
        names = self.look() if self.names is None else self.names
        known = name in self.own or name in names or name in self.meaningless or name in UNSUPPORTED
        return known or self.is_open or POSITIONS.get(name, len(names)) < len(names)

    def translate(self, args: list[Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Return keywords by the function's names; operands that it takes by position alone go to `args`.

        Raises:
            UnsupportedError: for a parameter of JAX's that is not here, unless it is None or False.
        """
        names = self.look() if self.names is None else self.names
        taken, by_position = {}, {}
        for name, value in given.items():
            if name == "out":
                if value is not None:
                    refuse_out(getattr(self.function, "__name__", ""), (value,), 0)
                continue
            place = POSITIONS.get(name)
            if name in self.own or (self.is_open and name not in self.meaningless):
                taken[name] = value
            elif name in names:  # by position only
                by_position[names.index(name)] = value
            elif place is not None and place < len(names):
                by_position[place] = value
            elif name in self.meaningless:
                continue
            elif name not in UNSUPPORTED:
                taken[name] = value  # an error, with the function's own words
            elif value is not None and value is not False:
                raise UnsupportedError(
                    f"{getattr(self.function, '__name__', self.function)}: {name}={value!r} is not supported",
                    hint=f"the call without {name}",
                )
        for place in sorted(by_position):
            if place == len(args):
                args.append(by_position[place])
            else:
                taken[names[place]] = by_position[place]
        return taken
