"""ReduceOp: the operations that combine the values of several processes."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ...extend import kind_of
from .._core.dtypes import from_numpy_dtype, short_name
from ..errors import ArgumentError, ArgumentValueError, TensorError


class RedOpType(Enum):
    """The ways of reduction, with the numbers that torch has for them.

    >>> dist.RedOpType.SUM.name
    'SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


# The names that communicators have for them.
OPERATIONS = {
    "SUM": "sum", "AVG": "mean", "PREMUL_SUM": "sum", "PRODUCT": "prod", "MIN": "min", "MAX": "max",
    "BAND": "and", "BOR": "or", "BXOR": "xor",
}  # fmt: skip


class ReduceOp:
    """How what several processes have becomes one: ReduceOp.SUM, AVG, PRODUCT, MIN, MAX, and BAND, BOR, BXOR of the
    bits of integers.

    Args:
        op: the way of reduction: see `ReduceOp`.
        factor: a number that multiplies, for PREMUL_SUM.

    >>> torch.distributed.ReduceOp.SUM
    <RedOpType.SUM: 0>
    """

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    def __init__(self, op: RedOpType = RedOpType.SUM, factor: Any = None):
        self.op, self.factor = op, factor

    def __eq__(self, other: object) -> bool:
        return self.op is (other.op if isinstance(other, ReduceOp) else other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return repr(self.op)


reduce_op = ReduceOp


def make_premultiplied_sum(factor: Any) -> ReduceOp:
    """Return the reduction that multiplies what each process has by a factor, and sums."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


_make_nccl_premul_sum = make_premultiplied_sum


def supports_complex(reduceOp: ReduceOp | RedOpType) -> bool:
    """Whether a reduction is one of complex numbers: a linear one.

    Args:
        reduceOp: a reduction.

    Returns:
        A bool.

    Raises:
        TypeError: no ReduceOp.

    >>> dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX)
    (True, False)
    """
    return as_reduce_op(reduceOp).op in (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM)


def as_reduce_op(op: Any) -> ReduceOp:
    """Return the user's `op` as a ReduceOp; raise ArgumentError for anything else."""
    if isinstance(op, ReduceOp):
        return op
    if isinstance(op, RedOpType):
        return ReduceOp(op)
    raise ArgumentError(f"op: expected a ReduceOp, got {op!r}", hint="torch.distributed.ReduceOp.SUM")


def find_reduction(op: Any, x: Any, name: str) -> tuple[Any, str]:
    """Return what a process sends to have an array reduced, and a communicator's name for the reduction.

    Raises:
        ValueError, RuntimeError: numbers of this dtype are not reduced in this way.
    """
    chosen, kind = as_reduce_op(op), kind_of(x.dtype)
    way = chosen.op
    if kind == "c" and not supports_complex(chosen):
        raise ArgumentValueError(
            f"{name} does not support {way} on complex tensors", hint="torch.view_as_real(x), or ReduceOp.SUM"
        )
    if way.name in ("BAND", "BOR", "BXOR") and kind in "fc":
        raise TensorError(
            f"Cannot use ReduceOp.{way.name} with non-integral dtype",
            hint="x.to(torch.int64); ReduceOp.MIN is `and` of truth values, ReduceOp.MAX `or`",
        )
    if way in (RedOpType.AVG, RedOpType.PREMUL_SUM) and kind not in "fc":
        raise TensorError(
            f"result type Float can't be cast to the desired output type {short_name(x.dtype)}",
            hint=f"op=ReduceOp.SUM, or x.float(): this Tensor is of {from_numpy_dtype(x.dtype)}",
        )
    if way is RedOpType.PREMUL_SUM:
        factor = getattr(chosen.factor, "_fx_value", chosen.factor)
        x = (x * factor).astype(x.dtype)
    return x, OPERATIONS[way.name]


__all__ = ["RedOpType", "ReduceOp", "reduce_op", "supports_complex"]
