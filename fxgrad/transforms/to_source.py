"""`to_source`: a function, transformed or not, as the source of a standalone NumPy program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from ..core import pytree, source_info
from ..core.errors import StructureError, UnsupportedError
from ..core.graph import Equation, Graph
from ..core.interpreter import api_boundary
from ..core.primitive import HigherOrder
from ..core.pytree_keys import FlattenedIndexKey, keystr
from ..kernels.codegen.direct import dot_operands, is_dot
from ..kernels.codegen.loops import compile_scan, compile_while, run_steps, step_rows
from ..kernels.codegen.source import FunctionBuilder, compile_graph
from ..kernels.codegen.standalone import StandaloneModule
from ..passes.table import PASSES
from .custom.call import CustomCall
from .jit import as_argnums, function_name, split_static, stage_call


@api_boundary
def to_source(fun: Callable[..., Any], static_argnums: int | Sequence[int] = ()) -> Callable[..., str]:
    """A function that writes what `fun` does with arguments like the given ones as a Python program.

    The program imports NumPy and Python's own library, nothing else. It defines one function of the name and the
    parameters of `fun`, without the static ones, and before it what that needs: the kernels of special functions and
    random numbers, loops as `for` and `while`. It holds for arguments of this structure and of these shapes and dtypes.
    Arrays that `fun` closes over are written into it.

    Args:
        fun: a function of pytrees of arrays, made of tuples, lists and dicts.
        static_argnums: positional arguments whose values are written into the program.

    Returns:
        A function of the arguments of `fun` that returns the text.

    Raises:
        UnsupportedError: a part of the program that NumPy cannot carry out, as a callback or a collective.
        StructureError: an argument or a result is a container whose class the program would not have.

    >>> def energy(x):
    ...     return fnp.sum(fnp.sin(x) * x)
    >>> print(fx.to_source(fx.grad(energy))(np.ones(3)))
    from __future__ import annotations
    <BLANKLINE>
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def energy(x):
        v1 = np.sin(x)
        with np.errstate(all="ignore"):
            v2 = np.cos(x)
            v3 = np.multiply(x, v2)
            v4 = np.add(v1, v3)
        return v4
    <BLANKLINE>
    """
    static = as_argnums(static_argnums, "to_source")

    @api_boundary
    @wraps(fun)
    def write_source(*args: Any, **kwargs: Any) -> str:
        site = source_info.user_frame()
        applied, dynamic, fixed = split_static(fun, args, static, "to_source")
        graph, structure = stage_call(applied, dynamic, kwargs, "to_source", function_name(fun), site)
        graph = simplify_for_readers(graph)
        names = positional_names(fun, len(args), {place for place, _ in fixed})
        module = StandaloneModule()
        module.expression(write_function(graph, dynamic, kwargs, names, structure), graph.name)
        return module.text()

    return write_source


def simplify_for_readers(graph: Graph) -> Graph:
    """Return a Graph after the passes that leave equations as NumPy's functions; bodies come later."""
    for name, run in PASSES.items():
        graph = graph if name in ("bodies", "fuse") else run(graph)
    return graph


class StandaloneBuilder(FunctionBuilder):
    """A function under construction that calls NumPy where it can, functions of its own for loops and branches, and
    kernels for the rest."""

    reuses_memory = False

    def operand_code(self, atom: Any, equation: Equation) -> str:
        """Return the expression for an operand: numbers stay numbers."""
        return self.atom(atom)

    def call_code(self, equation: Equation, operands: list[str], buffer: str | None) -> str:
        """See `FunctionBuilder`."""
        primitive = equation.primitive
        if isinstance(primitive, HigherOrder) or equation.bound_to_axis or equation.effectful:
            return f"{self.name_value(primitive.name, program_of(equation))}({', '.join(operands)})"
        if primitive.name == "where":
            return f"{self.name_value('where', np.where)}({', '.join(operands)})"
        if is_dot(equation):
            return "{}.dot({})".format(*dot_operands(equation, operands))
        if primitive.name == "contract":
            spec = repr(equation.params["spec"])
            return f"{self.name_value('einsum', np.einsum)}({', '.join([spec, *operands])})"
        direct = super().call_code(equation, operands, buffer)
        if primitive.name == "convert" and ".astype(" not in direct:
            dtype = equation.params["dtype"]
            array = f"{self.name_value('asarray', np.asarray)}({operands[0]})"
            return f"{array}.astype({self.name_value(str(dtype), dtype)})[()]"
        return direct


