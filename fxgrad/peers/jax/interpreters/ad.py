"""`jax.interpreters.ad`: rules for derivatives of programs' primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from ....core import pytree
from ..arrays import array_of
from ..levels import JVPTracer
from ..primitives import JVPS, TRANSPOSES, Primitive, UndefinedPrimal, Zero

__all__ = [
    "JVPTracer", "UndefinedPrimal", "Zero", "add_jaxvals", "add_tangents", "defbilinear", "defjvp", "defjvp2",
    "deflinear", "deflinear2", "get_primitive_transpose", "instantiate_zeros", "is_undefined_primal",
    "primitive_jvps", "primitive_transposes", "zeros_like_aval",
]  # fmt: skip

primitive_jvps, primitive_transposes = JVPS, TRANSPOSES
for _node in (Zero, UndefinedPrimal):
    pytree.register_pytree_node(_node, lambda node: ((), node.aval), lambda aval, _, node=_node: node(aval))


def is_undefined_primal(x: Any) -> bool:
    """Whether an operand is one in which a primitive is transposed."""
    return type(x) is UndefinedPrimal


def zeros_like_aval(aval: Any) -> Any:
    """Return zeros of a shape and dtype."""
    return array_of(np.zeros(aval.shape, aval.dtype))


def instantiate_zeros(tangent: Any) -> Any:
    """Return a tangent as an array."""
    return tangent.instantiate() if type(tangent) is Zero else tangent


def add_tangents(x: Any, y: Any) -> Any:
    """Add tangents, which may be `Zero`."""
    return y if type(x) is Zero else x if type(y) is Zero else x + y


add_jaxvals = add_tangents


def get_primitive_transpose(p: Primitive) -> Callable[..., Any]:
    """Return the rule for the transposition of a primitive."""
    if p not in TRANSPOSES:
        p.lack("rule for transposition", "jax.interpreters.ad.primitive_transposes")
    return TRANSPOSES[p]


def push_each(
    pass_result: bool, rules: Any, primitive: Primitive, primals: Any, tangents: Any, **params: Any
) -> Any:
    """Add the tangents that the rules of the operands give."""
    y = primitive.bind(*primals, **params)
    first = (y,) if pass_result else ()
    parts = [
        rule(t, *first, *primals, **params)
        for rule, t in zip(rules, tangents)
        if rule is not None and type(t) is not Zero
    ]
    return y, reduce(add_tangents, parts, Zero.from_primal_value(y))


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Define derivatives by operand: rule(tangent, *operands, **params)."""
    JVPS[primitive] = partial(push_each, False, jvprules, primitive)


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Define derivatives by operand: rule(tangent, result, *operands, **params)."""
    JVPS[primitive] = partial(push_each, True, jvprules, primitive)


def push_linear(primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    """Apply a linear primitive to tangents."""
    y = primitive.bind(*primals, **params)
    if all(type(t) is Zero for t in tangents):
        return y, [
            Zero.from_primal_value(r) for r in y
        ] if primitive.multiple_results else Zero.from_primal_value(y)
    return y, primitive.bind(*map(instantiate_zeros, tangents), **params)


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Define a primitive as linear: transpose_rule(cotangent, *operands, **params)."""

    def pull(ct: Any, *args: Any, **params: Any) -> Any:
        return [None] * len(args) if type(ct) is Zero else transpose_rule(ct, *args, **params)

    JVPS[primitive], TRANSPOSES[primitive] = partial(push_linear, primitive), pull


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Define a primitive as linear: transpose_rule(cotangent, **params)."""
    deflinear2(primitive, lambda ct, *args, **params: transpose_rule(ct, **params))


def defbilinear(prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]) -> None:
    """Define a primitive as linear in each of two operands: lhs_rule(cotangent, x, y), rhs_rule(cotangent, x, y)."""

    def pull(ct: Any, x: Any, y: Any, **params: Any) -> Any:
        if type(ct) is Zero:
            return None, None
        if is_undefined_primal(x):
            return lhs_rule(ct, x, y, **params), None
        return None, rhs_rule(ct, x, y, **params)

    defjvp(
        prim,
        lambda t, x, y, **params: prim.bind(t, y, **params),
        lambda t, x, y, **params: prim.bind(x, t, **params),
    )
    TRANSPOSES[prim] = pull
