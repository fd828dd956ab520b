"""Fusion: neighbouring elementwise equations become groups, each one equation of the primitive `fused`.

    a = multiply(x, y)    f64[4000000]              a, b = fused(x, y, graph=…)
    b = exp(a)            f64[4000000]      →       return a, b
    return a, b

A group has one shape, from which its last equations may reduce; operands may be broadcast to it. Equations are
visited in order. An equation that fits joins the open group of its shape. A group is closed when an equation outside
of it needs its results; such an equation waits until then, and is placed earlier if an equation that would join needs
its result. So no equation moves before its operands, and groups are as large as possible.

A value that several groups read is computed in each of them if that takes few cheap steps: the differences
x[:, None] − y are part of the loop that gives distances, and of those that give gradients, and are never written.

Only profitable groups are fused: many entries, which are computed in tiles or by machine code, or many operations on
few entries, which machine code does in the time of two. Equations without machine code form groups of their own, for
tiles.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..core.costs import (
    CACHE_ENTRIES,
    FEWEST_TILES,
    FUSED_ENTRIES,
    FUSED_OPERATIONS,
    GROUP_OPERATIONS,
    REPEATED_ENTRIES,
)
from ..core.graph import Equation, Graph, Literal, Var
from ..kernels.native import engine
from ..kernels.row_space import MOVES, RowRules, row_axes
from ..kernels.space import PAIRWISE, REDUCTIONS, REPEATS, are_nested
from .fused import FUSED
from .repeats import are_cheap

FAST = " reassoc contract"  # what `relax` allows: sums in any order, a product and a sum in one rounding


class Target(NamedTuple):
    """A machine that carries out groups, by what can be asked about equations.

    is_candidate    whether one computes the entries of its result one by one, and may be in a group
    is_native       whether machine code can be made of it
    makes_code      of none: whether machine code is made at all
    suits_tiles     whether it can be computed in tiles
    fits_in         whether a group of a kind can reduce as it does
    go_together     of two: whether a group can reduce as both do
    pays            of those of a group: whether they are carried out faster as one
    """

    is_candidate: Callable[[Equation], bool]
    is_native: Callable[[Equation], bool]
    makes_code: Callable[[], bool]
    suits_tiles: Callable[[Equation], bool]
    fits_in: Callable[[Equation, Any], bool]
    go_together: Callable[[Equation, Equation], bool]
    pays: Callable[[Sequence[Equation]], bool]


def fuse(graph: Graph, target: Target | None = None) -> Graph:
    """Return the Graph with its groups as single equations, for this processor or another target."""
    target = target or PROCESSOR
    candidates = [e for e in graph.equations if target.is_candidate(e) or e.primitive.computes in REDUCTIONS]
    return Fusion(graph, target).run() if target.pays(candidates) else graph


def gather_groups(graph: Graph, least: int = 2) -> Graph:
    """Return the Graph with every elementwise equation on `least` entries or more in a group, and every sum of many,
    whether that pays or not."""

    def pays(group: Sequence[Equation]) -> bool:
        steps = [e for e in group if e.primitive.computes not in REDUCTIONS or is_long(e)]
        return max((v.aval.size for e in steps for v in (*e.inputs, *e.outputs)), default=0) >= least

    return Fusion(graph, PROCESSOR._replace(pays=pays)).run()


def find_steps(e: Equation, equations: Sequence[Equation]) -> list[Equation]:
    """Return those of the equations that lead to one, in their order."""
    needed, found = set(sources(e)), []
    for q in reversed(equations):
        if q is not e and q.outputs[0] in needed:
            needed.update(sources(q))
            found.append(q)
    return found[::-1]


def substitute(e: Equation, values: Mapping[Any, Any]) -> Equation:
    """Return an equation of other values."""
    inputs = [a if type(a) is Literal else values.get(a, a) for a in e.inputs]
    return Equation(e.primitive, inputs, [values.get(v, v) for v in e.outputs], e.params, e.site, e.quiet)


def is_long(reduction: Equation) -> bool:
    """Whether an equation adds up so many entries that sums in parts are more exact."""
    return reduction.inputs[0].aval.size > PAIRWISE * reduction.outputs[0].aval.size


def relax(graph: Graph) -> Graph:
    """Return the Graph with groups in which LLVM may change floating-point arithmetic."""
    equations = []
    for e in graph.equations:
        params = {k: map_graphs(value, relax) for k, value in e.params.items()}
        if e.primitive is FUSED:
            params = {**e.params, "freedom": FAST}
        equations.append(Equation(e.primitive, e.inputs, e.outputs, params, e.site, e.quiet))
    return Graph(graph.inputs, equations, graph.outputs, graph.captured, graph.name)


def map_graphs(value: Any, change: Callable[[Graph], Graph]) -> Any:
    """Change a Graph, and those in a tuple."""
    if isinstance(value, Graph):
        return change(value)
    if type(value) is tuple and any(isinstance(v, Graph) for v in value):
        return tuple([map_graphs(v, change) for v in value])
    return value


def is_candidate(equation: Equation) -> bool:
    """Whether an equation computes the entries of its result one by one."""
    primitive = equation.primitive
    if not (primitive.entrywise or primitive.name in REPEATS) or len(equation.outputs) != 1:
        return False
    size = equation.outputs[0].aval.size
    return size > 1 and (size >= FEWEST_TILES * CACHE_ENTRIES or engine.mode() != "never")


def is_native(equation: Equation) -> bool:
    """Whether machine code can be made of an equation."""
    if engine.mode() == "never":
        return False
    from ..kernels.native import lanes  # with all functions of vectors

    return lanes.covers(equation)


def suits_tiles(equation: Equation) -> bool:
    """Whether an equation can be computed in tiles by NumPy's functions."""
    avals = [v.aval for v in (*equation.inputs, *equation.outputs)]
    return equation.outputs[0].aval.size >= FEWEST_TILES * CACHE_ENTRIES and all(
        a.dtype.kind in "biufc" and a.dtype.isnative for a in avals
    )


