"""Small linear systems in the steps of loops, by Gaussian elimination with row exchanges. A zero pivot is a doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.costs import SOLVED_ORDER
from ...core.graph import Literal
from . import lanes
from .entries import Position, operand_of, walk, write_entries
from .ir import I64, Type, Value, fma
from .math import formats
from .steps import StepWriter, size_in_memory, step_rule

if TYPE_CHECKING:
    from ...core.graph import Equation


class Matrices:
    """A stack of matrices in memory, the last two axes of a value: at one place of the stack."""

    def __init__(self, w: StepWriter, pointer: Value, shape: tuple[int, ...], type: Type, stack: Value | int):
        self.w, self.type, (self.rows, self.columns) = w, type, shape[-2:]
        self.pointer = w.function.place(pointer, stack * (self.rows * self.columns), type.element)

    def load(self, i: Value, j: Value) -> Value:
        return self.w.function.load(self.pointer, self.type, i * self.columns + j)

    def store(self, value: Value, i: Value, j: Value) -> None:
        self.w.function.store(value, self.pointer, i * self.columns + j)

    def exchange(self, i: Value, k: Value) -> None:
        """Exchange two rows."""
        with self.w.function.loop(self.columns) as column:
            j = column.index
            one, other = self.load(i, j), self.load(k, j)
            self.store(one, k, j)
            self.store(other, i, j)

    def subtract_row(self, factor: Value, k: Value, i: Value, start: Value | int = 0) -> None:
        """Subtract a multiple of row k from row i, from a column on."""
        with self.w.function.loop(self.columns, start) as column:
            j = column.index
            self.store(fma(-factor, self.load(k, j), self.load(i, j)), i, j)


def admits_system(e: Equation) -> bool:
    a, b = e.inputs[:2]
    dtypes = {v.aval.dtype for v in (*e.inputs, *e.outputs)}
    known = dtypes in ({np.dtype(np.float64)}, {np.dtype(np.float32)}) and not e.params.get("transposed")
    return known and len(e.inputs) == 2 and a.aval.shape[-1] <= SOLVED_ORDER and type(b) is not Literal


def copy_operand(w: StepWriter, atom: object, target: Value | None = None) -> Value:
    """Return where a copy of an operand lies."""
    place = w.reserve(size_in_memory(atom.aval)) if target is None else target  # type: ignore[attr-defined]
    w.copy(place, w.place(atom), atom.aval)  # type: ignore[attr-defined]
    return place


@step_rule("solve", admits=admits_system)
def write_solve(w: StepWriter, e: Equation) -> None:
    (a, b), (result,), f = e.inputs, e.outputs, w.function
    type = Type(lanes.memory_element(result.aval.dtype))
    order, target = a.aval.shape[-1], w.target(result)
    left, right = copy_operand(w, a), copy_operand(w, b, target)

    def visit(position: Position) -> None:
        stack = stack_number(position, a.aval.shape[:-2])
        matrix = Matrices(w, left, a.aval.shape, type, stack)
        x = Matrices(w, right, b.aval.shape, type, stack)
        with f.loop(order) as pivots:
            k = pivots.index
            with f.loop(order, k + 1, carry=[matrix.load(k, k).intrinsic("fabs"), k]) as rows:
                size = matrix.load(rows.index, k).intrinsic("fabs")
                best, place = rows.carry
                rows.update((size > best).select(size, best), (size > best).select(rows.index, place))
            best, place = rows.carry
            w.doubt(~(best > 0.0))
            with f.when(place > k):
                matrix.exchange(k, place)
                x.exchange(k, place)
            pivot = matrix.load(k, k)
            pivot = formats.guard(pivot.equals(0.0), 1.0, pivot)
            with f.loop(order, k + 1) as rows:
                factor = matrix.load(rows.index, k) / pivot
                matrix.subtract_row(factor, k, rows.index, k + 1)
                x.subtract_row(factor, k, rows.index)
        substitute(matrix, x, order, False, False)

    walk(w, a.aval.shape[:-2], visit)
    w.settle(result, target)


def stack_number(position: Position, shape: tuple[int, ...]) -> Value | int:
    """Return the number of a matrix in a stack."""
    total: Value | int = 0
    for index, n in zip(position, shape):
        total = index + total * n if isinstance(index, Value) else total * n + index
    return total


def substitute(matrix: Matrices, x: Matrices, order: int, lower: bool, unit: bool) -> None:
    """Write the solution of a triangular system in the place of the right-hand sides."""
    w, f = matrix.w, matrix.w.function
    with f.loop(order) as turns:
        i = turns.index if lower else (order - 1) - turns.index
        with f.loop(turns.index) as known:
            k = known.index if lower else i + 1 + known.index
            x.subtract_row(matrix.load(i, k), k, i)
        if not unit:
            pivot = matrix.load(i, i)
            w.doubt(pivot.equals(0.0))
            pivot = formats.guard(pivot.equals(0.0), 1.0, pivot)
            with f.loop(x.columns) as column:
                x.store(x.load(i, column.index) / pivot, i, column.index)


@step_rule("triangular_solve", admits=admits_system)
def write_triangular_solve(w: StepWriter, e: Equation) -> None:
    (a, b), (result,), params = e.inputs, e.outputs, e.params
    type = Type(lanes.memory_element(result.aval.dtype))
    target = w.target(result)
    left, right = w.place(a), copy_operand(w, b, target)

    def visit(position: Position) -> None:
        stack = stack_number(position, a.aval.shape[:-2])
        matrix = Matrices(w, left, a.aval.shape, type, stack)
        x = Matrices(w, right, b.aval.shape, type, stack)
        substitute(matrix, x, a.aval.shape[-1], params["lower"], params["unit_diagonal"])

    walk(w, a.aval.shape[:-2], visit)
    w.settle(result, target)


def admits_factor(e: Equation) -> bool:
    (a,) = e.inputs
    return (
        a.aval.dtype in (np.float32, np.float64)
        and a.aval.dtype == e.outputs[0].aval.dtype
        and a.aval.shape[-1] <= SOLVED_ORDER
    )


@step_rule("cholesky", admits=admits_factor)
def write_cholesky(w: StepWriter, e: Equation) -> None:
    """Write the lower factor of the symmetric part of a matrix; one that is not positive definite raises a doubt."""
    (a,), (result,), f = e.inputs, e.outputs, w.function
    type = Type(lanes.memory_element(result.aval.dtype))
    order, target, source = a.aval.shape[-1], w.target(result), w.place(a)

    def visit(position: Position) -> None:
        stack = stack_number(position, a.aval.shape[:-2])
        matrix, factor = (Matrices(w, p, a.aval.shape, type, stack) for p in (source, target))
        with f.loop(order) as rows, f.loop(order) as columns:
            i, j = rows.index, columns.index
            if e.params.get("hermitian"):
                total = matrix.load(i, j)
            else:
                total = matrix.load(i, j) * 0.5 + matrix.load(j, i) * 0.5
            inside = j <= i
            with f.loop(inside.select(j, 0), carry=[total]) as terms:
                k = terms.index
                terms.update(fma(-factor.load(i, k), factor.load(j, k), terms.carry[0]))
            (left,) = terms.carry
            w.doubt(j.equals(i) & ~(left > 0.0))
            root = formats.guard(~(j.equals(i) & (left > 0.0)), 1.0, left).intrinsic("sqrt")
            known = inside.select(j, 0)
            pivot = formats.guard(~(j < i), 1.0, factor.load(known, known))
            factor.store(inside.select(j.equals(i).select(root, left / pivot), 0.0), i, j)

    walk(w, a.aval.shape[:-2], visit)
    w.settle(result, target)


@step_rule("mirror_triangle")
def write_mirrored(w: StepWriter, e: Equation) -> None:
    """Write a symmetric matrix from one of its triangles."""
    x, upper = operand_of(w, e, e.inputs[0]), e.params["upper"]

    def entry(position: Position) -> Value:
        *stack, i, j = position
        if isinstance(i, int) and isinstance(j, int):
            low, high = min(i, j), max(i, j)
        else:
            i, j = (w.function.constant(0, I64) + k for k in (i, j))
            low, high = i.intrinsic("smin", j), i.intrinsic("smax", j)
        return x.at((*stack, low, high) if upper else (*stack, high, low))

    write_entries(w, e, entry)
