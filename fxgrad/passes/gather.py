"""Gathering of coefficients: a large operand that is scaled, selected and added to itself by factors that are
constant along an axis is multiplied once, by a coefficient computed from small arrays.

    where(c, -t, 0) + where(c, 0, t) * a / b        becomes        t * (where(c, -1, 0) + where(c, 0, 1) * a / b)

Derivatives produce such chains: the tangents of a Hessian, one for each coordinate, all pass through the same
diagonal factors.

A product of factors may overflow or vanish where the chain does not: t·a·b with t = 1e30, a = b = 1e-25 in float32.
So the code looks at the factors when it runs, and evaluates the chain as written unless they are of moderate size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.aval import Aval
from ..core.costs import COEFFICIENT_RATIO, LOOKING_PASSES, SCANNED_ENTRIES
from ..core.graph import Equation, Graph, Literal, Var
from .draft import Draft, is_ours, is_zero
from .gathered import GATHERED


class Form(NamedTuple):
    """What a variable is: `root` times a coefficient inside `support`, and exactly 0 outside.

    `make(draft, equation)` makes the coefficient, of the shape `shape`. `support` has (condition, whether it holds)
    pairs, of which all hold; several sets of them are alternatives, and an empty set is everywhere. `places` are the
    numbers of the equations that the form stands for, `factors` what the coefficient is made of, with whether it
    divides.
    """

    root: Any
    make: Callable[[Draft, Equation], Any]
    shape: tuple[int, ...]
    support: frozenset[frozenset[tuple[Any, bool]]]
    places: frozenset[int]
    factors: tuple[tuple[Any, bool], ...] = ()


EVERYWHERE = frozenset({frozenset()})


def joined(*parts: tuple) -> tuple:
    """Return the members of some tuples, each once."""
    return tuple(dict.fromkeys(member for part in parts for member in part))


def gather_coefficients(graph: Graph) -> Graph:
    """Gather the coefficients of chains on big operands, where that saves passes over them.

    The same to rounding: no product of the factors overflows or vanishes. Entries that a selection discards are 0
    whatever the operand holds there.

    >>> graph = fx.make_graph(lambda t, a, b: -(t * a / b) * a)(np.ones((50, 100)), np.ones(100), np.ones(100))
    >>> gathered = gather_coefficients(graph).equations[-1]
    >>> gathered.primitive.name, [e.outputs[0].aval for e in gathered.params["short"].equations]
    ('gathered', [f64[50,100]])
    """
    if not any(worth_a_look(v.aval) for e in graph.equations if e.primitive.entrywise for v in e.outputs):
        return graph
    forms = find_forms(graph)
    ends = find_ends(graph, forms)
    if not ends:
        return graph
    draft = Draft(graph)
    draft.changed = True
    for equation in graph.equations:
        equation = draft.carry(equation)
        form = ends.get(equation.outputs[0]) if len(equation.outputs) == 1 else None
        if form is None:
            draft.append(equation)
        else:
            draft.replaced[equation.outputs[0]] = apply_form(form, equation, draft)
    return draft.finish()


def worth_a_look(aval: Aval) -> bool:
    return aval.size >= SCANNED_ENTRIES and aval.dtype.kind == "f" and np.finfo(aval.dtype).bits > 16


def find_forms(graph: Graph) -> dict[Any, Form]:
    """Return the forms of variables that are a root times a coefficient."""
    forms: dict[Any, Form] = {}
    for place, e in enumerate(graph.equations):
        rule = RULES.get(e.primitive.name)
        if rule is not None and is_ours(e) and worth_a_look(e.outputs[0].aval):
            form = rule(e, place, forms)
            if (
                form is not None
                and COEFFICIENT_RATIO * np.prod(form.shape, dtype=int) <= e.outputs[0].aval.size
            ):
                forms[e.outputs[0]] = form
    return forms


def find_ends(graph: Graph, forms: dict[Any, Form]) -> dict[Any, Form]:
    """Return the forms of the variables at the end of a chain whose coefficient is worth to be gathered."""
    readers: dict[Any, set[int]] = {a: {-1} for a in graph.outputs if a in forms}
    for place, e in enumerate(graph.equations):
        for a in e.inputs:
            if a in forms:
                readers.setdefault(a, set()).add(place)
    inner: set[int] = set()
    ends = {}
    for place in range(len(graph.equations) - 1, -1, -1):
        e = graph.equations[place]
        out = e.outputs[0] if len(e.outputs) == 1 else None
        form = forms.get(out)
        if form is None or place in inner or is_number(form):
            continue
        done = [p for p in form.places if readers.get(graph.equations[p].outputs[0], set()) <= form.places]
        saved = len({*done, place}) - 1 - (form.support != EVERYWHERE)
        if saved > (LOOKING_PASSES if form.factors else 0):
            ends[out] = form
            inner.update(done)
    return ends


def is_number(form: Form) -> bool:
    """Whether a coefficient is made of numbers: for the pass `factors`."""
    return bool(form.factors) and all(type(factor) is Literal for factor, _ in form.factors)


def apply_form(form: Form, equation: Equation, draft: Draft) -> Any:
    """Emit the product of the root and its coefficient, or where there are factors besides signs, what chooses between
    it and the chain."""
    if not form.factors:
        root = draft.replaced.get(form.root, form.root)
        conditions = {c: draft.replaced.get(c, c) for c in conditions_of(form)}
        return emit_product(root, form.make(draft, equation), conditions, form, equation, draft)
    graph = draft.graph
    equations = [graph.equations[p] for p in sorted(form.places)]
    made = {e.outputs[0] for e in equations}
    read = dict.fromkeys(a for e in equations for a in e.inputs if type(a) is not Literal and a not in made)
    chain = Graph(list(read), equations, equation.outputs, None, graph.name)
    # What only the chain may warn of, it warns of itself.
    silent = Equation(
        equation.primitive, equation.inputs, equation.outputs, equation.params, equation.site, True
    )
    coefficient = form.make(draft, silent)
    scale = Var(coefficient.aval)
    inner = Draft(chain)
    product = emit_product(form.root, scale, {c: c for c in read}, form, equation, inner)
    short = Graph([scale, *read], inner.equations, [product], None, graph.name)
    safe = emit_check(form, equation.outputs[0].aval, silent, draft)
    result = Var(equation.outputs[0].aval)
    operands = [
        Literal(True) if safe is None else safe,
        coefficient,
        *(draft.replaced.get(v, v) for v in read),
    ]
    params = {"chain": chain, "short": short}
    draft.append(Equation(GATHERED, operands, [result], params, equation.site, equation.quiet))
    return result


def emit_check(form: Form, result: Aval, like: Equation, draft: Draft) -> Any:
    """Emit whether the entries of all factors are of such size that no product of them overflows or vanishes; or 0,
    where they do not divide."""
    bound = 2.0 ** (np.finfo(result.dtype).maxexp // (len(form.places) + 2))
    ends: dict[tuple[int, ...], tuple[Any, Any]] = {}  # the largest and the least entries, by shape
    for factor, divides in sorted(form.factors, key=lambda pair: pair[1]):
        if type(factor) is Literal:  # which `is_factor` has looked at
            continue
        known = draft.replaced.get(factor, factor)
        most = least = draft.emit("absolute", known, like=like)
        if not divides:
            zero = draft.emit("equal", known, Literal(0), like=like)
            least = draft.emit("where", zero, Literal(1.0), least, like=like)
        if other := ends.get(factor.aval.shape):
            most = draft.emit("maximum", other[0], most, like=like)
            least = draft.emit("minimum", other[1], least, like=like)
        ends[factor.aval.shape] = most, least
    safe: Any = Literal(True)
    for shape, (most, least) in ends.items():
        axes = tuple(range(len(shape)))
        for test, reduce, end, limit in (
            ("less_equal", "reduce_max", most, bound),
            ("greater_equal", "reduce_min", least, 1 / bound),
        ):
            extreme = draft.emit(reduce, end, like=like, axes=axes) if axes else end
            within = draft.emit(test, extreme, Literal(limit), like=like)
            safe = within if type(safe) is Literal else draft.emit("logical_and", safe, within, like=like)
    return safe


def conditions_of(form: Form) -> set[Any]:
    """The conditions by which the support of a form is told."""
    return {c for alternative in form.support for c, _ in alternative}


def emit_product(
    root: Any, coefficient: Any, conditions: dict[Any, Any], form: Form, equation: Equation, draft: Draft
) -> Any:
    """Emit the product of a root and a coefficient, inside the support."""
    result = draft.emit("multiply", root, coefficient, like=equation)
    if form.support == EVERYWHERE:
        return result
    inside = None
    for alternative in form.support:
        every = None
        for condition, holds in alternative:
            c = conditions[condition]
            c = c if holds else draft.emit("logical_not", c, like=equation)
            every = c if every is None else draft.emit("logical_and", every, c, like=equation)
        inside = every if inside is None else draft.emit("logical_or", inside, every, like=equation)
    return draft.emit("where", inside, result, Literal(0), like=equation)


# -- rules: the form of a result from those of operands
def form_of(atom: Any, equation: Equation, forms: dict[Any, Form]) -> Form | None:
    """Return the form of an operand, itself if it has no other; None if it is not like the result."""
    if type(atom) is Literal or atom.aval != equation.outputs[0].aval:
        return None
    found = forms.get(atom)
    if found is None:
        one = Literal(atom.aval.dtype.type(1))
        found = Form(atom, lambda draft, equation: one, (), EVERYWHERE, frozenset())
    return found


def extend_form(form: Form, place: int, equation: Equation, factor: Any, *, reverse: bool = False) -> Form:
    """Return a form with an operation on its coefficient: that of the equation, with a factor if there is one."""
    primitive, params = equation.primitive.name, equation.params

    def make(draft: Draft, like: Equation) -> Any:
        coefficient = form.make(draft, like)
        if factor is None:
            return draft.emit(primitive, coefficient, like=like, **params)
        other = draft.replaced.get(factor, factor)
        if type(other) is Literal:  # numbers among themselves are to have this precision, too
            other = Literal(equation.outputs[0].aval.dtype.type(other.value))
        if type(coefficient) is Literal and coefficient.value == 1 and primitive == "multiply":
            return other
        operands = (other, coefficient) if reverse else (coefficient, other)
        return draft.emit(primitive, *operands, like=like, **params)

    places, form_make = form.places | {place}, remember(make)
    if factor is None:
        return form._replace(make=form_make, places=places)
    shape = np.broadcast_shapes(form.shape, factor.aval.shape)
    factors = joined(form.factors, ((factor, primitive == "divide"),))
    return form._replace(make=form_make, shape=shape, places=places, factors=factors)


def remember(make: Callable[[Draft, Equation], Any]) -> Callable[[Draft, Equation], Any]:
    """Make a coefficient once."""
    made: list[Any] = []

    def once(draft: Draft, like: Equation) -> Any:
        if not made:
            made.append(make(draft, like))
        return made[0]

    return once


def is_small(atom: Any, result: Aval) -> bool:
    return type(atom) is Literal or COEFFICIENT_RATIO * atom.aval.size <= result.size


def is_factor(atom: Any, result: Aval) -> bool:
    """Whether products of such operands are as precise as the result: of its own precision, and small; of numbers those
    of moderate size."""
    if not is_small(atom, result) or not atom.aval.size:
        return False
    if type(atom) is Literal and (atom.aval.weak or atom.aval.dtype == result.dtype):
        return atom.aval.dtype.kind in "if" and bool(2.0**-16 <= abs(atom.value) <= 2.0**16)
    own = atom.aval.dtype
    return own.kind in "fc" and np.finfo(own).bits == np.finfo(result.dtype).bits


def scale(e: Equation, place: int, forms: dict[Any, Form]) -> Form | None:
    """x·c and x/c."""
    a, b = e.inputs
    form = form_of(a, e, forms)
    if form is not None and is_factor(b, e.outputs[0].aval):
        return extend_form(form, place, e, b)
    form = form_of(b, e, forms) if e.primitive.name == "multiply" else None
    if form is not None and is_factor(a, e.outputs[0].aval):
        return extend_form(form, place, e, a, reverse=True)
    return None


def negate(e: Equation, place: int, forms: dict[Any, Form]) -> Form | None:
    form = form_of(e.inputs[0], e, forms)
    return form and extend_form(form, place, e, None)


def combine(e: Equation, place: int, forms: dict[Any, Form]) -> Form | None:
    """Sums and differences of one root."""
    a, b = form_of(e.inputs[0], e, forms), form_of(e.inputs[1], e, forms)
    if a is None or b is None or a.root is not b.root:
        return None
    name = e.primitive.name

    def make(draft: Draft, like: Equation) -> Any:
        return draft.emit(name, a.make(draft, like), b.make(draft, like), like=like)

    return Form(
        a.root,
        remember(make),
        np.broadcast_shapes(a.shape, b.shape),
        join_supports(a.support, b.support),
        a.places | b.places | {place},
        joined(a.factors, b.factors),
    )


def join_supports(a: frozenset, b: frozenset) -> frozenset:
    """Return the support of a sum. A condition or its opposite is everywhere."""
    joined = a | b
    for alternative in joined:
        if not alternative or (
            len(alternative) == 1 and frozenset({(c, not holds) for c, holds in alternative}) in joined
        ):
            return EVERYWHERE
    return joined


def select(e: Equation, place: int, forms: dict[Any, Form]) -> Form | None:
    """A selection among forms of one root, or between one and 0."""
    condition, *choices = e.inputs
    found = [None if is_zero(a) else form_of(a, e, forms) for a in choices]
    present = [form for form in found if form is not None]
    if not present or len(present) + sum(map(is_zero, choices)) < 2:
        return None
    if len({form.root for form in present}) > 1 or not is_small(condition, e.outputs[0].aval):
        return None
    zero = Literal(e.outputs[0].aval.dtype.type(0))

    def make(draft: Draft, like: Equation) -> Any:
        coefficients = [zero if form is None else form.make(draft, like) for form in found]
        return draft.emit("where", draft.replaced.get(condition, condition), *coefficients, like=like)

    support: frozenset = frozenset()
    for form, holds in zip(found, (True, False)):
        if form is not None:
            inside = frozenset({alternative | {(condition, holds)} for alternative in form.support})
            support = join_supports(support, inside)
    shape = np.broadcast_shapes(condition.aval.shape, *[form.shape for form in present])
    places = frozenset({place}).union(*[form.places for form in present])
    factors = joined(*[form.factors for form in present])
    return Form(present[0].root, remember(make), shape, support, places, factors)


RULES: dict[str, Callable[[Equation, int, dict[Any, Form]], Form | None]] = {
    "add": combine,
    "divide": scale,
    "multiply": scale,
    "negative": negate,
    "subtract": combine,
    "where": select,
}
