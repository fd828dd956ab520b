"""Signs, steps, and limits of entries."""

from __future__ import annotations

from typing import Any

from ...extend import Elementwise, Masked, aval_of, ops
from .._core.primitives import declare_primitive
from .._declare.operation import operation
from ..errors import TensorError
from .declarers import add_aliases, binary, check_same_dtype, refuse, zero_partial
from .direct import limit_entries

CHOICE_OPTIONS: dict[str, Any] = {
    "promote": "choice", "inplace": True, "by_value": False, "entrywise": True,
}  # fmt: skip

# Of torch's convention: the derivative of copysign is 0 at 0.
copysign_primitive = declare_primitive(
    Elementwise,
    "copysign",
    lambda xp: xp.copysign,
    (
        lambda t, y, a, b: Masked(
            t * ops.copysign(1.0, ops.copysign(1.0, a) * ops.copysign(1.0, y)), ops.not_equal(a, 0)
        ),
        zero_partial,
    ),
    computes="copysign",
)
copysign = binary(
    "copysign",
    copysign_primitive,
    "The modulus of `input` with the sign of `other`.",
    promote="float",
    numbers="other",
    overload=lambda numbers, _: "other" in numbers,
)


@operation("input values", inplace=True, entrywise=True)
def heaviside(input, values) -> Any:
    """The step function of each entry: 0 of negative numbers, 1 of positive ones, `values` of 0."""
    words = "heaviside is not yet implemented for tensors with different dtypes."
    check_same_dtype(input, values, words)
    a, b = ops.convert(ops.greater(input, 0), dtype=aval_of(input).dtype), values
    return ops.where(ops.equal(input, 0), b, ops.where(ops.isnan(input), input, a))


def clamp_values(x, low, high) -> Any:
    """Limit x to [low, high]; limits have the derivative of x. What is not a number is no limit, but the result."""
    refuse("bc", x, operation="clamp")
    if low is not None:
        x = ops.where(ops.logical_or(ops.less(x, low), ops.isnan(low)), low, x)
    return x if high is None else ops.where(ops.logical_or(ops.greater(x, high), ops.isnan(high)), high, x)


@operation(
    "input min max",
    numbers="min max",
    numbers_together=True,
    in_range="min max",
    overload=lambda numbers, _: bool(numbers),
    direct=limit_entries,
    **CHOICE_OPTIONS,
)
def clamp(input, min=None, max=None) -> Any:
    """Each entry, limited to the interval [min, max].

    >>> torch.clamp(torch.tensor([-2.0, 0.5]), min=0.0).tolist()
    [0.0, 0.5]
    """
    if min is None and max is None:
        raise TensorError(
            "torch.clamp: At least one of 'min' or 'max' must not be None", hint="torch.clamp(x, min=0.0)"
        )
    return clamp_values(input, min, max)


@operation(
    "input min", numbers="min", in_range="min", overload=lambda numbers, _: not numbers, **CHOICE_OPTIONS
)
def clamp_min(input, min) -> Any:
    """Each entry, limited to at least `min`."""
    return clamp_values(input, min, None)


@operation(
    "input max", numbers="max", in_range="max", overload=lambda numbers, _: not numbers, **CHOICE_OPTIONS
)
def clamp_max(input, max) -> Any:
    """Each entry, limited to at most `max`."""
    return clamp_values(input, None, max)


add_aliases(clip=clamp)
