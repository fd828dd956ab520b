"""The Python code of a traced program."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import inf, nan
from types import GenericAlias, NoneType, UnionType
from typing import Any

from .._make.devices import device
from ..utils import _pytree as pytree
from ..utils.tree_spec import LeafSpec, TreeSpec
from . import _pytree as fx_pytree
from .names import COMPAT, Namespace, is_ours, qualified_name
from .node import Argument, Node, map_arg

# Operators of Python's expressions as they are written.
BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=",
}  # fmt: skip
UNARY = {"pos": "+", "neg": "-", "invert": "~"}
INPLACE = (
    "add",
    "and",
    "floordiv",
    "lshift",
    "mod",
    "mul",
    "matmul",
    "or",
    "pow",
    "rshift",
    "sub",
    "truediv",
    "xor",
)
INPLACE_OPERATORS = {f"i{name}": f"{BINARY.get(name) or BINARY[f'{name}_']}=" for name in INPLACE}


@dataclass
class PythonCode:
    """The Python code of a Graph, what it refers to, and the Node of each of its lines."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None


class CodeGen:
    """The writer of a Graph's code. Subclasses write another head, or return something else.

    >>> from fxgrad.compat.fx.graph import CodeGen
    >>> class Loud(CodeGen):
    ...     def gen_fn_def(self, free_vars, maybe_return_annotation):
    ...         return super().gen_fn_def(free_vars, maybe_return_annotation) + "\\n    print('called')"
    >>> module = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> module.graph.set_codegen(Loud())
    >>> _ = module.recompile()
    >>> module(1)
    called
    2
    """

    # What changes the lines of the code: see `Graph.on_generate_code`.
    _body_transformer: Callable[[list[str]], list[str]] | None = None

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """Write the first line of the function.

        Args:
            free_vars: its parameters, with annotations and defaults.
            maybe_return_annotation: " -> …", or nothing.
        """
        parameters = free_vars if free_vars[:1] == ["self"] else ["self", *free_vars]
        return f"def forward({', '.join(parameters)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Argument) -> str:
        """Write the statement that returns the result.

        Args:
            output_args: the result.
        """
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the inputs, for arguments of the function."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Return what the function returns, for a value of the result."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return what the code refers to besides, by name."""
        return []

    def _gen_python_code(self, nodes: Any, root_module: str, namespace: Namespace) -> PythonCode:
        """Write the code of Nodes; `root_module` is the name of the module in it."""
        text = Writer(self, root_module, namespace)
        return text.write(list(nodes))


class PyTreeCodeGen(CodeGen):
    """The writer of functions whose arguments hold several inputs, in containers.

    Args:
        names: the parameters of the function.
        in_spec: the structure of its arguments.
    """

    def __init__(self, names: list[str], in_spec: TreeSpec):
        self.names, self.in_spec = names, in_spec
        self.out_spec: TreeSpec = LeafSpec()

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """Write the first lines of the function: the inputs are the leaves of the arguments."""
        head = super().gen_fn_def(self.names, maybe_return_annotation)
        inputs = "".join(f"{v.split(' ')[0]}, " for v in free_vars)
        given = ", ".join(self.names)
        return f"{head}\n    {inputs.strip()} = fx_pytree.tree_flatten_spec([{given}], self._in_spec)"

    def generate_output(self, output_args: Argument) -> str:
        """Write the statement that returns the result: containers of the leaves that the Graph computes."""
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"

    def process_inputs(self, *args: Any) -> Any:
        """Return the leaves of arguments."""
        return fx_pytree.tree_flatten_spec(list(args), self.spec_of_arguments)

    def process_outputs(self, outputs: Any) -> Any:
        """Return the containers of the leaves of the result."""
        return pytree.tree_unflatten(outputs, self.out_spec)

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return the modules that the code refers to."""
        return [("fx_pytree", fx_pytree), ("pytree", pytree)]

    @property
    def spec_of_arguments(self) -> TreeSpec:
        """The structure of the list of arguments, without the module."""
        specs = self.in_spec.children_specs
        return TreeSpec(list, None, specs[len(specs) - len(self.names) :])


