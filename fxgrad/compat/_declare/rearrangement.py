"""Operations that only move entries: differentiated as they are, with nothing derived and compiled for them, which
would have to be done again for every index and shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import ops
from ...core.aval import Aval, aval_of, is_differentiable
from ...ops.masked import dense
from ...ops.slicing import zeros
from .._core.memory import is_array
from .._core.tape import Bare
from .composite import Composite, PrimitivePlan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Rearrangement(Composite):
    """An operation that is one linear primitive, whatever its params: the function gives (primitive's function,
    operands, params) instead of a result. The first of these operands are its own."""

    def __init__(self, name: str, function: Callable[..., Any], multiple: bool, tangent: Any = None):
        def applied(*values: Any, **params: Any) -> Any:
            call, operands, given = function(*values, **params)
            return call(*operands, **given)

        self.arrangement = function
        super().__init__(name, applied, multiple, tangent)

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        call, operands, given = self.arrangement(*values, **params)
        primitive = call.primitive
        needed = (*needed, *(None,) * (len(operands) - len(needed)))
        return primitive.linearize(call, operands, needed, given, own)

    finish: Any = None  # what is done to a result of the primitive

    def plan(self, values: Sequence[Any], parents: Sequence[Any], params: dict) -> Any:
        """See `Composite.plan`. Positions among the operands may be others next time."""
        if len(values) > 1 and not all([is_differentiable(aval_of(v).dtype) for v in values]):
            return None
        call, operands, given = self.arrangement(*values, **params)
        if len(operands) != len(values) or any([o is not v for o, v in zip(operands, values)]):
            return None
        return PrimitivePlan(call.primitive, given, parents, self.finish)


class Reordering(Rearrangement):
    """One whose result has memory of its own, also where NumPy gives a view."""

    finish = staticmethod(lambda value: owned(value))

    def __init__(self, name: str, function: Callable[..., Any], multiple: bool, tangent: Any = None):
        super().__init__(name, function, multiple, tangent)
        kernel = self.kernel
        self.kernel = lambda *values, **params: owned(kernel(*values, **params))

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        y, rule, residuals = super().linearize(apply, values, needed, params, own)
        return owned(y), rule, residuals


def owned(value: Any) -> Any:
    """A copy of an array in memory of others."""
    return value.copy() if is_array(value) and value.base is not None else value


class Partition(Bare, Composite):
    """An operation that takes its operand apart along the dimension `dim`, in a static parameter of that name. Parts
    without that dimension are single entries."""

    shares = True

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        parts = apply(*values, **params)
        return parts, self, (aval_of(values[0]), [aval_of(p) for p in parts], params["dim"])

    def pull(self, cts: dict, whole: Aval, parts: Sequence[Aval], dim: int) -> tuple[Any]:
        """The cotangents of the parts joined, zeros for those without."""
        dim %= whole.ndim
        some = dense(next(iter(cts.values())))
        joined = []
        for i, part in enumerate(parts):
            ct = dense(cts[i]) if i in cts else zeros(some, part.shape)
            if part.ndim < whole.ndim:
                ct = ops.reshape(ct, shape=(*part.shape[:dim], 1, *part.shape[dim:]))
            joined.append(ct)
        return (ops.concatenate(*joined, axis=dim),)