def program_of(equation: Equation) -> Callable[..., Any]:
    """Return the function of its operands alone that carries out an equation whose params are programs."""
    params, name = equation.params, equation.primitive.name
    if name == "scan":
        body, carry, length = simplify_for_readers(params["body"]), params["carry"], params["length"]
        code = compile_scan(body, params["consts"], carry, StandaloneBuilder)
        stacks = [(a.shape, a.dtype) for a in body.out_avals[carry:]]
        return partial(scan, code, stacks, length, params["reverse"])
    if name == "while_loop":
        cond, body = map(simplify_for_readers, (params["cond"], params["body"]))
        return compile_while(cond, body, params["consts"], params["max_steps"], StandaloneBuilder)
    if name == "switch":
        return partial(switch, [compile_part(branch) for branch in params["branches"]])
    if name == "checkpoint":
        return compile_part(params["graph"])
    if name == "linear_solve":
        return compile_part(params["solve"])
    if isinstance(equation.primitive, CustomCall):
        return compile_part(params["call"].fun_graph([a.aval for a in equation.inputs]))
    raise UnsupportedError(
        f"to_source: {name} is no operation of NumPy's",
        hint="write the source of the parts before and after it",
        site=equation.site,
    )


def compile_part(graph: Graph) -> Callable[..., Any]:
    return compile_graph(simplify_for_readers(graph), True, builder=StandaloneBuilder)


def scan(code: Any, stacks: Any, length: int, reverse: bool, count: Any, *operands: Any) -> list[Any]:
    """Take the steps of a loop over rows."""
    return run_steps(code, stacks, length, step_rows(length, count, reverse), operands)


def switch(branches: Any, index: Any, *operands: Any) -> list[Any]:
    """Take the branch of this number; one beyond the last is the last."""
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def positional_names(fun: Any, count: int, static: set[int]) -> list[str]:
    """Return names for the positional arguments that are not static: those of the function's parameters."""
    try:
        found = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        found = []
    names = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names += [f"arg{i}" for i in range(len(names), count)]
    return [name for i, name in enumerate(names[:count]) if i not in static]


def write_function(graph: Graph, args: tuple, kwargs: dict, names: Sequence[str], structure: Any) -> Any:
    """Make the function of these parameters, which takes the leaves out of its arguments and puts the results into
    their structure."""
    source = StandaloneBuilder(True, exact=True)
    parameters = {
        name: f"{name}_" if name in RESERVED or name[1:].isdigit() else name for name in [*names, *kwargs]
    }
    source.namespace.update(dict.fromkeys(parameters.values()))  # so that no function takes these names
    lines = []
    for index, ((path, _), var) in enumerate(zip(pytree.leaves_with_path((args, kwargs)), graph.inputs)):
        if any(isinstance(step, FlattenedIndexKey) for step in path):
            raise StructureError(
                f"to_source: the argument {keystr(path[1:])} is inside an object of a registered class",
                hint="pass tuples, lists and dicts",
            )
        owner = parameters[names[path[1].idx] if path[0].idx == 0 else path[1].key]
        place = keystr(path[2:])
        source.names[var] = f"x{index}" if place else owner
        if place:
            lines.append(f"x{index} = {owner}{place}")
    source.lines += lines
    source.equations(graph)
    for name in parameters.values():
        source.namespace.pop(name, None)
    results = [
        source.atom(a) + ".copy()" * (a in graph.captured and hasattr(graph.captured[a], "copy"))
        for a in graph.outputs
    ]
    returned = result_text(pytree.unflatten(structure, map(Expression, results)))
    keywords = ["*", *(parameters[k] for k in kwargs)] if kwargs else []
    return source.function(graph.name, [*(parameters[n] for n in names), *keywords], returned)


RESERVED = {"np", "errstate"}  # and x0, v0, k0, …


class Expression(str):
    """The text of an expression, in the place of its value."""

    __slots__ = ()


def result_text(tree: Any) -> str:
    """Write the expression for a tree of expressions."""
    kind = type(tree)
    if kind is Expression or tree is None:
        return str(tree)
    if kind is tuple:
        return f"({', '.join(map(result_text, tree))}{',' * (len(tree) == 1)})"
    if kind is list:
        return f"[{', '.join(map(result_text, tree))}]"
    if kind is dict:
        return f"{{{', '.join(f'{key!r}: {result_text(child)}' for key, child in tree.items())}}}"
    raise StructureError(
        f"to_source: the function returns a {kind.__name__}, which the program would not have",
        hint="return tuples, lists and dicts",
    )
