"""Elementwise functions computed by another library: by SciPy on the CPU, by CuPy's version of it on a GPU.

Few programs use each of them, so they have a registry of their own, filled by the declarations of
`fxgrad.scipy.special`. SciPy widens half precision to single or double precision, depending on the function; here it is
computed in single precision, and the result is half precision again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from ..core.aval import SCALARS
from ..core.common_errors import no_kernel
from ..core.costs import FUNCTION_TIME, LIBRARY_ENTRIES
from ..core.errors import UnsupportedError
from ..core.library import load_library
from ..core.primitive import Primitive, register
from ..kernels.registry import native_function
from .kinds import Elementwise
from .vocabulary import ops

LIBRARY_FUNCTIONS: dict[str, Primitive] = {}
BOOL, SINGLE, DOUBLE = map(np.dtype, ("?", "f4", "f8"))
REAL = {SINGLE, DOUBLE}
# Functions whose loops for single precision give NaN, or take whole numbers for real ones.
WITHOUT_SINGLE = {
    "bdtr", "bdtrc", "bdtri", "mathieu_cem", "mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1", "mathieu_modsem2",
    "mathieu_sem", "pbvv",
}  # fmt: skip


def special_functions(xp: Any) -> Any:
    """Return the module of special functions of an array namespace."""
    if xp is np:
        return load_library("scipy.special", "scipy", "fxgrad.scipy.special")
    try:
        return import_module(f"{xp.__name__}x.scipy.special")
    except ImportError:
        raise UnsupportedError(
            f"there are no special functions for {xp.__name__}", hint="numpy, or CuPy, whose arrays have them"
        ) from None


def dtype_of(x: Any) -> np.dtype:
    """The dtype of an operand; numbers of Python's count as boolean beside arrays."""
    return getattr(x, "dtype", BOOL)


def is_narrow(x: Any, dtype: np.dtype) -> bool:
    """Whether an operand has a floating dtype with less precision than this one."""
    have = dtype_of(x)
    return have.itemsize < dtype.itemsize and have.kind in "fV"


def narrow(result: Any, operands: Sequence[Any]) -> Any:
    """Return a result, or several, in the common floating dtype of the operands."""
    if type(result) is tuple:
        return tuple([narrow(y, operands) for y in result])
    dtype = np.result_type(*[dtype_of(x) for x in operands if dtype_of(x).kind in "fcV"])
    with np.errstate(over="ignore"):
        return result if "c" in (result.dtype.kind, dtype.kind) else result.astype(dtype)


def library_kernel(name: str, output: int | None = None, native: str | None = None, **params: Any) -> Any:
    """Return the kernel factory of the function of this name, or of one of its results.

    `native` is the primitive, with `params`, whose machine code is faster for many entries, and which computes on
    arrays for which there is no such library.
    """

    def make_kernel(xp: Any) -> Callable[..., Any]:
        function: Any = None
        precision = DOUBLE if name in WITHOUT_SINGLE else SINGLE

        def find() -> Any:
            try:
                found = getattr(special_functions(xp), name, None)
            except UnsupportedError:
                if native is None:
                    raise
                return partial(getattr(ops, native).primitive.make_kernel(xp), **params)
            if found is None:
                raise no_kernel(name, xp)
            return found

        def call(*operands: Any) -> Any:
            nonlocal function
            if function is None:
                function = find()
            return function(*operands) if output is None else function(*operands)[output]

        def kernel(*operands: Any) -> Any:
            for x in operands:
                if getattr(x, "dtype", DOUBLE) is not DOUBLE and is_narrow(x, precision):
                    wide = [x.astype(precision) if is_narrow(x, precision) else x for x in operands]
                    return narrow(call(*wide), operands)
            if native and getattr(operands[0], "size", 0) > LIBRARY_ENTRIES and operands[0].dtype in REAL:
                compute = native_function("entrywise.compute_entrywise")
                result = compute(native, operands[0], cost=FUNCTION_TIME, **params)
                if result is not None:
                    return result
            return call(*operands)

        return kernel if xp is np else call

    return make_kernel


def with_strong_numbers(rule: Any) -> Any:
    """Return a rule that gets numbers of Python's as NumPy's, since Python's own division by zero raises."""
    if rule is None:
        return None

    def apply(t: Any, y: Any, *operands: Any) -> Any:
        if not getattr(y, "shape", ()):
            operands = tuple([np.asarray(x)[()] if type(x) in SCALARS else x for x in operands])
        return rule(t, y, *operands)

    return apply


def library_function(
    name: str, kernel: Any, partials: Sequence[Any], computes: str = ""
) -> Callable[..., Any]:
    """Declare an elementwise primitive whose values are a library's. `computes` names the primitive of this room that
    has its values, for machine code."""
    rules = [with_strong_numbers(rule) for rule in partials]
    primitive = register(Elementwise(name, kernel, rules), LIBRARY_FUNCTIONS)
    primitive.computes = computes
    return primitive.call
