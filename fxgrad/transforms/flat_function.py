"""Functions of pytrees as functions of flat values, which interpreters trace, map and stage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core import pytree
from ..core.arrays import as_value, holds_objects
from ..core.errors import StructureError
from ..core.graph import Graph
from ..core.interpreter import CURRENT, Context, Interpreter, PrimalTracer, Tracer, ensure_open, use_context
from ..core.surface import release
from .arguments import LeafName, admit_or_float0, input_name, leaf_path, positional_names


class FlatFunction:
    """A function of pytrees as a function from values to a list of values, which are admitted as results of `name`.

    `structure` is that of the positional arguments, or with `keywords` of (args, kwargs); `out_structure` that of the
    result, known once it was called. With `has_aux` the function returns (value, aux), and `aux` is what it returned
    last. With `name_leaves` messages say which leaf of the result they mean.
    """

    __slots__ = ("aux", "fun", "has_aux", "keywords", "name", "name_leaves", "out_structure", "structure")

    def __init__(
        self,
        fun: Callable[..., Any],
        structure: Any,
        name: str,
        *,
        keywords: bool = False,
        has_aux: bool = False,
        name_leaves: bool = False,
    ):
        self.fun, self.structure, self.name = fun, structure, name
        self.keywords, self.has_aux, self.name_leaves = keywords, has_aux, name_leaves
        self.aux: Any = None
        self.out_structure: Any = None

    def __call__(self, *values: Any) -> list[Any]:
        context = CURRENT.get()
        tree = pytree.unflatten(self.structure, values)
        args, kwargs = tree if self.keywords else (tree, {})
        result = self.fun(*args, **kwargs)
        CURRENT.set(context)  # ends the level that objects of another surface may have opened above
        if self.has_aux:
            result, aux = split_aux(result, self.name)
            self.aux = strip_tracers(aux, CURRENT.get().interpreter)
        results, self.out_structure = pytree.flatten(result)
        for i, r in enumerate(results):
            results[i] = admit_or_float0(r, self.result_name(i))
        return results

    def name_inputs(self, graph: Graph) -> Graph:
        """Let the inputs of a Graph of this function have the names of the arguments in listings."""
        names = positional_names(self.fun)
        for index, var in enumerate(graph.inputs):
            var.label = partial(input_name, names, self.structure, index, self.keywords)
        return graph

    def result_name(self, index: int) -> str | LeafName:
        """Return what messages call a leaf of the result."""
        if self.name_leaves:
            return LeafName(f"{self.name}: the result", leaf_path, self.out_structure, index)
        if self.out_structure.num_leaves > 1:
            return LeafName(f"{self.name}: a result,", leaf_path, self.out_structure, index)
        return f"{self.name}: a result"


def split_aux(result: Any, name: str) -> tuple[Any, Any]:
    """Split the result of a function with `has_aux` into the value and the auxiliary result."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        found = f"{result.aval!r}" if isinstance(result, Tracer) else f"a {type(result).__name__}"
        raise StructureError(
            f"{name}: with has_aux=True the function must return a pair (value, aux), not {found}",
            hint="return value, aux; or leave has_aux out",
        )
    return result[0], result[1]


def strip_tracers(aux: Any, interpreter: Interpreter) -> Any:
    """Replace the tracers of a forward- or reverse-mode level in auxiliary results by their primals; arrays
    are copied, since they may be residuals as well."""

    def strip_leaf(value: Any) -> Any:
        if isinstance(value, PrimalTracer) and value.interpreter is interpreter:
            value = value.primal
        elif isinstance(value, Tracer):
            ensure_open(value, "an auxiliary result")
        return value.copy() if type(value) is np.ndarray else release(value)

    with use_context(Context(interpreter, CURRENT.get().observer, CURRENT.get().modes)):
        leaves, structure = pytree.flatten(aux)  # a pullback among them is staged over values of the level
        leaves = [as_value(v) if holds_objects(v) else v for v in leaves]
    return structure.unflatten(list(map(strip_leaf, leaves)))
