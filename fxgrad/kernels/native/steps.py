"""The steps of loops as machine code: the equations of a Graph in order, with the loops and branches among them.

A value of few entries is held in registers, each entry a number (`Held`). So a step of a few numbers is straight-line
arithmetic, and rearrangements cost nothing. All other values lie in memory that stays in the cache: in the row that
they fill, or in scratch memory provided by the caller. Elementwise equations on these are groups (`groups`, `rows`),
products of matrices have functions of their own (`products`); the rest are loops over the entries of a result
(`entries`).

If NumPy would raise an error or warn about something other than a floating-point exception (an index out of bounds, an
integer division by zero), the code reports a *doubt*: NumPy then computes the whole loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...core.aval import Aval
from ...core.costs import STEP_ENTRIES, STEP_PRODUCTS
from ...core.graph import Equation, Graph, Literal, Var
from .. import space
from ..row_space import RowSpace, uses_reductions
from . import groups, lanes, math
from .groups import Combination
from .interruption import POLL
from .ir import I32, I64, PTR, Function, Type, Value
from .math.complex_numbers import Complex
from .processor import vector_bytes
from .products import plan_product, write_product, write_transposition
from .rows import RowWork, RowWriter
from .tiling import Work

# Entries of a value that is held in registers at most: few where the code of many would be too long.
MANY, FEW = 36, 8
HELD: ContextVar[int] = ContextVar("held", default=MANY)
WRITTEN = frozenset({"update", "dynamic_update_slice"})  # what writes to a place in its operand
INDEXED = frozenset({"getitem", "scatter_add", "dynamic_slice"})  # whose index follows their first operand
LINE = 64  # bytes: where places in the scratch memory begin
PATIENCE = 5_000_000  # entries that are computed between two questions whether somebody interrupts

# Primitives whose kernels never warn.
SILENT = frozenset({
    "argmax", "argmin", "argsort", "cholesky", "concatenate", "contract", "det", "dynamic_slice",
    "dynamic_update_slice", "flip", "fold_in", "getitem", "inv", "mirror_triangle", "pad", "permute", "random_bits",
    "random_log_gamma", "random_real", "reshape", "scatter_add", "searchsorted", "slogdet", "solve", "sort",
    "triangular_solve", "update", "weaken",
})  # fmt: skip

Held = list[Value]


class Rule(NamedTuple):
    """The code of an equation, and the condition under which it applies."""

    write: Callable[[StepWriter, Equation], None]
    admits: Callable[[Equation], bool]


RULES: dict[str, Rule] = {}


def step_rule(*names: str, admits: Callable[[Equation], bool] = lambda e: True) -> Callable[..., Any]:
    """Declare how the equations of some primitives are written."""

    def declare(write: Callable[[StepWriter, Equation], None]) -> Callable[..., None]:
        for name in names:
            RULES[name] = Rule(write, admits)
        return write

    return declare


# -- what can be written ------------------------------------------
def is_held(aval: Aval) -> bool:
    """Whether a value is held in registers: one of few entries that are single numbers."""
    return aval.size <= HELD.get() and aval.dtype.kind != "c"


def admits_aval(aval: Aval, most: float = STEP_ENTRIES) -> bool:
    """Whether a value can be in registers, or in memory in the layout of the steps."""
    return 0 < aval.size <= most and lanes.is_known(aval.dtype)


def admits_graph(graph: Graph, consts: int) -> bool:
    """Whether the steps of a Graph with large groups can be machine code. What is the same in all steps, its first
    inputs, may be of any size."""
    made = [*graph.inputs[consts:], *(v for e in graph.equations for v in e.outputs)]
    sound = all(admits_aval(v.aval) for v in made)
    sound = sound and all(admits_aval(v.aval, float("inf")) for v in graph.inputs[:consts])
    sound = sound and all(type(a) is not Literal or admits_aval(a.aval) for a in graph.outputs)
    return sound and not graph.captured and all(map(admits_equation, graph.equations))


def rule_of(e: Equation) -> Rule | None:
    """Return the rule of an equation that admits it."""
    rule = RULES.get(e.primitive.computes)
    return rule if rule is not None and rule.admits(e) else None


def admits_equation(e: Equation) -> bool:
    """Whether an equation can be written."""
    if rule_of(e) is not None:
        return True
    return is_elementwise(e) and e.outputs[0].aval.size <= HELD.get()


def is_elementwise(e: Equation) -> bool:
    """Whether machine code computes the entries of a result one by one."""
    entrywise = e.primitive.entrywise or e.primitive.computes in space.REPEATS
    return entrywise and len(e.outputs) == 1 and lanes.covers(e)


def count_instructions(graph: Graph) -> int:
    """Estimate the number of instructions of the equations on values in registers, including inner Graphs."""
    return sum(map(instructions_of, graph.equations))


def instructions_of(e: Equation) -> int:
    """Count about the instructions of an equation on values in registers. At known places only what is taken or put
    counts: the other entries stay where they are."""
    operands = [*e.inputs, *e.outputs]
    if e.primitive.computes in WRITTEN | space.READING and is_static(e):
        operands = [e.inputs[1] if e.primitive.computes in WRITTEN else e.outputs[0]]
    sizes = [a.aval.size for a in operands]
    return sum(map(count_instructions, inner_graphs(e))) + max(
        [n for n in sizes if n <= HELD.get()], default=0
    )


def is_static(e: Equation) -> bool:
    """Whether an index is of literals only, or has no arrays."""
    return all(type(a) is Literal for a in e.inputs[1 if e.primitive.computes in INDEXED else 2 :])


def inner_graphs(e: Equation) -> list[Graph]:
    """Return the Graphs of the loop or the branches that an equation is."""
    if e.primitive.computes == "fused":
        return []
    return [*e.primitive.subgraphs([a.aval for a in e.inputs], e.params)]


def size_in_memory(aval: Aval) -> int:
    return aval.size * aval.dtype.itemsize


# -- a writer ------------------------------------------
class StepWriter:
    """Steps under construction in `function`. `functions` are what they call, `scratch` the bytes of memory that they
    need, from `memory` on, where `interruption` has a line of its own.

    `held` and `places` say where variables are; what is held may lie in memory as well. `tables` are variables of few
    entries that lie there only. `owned` are those whose places nobody else reads, `wanted` the places where variables
    are to be written.
    """

    def __init__(self, function: Function, memory: Value, doubts: Value | None = None):
        self.function, self.memory = function, memory
        self.functions: list[Function] = []
        self.names: dict[str, str] = {}  # of the functions, by their texts
        self.scratch = LINE
        self.held: dict[Any, Held] = {}
        self.places: dict[Any, Value] = {}
        self.tables: set[Any] = set()
        self.owned: set[Any] = set()
        self.wanted: dict[Any, Value] = {}
        self.dying: Sequence[Any] = ()
        self.transposed: dict[Any, Value] = {}
        if doubts is not None:
            self.doubts = doubts
            return
        self.doubts = function.emit("alloca i8", PTR)
        function.store(function.constant(0, Type("i8")), self.doubts)
        self.patience = function.emit("alloca i64", PTR)
        function.store(function.constant(PATIENCE, I64), self.patience)

    # -- memory ------------------------------------------
    def reserve(self, size: int) -> Value:
        """Return the address of memory of so many bytes."""
        place, self.scratch = self.scratch, self.scratch + -(-size // LINE) * LINE
        return self.function.place(self.memory, place, "i8")

    def add_function(self, function: Function) -> str:
        """Add a function for the steps to call; return its name, or that of one which does the same."""
        text = str(function)
        found = self.names.get(text)
        if found is None:
            function.name = found = self.names[text] = f"{function.name}{len(self.functions)}"
            self.functions.append(function)
        return found

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

    def clear(self, target: Value, aval: Aval) -> None:
        """Fill a place with zeros."""
        f = self.function
        f.declare("@llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
        size = size_in_memory(aval)
        f.lines.append(f"  call void @llvm.memset.p0.i64(ptr {target.text}, i8 0, i64 {size}, i1 false)")

    def load_entry(self, pointer: Value, aval: Aval, place: Value | int) -> Any:
        type = Type(lanes.memory_element(aval.dtype))
        if aval.dtype.kind == "c":
            return Complex(*(self.function.load(pointer, type, place * 2 + k) for k in range(2)))
        return lanes.from_memory(self.function.load(pointer, type, place), aval.dtype)

    def store_entry(self, value: Any, pointer: Value, place: Value | int) -> None:
        if isinstance(value, Complex):
            for k, part in enumerate(value):
                self.function.store(part, pointer, place * 2 + k)
        else:
            self.function.store(lanes.to_memory(value), pointer, place)

    def load_held(self, pointer: Value, aval: Aval) -> Held:
        """Load all entries of a value."""
        return [self.load_entry(pointer, aval, k) for k in range(aval.size)]

    def store_held(self, entries: Held, pointer: Value) -> None:
        for k, entry in enumerate(entries):
            self.store_entry(entry, pointer, k)

    # -- variables ------------------------------------------
    def zero(self, aval: Aval) -> Value:
        """Return the number 0 of a dtype."""
        return lanes.vector(0, aval.dtype, self.function, 1)

    def number(self, literal: Literal) -> Value:
        """Return a literal as a number."""
        return lanes.vector(literal.value, literal.aval.dtype, self.function, 1)

    def is_held(self, var: Any) -> bool:
        """Whether a variable is held in registers."""
        return is_held(var.aval) and var not in self.tables

    def entries(self, atom: Any) -> Held:
        """Return the entries of a value of few."""
        if type(atom) is Literal:
            return [self.number(atom)]
        return self.held[atom] if self.is_held(atom) else self.load_held(self.places[atom], atom.aval)

    def place(self, atom: Any) -> Value:
        """Return the place of a value; a value in registers is stored first."""
        found = self.places.get(atom)
        if found is None:
            found = self.reserve(size_in_memory(atom.aval))
            self.store_held(self.entries(atom), found)
        return found

    def target(self, var: Var) -> Value:
        """Return the place into which a variable is written."""
        found = self.wanted.pop(var, None)
        return self.reserve(size_in_memory(var.aval)) if found is None else found

    def settle(self, var: Var, place: Value) -> None:
        """Record that a variable was written to its own place."""
        self.bind(var, place)
        self.owned.add(var)

    def bind(self, var: Var, value: Held | Value) -> None:
        """Bind a variable to entries, or to a place that others may read too."""
        self.owned.discard(var)
        self.places.pop(var, None)
        if isinstance(value, Value):
            self.places[var] = value
            if self.is_held(var):
                self.held[var] = self.load_held(value, var.aval)
        elif self.is_held(var):
            self.held[var] = value
        else:
            place = self.reserve(size_in_memory(var.aval))
            self.store_held(value, place)
            self.places[var] = place

    def value(self, atom: Any) -> Held | Value:
        """Return the entries of a value that is held, and the place of any other."""
        return self.entries(atom) if type(atom) is Literal or self.is_held(atom) else self.places[atom]

    def constant(self, atom: Any) -> Held | Value:
        """Return the place of a value that inner steps only read, or its entries if it has no place."""
        found = self.places.get(atom)
        return self.entries(atom) if found is None else found

    # -- doubts and interruptions ------------------------------------------
    def doubt(self, condition: Value) -> None:
        """Leave everything to NumPy where a condition holds."""
        f = self.function
        f.store(f.load(self.doubts, Type("i8")) | f.cast("zext", condition, Type("i8")), self.doubts)

    def poll(self, work: int) -> None:
        """Poll for interrupts from time to time: after a step of a number of entries."""
        f = self.function
        left = f.load(self.patience, I64) - work
        f.store(left, self.patience)
        number = next(f._serial)
        weights = '!prof !{!"branch_weights", i32 1, i32 2000}'
        f.lines.append(f"  br i1 {(left < 0).text}, label %ask{number}, label %on{number}, {weights}")
        f._begin(f"ask{number}")
        f.store(f.constant(PATIENCE, I64), self.patience)
        stop = f.emit(f"call i32 @{POLL}(ptr {self.memory.text})", I32)
        f.lines.append(f"  br i1 {stop.equals(0).text}, label %on{number}, label %interrupted")
        f._begin(f"on{number}")

    # -- equations ------------------------------------------
    def write_graph(self, graph: Graph) -> None:
        """Write the equations of a Graph with bound inputs."""
        dying = graph.last_uses()
        for k, e in enumerate(graph.equations):
            self.dying = dying.get(k, ())
            self.write_equation(e)

    def write_equation(self, e: Equation) -> None:
        rule = rule_of(e)
        if rule is None:
            self.write_elementwise(e)
        elif is_loop(e):
            self.write_apart(e, rule)
        else:
            rule.write(self, e)

    def write_apart(self, e: Equation, rule: Rule) -> None:
        """Write an equation as a call of a function of its own: LLVM's time grows with the square of the loops in a
        function, and equal ones are compiled once."""
        operands = [*dict.fromkeys(a for a in e.inputs if type(a) is not Literal)]
        count = len(operands) + len(e.outputs)
        f = Function("equation", [PTR] * (count + 2), local=True, inline=False)
        *places, doubts, memory = f.arguments
        inner = StepWriter(f, memory, doubts)
        inner.functions, inner.names, inner.tables = self.functions, self.names, self.tables
        for v, place in zip(operands, places):
            inner.bind(v, place)
        ends = places[len(operands) :]
        inner.wanted = dict(zip(e.outputs, ends))
        rule.write(inner, e)
        for v, end in zip(e.outputs, ends):
            if v in inner.wanted:  # which were written elsewhere
                inner.put_at(end, v)
        targets = [self.target(v) for v in e.outputs]
        memory = self.reserve(inner.scratch - LINE) if inner.scratch > LINE else self.memory
        self.call(
            self.add_function(f),
            *map(self.place, operands),
            *targets,
            self.doubts,
            self.function.place(memory, -LINE, "i8"),
        )
        for v, target in zip(e.outputs, targets):
            self.settle(v, target)

    def put_at(self, target: Value, atom: Any) -> None:
        """Store a value in a place, if it does not lie there already."""
        value = self.value(atom)
        if not isinstance(value, Value):
            self.store_held(value, target)
        elif value.text != target.text:
            self.copy(target, value, atom.aval)

    def write_elementwise(self, e: Equation) -> None:
        """Write an elementwise equation on entries in registers."""
        (result,) = e.outputs
        shape, f = result.aval.shape, self.function
        columns = []
        for a in e.inputs:
            entries: list[Any] = [a.value] if type(a) is Literal else self.entries(a)
            columns.append([entries[k] for k in places_in(a.aval.shape, shape)])
        rows = [*zip(*columns)] or [()] * result.aval.size
        width = lanes_of(e) if len(rows) > 1 else 1
        if width == 1:
            self.bind(result, [lanes.write(e, row, f, 1) for row in rows])
            return
        found: Held = []
        for first in range(0, len(rows), width):
            part = rows[first : first + width]
            if len(part) == 1:
                found.append(lanes.write(e, part[0], f, 1))
                continue
            filled = [*part, *[part[0]] * (next_power(len(part)) - len(part))]
            operands = [
                # What no entry needs is computed all the same, of numbers that are there: LLVM does not know.
                column[0] if not isinstance(column[0], Value) else f.join(column).fence()
                for column in zip(*filled)
            ]
            found += f.separate(lanes.write(e, operands, f, len(filled)))[: len(part)]
        self.bind(result, found)


def is_loop(e: Equation) -> bool:
    """Whether an equation is written as loops that belong to no function yet, and writes into no operand."""
    name = e.primitive.computes
    if (
        name in WRITTEN
        or name in ("fused", "reshape")
        or inner_graphs(e)
        or (name == "contract" and product_of(e))
    ):
        return False
    read = () if name in space.READING else e.inputs
    return not all(is_held(a.aval) for a in (*read, *e.outputs))


def next_power(count: int) -> int:
    """Return the smallest power of two that is not below a number."""
    return 1 << (count - 1).bit_length()


def lanes_of(e: Equation) -> int:
    """Return the number of entries that an equation computes at a time; one for equations of single instructions."""
    rule = math.FUNCTIONS.get(e.primitive.computes)
    dtypes = [a.aval.dtype for a in (*e.inputs, *e.outputs) if not a.aval.weak]
    if rule is None or rule.inline or any(d.kind != "f" or d.itemsize < 4 for d in dtypes):
        return 1
    return vector_bytes() // max(d.itemsize for d in dtypes)


def places_in(shape: Sequence[int], target: Sequence[int]) -> list[int]:
    """Return for each entry of a shape the number of the entry of an array that is broadcast to it."""
    return np.broadcast_to(np.arange(prod(shape)).reshape(shape), target).ravel().tolist()


# -- values in memory ------------------------------------------
@step_rule("fused", admits=lambda e: e.params["native"])
def write_group(w: StepWriter, e: Equation) -> None:
    """Write a call of the group's own loop, and what is left of its reductions."""
    graph, freedom = e.params["graph"], e.params.get("freedom", "")
    if uses_reductions(graph):
        cut: Any = RowSpace(graph)
        work: Any = RowWork(cut)
        body = RowWriter(cut, work, freedom).write()
    else:
        cut = space.Space(graph)
        work = Work(cut)
        body = groups.Writer(cut, work, freedom).write()
    targets, rest = [], []
    for i, v in enumerate(e.outputs):
        target = own = w.target(v)
        if i in cut.reductions:
            shape = work.partial_shape(i)
            if shape[0] != 1:
                own = w.reserve(prod(shape) * v.aval.dtype.itemsize)
                rest.append((Combination(cut.reductions[i].equation), own, target, shape))
        targets.append((own, target))
    operands = [w.place(a) for a in e.inputs]
    w.call(w.add_function(body), 0, work.units, *operands, *(own for own, _ in targets))
    for combination, partial, target, shape in rest:
        combine(w, combination, combination.dtype, partial, target, shape, 0)
    for v, (_, target) in zip(e.outputs, targets):
        w.settle(v, target)


