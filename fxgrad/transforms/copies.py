"""The level that `shard_map` opens: it tracks which values are equal on all ranks, and tells transforms.

A value that differs between ranks is a `VaryingTracer`, which holds the names of the mesh axes along which it differs.
A value that is equal on all ranks, a *copy*, stays unwrapped. A result differs if an operand does, and a collective
makes values equal again.

Inside `shard_map`, the derivative is that of one function of all ranks' values (see `ops.ranks`), and copies are
separate values. For the user they are one. So a reverse-mode transform applies `copy_to_ranks`, which sums the
cotangents, to every copy among its arguments, and `unite_copies`, which divides the cotangent, to every copy among its
results. The gradient with respect to a parameter is then reduced once, also through loops and further derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import wraps
from itertools import repeat, takewhile
from typing import Any

from .. import ops  # noqa: F401  before its parts
from ..core import pytree
from ..core.errors import ConcretizationError, UnsupportedError
from ..core.graph import Literal
from ..core.interpreter import Interpreter, PrimalTracer, Tracer, copy_level, ensure_open, levels
from ..core.primitive import HigherOrder
from ..core.staging import GraphInterpreter, GraphTracer
from ..ops.ranks import BetweenRanks, copy_to_ranks, unite_copies

Names = frozenset[str]
NOWHERE: Names = frozenset()


class VaryingTracer(PrimalTracer):
    """A value of an outer level that differs along the axes `varying`."""

    __slots__ = ("varying",)

    def __init__(self, interpreter: CopyInterpreter, primal: Any, varying: Names):
        self.interpreter, self.primal, self.varying = interpreter, primal, varying

    def concretize(self, operation: str) -> Any:
        axes = ", ".join(sorted(self.varying))
        raise ConcretizationError(
            f"{operation} of a value {self.aval!r} that differs between processes, along {axes}",
            hint="they would go different ways: fx.lax.cond, fnp.where, or a collective that makes it the same; or "
            "shard_map(…, check_vma=False)",
        )


class CopyInterpreter(Interpreter):
    """Hands every operation to the level outside, and follows which results differ between the ranks of a mesh."""

    name = "shard_map"
    knows_copies = True
    __slots__ = ("mesh",)

    def __init__(self, site: Any, mesh: Any):
        super().__init__(site)
        self.mesh = mesh

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        own = [type(a) is VaryingTracer and a.interpreter is self for a in args]
        varying = [a.varying if mine else NOWHERE for a, mine in zip(args, own)]
        values = tuple([a.primal if mine else a for a, mine in zip(args, own)])
        found = varying_results(primitive, varying, params)
        results = self.bind_outer(primitive, values, params)
        if primitive.multiple_results:
            everywhere = [found] * len(results) if isinstance(found, frozenset) else found
            return [self.wrap(r, v) for r, v in zip(results, everywhere)]
        return self.wrap(results, found)

    def wrap(self, value: Any, varying: Any) -> Any:
        """Return a value as one that differs along these axes."""
        return VaryingTracer(self, value, varying) if varying else value

    def unwrap(self, value: Any) -> tuple[Any, Names]:
        """Split a result into its value and the axes along which it differs."""
        if type(value) is VaryingTracer and value.interpreter is self:
            return value.primal, value.varying
        if isinstance(value, Tracer):
            ensure_open(value, "shard_map")
        return value, NOWHERE

    def spread(self, value: Any) -> Any:
        """Return an argument of a derivative, of which each rank has a copy if it is one value."""
        return copy_along(value, self.mesh, varying_axes(value, self))

    def unite(self, value: Any) -> Any:
        """Return a result of which a derivative is taken, as one value if it is the same on every rank."""
        return unite_along(value, self.mesh, varying_axes(value, self))


def varying_results(primitive: Any, varying: Sequence[Names], params: dict) -> Any:
    """Return the axes along which the results of an operation differ, for operands that do along these: one set for all
    results, or a list of them."""
    along = NOWHERE.union(*varying)
    if isinstance(primitive, BetweenRanks):
        if primitive.varies is not None:
            names = params["axis"].varying
            along = along | names if primitive.varies else along - names
    elif isinstance(primitive, HigherOrder):
        from .varying_graphs import varying_results_of_bodies  # for whoever has loops in a shard_map

        return varying_results_of_bodies(primitive, varying, params)
    return along


def varying_axes(value: Any, level: CopyInterpreter) -> Names:
    """Return the names of the axes of the level along which a value differs, whatever levels it belongs to."""
    if type(value) is VaryingTracer and value.interpreter is level:
        return value.varying
    if not isinstance(value, Tracer):
        return NOWHERE
    if type(value) is GraphTracer:
        above = takewhile(lambda found: found is not level, levels())
        return staged_axes(value, level) if value.interpreter in above else NOWHERE
    # A tangent is as its primal.
    parts = (value.primal,) if isinstance(value, PrimalTracer) else value.contents()
    return NOWHERE.union(*[varying_axes(v, level) for v in parts])


def known_axes(values: Sequence[Any]) -> list[Names] | None:
    """Return the axes along which each value differs, None where no level knows it."""
    level = copy_level()
    return None if level is None else [varying_axes(v, level) for v in values]


def staged_axes(tracer: GraphTracer, level: CopyInterpreter) -> Names:
    """Return the axes along which a staged value differs, which follow from those of the inputs."""
    interpreter: GraphInterpreter = tracer.interpreter  # type: ignore[assignment]
    known = interpreter.notes
    for var, value in interpreter.captured.items():
        if var not in known:
            known[var] = varying_axes(value, level)
    for e in interpreter.equations:
        if e.outputs and e.outputs[0] not in known:
            operands: list[Any] = [NOWHERE if type(a) is Literal else known.get(a) for a in e.inputs]
            if None not in operands:
                found = varying_results(e.primitive, operands, e.params)
                known.update(zip(e.outputs, repeat(found) if isinstance(found, frozenset) else found))
    if tracer.variable not in known:
        raise UnsupportedError(
            "a derivative of a staged function inside shard_map: it is not known which of its arguments differ between "
            "processes",
            hint="take the derivative outside of what stages, or outside of the shard_map; or "
            "shard_map(…, check_vma=False), where every process's arguments are its own",
        )
    return known[tracer.variable]


def note_axes(fun: Callable[..., Any], varying: Sequence[Names]) -> Callable[..., Any]:
    """Return a function to be staged, of whose inputs it is noted along which axes they differ."""

    @wraps(fun)
    def noting(*args: Any) -> Any:
        for leaf, names in zip(pytree.leaves(args), varying, strict=True):
            if type(leaf) is GraphTracer:
                leaf.interpreter.notes[leaf.variable] = names  # type: ignore[attr-defined]
        return fun(*args)

    return noting


def copy_along(value: Any, mesh: Any, varying: Container[str]) -> Any:
    """Make values of all ranks of one value, along the axes of a mesh but those where it differs."""
    axis = mesh.rest(varying)
    return value if axis is None else copy_to_ranks(value, axis=axis)


def unite_along(value: Any, mesh: Any, varying: Container[str]) -> Any:
    """Make one value of equal ones, along the axes of a mesh but those where they differ."""
    axis = mesh.rest(varying)
    return value if axis is None else unite_copies(value, axis=axis)
