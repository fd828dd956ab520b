"""Coefficients are gathered: a big operand that is scaled, selected and added to itself by what is the same along an
axis is multiplied once, by a coefficient made of small arrays.

    where(c, -t, 0) + where(c, 0, t) * a / b        becomes        t * (where(c, -1, 0) + where(c, 0, 1) * a / b)

Such chains are what a derivative is linear in: the tangents of a Hessian, one for each coordinate, all go through the
same diagonal factors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.aval import is_differentiable
from ..core.graph import Literal
from .draft import MANY, Draft, is_ours, is_zero

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.aval import Aval
    from ..core.graph import Equation, Graph

RATIO = 8  # how many times smaller a coefficient is than what it multiplies


class Form(NamedTuple):
    """What a variable is: `root` times a coefficient inside `support`, and exactly 0 outside.

    `make(draft, equation)` makes the coefficient, of the shape `shape`. `support` has (condition, whether it holds)
    pairs, of which all hold; several sets of them are alternatives, and an empty set is everywhere. `places` are the
    numbers of the equations that the form stands for.
    """

    root: Any
    make: Callable[[Draft, Equation], Any]
    shape: tuple[int, ...]
    support: frozenset[frozenset[tuple[Any, bool]]]
    places: frozenset[int]


EVERYWHERE = frozenset({frozenset()})


def gather_coefficients(graph: Graph) -> Graph:
    """Gather the coefficients of chains on big operands, where that saves passes over them.

    The same to rounding, as long as a product of the factors does not overflow. Entries that a selection discards are
    0 whatever the operand holds there.

    >>> import fxgrad as fx, numpy as np
    >>> graph = fx.make_graph(lambda t, a, b: t * a / b)(np.ones((50, 100)), np.ones(100), np.ones(100))
    >>> [e.outputs[0].aval for e in gather_coefficients(graph).equations]
    [f64[100], f64[50,100]]
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
    return aval.size >= MANY and is_differentiable(aval.dtype) and aval.dtype.kind in "fc"


def find_forms(graph: Graph) -> dict[Any, Form]:
    """Return the forms of variables that are a root times a coefficient."""
    forms: dict[Any, Form] = {}
    for place, e in enumerate(graph.equations):
        rule = RULES.get(e.primitive.name)
        if rule is not None and is_ours(e) and worth_a_look(e.outputs[0].aval):
            form = rule(e, place, forms)
            if form is not None and RATIO * np.prod(form.shape, dtype=int) <= e.outputs[0].aval.size:
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
        if form is None or place in inner:
            continue
        done = [p for p in form.places if readers.get(graph.equations[p].outputs[0], set()) <= form.places]
        saved = len({*done, place}) - 1 - (form.support != EVERYWHERE)
        if saved > 0:
            ends[out] = form
            inner.update(done)
    return ends


def apply_form(form: Form, equation: Equation, draft: Draft) -> Any:
    """Emit the product of the root and its coefficient."""
    root = draft.replaced.get(form.root, form.root)
    result = draft.emit("multiply", root, form.make(draft, equation), like=equation)
    if form.support == EVERYWHERE:
        return result
    inside = None
    for alternative in form.support:
        every = None
        for condition, holds in alternative:
            condition = draft.replaced.get(condition, condition)
            c = condition if holds else draft.emit("logical_not", condition, like=equation)
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
        if type(coefficient) is Literal and coefficient.value == 1 and primitive == "multiply":
            return other
        operands = (other, coefficient) if reverse else (coefficient, other)
        return draft.emit(primitive, *operands, like=like, **params)

    shape = form.shape if factor is None else np.broadcast_shapes(form.shape, factor.aval.shape)
    return form._replace(make=remember(make), shape=shape, places=form.places | {place})


def remember(make: Callable[[Draft, Equation], Any]) -> Callable[[Draft, Equation], Any]:
    """Make a coefficient once."""
    made: list[Any] = []

    def once(draft: Draft, like: Equation) -> Any:
        if not made:
            made.append(make(draft, like))
        return made[0]

    return once


def is_small(atom: Any, result: Aval) -> bool:
    return type(atom) is Literal or RATIO * atom.aval.size <= result.size


def scale(e: Equation, place: int, forms: dict[Any, Form]) -> Form | None:
    """x·c and x/c."""
    a, b = e.inputs
    form = form_of(a, e, forms)
    if form is not None and is_small(b, e.outputs[0].aval):
        return extend_form(form, place, e, b)
    form = form_of(b, e, forms) if e.primitive.name == "multiply" else None
    if form is not None and is_small(a, e.outputs[0].aval):
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
    return Form(present[0].root, remember(make), shape, support, places)


RULES: dict[str, Callable[[Equation, int, dict[Any, Form]], Form | None]] = {
    "add": combine,
    "divide": scale,
    "multiply": scale,
    "negative": negate,
    "subtract": combine,
    "where": select,
}
