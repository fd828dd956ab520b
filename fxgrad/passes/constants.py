"""Constants: an array whose entries all equal one known number is replaced by that number wherever possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import PLAIN, SCALARS, Aval, aval_of
from ..core.costs import SEEN_ENTRIES
from ..core.graph import Equation, Graph, Literal
from .draft import Draft, is_ours, with_inputs

NUMBERS = frozenset("biufc")
# Operations whose result has the entries of their first operand, and no others.
SELECTIONS = frozenset({"reshape", "broadcast_to", "permute", "flip", "getitem", "reduce_max", "reduce_min"})
CHOICES = {"where": None, "logical_and": False, "logical_or": True}  # with the number that decides them


def fold_constants(graph: Graph) -> Graph:
    """Fold what follows from constants: numbers are computed, arrays of one number are that number where they are
    operands of an entrywise operation, a known condition selects.

    Bit for bit the same values. What would warn is not computed here, and no array is made: one that is needed whole is
    a number, broadcast.

    >>> graph = fx.make_graph(lambda x: x * (fnp.ones_like(x) / 4))(np.ones(3))
    >>> [(e.primitive.name, e.inputs[1]) for e in fold_constants(graph).equations]
    [('multiply', 0.25)]
    """
    folder = Folder(graph)
    for equation in graph.equations:
        folder.fold(folder.draft.carry(equation))
    draft = folder.draft
    if draft.changed:
        for a in graph.outputs:
            draft.replaced[a] = folder.as_operand(draft.replaced.get(a, a), graph.equations[-1])
    return draft.finish()


class Folder:
    """The draft, and what is known: variables by their numbers. A variable that is known has no equation, unless
    `whole` says what stands for it."""

    __slots__ = ("draft", "known", "whole")

    def __init__(self, graph: Graph):
        self.draft = Draft(graph)
        self.known = {
            v: n for v, n in ((v, single_number(k)) for v, k in graph.captured.items()) if n is not None
        }
        self.whole: dict[Any, Any] = {v: v for v in self.known}

    def fold(self, equation: Equation) -> None:
        """Carry one equation over."""
        known, inputs, name, draft = self.known, equation.inputs, equation.primitive.name, self.draft
        number = None
        if name == "full_like" and is_ours(equation):
            number = computed_number(np.full, (), equation.params["value"], equation.outputs[0].aval.dtype)
        elif (
            known.keys().isdisjoint(inputs)
            and name not in CHOICES
            and not {Literal}.issuperset(map(type, inputs))
        ):
            draft.append(equation)
            return
        elif all(map(self.is_known, inputs)) and not equation.primitive.multiple_results:
            number = self.find_number(equation)
        elif name in CHOICES and any(map(self.is_known, inputs)) and is_ours(equation):
            chosen = self.choose(equation)
            if chosen is not None and self.is_known(chosen):
                number = computed_number(np.asarray, self.number(chosen), equation.outputs[0].aval.dtype)
            elif chosen is not None and chosen.aval == equation.outputs[0].aval:
                self.replace(equation, chosen)
                return
        if number is not None and aval_of(number) == equation.outputs[0].aval.update(shape=()):
            self.learn(equation, number)
            return
        changed = self.put_numbers(equation) if equation.primitive.entrywise else equation
        if any(a in known for a in changed.inputs):
            inputs = [self.as_operand(a, equation) for a in changed.inputs]
            changed = changed if inputs == [*changed.inputs] else with_inputs(changed, inputs)
        draft.changed |= changed is not equation
        draft.append(changed)

    def is_known(self, atom: Any) -> bool:
        return type(atom) is Literal or atom in self.known

    def number(self, atom: Any) -> Any:
        """Return the number of an atom of which it is known."""
        return atom.value if type(atom) is Literal else self.known[atom]

    def learn(self, equation: Equation, number: Any) -> None:
        """Note that all entries of a result are this number."""
        (out,) = equation.outputs
        if out.aval.shape:
            self.known[out] = number
            self.draft.changed = True
        else:
            self.replace(equation, Literal(number))

    def replace(self, equation: Equation, atom: Any) -> None:
        """Let an atom stand for the result."""
        self.draft.replaced[equation.outputs[0]] = atom
        self.draft.changed = True

    def find_number(self, equation: Equation) -> Any:
        """Return the number that all entries of the result are, from those of all operands; None if it is not
        found."""
        out, primitive = equation.outputs[0].aval, equation.primitive
        numbers = [self.number(a) for a in equation.inputs]
        if primitive.entrywise and not (
            primitive.name == "convert" and np.iscomplexobj(numbers[0])
        ):  # it warns
            return computed_number(primitive.kernel, *numbers, **equation.params)
        if not is_ours(equation):
            return None
        if primitive.name == "reduce_sum":
            return exact_sum(numbers[0], equation.inputs[0].aval.size // max(out.size, 1), out)
        if primitive.name in SELECTIONS and len(numbers) == 1 and equation.inputs[0].aval.size:
            return computed_number(np.asarray, numbers[0], out.dtype)
        return None

    def choose(self, equation: Equation) -> Any:
        """Return the operand that is the result of a choice, if the other operands decide it."""
        if equation.primitive.name == "where":
            condition, *choices = equation.inputs
            return choices[not self.number(condition)] if self.is_known(condition) else None
        a, b = equation.inputs
        given, other = (b, a) if self.is_known(b) else (a, b)
        return given if bool(self.number(given)) is CHOICES[equation.primitive.name] else other

    def put_numbers(self, equation: Equation) -> Equation:
        """Return an entrywise equation with numbers for the operands that are known, if its result stays what it
        is."""
        given = [
            Literal(self.known[a]) if type(a) is not Literal and a in self.known else a
            for a in equation.inputs
        ]
        if given == [*equation.inputs]:
            return equation
        aval = equation.primitive.abstract_eval([a.aval for a in given], equation.params)
        return with_inputs(equation, given) if aval == equation.outputs[0].aval else equation

    def as_operand(self, atom: Any, like: Equation) -> Any:
        """Return an atom as an operand that has all its entries."""
        if type(atom) is Literal or atom not in self.known:
            return atom
        if atom not in self.whole:
            number = Literal(self.known[atom])
            self.whole[atom] = self.draft.emit("broadcast_to", number, like=like, shape=atom.aval.shape)
        return self.whole[atom]


def computed_number(function: Any, *operands: Any, **params: Any) -> Any:
    """Compute a number, or return None where that fails or warns."""
    try:
        with np.errstate(all="raise"):
            value = function(*operands, **params)
    except (ArithmeticError, ValueError, TypeError):
        return None
    if type(value) is np.ndarray and value.ndim == 0:
        value = value[()]
    return value if type(value) in PLAIN and type(value) is not np.ndarray else None


def exact_sum(number: Any, count: int, aval: Aval) -> Any:
    """Return the sum of `count` equal numbers where all partial sums are exact: those of small integers."""
    if aval.dtype.kind not in "iuf" or not np.isfinite(number) or number != np.rint(number):
        return None
    limit = 2 ** np.finfo(aval.dtype).nmant if aval.dtype.kind == "f" else 2**31
    if abs(number) * count > limit or (number == 0 and np.signbit(number)):
        return None
    return computed_number(np.asarray, int(number) * count, aval.dtype)


def single_number(value: Any) -> Any:
    """Return the number that all entries of a captured value are, or None."""
    if type(value) in SCALARS:
        return value
    if type(value) not in PLAIN or value.dtype.kind not in NUMBERS or not 0 < value.size <= SEEN_ENTRIES:
        return None
    flat = np.ravel(value)
    entries = flat.view(np.uint8).reshape(len(flat), -1)  # NaN is like itself, and −0.0 unlike 0.0
    return flat[0] if (entries[-1] == entries[0]).all() and (entries == entries[0]).all() else None
