"""Symbolic zeros, which custom rules get in place of arrays of zeros: `symbolic_zeros=True` of `defjvp` and
`defvjp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core import pytree
from ...core.aval import Aval, aval_of
from ..arguments import tangent_dtype, zero_tangent


@dataclass(frozen=True)
class SymbolicZero:
    """A tangent or cotangent that is zero for all values: it has this `aval`, and no data.

    >>> zero = fx.custom_derivatives.zero_from_primal(2.0, symbolic_zeros=True)
    >>> zero.shape, zero.dtype
    ((), dtype('float64'))
    """

    aval: Aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value to which the zero belongs."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the zero: float0 for an integer."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.aval.shape)


@dataclass(frozen=True)
class CustomVJPPrimal:
    """An argument of `fwd` under `symbolic_zeros=True`: its `value`, and whether it is `perturbed`, that is, whether
    its cotangent is needed.

    >>> @fx.custom_vjp
    ... def product(x, y):
    ...     return x * y
    >>> def forward(x, y):
    ...     print(x.perturbed, y.perturbed)
    ...     return x.value * y.value, (x.value, y.value)
    >>> product.defvjp(forward, lambda kept, ct: (ct * kept[1], ct * kept[0]), symbolic_zeros=True)
    >>> print(fx.grad(product)(2.0, 3.0))
    True False
    3.0
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return a pytree of `CustomVJPPrimal`s as the pytree of their values.

    >>> from fxgrad.custom_derivatives import CustomVJPPrimal, custom_vjp_primal_tree_values
    >>> custom_vjp_primal_tree_values({"a": CustomVJPPrimal(1.0, True)})
    {'a': 1.0}
    """
    return pytree.map(lambda leaf: leaf.value if type(leaf) is CustomVJPPrimal else leaf, tree)


def zero_from_primal(value: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangent of a value: a `SymbolicZero` if `symbolic_zeros`, and else an array.

    >>> fx.custom_derivatives.zero_from_primal(np.ones(2))
    array([0., 0.])
    """
    return symbolic_zero(value) if symbolic_zeros else zero_tangent(value)


def symbolic_zero(value: Any) -> SymbolicZero:
    """Return the zero tangent or cotangent of a value, without data."""
    aval = aval_of(value)
    return SymbolicZero(Aval(aval.shape, tangent_dtype(aval.dtype)))


def with_symbolic_zeros(parts: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return tangents or cotangents of values with symbolic zeros in the place of those that are None."""
    return [symbolic_zero(v) if p is None else p for p, v in zip(parts, values)]