def combine(
    w: StepWriter,
    combination: Combination,
    dtype: np.dtype,
    source: Value,
    target: Value,
    shape: tuple[int, int],
    axis: int,
) -> None:
    """Write the reduction of one of the two axes of entries of a dtype."""
    f, parts = w.function, lanes.parts_of(dtype)
    type, dtype = Type(lanes.memory_element(dtype)), lanes.part_dtype(dtype)
    kept, step = (shape[1], shape[1]) if axis == 0 else (shape[0], 1)

    def entry(place: Value) -> Value:
        value = lanes.from_memory(f.load(source, type, place), dtype)
        return lanes.convert(value, dtype, lanes.part_dtype(combination.dtype))

    with f.loop(kept) as loop:
        first = (loop.index if axis == 0 else loop.index * shape[1]) * parts
        for k in range(parts):
            with f.loop(shape[axis], 1, carry=[entry(first + k)]) as further:
                new = entry(first + further.index * (step * parts) + k)
                further.update(combination.combine(further.carry[0], new))
            total = lanes.to_memory(combination.finish(further.carry[0]))
            f.store(total, target, loop.index * parts + k)


def product_of(e: Equation) -> Any:
    """Return a contraction as a product of matrices of one floating-point dtype in memory, or None if it is not one."""
    left, right = (a.aval for a in e.inputs)
    if any(type(a) is Literal for a in e.inputs) or {left.dtype, right.dtype} != {e.outputs[0].aval.dtype}:
        return None
    plan = plan_product(e.params["spec"], left.shape, right.shape)
    if plan is None or left.dtype not in (np.float32, np.float64):
        return None
    return plan if plan.rows * plan.columns * plan.terms <= STEP_PRODUCTS else None


