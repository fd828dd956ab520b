"""Functions of `jax.numpy` whose derivatives at kinks are not those of `fxgrad.numpy`.

Of the same values, each has JAX's slope: |x|′ = 1 at 0, the second of two operands that tie has the derivative of
`fmax` and `fmin`, a root of 0 has an infinite one, and an infinity beside another the slope 1 or NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.primitive import Primitive, register
from ...ops.kinds import Elementwise
from ...ops.masked import Masked
from .arrays import Array
from .keywords import in_order
from .lifting import lift

__all__ = ["abs", "absolute", "fabs", "fmax", "fmin", "logaddexp", "logaddexp2", "nanstd", "std"]

PRIMITIVES: dict[str, Primitive] = {}


def declare(function: Any, *partials: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of arrays with the values of a primitive's, and derivatives by rules as those of `ops`."""
    own = function.primitive
    primitive = register(Elementwise(own.name, own.make_kernel, partials, finite=own.finite), PRIMITIVES)
    primitive.computes, primitive.call.__module__ = own.name, function.__module__
    return lift(primitive.call)


def slope_of_modulus(t: Any, y: Any, x: Any) -> Any:
    """Return ±t, which is t at 0."""
    return ops.where(ops.greater_equal(x, 0), t, ops.negative(t))


def slope_of_absolute(t: Any, y: Any, x: Any) -> Any:
    """Return ±t, of complex numbers t·x̄/|x|."""
    is_complex = fnp.iscomplexobj(x)
    return t * ops.conjugate(ops.unit_vector(x, y)) if is_complex else slope_of_modulus(t, y, x)


abs = absolute = declare(fnp.absolute, slope_of_absolute)
fabs = declare(fnp.fabs, slope_of_modulus)
Array.__abs__ = absolute  # type: ignore[attr-defined]


def declare_choice(function: Any, is_beyond: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Declare a choice of the first operand where it is beyond the second or this is NaN, or else of the second."""

    def is_first(a: Any, b: Any) -> Any:
        return ops.logical_or(is_beyond(a, b), ops.isnan(b))

    return declare(
        function,
        lambda t, y, a, b: Masked(t, is_first(a, b)),
        lambda t, y, a, b: Masked(t, ops.logical_not(is_first(a, b))),
    )


fmax, fmin = declare_choice(fnp.fmax, ops.greater), declare_choice(fnp.fmin, ops.less)


def declare_sum(function: Any, power: Callable[[Any], Any]) -> Callable[..., Any]:
    """Declare the logarithm of a sum of powers, whose slopes are quotients of powers. Where a logarithm is +∞ it counts
    as 0."""

    def finite(x: Any) -> Any:
        return ops.where(ops.equal(x, np.inf), 0.0, x)

    return declare(
        function,
        lambda t, y, a, b: t * power(finite(a) - finite(y)),
        lambda t, y, a, b: t * power(finite(b) - finite(y)),
    )


logaddexp, logaddexp2 = declare_sum(fnp.logaddexp, ops.exp), declare_sum(fnp.logaddexp2, ops.exp2)


@lift
def clamp(min: Any, x: Any, max: Any) -> Any:
    """Return x, or a limit where it is beyond; a limit that it equals has the derivative 0, as x itself."""
    raised = fnp.where(x < min, min, ops.stop_gradient(x))
    return fnp.where((x > min) & (x < max), x, fnp.where(raised > max, max, raised))


def root_of(variance: Any) -> Callable[..., Any]:
    """Return the standard deviation as the root of a variance, whose slope is infinite where that is 0."""
    lifted, root = in_order(lift(variance)), lift(fnp.sqrt)

    @wraps(variance)
    def deviation(*args: Any, **options: Any) -> Any:
        return root(lifted(*args, **options))

    return deviation


std, nanstd = root_of(fnp.var), root_of(fnp.nanvar)
Array.std = std  # type: ignore[attr-defined]
