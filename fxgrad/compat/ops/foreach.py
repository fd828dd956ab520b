"""Operations on lists of Tensors, such as torch._foreach_add, which optimizers use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from .._core.inplace import to_inplace
from .._core.tensor import Tensor
from .._declare.spaces import SPACES, expose
from ..errors import ArgumentError, TensorError

UNARY = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round
    rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
"""
BINARY = "add sub mul div pow clamp_max clamp_min"
# What torch calls the operands here, in its overloads, and what the methods call them.
RENAMED = {
    "lerp": {"tensors1": "end", "weights": "weight"},
    "addcdiv": {"scalars": "value"},
    "addcmul": {"scalars": "value"},
    "clamp_max": dict.fromkeys(("scalar", "other", "scalars"), "max"),
    "clamp_min": dict.fromkeys(("scalar", "other", "scalars"), "min"),
    **{
        name: {"scalar": "other", "scalars": "other"}
        for name in ("add", "sub", "mul", "div", "maximum", "minimum")
    },
}


def align_lists(name: str, tensors: Sequence[Tensor], others: Sequence[Any]) -> list[Any]:
    """Return the columns of operands; an operand that is no list is repeated for each Tensor. Raise where lists have
    different lengths."""
    if not isinstance(tensors, list | tuple):
        raise ArgumentError(
            f"{name}(): argument 'self' must be a list of Tensors, not {type(tensors).__name__}",
            hint=f"{name}([x])",
        )
    if not tensors:
        raise TensorError(
            "Tensor list must have at least one tensor.", hint="skip an empty list: if tensors: …"
        )
    columns: list[Any] = [tensors]
    for other in others:
        if not isinstance(other, list | tuple):
            columns.append(repeat(other))
            continue
        if len(other) != len(tensors):
            if other and isinstance(other[0], Tensor):
                words = (
                    f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}"
                )
            else:
                words = "Tensor list must have same number of elements as scalar list."
            raise TensorError(
                words, hint=f"{len(tensors)} of them, one for each Tensor, or one number for all"
            )
        columns.append(other)
    return columns


def declare_foreach(name: str, method: Callable[..., Any]) -> None:
    """Declare torch._foreach_name, which applies a method to each Tensor of a list."""
    called, plain = f"_foreach_{name}", name.removesuffix("_")
    renamed = RENAMED.get(plain, {})

    def apply_each(self, *others, **options) -> Any:
        if plain == "pow" and isinstance(self, int | float | complex):
            return tuple([exponent.__rpow__(self) for exponent in (*others, *options.values())[0]])
        if plain in ("addcdiv", "addcmul"):
            others, options = others[:2], {**options, **dict(zip(["value"], map(split_numbers, others[2:])))}
        given = {renamed.get(key, key): split_numbers(value) for key, value in options.items()}
        columns = align_lists(called, self, [*others, *given.values()])
        rest = len(columns) - len(given)
        rows = [(row[:rest], dict(zip(given, row[rest:]))) for row in zip(*columns)]
        results = tuple([method(*operands, **named) for operands, named in rows])
        return self if name.endswith("_") else results

    apply_each.__name__ = apply_each.__qualname__ = called
    apply_each.__doc__ = (
        f"`{name}` of each Tensor of a list, with a number or a Tensor for all or a list of them."
    )
    expose("function", called)(apply_each)


def split_numbers(given: Any) -> Any:
    """The entries of a Tensor that has one dimension: numbers, one for each Tensor of a list. Anything else itself."""
    return given.tolist() if isinstance(given, Tensor) and given.ndim == 1 else given


def ternary(name: str) -> Callable[..., Any]:
    """Return the method of two more Tensors and a number, which torch gives by position here."""
    method = SPACES["method"][name]

    def apply(self: Tensor, tensor1, tensor2, value=1) -> Any:
        return method(self, tensor1, tensor2, value=value)

    return apply


def by_other(method: Callable[..., Any], with_number: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method of two methods: one whose operand is a Tensor, one for a number in its place."""
    return lambda self, other: (method if isinstance(other, Tensor) else with_number)(self, other)


def copy(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """The Tensor after the entries of another were copied into it."""
    return self.copy_(src, non_blocking)


def norm(self: Any, ord: float = 2, dtype: Any = None) -> Tensor:
    """The norm of order `ord` of all entries."""
    return self.norm(ord, dtype=dtype)


def sum_of_powers(self: Any, ord: float = 2, dtype: Any = None) -> Tensor:
    """The sum of |x|^ord of all entries."""
    return self.to(dtype or self.dtype).abs().pow(ord).sum()


def declare_foreach_functions() -> None:
    """Declare all functions, after the methods exist."""
    methods = SPACES["method"]
    for name, limit in (("maximum", "clamp_min"), ("minimum", "clamp_max")):
        declare_foreach(name, by_other(methods[name], methods[limit]))
        inplace = by_other(to_inplace(methods[name], f"{name}_"), methods[f"{limit}_"])
        declare_foreach(f"{name}_", inplace)
    for name in [*UNARY.split(), *BINARY.split()]:
        declare_foreach(name, methods[name])
        inplace = f"{name}_"
        declare_foreach(inplace, methods.get(inplace) or to_inplace(methods[name], inplace))
    for name in ("addcdiv", "addcmul"):
        declare_foreach(name, ternary(name))
        declare_foreach(f"{name}_", ternary(f"{name}_"))
    for name in ("lerp", "lerp_", "zero_", "clone", "max", "mm"):
        declare_foreach(name, methods[name])
    declare_foreach("copy_", copy)
    declare_foreach("norm", norm)
    declare_foreach("powsum", sum_of_powers)
