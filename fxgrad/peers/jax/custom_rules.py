"""`custom_jvp` and `custom_vjp` for functions and rules of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ...core import pytree
from ...core.aval import SCALARS
from ...core.surface import is_object
from ...transforms.custom import jvp_vjp as here
from ...transforms.custom import symbolic_zeros as here_zeros
from .arrays import Array, array_of
from .dtypes import canonicalize_dtype, cast, dtype_of
from .programs import as_array, lift_transform, narrow_leaf, narrow_tree, on_arrays, results_of

__all__ = ["custom_gradient", "custom_jvp", "custom_vjp", "zero_from_primal"]


def known_leaf(leaf: Any) -> Any:
    """Return a leaf in a dtype that arrays may have; rules ask an array of a Python number for it as well."""
    if type(leaf) is Array and leaf.weak_type:
        value = leaf._fx_value
        return array_of(np.asarray(value, leaf.dtype) if type(value) in SCALARS else cast(value, leaf.dtype))
    return narrow_leaf(leaf)


def number_as_array(leaf: Any) -> Any:
    """Return a leaf of a differentiable argument as an array."""
    if type(leaf) is here_zeros.CustomVJPPrimal:
        return here_zeros.CustomVJPPrimal(number_as_array(leaf.value), leaf.perturbed)
    if type(leaf) in SCALARS:
        return array_of(np.asarray(leaf, dtype_of(leaf)))
    return as_array(leaf)


def residual_as_array(leaf: Any) -> Any:
    """Return a leaf of what a backward rule gets: booleans are the rule's own flags."""
    return leaf if type(leaf) is bool else number_as_array(leaf)


class OnArrays:
    """What both have in common: the function and its rules are called on arrays, and return arrays."""

    nondiff_positions: Any
    compares_results = False  # a program may see how often its function is called
    dtype_of_result = staticmethod(canonicalize_dtype)  # of a Python number as of an array

    def __init__(self, fun: Callable[..., Any], *args: Any, **options: Any):
        super().__init__(self.see_arrays(fun), *args, **options)  # type: ignore[call-arg]

    def see_arrays(
        self, function: Callable[..., Any], leading: bool = False, see: Callable[[Any], Any] = number_as_array
    ) -> Callable[..., Any]:
        """Return a function whose arguments are arrays, numbers as well, unless they are not differentiated: these are
        at their own places, or all `leading`. NumPy's arrays that it returns get dtypes that arrays may have."""

        @wraps(function, updated=())
        def called(*args: Any, **kwargs: Any) -> Any:
            fixed = self.nondiff_positions
            if leading:
                fixed = range(len(fixed))
            seen = [a if i in fixed else pytree.map(see, a, is_leaf=is_object) for i, a in enumerate(args)]
            return narrow_tree(function(*seen, **kwargs))

        return called

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = tuple([pytree.map(known_leaf, a, is_leaf=is_object) for a in args])
        return results_of(super().__call__(*args, **kwargs))  # type: ignore[misc]


class custom_jvp(OnArrays, here.custom_jvp):
    """`fx.custom_jvp` for a function and a rule of arrays."""

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        super().defjvp(self.see_arrays(jvp, leading=True), symbolic_zeros)
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        super().defjvps(*[jvp and on_arrays(jvp, as_array) for jvp in jvps])


class custom_vjp(OnArrays, here.custom_vjp):
    """`fx.custom_vjp` for a function and rules of arrays."""

    def defvjp(self, fwd: Any, bwd: Any, symbolic_zeros: bool = False, optimize_remat: bool = False) -> None:
        backward = self.see_arrays(bwd, leading=True, see=residual_as_array)
        super().defvjp(self.see_arrays(fwd), backward, symbolic_zeros, optimize_remat)


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangents of a pytree of arrays: symbolic ones, or arrays."""
    return pytree.map(lambda leaf: here_zeros.zero_from_primal(leaf, symbolic_zeros), val)


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose derivative it returns itself, for arrays; numbers become arrays."""
    made = lift_transform(here.custom_gradient)(fun)

    @wraps(fun)
    def called(*args: Any) -> Any:
        return made(*[pytree.map(known_leaf, a, is_leaf=is_object) for a in args])

    return called
