"""Equations that define each entry of their result by itself: rearrangements, indices, searches, sums of products.

Each is a function from the position of an entry to its value. For a result in registers the positions are known when
the code is written, so rearrangements need no code at all. For a result in memory the positions are loop indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import prod
from typing import Any

import numpy as np

from ...core.costs import STEP_PRODUCTS
from ...core.graph import Equation, Literal
from ..contraction import parse_spec
from ..row_space import strides
from . import lanes, math
from .ir import Type, Value, fma, sum_product
from .math.complex_numbers import Complex
from .steps import (
    StepWriter,
    is_held,
    product_of,
    step_rule,
    write_matrix_product,
)

Position = tuple[Any, ...]  # of integers and Values
UNROLLED = 256  # products of numbers that are written one by one
FEW_TERMS = 8  # of a sum, which are written one by one: the loop outside of them can be vectorized


def flat_number(position: Position, shape: Sequence[int]) -> Any:
    """Return the number of the entry at a position in a shape."""
    total: Any = 0
    for index, step in zip(position, strides(shape)):
        total = index * step + total if step else total
    return total


class Operand:
    """The entries of an operand, by their positions in its shape or another of as many entries. What is held is stored
    where positions are not known."""

    def __init__(self, w: StepWriter, atom: Any, known: bool, shape: Sequence[int] | None = None):
        self.w, self.aval, self.shape = w, atom.aval, atom.aval.shape if shape is None else shape
        self.held = w.entries(atom) if is_held(atom.aval) and (known or atom.aval.size == 1) else None
        self.pointer = w.place(atom) if self.held is None else None

    def at(self, position: Position) -> Any:
        number = flat_number(position, self.shape)
        if self.held is not None:
            return self.held[number if isinstance(number, int) else 0]
        assert self.pointer is not None
        return self.w.load_entry(self.pointer, self.aval, number)


def walk(w: StepWriter, shape: Sequence[int], visit: Callable[[Position], None]) -> None:
    """Write loops over the positions in a shape; `visit` writes the body."""
    with ExitStack() as stack:
        position = [stack.enter_context(w.function.loop(n)).index if n != 1 else 0 for n in shape]
        visit(tuple(position))


def fold(
    w: StepWriter,
    shape: Sequence[int],
    carry: Sequence[Value],
    step: Callable[[Position, Sequence[Value]], Sequence[Value]],
    position: Position = (),
) -> Sequence[Value]:
    """Write loops over the positions in a shape that carry values: `step` writes the body, and returns the next ones.
    `position` is that in loops further out."""
    if not shape:
        return step(position, carry)
    with w.function.loop(shape[0], carry=carry) as loop:
        loop.update(*fold(w, shape[1:], loop.carry, step, (*position, loop.index)))
    return loop.carry


def write_entries(
    w: StepWriter, e: Equation, entry: Callable[[Position], Value], shape: Sequence[int] | None = None
) -> None:
    """Write a result of which `entry` says what stands at each position, in its shape or another of as many entries."""
    (result,) = e.outputs
    shape = result.aval.shape if shape is None else shape
    if is_held(result.aval):
        w.bind(result, [entry(position) for position in np.ndindex(*shape)])
        return
    target = w.target(result)

    def visit(position: Position) -> None:
        w.store_entry(entry(position), target, flat_number(position, shape))

    walk(w, shape, visit)
    w.settle(result, target)


def operand_of(w: StepWriter, e: Equation, atom: Any) -> Operand:
    """Return an operand that is read at positions computed from those in the result."""
    return Operand(w, atom, is_held(e.outputs[0].aval))


# -- rearrangements ------------------------------------------
@step_rule("reshape")
def write_reshape(w: StepWriter, e: Equation) -> None:
    (source,), (result,) = e.inputs, e.outputs
    if is_held(result.aval):
        w.bind(result, w.entries(source))
        return
    place = w.place(source)
    w.wanted.pop(result, None)
    w.bind(result, place)
    w.owned.discard(source)


@step_rule("permute")
def write_permute(w: StepWriter, e: Equation) -> None:
    x, axes = operand_of(w, e, e.inputs[0]), e.params["axes"]
    write_entries(w, e, lambda position: x.at(tuple([position[axes.index(a)] for a in range(len(axes))])))


@step_rule("flip")
def write_flip(w: StepWriter, e: Equation) -> None:
    x, axes, shape = operand_of(w, e, e.inputs[0]), e.params["axes"], e.outputs[0].aval.shape

    def entry(position: Position) -> Value:
        return x.at(tuple([n - 1 - i if a in axes else i for a, (i, n) in enumerate(zip(position, shape))]))

    write_entries(w, e, entry)


@step_rule("concatenate", admits=lambda e: all(a.aval.dtype == e.outputs[0].aval.dtype for a in e.inputs))
def write_concatenate(w: StepWriter, e: Equation) -> None:
    (result,), axis, shape = e.outputs, e.params["axis"], e.outputs[0].aval.shape
    if is_held(result.aval):
        numbers = [np.arange(a.aval.size).reshape(a.aval.shape) for a in e.inputs]
        owners = [np.full(a.aval.shape, k) for k, a in enumerate(e.inputs)]
        pairs = zip(*(np.concatenate(side, axis).ravel().tolist() for side in (owners, numbers)))
        w.bind(result, [w.entries(e.inputs[owner])[number] for owner, number in pairs])
        return
    parts, target, start = [Operand(w, a, False) for a in e.inputs], w.target(result), 0
    for part in parts:

        def visit(position: Position, part: Operand = part, start: int = start) -> None:
            moved = (*position[:axis], start + position[axis], *position[axis + 1 :])
            w.store_entry(part.at(position), target, flat_number(moved, shape))

        walk(w, part.aval.shape, visit)
        start += part.aval.shape[axis]
    w.settle(result, target)


@step_rule("pad")
def write_pad(w: StepWriter, e: Equation) -> None:
    """Write zeros around the entries of an array."""
    (source,), (result,), widths = e.inputs, e.outputs, e.params["widths"]
    x, shape = operand_of(w, e, source), result.aval.shape
    if is_held(result.aval):
        zero = w.zero(result.aval)
        inside = np.pad(np.arange(source.aval.size).reshape(source.aval.shape), widths, constant_values=-1)
        entries = w.entries(source)
        w.bind(result, [zero if k < 0 else entries[k] for k in inside.ravel().tolist()])
        return
    target = w.target(result)
    w.clear(target, result.aval)

    def visit(position: Position) -> None:
        moved = tuple([i + before for i, (before, _) in zip(position, widths)])
        w.store_entry(x.at(position), target, flat_number(moved, shape))

    walk(w, source.aval.shape, visit)
    w.settle(result, target)


# -- sums of products ------------------------------------------
def admits_contraction(e: Equation) -> bool:
    """Whether a contraction can be written: its numbers have one dtype, and sums are not rounded in between."""
    dtypes = {a.aval.dtype for a in (*e.inputs, *e.outputs)}
    (dtype, *others) = dtypes
    if others or dtype.kind not in "iufc" or dtype.itemsize < 4 or any(type(a) is Literal for a in e.inputs):
        return False
    return prod(lengths_of(e).values()) <= STEP_PRODUCTS


def lengths_of(e: Equation) -> dict[str, int]:
    """Return how many values each letter of a specification takes."""
    left, right, _ = parse_spec(e.params["spec"])
    first, second = e.inputs
    return dict(zip(left + right, (*first.aval.shape, *second.aval.shape)))


def merge_letters(
    spec: tuple[str, str, str], lengths: dict[str, int]
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return a specification with one letter in the place of several that follow one another wherever they stand.

    >>> merge_letters(("ab", "cdbef", "cdaef"), dict.fromkeys("abcdef", 2))
    (('ab', 'cbe', 'cae'), {'a': 2, 'b': 2, 'c': 4, 'e': 4})
    """
    parts, lengths = tuple(spec), dict(lengths)
    for letter in spec[2] + spec[0] + spec[1]:
        while letter in lengths:
            following = {p[p.index(letter) + 1 :][:1] for p in parts if letter in p}
            (other, *others) = following
            if others or not other or any(other in p and letter not in p for p in parts):
                break
            parts = tuple([p.replace(letter + other, letter) for p in parts])
            lengths[letter] *= lengths.pop(other)
    return parts, lengths


