"""torch.fx.interpreter: Interpreter, which runs a Graph Node by Node, and Transformer, which makes another of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from .._declare.packages import complete_methods, complete_module
from ..errors import TensorError
from ..nn.modules.module import Module
from ._symbolic_trace import Tracer
from .code import last_uses
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy


class Interpreter:
    """What runs a GraphModule Node by Node. Subclasses change what happens at each kind of Node.

    Args:
        module: the module.
        garbage_collect_values: whether values are given up after their last use.
        graph: the Graph that is run; None: that of the module.

    >>> class Count(torch.fx.Interpreter):
    ...     calls = 0
    ...     def call_function(self, target, args, kwargs):
    ...         self.calls += 1
    ...         return super().call_function(target, args, kwargs)
    >>> counter = Count(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1))
    >>> counter.run(torch.tensor([-1.0, 2.0])), counter.calls
    (tensor([1., 3.]), 2)
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else module.graph
        self.env: dict[Node, Any] = {}
        self.garbage_collect_values = garbage_collect_values
        self.user_to_last_uses = (
            last_uses(list(self.graph.nodes)) if garbage_collect_values else defaultdict(list)
        )
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.name = "Interpreter"

    def run(
        self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True
    ) -> Any:
        """Run the Graph.

        Args:
            args: the arguments.
            initial_env: values of Nodes that are not run, or None.
            enable_io_processing: whether arguments and the result may be containers, as for the module.

        Returns:
            The result.

        Raises:
            RuntimeError: an argument is missing.
        """
        self.env = {} if initial_env is None else dict(initial_env)
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    error.add_note(f"While executing {node.format_node()}")
                raise
            for ended in self.user_to_last_uses[node]:
                del self.env[ended]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the Graph on the arguments in a list, which is emptied.

        Args:
            args_list: the arguments.
        """
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args, enable_io_processing=False)

    def run_node(self, n: Node) -> Any:
        """Return the value of a Node: what the method of its kind makes of its arguments."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the next argument, or its default.

        Args:
            target: the name of the parameter; `*args` takes all that are left.
            args: the default, if there is one.

        Raises:
            RuntimeError: there is neither.
        """
        if isinstance(target, str) and target.startswith("*"):
            return list(self.args_iter)
        found = next(self.args_iter, *args) if args else next(self.args_iter, self)
        if found is self:
            raise TensorError(
                f"Expected positional argument for parameter {target}, but one was not passed in!",
                hint=f"run({', '.join(str(n.target) for n in self.graph.find_nodes(op='placeholder'))})",
            )
        return found

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return an attribute of the module.

        Args:
            target: its path.
            args, kwargs: nothing.
        """
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a function returns.

        Args:
            target: the function.
        """
        return target(*args, **kwargs)  # type: ignore[operator]

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a method returns.

        Args:
            target: its name.
            args, kwargs: the arguments, the object first.
        """
        self_object, *others = args
        return getattr(self_object, str(target))(*others, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a module inside the module returns.

        Args:
            target: its path.
        """
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result.

        Args:
            target: "output".
            args: the result.
        """
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return what the module has at a path.

        Args:
            target: the path.

        Raises:
            RuntimeError: there is nothing.
        """
        found: Any = self.module
        parts = target.split(".")
        for place, name in enumerate(parts):
            if not hasattr(found, name):
                raise TensorError(
                    f"Node referenced nonexistent target {'.'.join(parts[: place + 1])}",
                    hint="module.add_submodule",
                )
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a Node, with values in the places of Nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)  # type: ignore[return-value]

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """Put values into the places of Nodes.

        Args:
            args: containers of Nodes.
            n: the Node whose arguments these are.

        Raises:
            RuntimeError: a value is not there.
        """

        def find(argument: Node) -> Any:
            if argument not in self.env:
                raise TensorError(
                    f"Node {n} referenced nonexistent value {argument}! Run Graph.lint() to diagnose such issues",
                    hint="module.graph.lint()",
                )
            return self.env[argument]

        return map_arg(args, find)


class TransformerTracer(Tracer):
    """The Tracer of a Transformer, which adds to a Graph; all modules are leaves."""

    def __init__(self, graph: Graph, root: Module):
        super().__init__()
        self.graph, self.root, self.tensor_attrs = graph, root, {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


class Transformer(Interpreter):
    """An Interpreter whose values are Proxies, so that a new GraphModule is made by it. Subclasses return something
    else for kinds of Nodes.

    Args:
        module: the GraphModule.

    >>> class Smooth(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         if target is torch.relu:
    ...             return torch.nn.functional.softplus(*args)
    ...         return super().call_function(target, args, kwargs)
    >>> print(Smooth(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)).transform().code.strip())
    def forward(self, x):
        softplus = torch.nn.functional.softplus(x);  x = None
        add = softplus + 1;  softplus = None
        return add
    """

    def __init__(self, module: GraphModule):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the Proxy of an input.

        Args:
            target: the name of the parameter.
            args: the default, if there is one.
        """
        return Proxy(self.new_graph.placeholder(str(target), None, *args), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the Proxy of an attribute.

        Args:
            target: its path.
            args, kwargs: nothing.
        """
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the Proxy of what a module returns.

        Args:
            target: its path.
        """
        return self.tracer.call_module(
            self.fetch_attr(str(target)), self.submodules[str(target)].forward, args, kwargs
        )

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the Proxy of what a function returns.

        Args:
            target: the function.
        """
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return the new GraphModule, which shares parameters and modules with the old one."""
        result = self.run(enable_io_processing=False)
        if result is not None:
            made = map_aggregate(result, lambda x: x.node if isinstance(x, Proxy) else x)
            self.new_graph.output(made)
        before = {n.name: n.meta for n in self.graph.nodes if n.op == "output"}
        for node in self.new_graph.nodes:
            node.meta.update(before.get(node.name, {}))
        return GraphModule(self.module, self.new_graph)


__all__ = ["Interpreter", "Transformer"]

complete_module(globals(), "fx")
complete_methods(Interpreter, "fx")
complete_methods(Transformer, "fx")
