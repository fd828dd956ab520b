"""LinearFunction, the function that `vjp`, `linearize` and `linear_transpose` return beside a value. It is a pytree.

Its leaves are its residuals. So it may be returned from a jitted or mapped function, be passed to one, and be used with
`fx.tree.map`. Until its leaves are read it is a Python function.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.aval import Aval
from ..core.errors import StructureError
from ..core.graph import Graph
from ..core.interpreter import api_boundary
from ..core.references import is_reference
from ..core.same_graphs import intern_graph, lift_constants
from ..core.staging import stage
from .arguments import admit_tangents, as_cotangent, tangent_dtype, unshare_results


class LinearFunction:
    """A linear function of a pytree of tangents, or of cotangents.

    `operation` and `what` are its words in messages: "vjp", "cotangent". It takes one argument if it is `single`, and
    else several; `avals` and `in_structure` are those of the values to which it belongs, `out_structure` that of the
    results. `run` is the function of flat values; its results are the caller's own.
    """

    __slots__ = (
        *("__weakref__", "avals", "dtype_for", "graph_of_run", "in_structure", "operation", "out_structure"),
        *("run", "single", "what"),
    )

    def __init__(
        self,
        operation: str,
        what: str,
        avals: Sequence[Aval],
        in_structure: Any,
        out_structure: Any,
        run: Callable[[list[Any]], Sequence[Any]],
        single: bool,
        graph: Graph | None = None,
        dtype_for: Callable[[Any], Any] = tangent_dtype,
    ):
        self.operation, self.what, self.avals, self.run, self.single = operation, what, avals, run, single
        self.in_structure, self.out_structure, self.dtype_for = in_structure, out_structure, dtype_for
        self.graph_of_run = graph

    @api_boundary
    def __call__(self, *args: Any) -> Any:
        if self.single:
            if len(args) != 1:
                raise StructureError(
                    f"the {self.what} is one argument, {len(args)} were given",
                    hint="a tuple for several parts",
                )
            (args,) = args
        given, structure = pytree.flatten(args)
        given = admit_tangents(
            self.operation, self.what, self.avals, self.in_structure, given, structure, self.dtype_for
        )
        results = self.run([as_cotangent(g, a) for g, a in zip(given, self.avals)])
        return pytree.unflatten(self.out_structure, results)

    def with_refs(self, *refs: Any) -> Callable[..., Any]:
        """Return this function as one that adds its results to references.

        Args:
            refs: for each result a pytree of the same structure, or None for the whole; its leaves are an `fx.Ref` to
                which the result is added, or None for what is returned.

        Returns:
            A function of the same arguments; its result has None in the place of what has gone into a reference.

        Raises:
            StructureError: `refs` are no prefix of the result.

        >>> total = fx.new_ref(np.zeros(2))
        >>> for x in np.eye(2):
        ...     loss, pull = fx.vjp(lambda w: fnp.sum((w * x) ** 2), np.ones(2))
        ...     _ = pull.with_refs(total)(1.0)
        >>> fx.freeze(total)
        array([2., 2.])
        """

        @api_boundary
        def add_to_refs(*args: Any) -> Any:
            results, structure = pytree.flatten(self(*args))
            places = pytree.flatten_prefix(refs, structure.unflatten(results), "with_refs: refs")
            for i, (ref, result) in enumerate(zip(places, results)):
                if is_reference(ref):
                    ref.assign(ops.add(ref.value, result))
                    results[i] = None
            return structure.unflatten(results)

        return add_to_refs

    @property
    def graph(self) -> Graph:
        """The function of flat values as a Graph, which captures what the function needs."""
        if self.graph_of_run is None:
            avals = [a.update(dtype=self.dtype_for(a.dtype)) for a in self.avals]
            self.graph_of_run = stage(lambda *values: self.run(list(values)), avals, self.operation)
        return self.graph_of_run

    def __repr__(self) -> str:
        return f"<linear function ({self.operation}) of a {self.what} of {', '.join(map(repr, self.avals))}>"


def flatten(function: LinearFunction) -> tuple[Iterable[Any], Hashable]:
    """Flatten a linear function into the values that it needs, and the program that it is. Equal programs are one."""
    program, values = lift_constants(function.graph)
    words = function.operation, function.what, tuple(function.avals), function.single, function.dtype_for
    values = [in_native_order(v) for v in values]
    return values, (intern_graph(program), *words, function.in_structure, function.out_structure)


def in_native_order(value: Any) -> Any:
    """Return a captured array, which may be of the other byte order, as transforms take it."""
    if not isinstance(value, np.ndarray) or value.dtype.isnative:
        return value
    return value.astype(value.dtype.newbyteorder("="))


def unflatten(auxiliary: Any, values: Iterable[Any]) -> LinearFunction:
    """Make a linear function of its program and values."""
    program, operation, what, avals, single, dtype_for, in_structure, out_structure = auxiliary
    values = list(values)
    count = len(values)
    graph = Graph(
        program.inputs[count:],
        program.equations,
        program.outputs,
        dict(zip(program.inputs[:count], values)),
        program.name,
    )

    def run(given: list[Any]) -> Sequence[Any]:
        return unshare_results(program(*values, *given), [*values, *given])

    return LinearFunction(operation, what, avals, in_structure, out_structure, run, single, graph, dtype_for)


pytree.register_pytree_node(LinearFunction, flatten, unflatten)