@step_rule("contract", admits=admits_contraction)
def write_contraction(w: StepWriter, e: Equation) -> None:
    left, right, out = parse_spec(e.params["spec"])
    lengths = lengths_of(e)
    held = all(is_held(v.aval) for v in (*e.inputs, *e.outputs)) and prod(lengths.values()) <= UNROLLED
    plan = None if held else product_of(e)
    if plan is not None:
        write_matrix_product(w, e, plan)
        return
    if not held:
        (left, right, out), lengths = merge_letters((left, right, out), lengths)
    summed = [c for c in lengths if c not in out]
    a, b = (Operand(w, x, held, [lengths[c] for c in part]) for x, part in zip(e.inputs, (left, right)))
    dtype, extents = e.outputs[0].aval.dtype, [lengths[c] for c in summed]
    zeros = [w.function.constant(0, Type(lanes.memory_element(dtype)))] * lanes.parts_of(dtype)
    few = held or prod(extents) <= FEW_TERMS
    add_product = sum_product if not few else fma if dtype.kind in "fc" else lambda x, y, z: x * y + z

    def term(at: dict[str, Any], total: Sequence[Value]) -> list[Value]:
        """Return the parts of a sum with one more term."""
        x, y = a.at(tuple([at[c] for c in left])), b.at(tuple([at[c] for c in right]))
        if not summed:
            product: Any = math.apply("multiply", x, y)
            return [*product] if isinstance(product, Complex) else [product]
        if isinstance(x, Complex):
            real = add_product(-x.imag, y.imag, add_product(x.real, y.real, total[0]))
            return [real, add_product(x.imag, y.real, add_product(x.real, y.imag, total[1]))]
        return [add_product(x, y, total[0])]

    def entry(position: Position) -> Any:
        at = dict(zip(out, position))
        total: Sequence[Value] = zeros  # sums of −0 are 0, as in NumPy
        if few:
            for place in np.ndindex(*extents):
                total = term({**at, **dict(zip(summed, place))}, total)
        else:
            total = fold(
                w, extents, total, lambda place, total: term({**at, **dict(zip(summed, place))}, total)
            )
        return total[0] if len(total) == 1 else Complex(*total)

    shape = [lengths[c] for c in out]
    if held or not is_held(e.outputs[0].aval):
        write_entries(w, e, entry, shape)
        return
    w.bind(e.outputs[0], [entry(position) for position in np.ndindex(*shape)])
