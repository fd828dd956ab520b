"""`jet`: propagation of Taylor polynomials through a function (Taylor mode).

A tracer holds the known coefficients of x(t) = x₀ + x₁t + x₂t² + …. A linear operation is applied to each coefficient,
a bilinear one convolves them, and the most frequent functions have recurrences of quadratic cost. All others follow
from the first derivative that a primitive declares: y′ = ∂f(x)·x′ is evaluated on polynomials of one degree less, and
integrated. So every primitive has coefficients of every order, also one with a user-defined rule.

A. Griewank and A. Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree, source_info
from ..core.aval import aval_of, is_differentiable
from ..core.errors import StructureError
from ..core.interpreter import CURRENT, Context, Interpreter, PrimalTracer, api_boundary, opened, use_context
from ..ops.kinds import Bilinear, Elementwise, General, Linear
from ..ops.masked import densify
from ..ops.projection import promote_tangent
from .arguments import admit_arguments, admit_tangents, as_cotangent, unshare_results, zero_tangent
from .flat_function import FlatFunction


class JetTracer(PrimalTracer):
    """A Taylor polynomial: the `primal` is x₀, `terms` are x₁, x₂, … (None: zero), as far as they are known."""

    __slots__ = ("terms",)

    def __init__(self, interpreter: JetInterpreter, primal: Any, terms: Sequence[Any]):
        self.interpreter, self.primal, self.terms = interpreter, primal, list(terms)

    is_differentiated = True

    def contents(self) -> tuple:
        return self.primal, *self.terms


class JetInterpreter(Interpreter):
    """Taylor mode: it pushes the coefficients of polynomials."""

    name = "jet"
    __slots__ = ()

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        traced = [type(a) is JetTracer and a.interpreter is self for a in args]
        if not any(traced):
            return self.bind_outer(primitive, args, params)
        primals = [a.primal if t else a for a, t in zip(args, traced)]
        order = min([len(a.terms) for a, t in zip(args, traced) if t])
        series = [a.terms[:order] if t and is_moving(a, order) else None for a, t in zip(args, traced)]
        inner = CURRENT.get()
        with use_context(self.outer):
            ys, terms = self.expand(primitive, primals, series, order, params, inner)
        results = [
            JetTracer(self, y, ts) if is_differentiable(aval_of(y).dtype) else y for y, ts in zip(ys, terms)
        ]
        return results if primitive.multiple_results else results[0]

    def expand(
        self,
        primitive: Any,
        primals: Sequence[Any],
        series: Sequence[Any],
        order: int,
        params: dict,
        inner: Context,
    ) -> tuple[Sequence[Any], Sequence[Sequence[Any]]]:
        """Return the results, and for each the coefficients of orders 1 to `order`. `inner` is the Context in which
        polynomials are values."""
        moving = [i for i, s in enumerate(series) if s is not None]
        push = declared_derivative(primitive, params)
        if push is None and moving:
            return self.differentiate(primitive, primals, series, order, params, inner)
        y = primitive.call(*primals, **params)
        ys = y if primitive.multiple_results else [y]
        if push is None or not moving:
            return ys, [[None] * order for _ in ys]
        with np.errstate(all="ignore"):  # as in other derivatives
            if is_linear(primitive, moving):
                return ys, [[push(ys, primals, column)[0] for column in columns_of(series, order)]]
            recurrence = RECURRENCES.get(primitive.name)
            if recurrence is not None:
                return ys, [fit(recurrence(y, *zip(primals, series)), y)]
            if is_product(primitive):
                return ys, [fit(multiply_series(primitive, primals, series, order, params), y)]
            return ys, self.integrate(push, ys, primals, series, order, inner)

    def integrate(
        self,
        push: Callable[..., Any],
        ys: Sequence[Any],
        primals: Sequence[Any],
        series: Sequence[Any],
        order: int,
        inner: Context,
    ) -> list[list[Any]]:
        """Integrate y′ = ∂f(x, y)·x′. At first x is given as far as it is known, of y the value only: if the derivative
        does not read y, all coefficients come out. Else they are found one after another, each from those before it."""
        found: list[list[Any]] = [[] for _ in ys]
        known, degree = 0, order - 1
        while known < order:
            given = [JetTracer(self, y, terms) for y, terms in zip(ys, found)]
            with use_context(inner):
                rates = push(given, *self.polynomials(primals, series, degree))
            taken = [self.coefficients(r, order) for r in rates]
            known = min(map(len, taken))
            found = [integrate_terms(t[:known], y) for t, y in zip(taken, ys)]
            degree = known
        return found

    def differentiate(
        self,
        primitive: Any,
        primals: Sequence[Any],
        series: Sequence[Any],
        order: int,
        params: dict,
        inner: Context,
    ) -> tuple[list[Any], list[list[Any]]]:
        """Integrate the tangents that a primitive itself makes of polynomials of one degree less."""
        with use_context(inner):
            values, rates = primitive.jvp(*self.polynomials(primals, series, order - 1), params)
        if not primitive.multiple_results:
            values, rates = [values], [rates]
        ys = [v.primal if self.owns(v) else v for v in values]
        return ys, [integrate_terms(self.coefficients(r, order), y) for r, y in zip(rates, ys)]

    def polynomials(
        self, primals: Sequence[Any], series: Sequence[Any], degree: int
    ) -> tuple[list[Any], list[Any]]:
        """Return operands as polynomials of this degree, and their derivatives (None: zero)."""
        operands, rates = [], []
        for primal, terms in zip(primals, series):
            if terms is None:
                operands.append(primal)
                rates.append(None)
                continue
            first = zero_tangent(primal) if terms[0] is None else terms[0]
            higher = [scale(c, k) for k, c in enumerate(terms[1 : degree + 1], 2)]
            operands.append(JetTracer(self, primal, terms[:degree]))
            rates.append(JetTracer(self, first, higher))
        return operands, rates

    def owns(self, value: Any) -> bool:
        return type(value) is JetTracer and value.interpreter is self

    def coefficients(self, value: Any, count: int) -> list[Any]:
        """Return the coefficients of a tangent, from the constant one on, as far as they are known."""
        value = None if value is None else densify(value)
        if self.owns(value):
            return [value.primal, *value.terms][:count]
        return [value, *[None] * (count - 1)]


def is_moving(tracer: JetTracer, order: int) -> bool:
    """Whether a polynomial is not constant."""
    return any(c is not None for c in tracer.terms[:order])


def columns_of(series: Sequence[Any], order: int) -> list[list[Any]]:
    """Return the coefficients of all operands by their order."""
    return [[None if s is None else s[k] for s in series] for k in range(order)]


def scale(term: Any, factor: float) -> Any:
    """Return a multiple of a coefficient."""
    return None if term is None else ops.multiply(term, factor)


def integrate_terms(rates: Sequence[Any], y: Any) -> list[Any]:
    """Return the coefficients of y from those of its derivative."""
    if not is_differentiable(aval_of(y).dtype):
        return [None] * len(rates)
    with np.errstate(all="ignore"):
        return fit([scale(c, 1 / k) for k, c in enumerate(rates, 1)], y)


def fit(terms: Sequence[Any], y: Any) -> list[Any]:
    """Give coefficients the shape and dtype of the value."""
    aval = aval_of(y)
    return [None if c is None else promote_tangent(c, aval) for c in terms]


# -- what primitives declare ------------------------------
def declared_derivative(primitive: Any, params: dict) -> Callable[..., list[Any]] | None:
    """Return the derivative (ys, operands, tangents) → tangents of the results, None where there is no declaration that
    reads the results instead of computing them again."""
    jvp = type(primitive).jvp
    if jvp is Elementwise.jvp:

        def push(ys: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
            if not is_differentiable(aval_of(ys[0]).dtype):
                return [None]
            total = None
            for rule, t in zip(primitive.partials, tangents):
                if t is not None and rule is not None:
                    term = densify(rule(t, ys[0], *primals, **params))
                    total = term if total is None else ops.add(total, term)
            return [None if total is None else promote_tangent(total, aval_of(ys[0]))]

    elif jvp is Linear.jvp:

        def push(ys: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
            count = len(primals) if primitive.count is None else primitive.count
            if all(t is None for t in tangents[:count]):
                return [None]
            filled = [ops.zeros_like(p) if t is None else t for p, t in zip(primals[:count], tangents)]
            return [primitive.call(*filled, *primals[count:], **params)]

    elif jvp is Bilinear.jvp:

        def push(ys: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
            (a, b), (da, db) = primals, tangents
            terms = [] if da is None else [primitive.call(da, b, **params)]
            terms += [] if db is None else [primitive.call(a, db, **params)]
            return [total(terms)]

    elif jvp is General.jvp:

        def push(ys: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
            none = [None] * len(ys)
            if primitive.tangent_rule is None or all(t is None for t in tangents):
                return none
            if primitive.multiple_results:
                return list(primitive.tangent_rule(ys, primals, tangents, params))
            if not is_differentiable(aval_of(ys[0]).dtype):
                return none
            return [primitive.tangent_rule(ys[0], primals, tangents, params)]

    else:
        return None
    return push


def is_linear(primitive: Any, moving: Sequence[int]) -> bool:
    """Whether a primitive is linear in these operands jointly."""
    if isinstance(primitive, Linear):
        return primitive.count is None or max(moving) < primitive.count
    if isinstance(primitive, Bilinear):
        return len(moving) == 1
    if isinstance(primitive, Elementwise):
        return primitive.linear.issuperset(moving) and (primitive.jointly or len(moving) == 1)
    return False


def is_product(primitive: Any) -> bool:
    """Whether a primitive is linear in each of its two operands."""
    if isinstance(primitive, Elementwise):
        return primitive.linear == {0, 1} and not primitive.jointly and len(primitive.partials) == 2
    return isinstance(primitive, Bilinear)


# -- recurrences ------------------------------------------
def total(terms: Sequence[Any]) -> Any:
    """Return the sum of the terms that are not None."""
    result = None
    for t in terms:
        if t is not None:
            result = t if result is None else ops.add(result, t)
    return result


def multiply_terms(a: Any, b: Any, factor: float = 1) -> Any:
    """Return the product of two coefficients and a number, None where one is zero."""
    if a is None or b is None:
        return None
    return ops.multiply(ops.multiply(a, factor) if factor != 1 else a, b)


def subtract_terms(a: Any, b: Any) -> Any:
    """Return the difference of two coefficients."""
    if b is None:
        return a
    return ops.negative(b) if a is None else ops.subtract(a, b)


def multiply_series(
    primitive: Any, primals: Sequence[Any], series: Sequence[Any], order: int, params: dict
) -> list[Any]:
    """Leibniz: the coefficients of a product are convolutions."""
    a, b = ([p, *(s or [None] * order)] for p, s in zip(primals, series))
    return [
        total(
            [
                None if a[i] is None or b[k - i] is None else primitive.call(a[i], b[k - i], **params)
                for i in range(k + 1)
            ]
        )
        for k in range(1, order + 1)
    ]


def exp_series(y: Any, operand: tuple) -> list[Any]:
    """y′ = y·x′."""
    x, ys = [operand[0], *operand[1]], [y]
    for k in range(1, len(x)):
        ys.append(total([multiply_terms(x[j], ys[k - j], j / k) for j in range(1, k + 1)]))
    return ys[1:]


def log_series(y: Any, operand: tuple) -> list[Any]:
    """x·y′ = x′."""
    x, ys = [operand[0], *operand[1]], [y]
    for k in range(1, len(x)):
        rest = subtract_terms(x[k], total([multiply_terms(ys[j], x[k - j], j / k) for j in range(1, k)]))
        ys.append(None if rest is None else ops.divide(rest, x[0]))
    return ys[1:]


def sine_and_cosine(x: Sequence[Any], s: Any, c: Any) -> tuple[list[Any], list[Any]]:
    """s′ = c·x′ and c′ = −s·x′."""
    sines, cosines = [s], [c]
    for k in range(1, len(x)):
        sines.append(total([multiply_terms(x[j], cosines[k - j], j / k) for j in range(1, k + 1)]))
        cosines.append(total([multiply_terms(x[j], sines[k - j], -j / k) for j in range(1, k + 1)]))
    return sines[1:], cosines[1:]


def sin_series(y: Any, operand: tuple) -> list[Any]:
    x, terms = operand
    return sine_and_cosine([x, *terms], y, ops.cos(x))[0]


def cos_series(y: Any, operand: tuple) -> list[Any]:
    x, terms = operand
    return sine_and_cosine([x, *terms], ops.sin(x), y)[1]


def sqrt_series(y: Any, operand: tuple) -> list[Any]:
    """y² = x."""
    ys = [y]
    for k, x in enumerate(operand[1], 1):
        rest = subtract_terms(x, total([multiply_terms(ys[j], ys[k - j]) for j in range(1, k)]))
        ys.append(None if rest is None else ops.divide(rest, ops.multiply(y, 2)))
    return ys[1:]


def divide_series(y: Any, dividend: tuple, divisor: tuple) -> list[Any]:
    """y·b = a."""
    order = len(dividend[1] or divisor[1])
    a, b = ([p, *(s or [None] * order)] for p, s in (dividend, divisor))
    ys = [y]
    for k in range(1, order + 1):
        rest = subtract_terms(a[k], total([multiply_terms(b[j], ys[k - j]) for j in range(1, k + 1)]))
        ys.append(None if rest is None else ops.divide(rest, b[0]))
    return ys[1:]


RECURRENCES: dict[str, Callable[..., list[Any]]] = {
    "exp": exp_series,
    "log": log_series,
    "sin": sin_series,
    "cos": cos_series,
    "sqrt": sqrt_series,
    "divide": divide_series,
}


@api_boundary
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Any],
    factorial_scaled: bool = True,
) -> tuple[Any, Any]:
    """The derivatives of `fun` along a curve, of all orders up to a given one: Taylor mode. One pass costs what
    multiplying polynomials costs, where nested `jvp`s cost twice as much for each order.

    Args:
        fun: a function of pytrees of arrays.
        primals: tuple or list of its arguments: the point x(0) of the curve.
        series: for each argument the derivatives x′(0), x″(0), … of the curve, as many for all, each like the argument.
        factorial_scaled: terms are derivatives; if False, Taylor coefficients: the k-th derivatives over k!.

    Returns:
        (value, terms): the value of `fun` at the point, and the terms of the curve t ↦ fun(x(t)), a list of them for
        each leaf of the value.

    Raises:
        StructureError, ShapeError, DTypeError: the series do not fit the primals.

    >>> y, (first, second) = fx.jet(fnp.exp, (0.0,), ((1.0, 0.0),))
    >>> float(y), float(first), float(second)
    (1.0, 1.0, 1.0)

    Griewank and Walther, "Evaluating Derivatives" (2008), chapter 13.
    """
    site = source_info.user_frame()
    if not isinstance(primals, tuple | list) or not isinstance(series, tuple | list):
        raise StructureError(
            f"jet: primals and series must be tuples or lists, not {type(primals).__name__} and "
            f"{type(series).__name__}",
            hint="fx.jet(f, (x,), ((first, second),))",
        )
    orders = {len(terms) for terms in series}
    if len(series) != len(primals) or len(orders) > 1:
        raise StructureError(
            f"jet: {len(primals)} primals, and series of lengths {[len(terms) for terms in series]}; expected one of "
            "the same length for each",
            hint="fx.jet(f, (x, y), ((x1, x2), (y1, y2))), a series for each argument",
        )
    (order,) = orders or {0}
    values, structure = pytree.flatten(tuple(primals))
    values = admit_arguments("jet", values, structure)
    moving = [is_differentiable(aval_of(v).dtype) for v in values]
    columns = []  # the coefficients of all values, order by order
    for k in range(order):
        given, found = pytree.flatten(tuple([terms[k] for terms in series]))
        if len(given) == len(values):  # whatever stands in the series of integers
            given = [t if m else zero_tangent(v) for t, v, m in zip(given, values, moving)]
        given = admit_tangents("jet", "series", values, structure, given, found)
        weight = 1 / factorial(k + 1) if factorial_scaled else 1
        columns.append(
            [
                scale(as_cotangent(t, aval_of(v)), weight) if m else None
                for t, v, m in zip(given, values, moving)
            ]
        )
    flat = FlatFunction(fun, structure, "jet")
    interpreter = JetInterpreter(site)
    tracers = [
        JetTracer(interpreter, v, [column[i] for column in columns]) if m else v
        for i, (v, m) in enumerate(zip(values, moving))
    ]
    with opened(interpreter):
        results = flat(*tracers)
    ys, terms = [], []
    for r in results:
        own = interpreter.owns(r)
        y = r.primal if own else r
        ys.append(y.copy() if type(y) is np.ndarray else y)
        found = r.terms if own else [None] * order
        terms.append([
            zero_tangent(y) if c is None else scale(c, factorial(k)) if factorial_scaled else c
            for k, c in enumerate(found, 1)
        ])  # fmt: skip
    released = unshare_results([*ys, *[c for line in terms for c in line]], values)
    rest = iter(released[len(ys) :])
    lines = [[next(rest) for _ in line] for line in terms]
    structure = flat.out_structure
    return pytree.unflatten(structure, released[: len(ys)]), pytree.unflatten(structure, lines)
