"""torch.fx.graph_module: GraphModule, a module whose `forward` is the code of a Graph."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from copy import deepcopy
from itertools import count
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .._core.tensor import Tensor
from ..errors import ArgumentError, TensorError
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .code import PythonCode, PyTreeCodeGen
from .graph import Graph
from .names import COMPAT, find_at

NUMBERS = count()
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class GraphModule(Module):
    """A module whose `forward` is the code of a Graph, which has `graph` and `code` as attributes.

    Assigning `graph` writes the code anew; after changes of the Graph itself `recompile` does.

    Args:
        root: a module, or a dict by paths: what the Graph refers to of it belongs to the new module.
        graph: the Graph.
        class_name: the name of its class.

    Raises:
        RuntimeError: `root` lacks what the Graph refers to.

    >>> module = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> for node in module.graph.nodes:
    ...     if node.op == "call_function":
    ...         node.target = torch.mul
    >>> _ = module.recompile()
    >>> print(module.code.strip())
    def forward(self, x):
        add = torch.mul(x, 1);  x = None
        return add
    """

    _graph: Graph
    _code: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an object of a class of its own, since `forward` is a method of the class."""
        base = next(c for c in cls.__mro__ if not c.__dict__.get("_fx_is_generated"))
        own: Any = type(base.__name__, (base,), {"_fx_is_generated": True, "__module__": base.__module__})
        return super().__new__(own)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        paths = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for path in paths:
                copy_attribute(root, self, path)
            preserved = root.__dict__.get("meta", {}).get(_USER_PRESERVED_ATTRIBUTES_KEY, {})
            for name, value in preserved.items():
                setattr(self, name, value)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise TensorError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!",
                        hint=f"root={{{node.target!r}: …}}",
                    )
            for path in sorted(set(paths), key=lambda p: p.count(".")):
                assign_attribute(root[path], self, path)
        else:
            raise TensorError(
                f"Unsupported type {root} passed for root!", hint="a torch.nn.Module, or a dict by paths"
            )
        self.meta: dict[str, Any] = dict(root.__dict__.get("meta", {})) if isinstance(root, Module) else {}
        self.graph = graph
        self._tracer_cls = graph._tracer_cls

    @property
    def graph(self) -> Graph:
        """The Graph."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise ArgumentError(f"Expected a Graph instance, but got {type(g)}", hint="torch.fx.Graph()")
        self._graph = deepcopy(g) if g.owning_module not in (None, self) else g
        self._graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python code of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Write the code of the Graph anew, after it was changed.

        Returns:
            The code.
        """
        codegen = self._graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.spec_of_arguments, codegen.out_spec
        written = self._graph.python_code("self")
        self._code = written.src
        type(self).forward = forward_of(written)
        return written

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path; modules on the way are made.

        Args:
            target: the path.
            m: the module.

        Returns:
            Whether it is there now: not if something else is on the way.

        >>> module = torch.fx.symbolic_trace(lambda x: x)
        >>> module.add_submodule("layers.first", torch.nn.ReLU())
        True
        """
        *above, last = target.split(".")
        place: Module = self
        for name in above:
            inner = getattr(place, name, None)
            if inner is None:
                inner = Module()
                setattr(place, name, inner)
            if not isinstance(inner, Module):
                return False
            place = inner
        place.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path.

        Args:
            target: the path.

        Returns:
            Whether there was one.
        """
        path, _, last = target.rpartition(".")
        try:
            place = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(place, last, None), Module):
            return False
        delattr(place, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the Graph does not call, and that are not inside those which it calls."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used |= {".".join(parts[:i]) for i in range(1, len(parts) + 1)}
                if node.op == "call_module":
                    inside = self.get_submodule(node.target).named_modules()
                    used |= {f"{node.target}.{n}" if n else node.target for n, _ in inside}
        for path in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(path)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """Return the code as that of a class.

        Args:
            print_output: whether it is printed as well.
            options: those of torch for comments, without meaning here.

        >>> _ = torch.fx.symbolic_trace(torch.nn.Identity()).print_readable()
        class Identity(torch.nn.Module):
            def forward(self, input):
                input_1 = input
                return input_1
        <BLANKLINE>
        """
        lines = self._code.strip("\n").rstrip().split("\n")
        text = f"class {type(self).__name__}(torch.nn.Module):\n" + "".join(f"    {line}\n" for line in lines)
        if print_output:
            print(text)
        return text

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write the module as a Python package: its code, and its state in a file.

        Args:
            folder: where.
            module_name: the name of the class.
        """
        from ..serialization import save

        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        save(self, place / "module.pt")
        code = "\n".join(f"    {line}".rstrip() for line in self._code.strip().split("\n"))
        place.joinpath("module.py").write_text(
            f"import {COMPAT} as torch\nfrom {COMPAT} import device\n\n\n"
            f"class {module_name}(torch.nn.Module):\n{code}\n",
            encoding="utf-8",
        )
        place.joinpath("__init__.py").write_text("from .module import *\n", encoding="utf-8")

    # -- copies ------------------------------------------
    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        return self._fx_fill(made, deepcopy(self._fx_state(), memo), deepcopy(self._graph))

    def __copy__(self) -> GraphModule:
        return self._fx_fill(type(self).__new__(type(self)), self._fx_state(), self._graph)

    def _fx_state(self) -> dict[str, Any]:
        """Return what the module has but the Graph."""
        return {name: value for name, value in vars(self).items() if name != "_graph"}

    def _fx_fill(self, made: GraphModule, state: dict[str, Any], graph: Graph) -> GraphModule:
        """Give a new module its state and its Graph."""
        made.__dict__.update(state)
        type(made).__name__ = type(self).__name__
        made.graph = graph
        return made

    def __reduce__(self) -> Any:
        written = self.recompile()
        state = {**self._fx_state(), "_graphmodule_cls_name": type(self).__name__}
        return reduce_graph_module, (state, format_imports(written.globals))

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return f"{super().__str__()}\n{self._code}\n{hint}"


class _CodeOnlyModule(Module):
    """A module with the attributes of a GraphModule, and its code alone, of which the Graph is made again."""

    def __init__(self, body: dict[str, Any]):
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body: dict[str, Any], import_block: str) -> GraphModule:
    """Make a GraphModule of its attributes and its code, by which it is pickled.

    Args:
        body: its attributes; the code is among them.
        import_block: statements that import what the code refers to.

    Returns:
        The GraphModule, whose Graph is traced again.
    """
    from ._symbolic_trace import Tracer  # which makes GraphModules

    imports = import_block.replace("import torch\n", f"import {COMPAT} as torch\n").replace(
        "from torch", f"from {COMPAT}"
    )
    imports = imports.replace("import torch.", f"import {COMPAT}.")
    names: dict[str, Any] = {}
    exec(compile_code(f"{imports}\n{body['_code']}"), names)
    tracer_class: Any = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_class):
        """A Tracer that traces nothing inside modules, as the code has them already."""

        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    root = type("CodeOnly", (_CodeOnlyModule,), {"forward": names["forward"]})(dict(body))
    graph = KeepModules().trace(root)
    graph._tracer_cls = tracer_class
    made = GraphModule(root, graph, body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if name not in vars(made):
            made.__dict__[name] = value
    return made


def format_imports(names: dict[str, Any]) -> str:
    """Write the statements that import what code refers to."""
    lines = []
    for name, value in sorted(names.items()):
        if isinstance(value, ModuleType):
            lines.append(f"import {value.__name__} as {name}".replace(f" as {value.__name__}", ""))
        elif name == "NoneType":
            lines.append("NoneType = type(None)")
        elif isinstance(value, float):
            lines.append(f"from math import {name}")
        else:
            module = getattr(value, "__module__", None) or "builtins"
            lines.append(f"from {module} import {value.__name__} as {name}")
    return "\n".join(lines)


def compile_code(text: str) -> CodeType:
    """Compile generated code so that tracebacks show its lines."""
    filename = f"<fx graph {next(NUMBERS)}>"
    linecache.cache[filename] = len(text), None, text.splitlines(True), filename
    return compile(text, filename, "exec")


def forward_of(written: PythonCode) -> Callable[..., Any]:
    """Make the function of a Graph's code."""
    names = dict(written.globals)
    exec(compile_code(written.src), names)
    return names["forward"]


def copy_attribute(source: Module, target: Module, path: str) -> None:
    """Have a module refer to what another one has at a path; modules on the way are made."""
    value: Any = source
    for name in path.split("."):
        if not hasattr(value, name):
            return
        value = getattr(value, name)
    if not isinstance(value, Module) or find_at(target, path) is None:
        assign_attribute(value, target, path)


def assign_attribute(value: Any, target: Module, path: str) -> None:
    """Put an attribute at a path; modules on the way are made, and Tensors are buffers."""
    *above, last = path.split(".")
    place: Any = target
    for name in above:
        if getattr(place, name, None) is None:
            place.add_module(name, Module())
        place = getattr(place, name)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        place.register_buffer(last, value)
    else:
        setattr(place, last, value)


__all__ = ["GraphModule", "reduce_graph_module"]