def sources(equation: Equation) -> list[Var]:
    return [a for a in equation.inputs if type(a) is not Literal]


class Kind(NamedTuple):
    """What the equations of a group have in common."""

    shape: tuple[int, ...]
    native: bool


class Fusion:
    """A Graph on its way to another. `open` are the groups that may still grow, by their kind; `waiting` the equations
    that need one of them, in their order; `blockers` tells for a variable which groups it is made in or waits for."""

    def __init__(self, graph: Graph, target: Target):
        self.graph, self.target = graph, target
        self.equations: list[Equation] = []
        self.open: dict[Kind, list[Equation]] = {}
        self.waiting: list[Equation] = []
        self.blockers: dict[Any, frozenset[Kind]] = {}
        self.alone: dict[Kind, frozenset[Kind]] = {}
        self.member: dict[Any, Kind] = {}  # variables made in an open group that others of the group may read
        self.numbers: dict[Any, Kind] = {}  # those among them that have an entry for each row
        self.rules: dict[Kind, RowRules] = {}  # of the groups that work row by row
        self.readers = count_readers(graph)
        # The equations that read a variable, and None where it is a result.
        self.users: defaultdict[Any, list[Equation | None]] = defaultdict(list)
        for e in graph.equations:
            for v in sources(e):
                self.users[v].append(e)
        for v in graph.outputs:
            self.users[v].append(None)
        self.recipes: dict[Any, list[Equation]] = {}  # of values that are not kept
        self.copies: dict[Any, Any] = {}  # the last one of each

    def run(self) -> Graph:
        """Take the equations in their order."""
        for e in self.graph.equations:
            self.place(e)
        self.close(list(self.open))
        graph = self.graph
        return Graph(graph.inputs, self.equations, graph.outputs, graph.captured, graph.name)

    def place(self, e: Equation) -> None:
        """Put an equation into a group, or have it carried out."""
        e, kind = self.find_place(e)
        if kind is not None:
            self.join(e, kind)
            return
        blockers = self.blocked_by(sources(e))
        if blockers and e.effectful:
            self.close(blockers)
            blockers = frozenset()
        self.put(e, blockers)

    def find_place(self, given: Equation) -> tuple[Equation, Kind | None]:
        """Return an equation, which may read copies now, and the kind of group that it joins, or None. Groups are
        carried out that stand in its way, after which it may fit into another."""
        e, is_new = self.with_copies(given), True
        while (kind := self.kind_of(e)) is not None:
            outside = [v for v in sources(e) if v in self.blockers and self.member.get(v) != kind]
            if outside:
                self.close(self.blocked_by(outside))
            elif self.admits(e, kind):
                break
            elif e.primitive.computes in MOVES:  # it can wait: alone it is no group
                return e, None
            else:
                if is_new and e is not given:  # it reads other copies, in the next group
                    self.readers.subtract(set(sources(e)) - set(sources(given)))
                    e, is_new = given, False
                self.close([kind])
            e = self.with_copies(e)
        return e, kind

    def with_copies(self, e: Equation) -> Equation:
        """Return an equation that reads copies, in an open group, of the values that were not kept."""
        gone = [v for v in dict.fromkeys(sources(e)) if v in self.recipes]  # in an order that does not vary
        for v in gone:
            if self.copies.get(v) not in self.member:
                made: dict[Any, Any] = {}
                for q in self.recipes[v]:
                    made[q.outputs[0]] = Var(q.outputs[0].aval)
                    copy = substitute(q, made)
                    self.readers.update(sources(copy))
                    self.place(copy)
                self.copies[v] = made[v]
            self.readers[self.copies[v]] += 1
        return substitute(e, {v: self.copies[v] for v in gone}) if gone else e

    def keep_few(self, group: Sequence[Equation], kind: Kind) -> Sequence[Equation]:
        """Return a group without values that it takes less time to compute again, in later groups, than to write and to
        read: those made in few steps of operands outside and of numbers of each row."""
        if not kind.native or prod(kind.shape) <= REPEATED_ENTRIES:
            return group
        inside = Counter(v for q in group for v in sources(q))
        whole = [q for q in group if q.outputs[0].aval.shape == kind.shape]
        for q in whole:
            (v,) = q.outputs
            if self.readers[v] == inside[v] or not all(
                self.may_copy(v, e) for e in self.users.get(v, [None])
            ):
                continue
            steps = [*find_steps(q, whole), q]
            operands = {a for step in steps for a in sources(step)} - {step.outputs[0] for step in steps}
            if are_cheap(steps) and sum(a.aval.size for a in operands) < 2 * v.aval.size:
                self.recipes[v] = steps
                self.readers[v] = inside[v]
                self.readers.update(operands)
        kept = []
        for q in reversed(group):
            if self.readers[q.outputs[0]]:
                kept.append(q)
            else:
                self.readers.subtract(sources(q))
        return kept[::-1]

    def may_copy(self, v: Var, reader: Equation | None) -> bool:
        """Whether what reads a value is part of a loop over its shape, and so can compute it."""
        if reader is None:  # the value is a result
            return False
        if reader.primitive.computes in REDUCTIONS:
            return reader.inputs[0].aval.size > reader.outputs[0].aval.size
        same = len(reader.outputs) == 1 and reader.outputs[0].aval.shape == v.aval.shape
        return same and self.target.is_candidate(reader) and self.target.is_native(reader)

    def admits(self, e: Equation, kind: Kind) -> bool:
        """Whether the group of a kind can grow by an equation."""
        return len(self.open.get(kind, ())) < GROUP_OPERATIONS and self.keeps_rules(e, kind)

    def kind_of(self, e: Equation) -> Kind | None:
        """Return the kind of group into which an equation fits, or None where it fits into none."""
        rows = next((self.numbers[v] for v in sources(e) if v in self.numbers), None)
        if rows is not None and len(e.outputs) == 1 and e.outputs[0].aval.size < prod(rows.shape):
            known = e.primitive.computes in MOVES or (
                self.target.is_candidate(e) and self.target.is_native(e)
            )
            return rows if known else None
        if self.target.is_candidate(e):
            native = self.target.is_native(e)
            return Kind(e.outputs[0].aval.shape, native) if native or self.target.suits_tiles(e) else None
        if e.primitive.computes not in REDUCTIONS or e.inputs[0].aval.size == e.outputs[0].aval.size:
            return None
        kind = self.member.get(e.inputs[0])
        size = e.inputs[0].aval.size
        if (
            kind is None and size > 1 and self.target.makes_code()
        ):  # what follows may read rows, or reduce as well
            kind = Kind(e.inputs[0].aval.shape, True)
        fits = kind is not None and kind.shape == e.inputs[0].aval.shape and self.target.fits_in(e, kind)
        return kind if fits else None

    def keeps_rules(self, e: Equation, kind: Kind) -> bool:
        """Whether the group of a kind can be carried out with one more equation: if its reductions go together, and, if
        somebody in it reads what others have reduced, row by row."""
        group, rules = self.open.get(kind, ()), self.rules.get(kind)
        if e.primitive.computes in REDUCTIONS:
            reductions = [r for r in group if r.primitive.computes in REDUCTIONS]
            if not all(self.target.go_together(e, r) for r in reductions):
                return False
        if rules is not None:
            return rules.admit(e, self.numbers)
        if not any(self.numbers.get(v) == kind for v in sources(e)):
            return True
        axes = next(row_axes(r) for r in group if r.primitive.computes in REDUCTIONS)
        rules = RowRules(kind.shape, axes)
        if not (axes and rules.admit_space() and all(rules.admit(r, self.numbers) for r in (*group, e))):
            return False
        self.rules[kind] = rules
        return True

    def blocked_by(self, variables: Iterable[Any]) -> frozenset[Kind]:
        return frozenset().union(*(self.blockers.get(v, ()) for v in variables))

    def put(self, e: Equation, blockers: frozenset[Kind]) -> None:
        """Have an equation carried out, now or after groups that it waits for."""
        if blockers:
            self.waiting.append(e)
            self.blockers.update((v, blockers) for v in e.outputs)
        else:
            self.equations.append(e)
            for v in e.outputs:
                self.blockers.pop(v, None)

    def join(self, e: Equation, kind: Kind) -> None:
        """Put an equation into the open group of a kind."""
        self.open.setdefault(kind, []).append(e)
        out = e.outputs[0]
        self.blockers[out] = self.alone.setdefault(kind, frozenset([kind]))
        if out.aval.shape == kind.shape:
            self.member[out] = kind
        elif kind.native:
            self.member[out] = self.numbers[out] = kind

    def close(self, kinds: Iterable[Kind]) -> None:
        """Carry out open groups, and what has waited for nothing else."""
        for kind in kinds:
            group = self.open.pop(kind, ())
            self.rules.pop(kind, None)
            for e in group:
                self.member.pop(e.outputs[0], None)
                self.numbers.pop(e.outputs[0], None)
                del self.blockers[e.outputs[0]]
            for part in components(self.keep_few(group, kind)):
                self.equations += self.settle(part, kind.native)
        waiting, self.waiting = self.waiting, []
        for given in waiting:
            e = self.with_copies(given)
            self.put(e, self.blocked_by(sources(e)))

    def settle(self, group: Sequence[Equation], native: bool) -> Sequence[Equation]:
        """Return a group as one equation, or its equations as they are where that is better."""
        if not self.target.pays(group):
            return group
        return [fuse_equations(group, self.readers, native=native)]


