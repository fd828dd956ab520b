"""Function arguments of control flow as Graphs: they are staged at the avals of their operands, compared with each
other and with the carry, closed, and recognized when they occur again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..core import pytree
from ..core.aval import Aval, aval_of
from ..core.errors import StructureError, describe
from ..core.interpreter import is_plain
from ..core.staging import stage
from ..core.surface import join_structures, object_kinds, release_all, with_object_kinds
from ..ops.shaping import result_dtype
from ..transforms.arguments import admit_arguments, leaf_path, unshare_results
from ..transforms.copies import note_axes
from ..transforms.flat_function import FlatFunction
from ..transforms.jit import function_name
from ..transforms.varying_graphs import follow


class StagedFunction:
    """A user's function of a tree of arguments, as the Graph at given avals.

    `place` is what messages call it, `site` the user's line; `wanted`, where given, are avals to which results that
    are weak are converted.
    """

    __slots__ = ("avals", "fun", "graph", "out_structure", "place", "site", "structure")

    def __init__(
        self,
        fun: Callable[..., Any],
        structure: Any,
        avals: Sequence[Aval],
        place: str,
        site: Any,
        wanted: Sequence[Aval] | None = None,
    ):
        if not callable(fun):
            raise StructureError(
                f"{place} must be a function, not a {type(fun).__name__}",
                hint="the function itself, f, and not what it returns, f(x)",
            )
        self.fun, self.structure, self.avals, self.place, self.site = fun, structure, avals, place, site

        flat_fun = FlatFunction(fun, structure, place, name_leaves=True)

        def body(*tracers: Any) -> Sequence[Any]:
            results = flat_fun(*tracers)
            return results if wanted is None else list(map(cast_to_aval, results, wanted))

        self.graph = flat_fun.name_inputs(stage(body, avals, function_name(fun), site, level=place))
        self.out_structure = flat_fun.out_structure

    def restage(self, wanted: Sequence[Aval]) -> StagedFunction:
        """Return the function with results of these avals; it is staged anew, so that the equations keep the
        user's lines."""
        if wanted == self.graph.out_avals:
            return self
        return StagedFunction(self.fun, self.structure, self.avals, self.place, self.site, wanted)


def flatten_arguments(place: str, args: tuple) -> tuple[list[Any], Any]:
    """Flatten and check a tuple of arguments; return (leaves, structure)."""
    leaves, structure = pytree.flatten(args)
    return admit_arguments(place, leaves, structure), structure


def cast_to_aval(value: Any, aval: Aval) -> Any:
    """Convert a value to the dtype of the aval; its weakness is lost where the aval is not weak."""
    have = aval_of(value)
    return (
        value if (have.dtype, have.weak) == (aval.dtype, aval.weak) else ops.convert(value, dtype=aval.dtype)
    )


def join_avals(a: Aval, b: Aval) -> Aval | None:
    """Return the aval of which both are values: weak ones give way, others must agree; None where they do
    not."""
    if a.shape != b.shape:
        return None
    if a == b:
        return a
    dtype = result_dtype([a, b])
    if not all(v.weak or v.dtype == dtype for v in (a, b)):
        return None
    return Aval(a.shape, dtype)


def stage_loop_body(
    fun: Callable[..., Any],
    structure: Any,
    avals: Sequence[Aval],
    carry: Any,
    carry_of: Callable[[Any], Any],
    place: str,
    site: Any,
    varying: Sequence[Any] | None = None,
) -> tuple[StagedFunction, list[Aval], Any]:
    """Stage the body of a loop until its carry, of structure `carry`, is the same before and after a step (a
    Python number takes the dtype that the body gives it, an array becomes the object that the body makes of it); return
    it, and the avals and the structure of its arguments.
    `carry_of` finds the carry's structure in that of the results; `varying` are the axes along which the arguments
    differ between processes, where that is known."""
    count = carry.num_leaves
    avals = list(avals)
    varying = None if varying is None else list(varying)
    while True:
        body = StagedFunction(
            fun if varying is None else note_axes(fun, varying), structure, avals, place, site
        )
        after = carry_of(body.out_structure)
        if after != carry:
            joined = join_structures([carry, after])
            if joined is None:
                raise StructureError(
                    f"{place}: the results of a step {pytree.describe_difference(after, carry)} as in the carry",
                    hint="return the carry with the containers that it came in",
                    site=site,
                )
            if joined != carry:
                carry, structure = joined, with_object_kinds(structure, object_kinds(joined))
                continue
        before, outs = avals[:count], body.graph.out_avals
        common: list[Aval] = []
        for i, (a, b) in enumerate(zip(before, outs)):
            both = join_avals(a, b)
            turned = (a.dtype.kind == "b") != (b.dtype.kind == "b")  # a truth value is no number
            if both is None or turned or (both != a and not a.weak):
                raise mismatch_error(
                    f"{place}: the carry", carry, i, ("before a step", "after it"), (a, b), site
                )
            common.append(Aval(both.shape, both.dtype, a.weak and b.weak))
        if varying is not None:
            grown = [a | b for a, b in zip(varying, follow(body.graph, varying)[:count])]
            if grown != varying[:count]:
                varying[:count] = grown
                continue
        if common == before:
            body = body.restage([*before, *outs[count:]])
            if after != carry:
                body.out_structure = with_object_kinds(body.out_structure, object_kinds(carry))
            return body, avals, structure
        avals[:count] = common


def mismatch_error(
    what: str, structure: Any, index: int, when: tuple[str, str], avals: tuple[Aval, Aval], site: Any
) -> StructureError:
    """Make the error for a leaf of `what`, a tree of arrays, that is not the same in two places."""
    path = leaf_path(structure, index)
    (first, second), (a, b) = when, avals
    return StructureError(
        f"{what}{path and f', its leaf {path},'} is {describe(a)} {first} and {describe(b)} {second}",
        hint=f"convert one of them: x.astype({a.dtype.name!r})"
        if a.shape == b.shape
        else f"both must be of one shape; to begin with, fnp.broadcast_to(x, {b.shape})"
        if first.startswith("before")
        else "both must be of one shape: fnp.broadcast_to, or fnp.zeros for what one has not got",
        site=site,
    )


def unshare_if_plain(results: Sequence[Any], operands: Sequence[Any]) -> Sequence[Any]:
    """Return results as the caller's own where they are plain arrays."""
    return unshare_results(results, operands) if is_plain(operands) else release_all(results)
