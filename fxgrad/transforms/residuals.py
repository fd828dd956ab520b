"""`print_saved_residuals`: the values that reverse mode keeps of a function, and their origins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ..core import pytree, source_info
from ..core.aval import Aval, aval_of
from ..core.graph import Equation
from ..core.interpreter import api_boundary, opened
from ..core.staging import GraphInterpreter, GraphTracer
from .arguments import admit_arguments, leaf_path
from .reverse import ReverseInterpreter
from .vjp import primal_and_node


@api_boundary
def saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Aval, str]]:
    """Return the values that `fx.grad(fun)` would keep for the backward pass, as pairs of an Aval and its origin: an
    argument, the result of an operation in one of the user's lines, or a name given by `checkpoint_name`. Arguments as
    for `print_saved_residuals`.

    >>> fx.saved_residuals(lambda x: fnp.sin(x), 1.0)
    [(f64*[], 'from the argument x')]
    """
    leaves, structure = pytree.flatten((args, kwargs))
    leaves = admit_arguments("saved_residuals", leaves, structure, True)
    site = source_info.user_frame()
    staging = GraphInterpreter(site, "saved_residuals")
    inputs = [staging.new(aval_of(v)) for v in leaves]
    with opened(staging):
        level = ReverseInterpreter("saved_residuals", site)
        traced_args, traced_kwargs = pytree.unflatten(structure, [level.new(v) for v in inputs])
        with opened(level):
            results = pytree.leaves(fun(*traced_args, **traced_kwargs))
        nodes = [node for _, node in (primal_and_node(level, r) for r in results) if node is not None]
    origins = {
        v.variable: f"from the argument {name}" for v, name in zip(inputs, leaf_names(fun, args, kwargs))
    }
    for equation in staging.equations:
        origins.update((v, describe_origin(equation, i)) for i, v in enumerate(equation.outputs))
    return [
        (v.aval, origins.get(v, "a constant"))
        for v in dict.fromkeys(t.variable for t in walk_residuals(nodes))
    ]


@api_boundary
def print_saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the values that `fx.grad(fun)` would keep for the backward pass: shape, dtype and origin of each array.

    Args:
        fun: a function of pytrees of arrays.
        args, kwargs: arguments of the kind that it will be called with.

    >>> fx.print_saved_residuals(lambda w, x: fnp.sum(w * fx.checkpoint_name(x, "input")), fnp.ones(3), fnp.ones(3))
    f64[3] named 'input' from <doctest ...>:1 in <lambda>
    f64[3] from the argument w
    """
    for aval, origin in saved_residuals(fun, *args, **kwargs):
        print(aval, origin)


def walk_residuals(nodes: list[Any]) -> Iterator[GraphTracer]:
    """Iterate over the traced values that these nodes, and those before them, keep."""
    todo, seen = list(nodes), set()
    while todo:
        node = todo.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        _, _, residuals, parents, _ = node
        inner = [residuals]
        while inner:
            value = inner.pop()
            if isinstance(value, GraphTracer):
                yield value
            elif isinstance(value, tuple | list):
                inner.extend(value)
        todo.extend(parents or ())


def describe_origin(equation: Equation, index: int) -> str:
    """Say which operation made a result, and in which line; of a program in an equation, which operation of it."""
    name = equation.primitive.name
    graphs = equation.primitive.subgraphs([a.aval for a in equation.inputs], equation.params)
    if len(graphs) == 1 and len(graphs[0].outputs) == len(equation.outputs):
        made = {v: (inner, i) for inner in graphs[0].equations for i, v in enumerate(inner.outputs)}
        if graphs[0].outputs[index] in made:
            return f"{describe_origin(*made[graphs[0].outputs[index]])}, in {name}"
    what = f"named {equation.params['label']!r}" if name == "checkpoint_name" else f"output of {name}"
    if equation.site is None:
        return what
    return f"{what} from {equation.site} in {equation.site.function}"


def leaf_names(fun: Callable[..., Any], args: tuple, kwargs: dict) -> list[str]:
    """Return the names of the leaves of arguments: those of the parameters, with the paths inside."""
    try:
        named = list(inspect.signature(fun).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        named = []
    named += [f"args[{i}]" for i in range(len(named), len(args))]
    pairs = [*zip(named, args), *kwargs.items()]
    found = []
    for name, argument in pairs:
        structure = pytree.structure(argument)
        found += [name + leaf_path(structure, i) for i in range(structure.num_leaves)]
    return found