def write_matrix_product(w: StepWriter, e: Equation, plan: Any) -> None:
    """Write a call of the product's function. What is the same in all steps was transposed before."""
    element = lanes.memory_element(e.outputs[0].aval.dtype)
    a, b = e.inputs[:: -1 if plan.swapped else 1]
    left = w.place(a)
    right = w.transposed.get((b, plan.columns, plan.terms)) if plan.transposed else w.place(b)
    if right is None:
        right = transpose(w, b, plan.columns, plan.terms)
    target = w.target(e.outputs[0])
    w.call(w.add_function(write_product("product", element, plan)), target, left, right)
    w.settle(e.outputs[0], target)


def transpose(w: StepWriter, matrix: Any, rows: int, columns: int) -> Value:
    """Write the transposition of a matrix; return its place."""
    name = w.add_function(
        write_transposition("transpose", lanes.memory_element(matrix.aval.dtype), rows, columns)
    )
    place = w.reserve(size_in_memory(matrix.aval))
    w.call(name, place, w.place(matrix))
    return place


def transpose_constants(w: StepWriter, graph: Graph, constants: Sequence[Var]) -> None:
    """Transpose before a loop the constants that its products need transposed in every step."""
    for e in graph.equations:
        plan = product_of(e) if e.primitive.computes == "contract" else None
        if plan is not None and plan.transposed:
            b = e.inputs[0] if plan.swapped else e.inputs[1]
            key = (b, plan.columns, plan.terms)
            if b in constants and not is_held(b.aval) and key not in w.transposed:
                w.transposed[key] = transpose(w, b, plan.columns, plan.terms)
