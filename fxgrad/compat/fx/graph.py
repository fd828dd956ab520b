"""torch.fx.graph: Graph, a traced program as a list of Nodes, and the Python code of it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from ...extend import source_info
from .._declare.packages import complete_methods, complete_module
from ..errors import RequirementError, TensorError
from .code import CodeGen as CodeGen
from .code import PythonCode as PythonCode
from .names import Namespace as _Namespace
from .names import find_at, name_of_target
from .node import LEGAL_OPS, Argument, Node, Target, map_arg

TransformCode = Callable[[list[str]], list[str]]


class _node_list:
    """The Nodes of a Graph in their order."""

    def __init__(self, graph: Graph, direction: str = "_next"):
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class _InsertPoint:
    """A context manager inside which Nodes are made at another place."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]):
        self.graph, self._fx_before, graph._insert = graph, graph._insert, insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type | None, value: object, traceback: TracebackType | None) -> None:
        self.graph._insert = self._fx_before


class Graph:
    """A traced program: a list of Nodes, which programs look at and change.

    Args:
        owning_module: the GraphModule that has it, or None.
        tracer_cls: the class of the Tracer that made it, by which it is traced again, or None.
        tracer_extras: arguments of that, or None.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> _ = graph.output(y)
    >>> module = torch.fx.GraphModule({}, graph)
    >>> module(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ):
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module, self._tracer_cls, self._tracer_extras = owning_module, tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self) -> Any:
        """The GraphModule that has the Graph, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> Any:
        """The Nodes in their order; they may be changed while one goes through them."""
        return _node_list(self)

    def output_node(self) -> Node:
        """Return the Node of the result.

        Raises:
            StopIteration: there is none.
        """
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Find the Nodes of an operation.

        Args:
            op: what is done.
            target: of what; None: of anything.
            sort: whether they are in order, which they always are.

        >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(torch.relu(x))).graph
        >>> graph.find_nodes(op="call_function", target=torch.relu)
        [relu, relu_1]
        """
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # -- making Nodes ------------------------------------------
    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Make a Node at the present place, which is the end unless `inserting_before` or `inserting_after` says else.

        Raises:
            AssertionError: there is no such operation, or the arguments are of another kind.
        """
        if op not in LEGAL_OPS:
            raise RequirementError(f"op '{op}' is not in _legal_ops", hint=f"one of {LEGAL_OPS[:-1]}")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise RequirementError(
                "args must be a tuple and kwargs must be a dict", hint="args=(x,), kwargs={}"
            )
        name = self._graph_namespace.create_name(name or self._target_to_str(target))
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._graph_namespace._rename_object(node, name)
        self._insert(node)
        self._len += 1
        return node

    def placeholder(
        self, name: str, type_expr: Any = None, default_value: Any = inspect.Parameter.empty
    ) -> Node:
        """Make an input.

        Args:
            name: the parameter of the function; `*args` and `**kwargs` are possible.
            type_expr: its annotation, or None.
            default_value: its default, if it has one.
        """
        args = () if default_value is inspect.Parameter.empty else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Make a Node that reads an attribute of the module.

        Args:
            qualified_name: its path.
            type_expr: its annotation, or None.
        """
        if self.owning_module is not None and find_at(self.owning_module, qualified_name) is None:
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=source_info.user_stacklevel(),
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Make a Node that calls a module inside the module.

        Args:
            module_name: its path.

        Raises:
            AttributeError: the GraphModule of the Graph has no such module.
        """
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Make a Node that calls a method of its first argument.

        Args:
            method_name: its name.
            args, kwargs: the arguments, the object first.
        """
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Make a Node that calls a function.

        Args:
            the_function: the function.
        """
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Make the Node of the result.

        Args:
            result: containers of Nodes.
        """
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """Make a Node like one of another Graph.

        Args:
            node: that one.
            arg_transform: (a Node of the other Graph) → what stands for it here.
        """
        args, kwargs = map_arg((node.args, dict(node.kwargs)), arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Argument | tuple[Argument, Node] | None:
        """Copy all Nodes of another Graph but its result.

        Args:
            g: the other Graph.
            val_map: what stands for Nodes of it here, to which the copies are added.
            return_output_node: whether its Node of the result is returned as well.

        Returns:
            What stands for the result of the other Graph, or None if it has none.
        """
        for node in g.nodes:
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            if node not in val_map:
                val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        made._codegen = self._codegen
        copies: dict[Node, Node] = {}
        found: Any = made.graph_copy(self, copies, return_output_node=True)
        if found is not None:
            result, before = found
            output = made.output(result, before.type)
            output.meta = dict(before.meta)
        return made

    # -- changing ------------------------------------------
    def inserting_before(self, n: Node | None = None) -> Any:
        """Make Nodes before another one, inside a `with` or from now on.

        Args:
            n: the Node; None: the beginning of the Graph.

        Raises:
            AssertionError: it is of another Graph.

        >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph
        >>> x, relu, output = graph.nodes
        >>> with graph.inserting_before(relu):
        ...     halved = graph.call_function(torch.mul, (x, 0.5))
        >>> relu.args = (halved,)
        >>> list(graph.nodes)
        [x, mul, relu, output]
        """
        return self._fx_insert(self._root.append if n is None else n.prepend, n)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Make Nodes after another one, inside a `with` or from now on.

        Args:
            n: the Node; None: the end of the Graph.

        Raises:
            AssertionError: it is of another Graph.
        """
        return self._fx_insert(self._root.prepend if n is None else n.append, n)

    def _fx_insert(self, insert: Callable[[Node], None], n: Node | None) -> _InsertPoint:
        if n is not None and n.graph is not self:
            raise RequirementError("Node to insert before is not in graph.", hint="a Node of graph.nodes")
        return _InsertPoint(self, insert)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a Node that nothing uses.

        Args:
            to_erase: the Node.

        Raises:
            RuntimeError: its value is used, or it is of another Graph.

        >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph
        >>> graph.erase_node(list(graph.nodes)[1])
        Traceback (most recent call last):
            ...
        fxgrad.compat.errors.TensorError: Tried to erase Node relu but it still had 1 users in the graph: ...
          at:  ...
          try: node.replace_all_uses_with(another) before
          see: ...
        """
        if to_erase.users:
            raise TensorError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!",
                hint="node.replace_all_uses_with(another) before",
            )
        if to_erase.graph is not self:
            raise TensorError(
                f"Attempting to remove {to_erase} from wrong graph!", hint="node.graph.erase_node(node)"
            )
        if to_erase._erased:
            warnings.warn(
                f"erase_node({to_erase}) on an already erased node", stacklevel=source_info.user_stacklevel()
            )
            return
        to_erase._fx_set_arguments((), {})
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove Nodes whose values nothing uses, unless they do something besides.

        Args:
            is_impure_node: (a Node) → whether it does; None: as `Node.is_impure` says.

        Returns:
            Whether there were any.

        Raises:
            RuntimeError: the Graph is not consistent.

        >>> graph = torch.fx.symbolic_trace(lambda x: (x * 2, x + 1)[1]).graph
        >>> graph.eliminate_dead_code()
        True
        >>> list(graph.nodes)
        [x, add, output]
        """
        self.lint()
        is_impure = is_impure_node or (lambda node: node.is_impure())
        dead = [node for node in reversed(self.nodes) if not is_impure(node)]
        before = self._len
        for node in dead:
            if not node.users:
                self.erase_node(node)
        return self._len < before

    def lint(self) -> None:
        """Check the Graph: names are unique, values are made before they are used, modules and attributes exist.

        Raises:
            RuntimeError: it is not so.
        """
        seen: set[Node] = set()
        names: set[str] = set()

        def check(node: Node, user: Node) -> Node:
            if node.graph is not self:
                raise TensorError(
                    f"Argument '{node}' of Node '{user}' does not belong to this Graph, but was used as an argument! "
                    "If you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to "
                    f"remap values\n{self}",
                    hint="graph.node_copy(node, lambda n: copies[n])",
                )
            if node not in seen:
                raise TensorError(
                    f"Argument '{node}' of Node '{user}' was used before it has been defined! Please check that Nodes "
                    f"in the graph are topologically ordered\n{self}",
                    hint="with graph.inserting_before(user): makes a Node before another",
                )
            return node

        for node in self.nodes:
            map_arg((node.args, node.kwargs), lambda n, user=node: check(n, user))
            if node.name in names:
                raise TensorError(f"Node redefined name {node.name}!", hint="graph.create_node finds names")
            seen.add(node)
            names.add(node.name)
            is_missing = self.owning_module is not None and node.op in ("get_attr", "call_module")
            if is_missing and find_at(self.owning_module, node.target) is None:
                raise TensorError(
                    f"Node {node} target {node.target} references nonexistent attribute {node.target} of the module",
                    hint="module.add_submodule(target, submodule), or setattr",
                )

    # -- code ------------------------------------------
    def _target_to_str(self, target: Target) -> str:
        return name_of_target(target)

    def python_code(self, root_module: str, **options: Any) -> PythonCode:
        """Write the Graph as a Python function.

        Args:
            root_module: the name of the module in the code: "self".
            options: those of torch for comments, without meaning here.

        Returns:
            The code as text in `src`, and what it refers to in `globals`.

        >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph
        >>> print(graph.python_code("self").src.strip())
        def forward(self, x):
            relu = torch.relu(x);  x = None
            add = relu + 1;  relu = None
            return add
        """
        namespace = _Namespace()
        for node in self.nodes:
            namespace._rename_object(node, node.name)
        return self._codegen._gen_python_code(self.nodes, root_module, namespace)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have the code written by another writer."""
        self._codegen = codegen

    @contextmanager
    def on_generate_code(
        self, make_transformer: Callable[[TransformCode | None], TransformCode]
    ) -> Iterator[None]:
        """Have the statements of the code changed, inside a `with`.

        Args:
            make_transformer: (what changed them before, or None) → (the lines) → the lines that are taken.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        try:
            yield
        finally:
            self._codegen._body_transformer = before

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the inputs, for arguments of the function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Return what the function returns, for a value of the result."""
        return self._codegen.process_outputs(out)

    def print_tabular(self) -> None:
        """Print a table of the Nodes.

        >>> torch.fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
        opcode         name    target                   args    kwargs
        -------------  ------  -----------------------  ------  --------
        placeholder    x       x                        ()      {}
        call_function  add     <built-in function add>  (x, 1)  {}
        output         output  output                   (add,)  {}
        """
        head = ("opcode", "name", "target", "args", "kwargs")
        rows: list[tuple[str, ...]] = [head]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max(len(title) + 2, *map(len, column)) for title, column in zip(head, zip(*rows))]
        rows.insert(1, tuple("-" * width for width in widths))
        for row in rows:
            print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())

    def __str__(self) -> str:
        return "\n    ".join(["graph():", *(str(node.format_node()) for node in self.nodes)])


__all__ = ["CodeGen", "Graph", "PythonCode"]

complete_module(globals(), "fx")
complete_methods(Graph, "fx")
