"""Operations that only move entries. They are differentiated by the rule of one primitive. Nothing is derived and
compiled for them, because that would be repeated for every index and shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...extend import Aval, aval_of, is_differentiable, masked, ops
from .._core.memory import is_array
from .._core.strides import basic_view
from .._core.tape import StatelessPullback, no_copy
from .composite import Composite, DirectPlan, Plan, needs_gradient


class Rearrangement(Composite):
    """An operation that is one linear primitive, whatever its params. Its function returns (the primitive's binding
    function, operands, params) instead of a result; the first of these operands are the operation's own."""

    in_single = False

    def __init__(self, name: str, function: Callable[..., Any], multiple: bool, tangent=None):
        def apply_arrangement(*values, **params) -> Any:
            call, operands, given = function(*values, **params)
            return call(*operands, **given)

        self.arrangement = function
        super().__init__(name, apply_arrangement, multiple, tangent)

    def vjp(self, apply, values, needed, params: dict, snapshot) -> tuple[Any, Any, Any]:
        return self.arrange_and_link(None, values, needed, params, snapshot)

    def arrange_and_link(self, apply, values, needed, params: dict, snapshot) -> tuple[Any, Any, Any]:
        """Return the primitive's (result, pullback, residuals), as it is computed by `apply`, if that is given."""
        call, operands, given = self.arrangement(*values, **params)
        needed = (*needed, *(None,) * (len(operands) - len(needed)))
        return call.primitive.vjp(apply or call, operands, needed, given, snapshot)

    finish: Any = None  # applied to a result of the primitive

    def plan_for(self, values: Sequence[Any], next_edges: Sequence[Any], params: dict) -> Any:
        """Return the plan for plain operands like these: that of its primitive, unless some of them are positions,
        which may be others next time, or the primitive has other operands."""
        direct, general = self.direct_for(values, params), self.general_plan(values, next_edges, params)
        link = partial(self.link, params=params) if needs_gradient(next_edges) else None
        return general if direct is None else DirectPlan(direct, general, link)

    def link(self, y, values: Sequence[Any], next_edges: Sequence[Any], params: dict) -> tuple[Any, Any, Any]:
        """Return the result, which is known, with its pullback and the residuals."""
        return self.arrange_and_link(lambda *operands, **given: y, values, next_edges, params, no_copy)

    def general_plan(self, values: Sequence[Any], next_edges: Sequence[Any], params: dict) -> Plan:
        """Return the plan that serves wherever there is no direct way."""
        if len(values) == 1 or all([is_differentiable(aval_of(v).dtype) for v in values]):
            call, operands, given = self.arrangement(*values, **params)
            if len(operands) == len(values) and all([o is v for o, v in zip(operands, values)]):
                return Plan(call.primitive, given, next_edges, self.finish)
        return Plan(self, params, next_edges)


class Application(Rearrangement):
    """A Rearrangement that is its primitive, applied to the operation's own operands."""

    def plan_for(self, values: Sequence[Any], next_edges: Sequence[Any], params: dict) -> Any:
        """Return the plan for plain operands like these."""
        call, _, given = self.arrangement(*values, **params)
        return Plan(call.primitive, given, next_edges)


class Reordering(Rearrangement):
    """A Rearrangement whose result has memory of its own, even where NumPy gives a view."""

    finish = staticmethod(lambda value: copy_if_view(value))

    def __init__(self, name: str, function: Callable[..., Any], multiple: bool, tangent=None):
        super().__init__(name, function, multiple, tangent)
        kernel = self.kernel
        self.kernel = lambda *values, **params: copy_if_view(kernel(*values, **params))

    def vjp(self, apply, values, needed, params: dict, snapshot) -> tuple[Any, Any, Any]:
        y, rule, residuals = super().vjp(apply, values, needed, params, snapshot)
        return copy_if_view(y), rule, residuals


def copy_if_view(value) -> Any:
    """Return a copy of an array that is a view, or else the array itself."""
    return value.copy() if is_array(value) and value.base is not None else value


class Partition(StatelessPullback, Composite):
    """An operation that splits its operand along the dimension `dim`, a static parameter of that name. Its function
    returns the indices of the parts instead of these. Parts without that dimension are single entries."""

    in_single = False

    shares = True

    def __init__(self, name: str, function: Callable[..., Any], multiple: bool, tangent=None):
        def take_parts(value, **params) -> list[Any]:
            return [basic_view(value, index=index) for index in function(value, **params)]

        self.find_parts = function
        super().__init__(name, take_parts, multiple, tangent)

    def plan_for(self, values: Sequence[Any], next_edges: Sequence[Any], params: dict) -> Any:
        """Return the plan for plain operands like these."""
        return PartitionPlan(self, values[0], next_edges, params)

    def vjp(self, apply, values, needed, params: dict, snapshot) -> tuple[Any, Any, Any]:
        parts = apply(*values, **params)
        return parts, self, (aval_of(values[0]), [aval_of(p) for p in parts], params["dim"])

    def pull(self, cts: dict, whole: Aval, parts: Sequence[Aval], dim: int) -> tuple[Any]:
        """Concatenate the cotangents of the parts, with zeros for those that have none."""
        dim %= whole.ndim
        some = masked.densify(next(iter(cts.values())))
        joined = []
        for i, part in enumerate(parts):
            ct = masked.densify(cts[i]) if i in cts else ops.zeros_of_shape(some, part.shape)
            if part.ndim < whole.ndim:
                ct = ops.reshape(ct, shape=(*part.shape[:dim], 1, *part.shape[dim:]))
            joined.append(ct)
        return (ops.concatenate(*joined, axis=dim),)

    def pull_plain(self, cts: dict, residuals: tuple[Aval, Sequence[Aval], int]) -> tuple[Any]:
        """See `PullbackRule`."""
        whole, parts, dim = residuals
        dim %= whole.ndim
        allocate = np.empty if len(cts) == len(parts) else np.zeros
        joined, start = allocate(whole.shape, next(iter(cts.values())).dtype), 0
        for i, part in enumerate(parts):
            is_entry = part.ndim < whole.ndim
            stop = start + (1 if is_entry else part.shape[dim])
            if i in cts:
                joined[(*(slice(None),) * dim, start if is_entry else slice(start, stop))] = cts[i]
            start = stop
        return (joined,)


class PartitionPlan:
    """The Plan of a Partition of arrays of one shape."""

    __slots__ = ("indices", "residuals", "rule")

    def __init__(self, partition: Partition, value, next_edges: Sequence[Any], params: dict):
        self.indices = [(*index, ...) for index in partition.find_parts(value, **params)]
        parts = [aval_of(value[index]) for index in self.indices]
        is_wanted = next_edges[0] is not None
        self.rule = partition if is_wanted else None
        self.residuals = (aval_of(value), parts, params["dim"]) if is_wanted else ()

    def run(self, values: Sequence[Any], next_edges: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Return (list of parts, pullback or None, residuals)."""
        (value,) = values
        return [value[index] for index in self.indices], self.rule, self.residuals