def fuse_equations(
    group: Sequence[Equation],
    readers: Counter,
    change: Callable[[Graph], Graph] = lambda graph: graph,
    **params: Any,
) -> Equation:
    """Return equations as one, for how often each variable is read in their Graph; `change` is applied to theirs."""
    inside = Counter(v for e in group for v in sources(e))
    made = dict.fromkeys(v for e in group for v in e.outputs)
    inputs = [v for v in inside if v not in made]
    outputs = [v for v in made if readers[v] > inside[v]]
    site = next((e.site for e in group if any(v in outputs for v in e.outputs)), group[0].site)
    params["graph"] = change(Graph(inputs, group, outputs, None, "group"))
    return Equation(FUSED, inputs, outputs, params, site, all(e.quiet for e in group))


def count_readers(graph: Graph) -> Counter:
    """Return how often each variable is read in a Graph, or is a result."""
    readers = Counter(v for e in graph.equations for v in sources(e))
    readers.update(v for v in graph.outputs if type(v) is Var)
    return readers


def fits_in(reduction: Equation, kind: Kind) -> bool:
    """Whether a group can reduce as the equation does."""
    if not kind.native:
        return suits_tiles(reduction) or all(
            v.aval.dtype.kind in "biuf" for v in (*reduction.inputs, *reduction.outputs)
        )
    from ..kernels.native import groups

    return groups.admits(reduction)


