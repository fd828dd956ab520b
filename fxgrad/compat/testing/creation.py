"""`make_tensor`: Tensors of any dtype with random entries, for tests."""

from __future__ import annotations

import math
from typing import Any

from .._core.dtypes import PUBLIC, dtype, finfo, iinfo
from .._core.tensor import Tensor
from .._make.creation import empty
from .._make.sampling import rand, randint
from ..errors import ArgumentError, ArgumentValueError
from ..ops.complex import complex as make_complex


def make_tensor(
    *shape: Any,
    dtype: dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Make a Tensor with entries drawn uniformly from [low, high).

    Args:
        shape: the sizes, or one sequence of them.
        dtype: of the entries; of complex ones both parts are drawn.
        device: where it is.
        low, high: −9 and 9 unless given; for integers −9 and 10, without a sign 0 and 10, for bool 0 and 2. What the
            dtype cannot hold becomes what it can.
        requires_grad: whether it requires a gradient.
        noncontiguous: whether its entries lie two apart in memory.
        exclude_zero: whether zeros are replaced, by 1 or the smallest normal number.
        memory_format: of the memory; not together with `noncontiguous`.

    Raises:
        ArgumentValueError: low ≥ high, or NaN; a gradient for integers; `noncontiguous` and a `memory_format`.
        ArgumentError: there is no such dtype here.

    >>> x = torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu", low=0, high=1)
    >>> x.shape, bool((x >= 0).all() and (x < 1).all())
    (torch.Size([2, 3]), True)
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ArgumentValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}",
            hint="noncontiguous=False",
        )
    exact = not (dtype.is_floating_point or dtype.is_complex)
    if requires_grad and exact:
        raise ArgumentValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}",
            hint="dtype=torch.float32, or requires_grad=False",
        )
    spaced = noncontiguous and math.prod(sizes) >= 2
    drawn = (*sizes[:-1], 2 * sizes[-1]) if spaced else sizes
    made = (
        draw_integers(drawn, dtype, device, low, high)
        if exact
        else draw_floats(drawn, dtype, device, low, high)
    )
    if spaced:
        made = made[..., ::2]
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = 1 if exact else finfo(dtype).tiny
    return made.requires_grad_(requires_grad)


def limits(low: Any, high: Any, usual: tuple[float, float], least: Any, greatest: Any) -> tuple[Any, Any]:
    """Return the limits of the entries; the dtype holds numbers from `least` to `greatest`."""
    for value in (low, high):
        if value is not None and math.isnan(value):
            raise ArgumentValueError(
                f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}",
                hint="numbers, or None for the limits of the dtype",
            )
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if low > high:
        raise ArgumentValueError(
            f"make_tensor: `low` must be less than `high`, but got {low} >= {high}", hint="exchange them"
        )
    return min(max(low, least), greatest), min(max(high, least), greatest)


def draw_integers(shape: Any, dtype: dtype, device: Any, low: Any, high: Any) -> Tensor:
    """Draw integers, or bools."""
    if dtype is PUBLIC["bool"]:
        low, high = limits(low, high, (0, 2), 0, 2)
    else:
        info = iinfo(dtype)
        usual = (0, 10) if info.min == 0 else (-9, 10)
        low, high = limits(low, high, usual, info.min, info.max)
    low, high = math.floor(low), math.ceil(high)
    if low >= high:
        raise ArgumentValueError(
            f"make_tensor: `low` must be less than `high`, but got {low} >= {high}", hint="exchange them"
        )
    return randint(low, high, shape, dtype=PUBLIC["int64"], device=device).to(dtype)


def draw_floats(shape: Any, dtype: dtype, device: Any, low: Any, high: Any) -> Tensor:
    """Draw floating numbers, or complex ones."""
    if dtype not in PUBLIC.values() and "bfloat16" not in str(dtype):
        raise ArgumentError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor()",
            hint="dtype=torch.float32",
        )
    info = finfo(dtype)
    low, high = limits(low, high, (-9, 9), info.min, info.max)
    wide = PUBLIC["float64"]

    def draw() -> Tensor:
        part = rand(shape, dtype=wide, device=device)
        return low + part * (high - low) if math.isfinite(high - low) else (2 * part - 1) * (high / 2)

    made = empty(shape, dtype=dtype, device=device)
    made.copy_(make_complex(draw(), draw()) if dtype.is_complex else draw())
    return made


__all__ = ["make_tensor"]
