"""Policies of `fx.checkpoint(policy=…)`, with JAX's names: they say which results are kept for the backward pass.

A policy is a function (primitive, *avals of the operands, **params) that returns whether the results may be kept. Of
these results, the ones that the backward pass reads are kept; all others are computed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .core.face import show_public_names
from .core.interpreter import api_boundary

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .core.aval import Aval
    from .core.primitive import Primitive

    Policy = Callable[..., bool]

__all__ = [
    "checkpoint_dots",
    "checkpoint_dots_with_no_batch_dims",
    "dots_saveable",
    "dots_with_no_batch_dims_saveable",
    "everything_saveable",
    "nothing_saveable",
    "save_any_names_but_these",
    "save_anything_except_these_names",
    "save_from_both_policies",
    "save_only_these_names",
]


def everything_saveable(primitive: Primitive, *avals: Aval, **params: Any) -> bool:
    """Every intermediate value may be kept, as without `checkpoint`.

    Arguments: the `primitive`, the `avals` (shapes and dtypes) of its operands, and its `params`.

    >>> f = lambda w: fnp.sum(fnp.sin(w @ w))
    >>> f = fx.checkpoint(f, policy=fx.checkpoint_policies.everything_saveable)
    >>> len(fx.saved_residuals(f, np.ones((2, 2))))
    2
    """
    return True


def nothing_saveable(primitive: Primitive, *avals: Aval, **params: Any) -> bool:
    """No intermediate value may be kept, as without a policy.

    Arguments: the `primitive`, the `avals` (shapes and dtypes) of its operands, and its `params`.

    >>> f = lambda w: fnp.sum(fnp.sin(w @ w))
    >>> f = fx.checkpoint(f, policy=fx.checkpoint_policies.nothing_saveable)
    >>> len(fx.saved_residuals(f, np.ones((2, 2))))
    1
    """
    return False


def dots_saveable(primitive: Primitive, *avals: Aval, **params: Any) -> bool:
    """Products of matrices (matmul, dot, einsum, …) may be kept.

    Arguments: the `primitive`, the `avals` (shapes and dtypes) of its operands, and its `params`.

    >>> f = lambda w: fnp.sum(fnp.sin(w @ w))
    >>> f = fx.checkpoint(f, policy=fx.checkpoint_policies.dots_saveable)
    >>> len(fx.saved_residuals(f, np.ones((2, 2))))
    2
    """
    return primitive.name == "contract"


def dots_with_no_batch_dims_saveable(
    primitive: Primitive, *avals: Aval, spec: str = "", **params: Any
) -> bool:
    """Products of matrices may be kept, unless they are batches of products: those of weights and activations, say, and
    not those of attention.

    Arguments: the `primitive`, the `avals` (shapes and dtypes) of its operands, and its params, of which `spec` says
    what is contracted.

    >>> f = lambda w: fnp.sum(fnp.sin(w @ w))
    >>> f = fx.checkpoint(f, policy=fx.checkpoint_policies.dots_with_no_batch_dims_saveable)
    >>> len(fx.saved_residuals(f, np.ones((2, 2))))
    2
    """
    if primitive.name != "contract":
        return False
    operands, result = spec.split("->")
    left, right = operands.split(",")
    return not set(left) & set(right) & set(result)


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


def is_named(primitive: Primitive) -> bool:
    """Whether an operation is `fx.checkpoint_name`."""
    return primitive.name == "checkpoint_name"


def save_only_these_names(*names: str) -> Policy:
    """A policy that keeps the values with one of these names, which `fx.checkpoint_name` gives, and no others.

    >>> policy = fx.checkpoint_policies.save_only_these_names("hidden")
    >>> f = fx.checkpoint(lambda x: fnp.sin(fx.checkpoint_name(fnp.exp(x), "hidden")), policy=policy)
    >>> float(fx.grad(f)(0.0)) == float(fnp.cos(1.0))
    True
    """
    chosen = frozenset(names)
    return lambda primitive, *avals, **params: is_named(primitive) and params["label"] in chosen


def save_any_names_but_these(*names: str) -> Policy:
    """A policy that keeps all named values except those with these names.

    >>> policies = fx.checkpoint_policies
    >>> f = lambda w: fnp.sum(fnp.sin(fx.checkpoint_name(w @ w, "hidden")))
    >>> f = fx.checkpoint(f, policy=policies.save_any_names_but_these("hidden"))
    >>> len(fx.saved_residuals(f, np.ones((2, 2))))
    1
    """
    left_out = frozenset(names)
    return lambda primitive, *avals, **params: is_named(primitive) and params["label"] not in left_out


def save_anything_except_these_names(*names: str) -> Policy:
    """A policy that keeps all values except those with one of these names.

    >>> policies = fx.checkpoint_policies
    >>> f = lambda w: fnp.sum(fnp.sin(fx.checkpoint_name(w @ w, "hidden")))
    >>> f = fx.checkpoint(f, policy=policies.save_anything_except_these_names("hidden"))
    >>> len(fx.saved_residuals(f, np.ones((2, 2))))
    2
    """
    left_out = frozenset(names)
    return lambda primitive, *avals, **params: not (is_named(primitive) and params["label"] in left_out)


@api_boundary
def save_from_both_policies(first: Policy, second: Policy) -> Policy:
    """A policy that keeps the values that either of two policies keeps.

    Args:
        first, second: policies.

    >>> policies = fx.checkpoint_policies
    >>> f = lambda w: fnp.sum(fnp.sin(fx.checkpoint_name(w @ w, "hidden")))
    >>> named = policies.save_only_these_names("hidden")
    >>> f = fx.checkpoint(f, policy=policies.save_from_both_policies(policies.dots_saveable, named))
    >>> len(fx.saved_residuals(f, np.ones((2, 2))))
    2
    """
    return lambda primitive, *avals, **params: (
        first(primitive, *avals, **params) or second(primitive, *avals, **params)
    )


show_public_names(__name__)
