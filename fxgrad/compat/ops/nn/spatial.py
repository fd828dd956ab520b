"""Operations on images (N, C, *spatial), or (C, *spatial) without a batch, over one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....extend import aval_of, ops
from ..._declare.operation import operation
from ..._declare.signatures import DerivedSignature
from ...errors import TensorError
from ..arguments import as_whole


def per_dimension(value, rank: int, name: str = "") -> tuple[int, ...]:
    """Return a number for each of `rank` dimensions, given one for all or a sequence."""
    if not isinstance(value, list | tuple):
        return (as_whole(value),) * rank
    if len(value) == 1:
        return (as_whole(value[0]),) * rank
    if len(value) != rank:
        raise TensorError(
            f"{name} must either be a single int, or a tuple of {rank} ints",
            hint=f"({', '.join([str(value[0])] * rank)})" if len(value) else "1",
        )
    return tuple(map(as_whole, value))


def spatial_operations(
    name: str, tensors: str = "input", each: Callable[[int], dict[str, Any]] = lambda rank: {}, **options
) -> Callable[[Callable[..., Any]], tuple[Any, ...]]:
    """Declare the same operation over one, two and three dimensions, by a function of (their number, images, …). The
    images have a batch axis there, also where what the user gave has none.

    Args:
        name: as in "conv{}d".
        tensors, options: see `operation`.
        each: the options that depend on the number of dimensions.
    """

    def declare(function: Callable[..., Any]) -> tuple[Any, ...]:
        return tuple(declare_one(function, rank) for rank in (1, 2, 3))

    def declare_one(function: Callable[..., Any], rank: int) -> Any:
        called = name.format(rank)

        def compute(*, input, **given) -> Any:
            x, had_batch = add_batch_axis(input, rank, called)
            y = function(rank, x, **given)
            if had_batch:
                return y
            return [remove_batch_axis(v) for v in y] if isinstance(y, list) else remove_batch_axis(y)

        compute.__signature__ = DerivedSignature(function, lambda given: given[1:])  # type: ignore[attr-defined]
        compute.__doc__ = function.__doc__
        return operation(tensors, **{"name": called, "out": False, **options, **each(rank)})(compute)

    return declare


def batch_hint(shape: Sequence[int], rank: int) -> str:
    """Return the hint for a shape other than channels with `rank` dimensions each, or a batch of these."""
    if len(shape) <= rank:
        return f"x.reshape({[*(1,) * (rank + 1 - len(shape)), *shape]}), of one channel"
    return f"x.flatten(0, {len(shape) - rank - 2}), all as one batch"


def image_error(operation: str, shape: Sequence[int], rank: int) -> TensorError:
    """Return the error for an operand that is neither an image, with `rank` dimensions after its channels, nor a
    batch."""
    return TensorError(
        f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {operation}, but got input of size: "
        f"{shape}",
        hint=batch_hint(shape, rank),
    )


def add_batch_axis(x, rank: int, operation: str) -> tuple[Any, bool]:
    """Return (x with a batch axis, whether it had one)."""
    aval = aval_of(x)
    if aval.ndim == rank + 2:
        return x, True
    if aval.ndim == rank + 1:
        return ops.reshape(x, shape=(1, *aval.shape)), False
    raise image_error(operation, list(aval.shape), rank)


def remove_batch_axis(y) -> Any:
    """Remove the axis that `add_batch_axis` has added."""
    return ops.reshape(y, shape=aval_of(y).shape[1:])
