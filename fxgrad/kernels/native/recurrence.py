"""A loop over rows as machine code, for steps so small that each call of NumPy takes longer than its arithmetic.

    void loop(begin, end, addresses…, scratch)       the steps begin … end − 1, or from begin down to end + 1
      for each step:
          body0(…)         a group of elementwise equations, with the reductions that end it: see `groups`, `rows`
          product1(…)      a product of small matrices: see `products`
          a number         is computed where it stands

Every variable of a step lies in memory that stays in the cache: in the row that it fills, or in a place of its own in
the scratch memory, which the caller lends. A carry is an address that goes from step to step; where the next step would
overwrite what is there it is copied to a place of the carry's.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.graph import Literal
from .. import space
from ..row_space import RowSpace, uses_reductions
from . import arrays, exceptions, groups, lanes
from .engine import compile_functions
from .groups import Combination
from .ir import I64, PTR, Function, Type, Value
from .products import plan_product, write_product, write_transposition
from .rows import RowWork, RowWriter
from .runner import concerns_somebody, function_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.aval import Aval
    from ...core.graph import Equation, Graph, Var

ENTRY, LOOP = "recurrence", "loop"
LARGEST = 1 << 13  # entries of a variable, and
TERMS = 1 << 18  # products of numbers in a product of matrices, beyond which a call of NumPy does not count
REAL = frozenset("biufV")  # kinds of dtypes; bfloat16 is of kind V
PAIRWISE = 128  # entries up to which NumPy adds what lies in a row in one go
LINE = 64  # bytes: where places in the scratch memory begin


def admits(body: Graph) -> bool:
    """Whether the loop over a body, whose groups are single equations, can be machine code."""
    atoms = [*body.inputs, *body.outputs, *(v for e in body.equations for v in e.outputs)]
    return not body.captured and all(map(admits_atom, atoms)) and all(map(admits_equation, body.equations))


def admits_atom(atom: Any) -> bool:
    """Whether a value can lie in memory as the loop has it."""
    aval = atom.aval
    sound = type(atom) is not Literal and not aval.weak and aval.dtype.kind in REAL
    return sound and 0 < aval.size <= LARGEST and lanes.is_known(aval.dtype)


def admits_equation(e: Equation) -> bool:
    """Whether an equation can be part of a loop."""
    name = e.primitive.name
    if name == "fused":
        return e.params["native"]
    if name == "reshape":
        return True
    if name == "contract":
        return admits_product(e)
    if name in space.REDUCTIONS:
        return space.admits_reduction(e) and groups.admits(e) and is_exact(e)
    return all(a.aval.size == 1 for a in (*e.inputs, *e.outputs)) and lanes.covers(e)


def cut_reduction(e: Equation) -> tuple[tuple[int, int], int]:
    """Return the operand of a reduction as a matrix, and which of its axes is reduced."""
    shape, kept = e.inputs[0].aval.shape, e.outputs[0].aval.size
    last = max((a for a, n in enumerate(shape) if n != 1), default=0)
    count = e.inputs[0].aval.size // kept
    return ((kept, count), 1) if last in e.params["axes"] else ((count, kept), 0)


def is_exact(reduction: Equation) -> bool:
    """Whether to combine one entry after the other is as exact as what NumPy does."""
    shape, axis = cut_reduction(reduction)
    return reduction.primitive.name != "reduce_sum" or axis == 0 or shape[1] <= PAIRWISE


def admits_product(e: Equation) -> bool:
    """Whether an equation is a product of small matrices of one floating dtype."""
    left, right = (a.aval for a in e.inputs)
    if any(type(a) is Literal for a in e.inputs) or {left.dtype, right.dtype} != {e.outputs[0].aval.dtype}:
        return False
    plan = plan_product(e.params["spec"], left.shape, right.shape)
    return (
        plan is not None
        and left.dtype in (np.float32, np.float64)
        and plan.rows * plan.columns * plan.terms <= TERMS
    )


def size_in_memory(aval: Aval) -> int:
    return aval.size * aval.dtype.itemsize


class PlannedProduct(NamedTuple):
    """A product of matrices: its function, whether A is the second operand, where B lies transposed if it must, and the
    function that transposes it in every step ("" if that is done before the loop)."""

    name: str
    swapped: bool
    place: Value | None = None
    transpose: str = ""


class LoopWriter:
    """`loop` under construction. `functions` are what it calls; `scratch` the bytes of memory that it needs.

    `places` are the addresses of variables, `numbers` those of them that are one entry in a register. `moving` are the
    variables whose memory the next step overwrites.
    """

    def __init__(self, body: Graph, consts: int, carry: int):
        self.body, self.consts, self.carry = body, consts, carry
        rows = len(body.outputs) - carry
        self.function = Function(
            LOOP, [I64, I64, *[PTR] * (len(body.inputs) + rows + carry), PTR], local=True
        )
        self.begin, self.end, *pointers, self.memory = self.function.arguments
        count = len(body.inputs)
        self.given, self.stacks, self.ends = (
            pointers[:count],
            pointers[count : count + rows],
            pointers[count + rows :],
        )
        self.functions: list[Function] = []
        self.scratch = 0
        self.places: dict[Var, Value] = dict(zip(body.inputs[:consts], self.given))
        self.numbers: dict[Var, Value] = {}
        self.moving: set[Var] = set()
        self.products: dict[Equation, PlannedProduct] = {}

    def reserve(self, size: int) -> Value:
        """Return the address of memory of so many bytes."""
        place, self.scratch = self.scratch, self.scratch + -(-size // LINE) * LINE
        return self.function.place(self.memory, place, "i8")

    def add_function(self, function: Function) -> str:
        """Add a function that the loop calls, under a name of its own."""
        function.name = f"{function.name}{len(self.functions)}"
        self.functions.append(function)
        return function.name

    def call(self, name: str, *arguments: Value | int) -> None:
        texts = [f"i64 {a}" if isinstance(a, int) else f"{a.type} {a.text}" for a in arguments]
        self.function.lines.append(f"  call void @{name}({', '.join(texts)})")

    def copy(self, target: Value, source: Value, aval: Aval) -> None:
        """Copy a value to another place."""
        f = self.function
        f.declare("@llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
        size = size_in_memory(aval)
        f.lines.append(
            f"  call void @llvm.memcpy.p0.p0.i64(ptr {target.text}, ptr {source.text}, i64 {size}, i1 false)"
        )

    def write(self) -> list[Function]:
        """Write the loop; return all functions."""
        f, body = self.function, self.body
        constants, state, rows = (
            body.inputs[: self.consts],
            body.inputs[self.consts : self.consts + self.carry],
            body.inputs[self.consts + self.carry :],
        )
        made = [v for e in body.equations for v in e.outputs]
        ends, ys = body.outputs[: self.carry], body.outputs[self.carry :]
        own = {v: self.reserve(size_in_memory(v.aval)) for v in made}
        kept = [self.reserve(size_in_memory(v.aval)) for v in state]
        aside = [self.reserve(size_in_memory(v.aval)) for v in state]
        self.prepare_products(constants)
        up = self.begin <= self.end
        step = up.select(f.constant(1, I64), f.constant(-1, I64))
        initial = self.given[self.consts : self.consts + self.carry]
        with f.loop((self.end - self.begin) * step, carry=initial) as loop:
            row = self.begin + step * loop.index
            self.numbers.clear()
            self.places.update(own)
            self.places.update(zip(state, loop.carry))
            self.moving = {*made, *state}
            for v, stack in zip(rows, self.given[self.consts + self.carry :]):
                self.places[v] = f.place(stack, row * size_in_memory(v.aval), "i8")
            filled = [f.place(stack, row * size_in_memory(v.aval), "i8") for v, stack in zip(ys, self.stacks)]
            for v, place in zip(ys, filled):
                if v in own and v in self.moving:  # which is computed where it belongs
                    self.places[v] = place
                    self.moving.discard(v)
            for e in body.equations:
                self.write_equation(e)
            for v, place in zip(ys, filled):
                if self.places[v] is not place:
                    self.copy(place, self.places[v], v.aval)
            loop.update(*self.hand_on(state, ends, kept, aside))
        for v, pointer, target in zip(ends, loop.carry, self.ends):
            self.copy(target, pointer, v.aval)
        return [*self.functions, f]

    def hand_on(
        self, state: Sequence[Var], ends: Sequence[Var], kept: Sequence[Value], aside: Sequence[Value]
    ) -> list[Value]:
        """Return the addresses of the next carries, which this step leaves where the next one does not write."""
        found = [self.places[v] for v in ends]
        moved = [k for k, (old, new) in enumerate(zip(state, ends)) if new in self.moving and old is not new]
        for k in moved:  # which may be another carry, and lie where one is copied to
            if ends[k] in state:
                self.copy(aside[k], found[k], ends[k].aval)
                found[k] = aside[k]
        for k in moved:
            self.copy(kept[k], found[k], ends[k].aval)
            found[k] = kept[k]
        return found

    def prepare_products(self, constants: Sequence[Var]) -> None:
        """Write the functions of the products, and transpose before the loop what is the same in all steps."""
        for e in self.body.equations:
            if e.primitive.name != "contract":
                continue
            left, right = e.inputs
            plan = plan_product(e.params["spec"], left.aval.shape, right.aval.shape)
            assert plan is not None
            element = lanes.memory_element(left.aval.dtype)
            name = self.add_function(write_product("product", element, plan))
            self.products[e] = PlannedProduct(name, plan.swapped)
            if plan.transposed:
                b = left if plan.swapped else right
                transpose = self.add_function(
                    write_transposition("transpose", element, plan.columns, plan.terms)
                )
                place = self.reserve(size_in_memory(b.aval))
                if b in constants:
                    self.call(transpose, place, self.places[b])
                    transpose = ""
                self.products[e] = PlannedProduct(name, plan.swapped, place, transpose)

    # -- the equations of a step ------------------------------------------
    def write_equation(self, e: Equation) -> None:
        name = e.primitive.name
        if name == "fused":
            self.write_group(e)
        elif name == "contract":
            self.write_product(e)
        elif name == "reshape":
            self.write_reshape(e)
        elif name in space.REDUCTIONS:
            self.write_reduction(e)
        else:
            self.write_number(e)

    def write_reshape(self, e: Equation) -> None:
        """Hand on what lies in memory in the same order."""
        (source,), (result,) = e.inputs, e.outputs
        self.copy(self.places[result], self.places[source], result.aval)

    def write_product(self, e: Equation) -> None:
        plan = self.products[e]
        a, b = [self.places[v] for v in e.inputs][:: -1 if plan.swapped else 1]
        if plan.place is not None:
            if plan.transpose:
                self.call(plan.transpose, plan.place, b)
            b = plan.place
        self.call(plan.name, self.places[e.outputs[0]], a, b)

    def write_number(self, e: Equation) -> None:
        """Write an equation of numbers."""
        operands = [a.value if type(a) is Literal else self.number(a) for a in e.inputs]
        (result,) = e.outputs
        value = lanes.write(e, operands, self.function, 1)
        self.numbers[result] = value
        self.function.store(lanes.to_memory(value), self.places[result])

    def number(self, var: Var) -> Value:
        """Return the only entry of a variable."""
        found = self.numbers.get(var)
        if found is None:
            type = Type(lanes.memory_element(var.aval.dtype))
            entry = self.function.load(self.places[var], type)
            found = self.numbers[var] = lanes.from_memory(entry, var.aval.dtype)
        return found

    def write_group(self, e: Equation) -> None:
        """Write a call of the group's own loop, and what is left of its reductions."""
        graph = e.params["graph"]
        if uses_reductions(graph):
            cut: Any = RowSpace(graph)
            work: Any = RowWork(cut)
            body = RowWriter(cut, work).write()
        else:
            cut = space.Space(graph)
            work = groups.Work(cut)
            body = groups.Writer(cut, work).write()
        targets, rest = [], []
        for i, v in enumerate(e.outputs):
            target = self.places[v]
            if i in cut.reductions:
                reduction = cut.reductions[i]
                shape = work.partial_shape(reduction)
                axis = 0 if reduction.leading else 1
                if shape[axis] != 1:
                    partial = self.reserve(prod(shape) * v.aval.dtype.itemsize)
                    rest.append((Combination(reduction), partial, target, shape, axis))
                    target = partial
            targets.append(target)
        operands = [self.places[a] for a in e.inputs]
        self.call(self.add_function(body), 0, work.units, *operands, *targets)
        for combination, partial, target, shape, axis in rest:
            self.combine(combination, combination.dtype, partial, target, shape, axis)

    def write_reduction(self, e: Equation) -> None:
        """Write a reduction that belongs to no group."""
        (source,), (result,) = e.inputs, e.outputs
        shape, axis = cut_reduction(e)
        combination = Combination(space.Reduction(e, axis == 0, 0))
        self.combine(combination, source.aval.dtype, self.places[source], self.places[result], shape, axis)

    def combine(
        self,
        combination: Combination,
        dtype: np.dtype,
        source: Value,
        target: Value,
        shape: tuple[int, int],
        axis: int,
    ) -> None:
        """Write the reduction of one of the two axes of entries of a dtype."""
        f = self.function
        type = Type(lanes.memory_element(dtype))
        kept, step = (shape[1], shape[1]) if axis == 0 else (shape[0], 1)

        def entry(place: Value) -> Value:
            return lanes.convert(
                lanes.from_memory(f.load(source, type, place), dtype), dtype, combination.dtype
            )

        with f.loop(kept) as loop:
            first = loop.index if axis == 0 else loop.index * shape[1]
            with f.loop(shape[axis], 1, carry=[entry(first)]) as further:
                new = entry(first + further.index * step)
                further.update(combination.combine(further.carry[0], new))
            f.store(lanes.to_memory(further.carry[0]), target, loop.index)