def is_worth_fusing(group: Sequence[Equation]) -> bool:
    """Whether equations are carried out faster as one than step by step."""
    steps = [e for e in group if e.primitive.computes not in MOVES | REPEATS]
    size = max((v.aval.size for e in group for v in (*e.inputs, *e.outputs)), default=0)
    if all(e.primitive.computes in REDUCTIONS or e.outputs[0].aval.size < size for e in steps):
        return size >= FUSED_ENTRIES and bool(steps)
    if engine.mode() == "always":
        return bool(steps)
    if size >= FUSED_ENTRIES:
        return len(steps) > 1
    # Functions of NumPy's that are no ufuncs take twice as long.
    return sum(1 + (type(e.primitive.kernel) is not np.ufunc) for e in steps) >= FUSED_OPERATIONS


def go_together(first: Equation, second: Equation) -> bool:
    """Whether machine code, which stores no totals before they are complete, can reduce as both equations do."""
    shape = first.inputs[0].aval.shape
    return engine.mode() == "never" or are_nested(shape, first.params["axes"], second.params["axes"])


PROCESSOR = Target(
    is_candidate,
    is_native,
    lambda: engine.mode() != "never",
    suits_tiles,
    fits_in,
    go_together,
    is_worth_fusing,
)


def components(group: Sequence[Equation]) -> list[list[Equation]]:
    """Split a group into parts that have no variable in common but numbers."""
    parent: dict[Any, Any] = {}

    def root(v: Any) -> Any:
        while parent.setdefault(v, v) is not v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    for e in group:
        for v in sources(e):
            if v.aval.shape != ():
                parent[root(v)] = root(e.outputs[0])
    found: dict[Any, list[Equation]] = {}
    for e in group:
        found.setdefault(root(e.outputs[0]), []).append(e)
    return list(found.values())
