"""The declaration of special functions: from the partial derivatives follow the function of the namespace, its
primitive, the sentences about derivatives in its docstring, and the behaviour of SciPy's ufunc on traced values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, TypeVar

import numpy as np

from ... import numpy as fnp
from ...extend import (
    CURRENT,
    PLAIN,
    NotDifferentiableError,
    aval_of,
    call_on_values,
    first_object,
    insert_before_example,
    jvp,
    kind_of,
    ops,
)
from ...numpy.documentation import describe

F = TypeVar("F", bound="Callable[..., Any]")

# What stands in the place of a partial derivative that has no closed form.
REFUSED = "no closed form"


def slope(f: Callable[..., Any], xs: Sequence[Any], i: int) -> Any:
    """The partial derivative of an elementwise function with respect to its operand i."""

    def of_one(x: Any) -> Any:
        return f(*xs[:i], x, *xs[i + 1 :])

    return jvp(of_one, (xs[i],), (fnp.ones_like(xs[i]),))[1]


def partial_of_formula(formula: Callable[..., Any], i: int) -> Callable[..., Any]:
    """Return the rule of operand i for a function that equals a formula of others."""
    return lambda t, y, *xs: t * slope(formula, xs, i)


def partial_of_solution(equation: Callable[..., Any], i: int) -> Callable[..., Any]:
    """Return the rule of operand i for the y with equation(y, *operands) = 0, by the implicit function theorem; 0 where
    y does not solve the equation, but is an end of where it was looked for."""

    def partial(t: Any, y: Any, *xs: Any) -> Any:
        excess, slope_y = jvp(lambda y: equation(y, *xs), (y,), (fnp.ones_like(y),))
        step = ops.stop_gradient(ops.absolute(excess / slope_y))  # of Newton's method
        stuck = ops.logical_and(ops.isnan(step), ops.greater(ops.absolute(excess), 1e-6))
        is_end = ops.logical_or(stuck, ops.greater(step, 1e-6 * ops.absolute(ops.stop_gradient(y)) + 1e-12))
        return t * ops.where(is_end, 0.0, ops.negative(slope(equation, (y, *xs), i + 1) / slope_y))

    return partial


def refusal(name: str, operand: str) -> Callable[..., Any]:
    """Return the rule of an operand in which no closed form of the derivative is known."""

    def refuse(t: Any, y: Any, *xs: Any) -> Any:
        raise NotDifferentiableError(
            f"scipy.special.{name}: no closed form of the derivative with respect to {operand} is known",
            hint=f"fx.stop_gradient({operand}) holds it fixed; an integer carries no derivative",
        )

    return refuse


def is_complex(x: Any) -> bool:
    return kind_of(aval_of(x).dtype) == "c"


def operand_names(body: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters of a declaration."""
    code: Any = body.__code__  # type: ignore[attr-defined]
    return code.co_varnames[: code.co_argcount]


def make_rules(
    name: str, names: Sequence[str], partials: Sequence[Any], formula: Any, equation: Any, native: Any = None
) -> list[Any]:
    """Return one rule for each operand of a declaration."""
    if formula is not None:
        rules = [partial_of_formula(formula, i) for i in range(len(names))]
    elif equation is not None:
        rules = [partial_of_solution(equation, i) for i in range(len(names))]
    elif native is not None and not partials:
        rules = list(getattr(ops, native).primitive.partials)
    else:
        rules = list(partials)
    for i, rule in enumerate(partials):
        if rule is REFUSED:
            rules[i] = refusal(name, names[i])
        elif rule is not ...:
            rules[i] = rule
    return rules


def special(
    *partials: Any,
    formula: Callable[..., Any] | None = None,
    equation: Callable[..., Any] | None = None,
    native: str | None = None,
    params: dict[str, Any] | None = None,
    at: tuple = (),
    source: str = "",
) -> Callable[[F], F]:
    """Declare an elementwise function of SciPy's; what is decorated says its name, operands and documentation.

    Args:
        partials: for each operand the rule (t, y, *operands) → t·∂y/∂operand; None for steps, `REFUSED`, or
            `...` for that of the formula or the equation.
        formula: the function in terms of others, for its derivatives.
        equation: (y, *operands) → what is 0.
        native: the primitive, with `params`, by which machine code knows it; its rules serve where none is given.
        at: a point in the domain, for the example and the tests.
        source: where the formulas are from, unless the docstring names it.
    """

    def declare(body: F) -> F:
        name, names = body.__name__, operand_names(body)
        rules = make_rules(name, names, partials, formula, equation, native)
        kernel = ops.library_kernel(name, native=native, **(params or {}))
        call = ops.library_function(f"scipy_{name}", kernel, rules, computes="" if params else native or "")
        vars(update_wrapper(call, body)).pop("__signature__", None)  # the body has one
        return document(call, names, without_rule(names, partials), at, source)  # type: ignore[return-value]

    return declare


def without_rule(names: Sequence[str], partials: Sequence[Any]) -> tuple[str, ...]:
    """The names of the operands in which no closed form of the derivative is known."""
    return tuple([name for name, rule in zip(names, partials) if rule is REFUSED])


def document(
    function: Any, names: tuple[str, ...], fixed: tuple[str, ...], at: tuple, source: str = ""
) -> Any:
    """Complete the documentation of a function: its source, its namesake, operands that are held fixed, and an example,
    which is a test too."""
    function.at, function.fixed = at, fixed
    if function.__doc__ is None:  # python -OO
        return function
    name = f"scipy.special.{function.__name__}"
    text: Any = insert_before_example(function.__doc__, f"Source: {source}.") if source else function.__doc__
    text = describe(text, name, ", ".join(names), "")
    if fixed:
        held = " and ".join(fixed)
        said = f"The derivative with respect to {held} is refused: no closed form is known."
        text = insert_before_example(text, said)
    if at:
        point = ", ".join(map(repr, at))
        comma = "," if len(at) == 1 else ""
        call = f"fx.testing.check_grads(fx.scipy.special.{function.__name__}, ({point}{comma}), order=1)"
        text = insert_before_example(text, f">>> import fxgrad as fx\n>>> {call}")
    function.__doc__ = text
    return function


def result_of(
    name: str, output: int | None, *partials: Any, operands: str = "", variant: str = ""
) -> Callable[..., Any]:
    """Declare what a function of SciPy's gives, or one of its results, as a primitive for functions written in terms of
    it. `operands` are their names, where some have no rule; two that call the same function are told apart by a
    `variant`."""
    label = "_".join([name, *filter(None, [variant, "" if output is None else str(output)])])
    rules = make_rules(name, operands.split(), partials, None, None)
    call: Any = ops.library_function(f"scipy_{label}", ops.library_kernel(name, output), rules)
    call.fixed = without_rule(operands.split(), partials)
    return call


def tuple_of(*results: Any, at: tuple = (), source: str = "") -> Callable[[F], F]:
    """Declare a function of SciPy's whose results are these; `source` as of `special`."""

    def declare(body: F) -> F:
        kernel = ops.library_kernel(body.__name__)(np)

        def call(*operands: Any) -> tuple[Any, ...]:
            if all(type(x) in PLAIN for x in operands) and not CURRENT.get().observer:
                return kernel(*operands)
            held = first_object(operands)
            if held is not None:
                return call_on_values(held, call, operands, {})
            return tuple([result(*operands) for result in results])

        return document(update_wrapper(call, body), operand_names(body), results[0].fixed, at, source)

    return declare