def write_recurrence(body: Graph, consts: int, carry: int) -> tuple[list[Function], int]:
    """Return the functions of a loop, the last of which is called with the arrays and returns the exceptions that the
    steps have raised; and the bytes of scratch memory that it needs."""
    writer = LoopWriter(body, consts, carry)
    functions = writer.write()
    loop = functions[-1]
    entry = Function(ENTRY, [v.type for v in loop.arguments], "i32")
    begin, end, *objects = entry.arguments
    places = ", ".join(f"ptr {arrays.address(entry, o).text}" for o in objects)
    with exceptions.watch(entry) as raised:
        entry.lines.append(f"  call void @{LOOP}(i64 {begin.text}, i64 {end.text}, {places})")
    entry.return_value(raised.value)
    return [*functions, entry], writer.scratch


def make_loop(
    body: Graph, consts: int, carry: int, by_numpy: Callable[..., list[Any]], most: int
) -> Callable[..., list[Any]]:
    """Compile a scan to a function like that of `codegen.loops.compile_scan`. `by_numpy` computes it where machine code
    may not: it warns and raises as NumPy does. One call of machine code takes at most so many steps."""
    functions, scratch = write_recurrence(body, consts, carry)
    code = compile_functions(functions)
    kept, count, rows = consts + carry, len(body.inputs), len(body.outputs) - carry
    native: Any = function_type(count + rows + carry + 1, True)(code.address(ENTRY))
    native.code = code  # which lives as long
    possible = possible_exceptions(body)
    avals = [v.aval for v in (*body.inputs, *body.outputs[carry:])]
    ends_like = [(v.aval.shape, v.aval.dtype) for v in body.outputs[:carry]]

    def run(steps: range, *operands: Any) -> list[Any]:
        given: list[Any] = [
            dense_array(x, aval, i >= kept) for i, (x, aval) in enumerate(zip(operands, avals))
        ]
        strange = any(x is None for x in given) or any(
            x is not y for x, y in zip(given[count:], operands[count:])
        )
        if strange or not steps:
            return by_numpy(steps, *operands)
        constants, state, stacks = given[:consts], given[consts:kept], given[kept:]
        memory, raised = np.empty(scratch, np.uint8), 0
        for first in range(0, len(steps), most):
            part = steps[first : first + most]
            ends = [np.empty(shape, dtype) for shape, dtype in ends_like]
            raised |= native(part.start, part.stop, *constants, *state, *stacks, *ends, memory)
            state = ends
        raised &= possible
        if raised and concerns_somebody(raised):
            return by_numpy(steps, *operands)
        return [x if x.shape else x[()] for x in state]

    return run


def dense_array(x: Any, aval: Aval, stacked: bool) -> np.ndarray | None:
    """Return an operand as machine code reads it, a copy where it lies otherwise in memory; None if it is not of this
    shape, that of a row if it is `stacked`, and dtype."""
    if type(x) is not np.ndarray:
        x = np.asarray(x)
    if x.dtype != aval.dtype or x.shape[stacked:] != aval.shape:
        return None
    return x if x.flags.c_contiguous and x.flags.aligned else np.array(x, order="C")


def possible_exceptions(body: Graph) -> int:
    """Return the exceptions of which the equations of a body would warn. Products of matrices never do."""
    found = 0
    for e in body.equations:
        inner = e.params["graph"].equations if e.primitive.name == "fused" else [e]
        for each in inner:
            if not (each.quiet or each.primitive.name in ("contract", "reshape")):
                found |= exceptions.possible(each)
    return found
