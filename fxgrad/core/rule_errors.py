"""Errors about derivatives: rules that are missing, wrong, or cannot be checked."""

from __future__ import annotations

from .message import FxgradError


class NotLinearError(FxgradError, ValueError, TypeError):
    """The transpose of a function that is not linear.

    It comes from `linear_transpose` of a function that is not linear in its arguments, adds a constant, or goes round a
    loop as often as a traced number says; and from rules of your own that must be linear: the tangent rule of a
    `custom_jvp` in the tangents, the backward rule of a `custom_vjp` in the cotangent.

    >>> fx.linear_transpose(fnp.sin, 1.0)(1.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.rule_errors.NotLinearError: sin is not linear in its traced operand
      at:  ...
      try: fx.vjp(f, x), which linearizes a function first
      see: errors/NotLinearError, or help(fx.NotLinearError)

    Linearize it first, which `vjp` does:

    >>> value, pullback = fx.vjp(fnp.sin, 0.0)
    >>> print(*pullback(1.0))
    1.0
    """


class NotDifferentiableError(FxgradError, TypeError, ValueError):
    """A derivative for which there is no rule.

    It comes from

    - forward mode through a `custom_vjp` whose backward rule is not linear, so that it has no transpose,
    - reverse mode through a `while_loop`: how much is to be kept for the way back is not known,
    - `pure_callback`, whose function is not seen,
    - special functions by an operand for which no closed form is known, such as the order of a Bessel function,
    - parts of results that are arbitrary, such as the columns that complete Q in `qr`.

    >>> @fx.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda residuals, ct: (fnp.clip(ct, -1, 1),))
    >>> print(fx.grad(lambda x: 5 * clipped(x))(1.0))
    1.0
    >>> fx.jvp(clipped, (1.0,), (1.0,))
    Traceback (most recent call last):
        ...
    fxgrad.core.rule_errors.NotDifferentiableError: forward mode through a custom_vjp function clipped, ...
      in:  level 1: jvp at ...
      at:  ...
      try: give it a rule for forward mode (fx.custom_jvp), which serves both modes
      see: errors/NotDifferentiableError, or help(fx.NotDifferentiableError)

    A `custom_jvp` serves both modes: reverse mode is derived from its rule.

    >>> @fx.custom_jvp
    ... def twice(x):
    ...     return 2 * x
    >>> twice.defjvps(lambda tangent, result, x: 2 * tangent)
    >>> print(fx.grad(twice)(1.0), *fx.jvp(twice, (1.0,), (1.0,)))
    2.0 2.0 2.0
    """


class CheckError(FxgradError, AssertionError):
    """A derivative that disagrees with the numerical one, or a `vmap` that disagrees with the loop.

    It is raised by `check=True` of `grad` and its like, by `fx.custom` at the first call, and by `fxgrad.testing`. The
    usual reasons: a rule of your own with a wrong factor, a `stop_gradient` too many, and numbers that left the trace
    through a plain array or an attribute.

    >>> @fx.custom_jvp
    ... def square(x):
    ...     return x * x
    >>> square.defjvps(lambda tangent, result, x: x * tangent)
    >>> fx.grad(square, check=True)(3.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.rule_errors.CheckError: grad of square: the derivative along a direction is computed as ...
      at:  ...
      try: look for a rule of your own (custom_jvp, custom_vjp), a stop_gradient, and ...
      see: errors/CheckError, or help(fx.CheckError)

    The factor 2 was missing:

    >>> square.defjvps(lambda tangent, result, x: 2 * x * tangent)
    >>> print(fx.grad(square, check=True)(3.0))
    6.0
    """


class NotCheckableError(CheckError):
    """A derivative that cannot be compared with a numerical one at this point.

    The point may be a kink, or the function is noisy (random numbers that are new in each call, single precision), or
    changes too fast. The derivative may be right.

    >>> ramp = fx.grad(lambda x: fnp.where(x > 0, x, 0.0), check=True)
    >>> ramp(0.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.rule_errors.NotCheckableError: grad of f: not checkable: kink or noise at this point: ...
      at:  ...
      try: check at a generic point, without random numbers in the function, in double precision
      see: errors/NotCheckableError, or help(fx.NotCheckableError)

    >>> print(ramp(0.1))
    1.0
    """


class CustomRuleError(FxgradError, TypeError, ValueError):
    """A custom rule that is missing, or that returns a wrong result.

    A rule must return what its kind says: the backward rule of a `custom_vjp` a tuple with one cotangent for each
    argument, of that argument's shape; the forward rule a pair (result, residuals); the rule of a `custom_jvp` a pair
    (result, tangent) of equal structure. The rule of a function must not need what the function closes over: what is
    differentiated is an argument.

    >>> @fx.custom_vjp
    ... def product(x, y):
    ...     return x * y
    >>> product.defvjp(lambda x, y: (x * y, (x, y)), lambda residuals, ct: ct * residuals[1])
    >>> fx.grad(product)(2.0, 3.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.rule_errors.CustomRuleError: the bwd rule of product must return a tuple of 2 cotangents, one for
    each argument, not a float64
      at:  ...
      see: errors/CustomRuleError, or help(fx.CustomRuleError)

    The product has two arguments, so its rule returns two cotangents:

    >>> product.defvjp(
    ...     lambda x, y: (x * y, (x, y)), lambda residuals, ct: (ct * residuals[1], ct * residuals[0])
    ... )
    >>> print(fx.grad(product)(2.0, 3.0))
    3.0
    """
