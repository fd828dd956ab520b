"""Which operands functions accept under JAX's door: those of `jax.lax` promote nothing, and none takes a list for an
array."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .arrays import Array, value_of
from .dtypes import SINGLE, dtype_of
from .errors import DTypeError

# Functions by their packages and the kinds of dtypes that they accept: NumPy's letters, and F for floats of 32 bits.
ACCEPTED = {
    "lax": {
        "fc": """
            acos acosh asin asinh atan atan2 atanh cos cosh exp exp2 expm1 log log1p logistic pow reciprocal rsqrt sin
            sinh sqrt tan tanh
        """,
        "f": """
            approx_max_k approx_min_k bessel_i0e bessel_i1e betainc cbrt ceil digamma erf erf_inv erfc floor igamma
            igammac is_finite lgamma nextafter polygamma reduce_precision round zeta
        """,
        "F": "complex",
        "Fc": "conj",
        "c": "imag real",
        "iu": "clz mulhi population_count shift_left shift_right_arithmetic shift_right_logical",
        "biu": "bitwise_and bitwise_not bitwise_or bitwise_xor reduce_and reduce_or reduce_xor",
        "ifc": "abs",
        "iuf": "rem",
        "iufc": """
            add cummax cummin cumprod cumsum div integer_pow mul neg reduce_prod reduce_sum sign square sub
        """,
        "biuf": "ge gt le lt top_k",
        "biufc": """
            clamp concatenate conv conv_general_dilated dynamic_update_index_in_dim dynamic_update_slice
            dynamic_update_slice_in_dim eq max min ne pad select select_n
        """,
    },
    "nn": {"fc": "sigmoid silu swish", "iufc": "log1mexp log_sigmoid one_hot"},
    "special": {"F": "log_ndtr ndtr ndtri spence", "biuf": "dawsn digamma erf erfc exp1 expi fresnel sici"},
}
KINDS = {
    f"{package}.{name}": kinds
    for package, rows in ACCEPTED.items()
    for kinds, names in rows.items()
    for name in names.split()
}
# Those whose operands have one dtype: which of their arguments these are.
TWO = """
    add atan2 bitwise_and bitwise_or bitwise_xor complex conv conv_general_dilated div dynamic_update_index_in_dim
    dynamic_update_slice dynamic_update_slice_in_dim eq ge gt igamma igammac le lt max min mul mulhi ne nextafter pad
    polygamma rem shift_left shift_right_arithmetic shift_right_logical sub zeta
"""
OPERANDS = {
    **{f"lax.{name}": slice(0, 2) for name in TWO.split()},
    **dict.fromkeys(["lax.betainc", "lax.clamp"], slice(0, 3)),
    **dict.fromkeys(["lax.select", "lax.select_n"], slice(1, None)),
}


def accept(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a package, such as "lax.add", as one that refuses operands of dtypes which differ, or are
    of another kind."""
    kinds, place = KINDS.get(name), OPERANDS.get(name, slice(0, 1))
    if kinds is None:
        return function
    is_quick = ("f" in kinds or "F" in kinds) and place.stop == 1

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if is_quick and args and type(args[0]) is Array and args[0].dtype is SINGLE:  # mostly
            return function(*args, **kwargs)
        operands = args[0] if name == "lax.concatenate" and args else args[place]
        dtypes = [dtype_of(value_of(x)) for x in operands]
        if len(set(dtypes)) > 1:
            raise DTypeError(
                f"{name}: operands of one dtype are needed, not {', '.join(map(str, dtypes))}",
                hint=f"functions of jnp, which promote, or x.astype({dtypes[0]})",
            )
        if dtypes and not is_of(dtypes[0], kinds):
            raise DTypeError(
                f"{name}: the dtype {dtypes[0]} is not accepted", hint="x.astype(jnp.float32), say"
            )
        return function(*args, **kwargs)

    return checked


def is_of(dtype: Any, kinds: str) -> bool:
    """Whether a dtype is of one of these kinds."""
    kind = "f" if dtype.kind == "V" else dtype.kind
    return kind in kinds or ("F" in kinds and kind == "f" and dtype.itemsize > 2)