class Writer:
    """The state of writing a function: its parameters, statements, and the names of what it refers to."""

    def __init__(self, codegen: CodeGen, root: str, namespace: Namespace):
        self.codegen, self.root, self.namespace = codegen, root, namespace
        self.parameters: list[str] = []
        self.statements: list[str] = []
        self.wrapped: dict[str, None] = {}
        self.returned = ""
        known = {"inf": inf, "nan": nan, "NoneType": NoneType, "torch": sys.modules[COMPAT], "device": device}
        self.globals: dict[str, Any] = {**known, **dict(codegen.additional_globals())}

    def write(self, nodes: list[Node]) -> PythonCode:
        """Write the function."""
        ends = last_uses(nodes)
        lines: dict[int, int | None] = {}
        places: list[int] = []
        for place, node in enumerate(nodes):
            statement = self.write_node(node)
            if statement is not None:
                self.statements.append(statement + format_deletion(node, ends[node]))
                places.append(place)
        head = self.codegen.gen_fn_def(self.parameters, self.returned)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        above = f"\n{wraps}\n\n{head}"
        body = [f"{statement}\n" for statement in self.statements or ["pass"]]
        if self.codegen._body_transformer is not None:
            body = self.codegen._body_transformer(body)
        first = above.count("\n") + 2
        for place, statement in zip(places, self.statements):
            lines[first] = place
            first += statement.count("\n") + 1
        inside = "\n".join(f"    {line}" for line in "".join(body).split("\n"))
        return PythonCode(f"{above}\n{inside}", self.globals, lines)

    def write_node(self, node: Node) -> str | None:
        """Write the statement of a Node, if it has one."""
        annotation = "" if node.type is None else f" : {self.write_type(node.type)}"
        target: Any = node.target
        if node.op == "placeholder":
            default = f" = {node.args[0]!r}" if node.args else ""
            self.parameters.append(f"{target}{annotation}{default}")
            plain = target.replace("*", "")
            return None if plain == node.name else f"{node.name} = {plain}"
        if node.op == "output":
            if node.type is not None:
                self.returned = f" -> {self.write_type(node.type)}"
            return self.codegen.generate_output(node.args[0])
        if node.op == "get_attr":
            return f"{node.name}{annotation} = {format_path(self.root, target)}"
        if node.op == "call_method":
            callee = format_path(self.write_argument(node.args[0]), target)
            return f"{node.name}{annotation} = {callee}({self.write_arguments(node.args[1:], node.kwargs)})"
        if node.op == "call_module":
            callee = format_path(self.root, target)
            return f"{node.name}{annotation} = {callee}({self.write_arguments(node.args, node.kwargs)})"
        return self.write_call(node, annotation)

    def write_call(self, node: Node, annotation: str) -> str:
        """Write the call of a function: operators as Python's expressions."""
        target: Any = node.target
        module, name = getattr(target, "__module__", ""), getattr(target, "__name__", "")
        operands = [self.write_argument(x) for x in node.args]
        if module == "_operator" and not node.kwargs:
            if name in INPLACE_OPERATORS:
                first = operands[0]
                return f"{first} {INPLACE_OPERATORS[name]} {operands[1]};  {node.name}{annotation} = {first}"
            expression = format_operator(name, operands)
            if expression is not None:
                return f"{node.name}{annotation} = {expression}"
        if target is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
            return f"{node.name}{annotation} = {operands[0]}.{node.args[1]}"
        callee = self.name_global(target)
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(callee)
        return f"{node.name}{annotation} = {callee}({self.write_arguments(node.args, node.kwargs)})"

    def write_arguments(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> str:
        """Write arguments as they stand in a call."""
        written = [self.write_argument(x) for x in args]
        return ", ".join([*written, *(f"{name} = {self.write_argument(x)}" for name, x in kwargs.items())])

    def write_argument(self, x: Argument) -> str:
        """Write an argument."""
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return f"{self.name_global(type(x))}({', '.join(map(self.write_argument, x))})"
        if isinstance(x, Enum):
            return f"{self.name_global(type(x))}.{x.name}"
        if callable(x) and not isinstance(x, type(None) | Node):
            return self.name_global(x)
        return repr(x)

    def write_type(self, annotation: Any) -> str:
        """Write an annotation."""
        if annotation is None or annotation is NoneType:
            return "None" if annotation is None else "NoneType"
        if isinstance(annotation, UnionType):
            return "|".join(map(self.write_type, annotation.__args__))
        if isinstance(annotation, GenericAlias):
            inside = ", ".join("..." if p is Ellipsis else self.write_type(p) for p in annotation.__args__)
            return f"{self.write_type(annotation.__origin__)}[{inside}]"
        return self.name_global(annotation) if isinstance(annotation, type) else repr(str(annotation))

    def name_global(self, value: Any) -> str:
        """Return the name by which the code refers to a function or a class."""
        name = qualified_name(value)
        if "." not in name:  # Python's own
            return name
        if is_ours(value):
            return name
        known = self.namespace.create_name(name.replace(".", "_"), value)
        self.globals[known] = value
        return known


def last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """Find, for each Node, the Nodes whose values nothing needs after it."""
    seen: set[Node] = set()
    ends: dict[Node, list[Node]] = defaultdict(list)

    def note(user: Node) -> Callable[[Node], Node]:
        def note_use(node: Node) -> Node:
            if node not in seen:
                seen.add(node)
                ends[user].append(node)
            return node

        return note_use

    for node in reversed(nodes):
        map_arg((node.args, node.kwargs), note(node))
    return ends


def format_deletion(node: Node, ended: list[Node]) -> str:
    """Write the statement by which values are no longer held after a Node."""
    if node.op in ("placeholder", "output"):
        return ""
    names = [*(n.name for n in ended), *([] if node.users else [node.name])]
    return f";  {' = '.join([*names, 'None'])}" if names else ""


def format_operator(name: str, operands: list[str]) -> str | None:
    """Write an operator of Python's: None for one that is called."""
    if name in BINARY and len(operands) == 2:
        return f"{operands[0]} {BINARY[name]} {operands[1]}"
    if name in UNARY and len(operands) == 1:
        return f"{UNARY[name]}{operands[0]}"
    if name == "getitem" and len(operands) == 2:
        return f"{operands[0]}[{operands[1]}]"
    return None


def format_path(start: str, path: str) -> str:
    """Write an attribute at a path: parts that are no identifiers are got by `getattr`."""
    for part in path.split("."):
        start = f"{start}.{part}" if part.isidentifier() else f'getattr({start}, "{part}")'
    return start
