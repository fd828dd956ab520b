"""torch.fx.proxy: Proxy, a value that a traced program computes, and the base of Tracers."""

from __future__ import annotations

import operator
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partialmethod
from opcode import opname
from typing import Any

from ...extend import source_info
from .._declare.packages import complete_methods, complete_module
from .._declare.spaces import SPACES
from ..errors import NotSupportedError, TensorError
from ..errors import TraceError as TraceError
from .code import BINARY, UNARY
from .graph import Graph
from .node import Argument, Node, Target, base_types, map_aggregate

CONDITIONS = ("CACHE", "TO_BOOL", "POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE", "NOT_TAKEN")
REFLECTED = {name for name in BINARY if name not in ("eq", "ne", "lt", "le", "gt", "ge")}


class Scope:
    """The module in which a Tracer is: its path and class.

    Args:
        module_path: the path.
        module_type: the class.

    >>> from fxgrad.compat.fx.proxy import Scope
    >>> Scope("layers.0", torch.nn.Linear).module_path
    'layers.0'
    """

    def __init__(self, module_path: str, module_type: Any):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """A context manager inside which a Scope is another one.

    Args:
        scope: the Scope that is changed.
        current_scope: what it is inside.

    >>> from fxgrad.compat.fx.proxy import Scope, ScopeContextManager
    >>> scope = Scope("", None)
    >>> with ScopeContextManager(scope, Scope("layers.0", torch.nn.Linear)):
    ...     print(scope.module_path)
    layers.0
    """

    def __init__(self, scope: Scope, current_scope: Scope):
        self._scope, self._fx_before = scope, vars(scope).copy()
        vars(scope).update(vars(current_scope))

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: object) -> None:
        vars(self._scope).update(self._fx_before)


class TracerBase:
    """The base of Tracers: it makes Nodes of what happens to Proxies.

    Subclasses define what a Proxy is in a condition (`to_bool`), in a loop (`iter`), and what arguments may be
    (`create_arg`).
    """

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, type]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Make a Node in the Graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        stack = getattr(self, "module_stack", None)
        if stack:
            node.meta["nn_module_stack"] = OrderedDict(stack)
            scope = self.scope
            self.node_name_to_scope[node.name] = (scope.module_path, scope.module_type)
        if self.record_stack_traces:
            node.stack_trace = "\n".join(map(str, source_info.user_stack()))
        return node

    def proxy(self, node: Node) -> Proxy:
        """Return the Proxy of a Node. Subclasses that have Proxies of their own class make these here."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Make a Node for arguments that contain Proxies, and return the Proxy of it.

        Args:
            proxy_factory_fn: (the Node) → the Proxy; None: `proxy`.
        """
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """Return an argument of a call as an argument of a Node.

        Args:
            a: a Proxy, a constant, or containers of such.

        Raises:
            NotImplementedError: it is something else.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(x) for x in a]
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return {self._fx_check_key(key): self.create_arg(x) for key, x in a.items()}
        if isinstance(a, slice):
            return slice(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        if is_dataclass(a) and not isinstance(a, type):
            return self.create_node(
                "call_function", type(a), (), {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a)}
            )
        if isinstance(a, (*base_types, Enum)) or (callable(a) and not isinstance(a, type)):
            return a
        raise NotSupportedError(
            f"argument of type: {type(a)}",
            hint="numbers, texts, Tensors, Proxies, and containers of these; torch.fx.wrap(name) for a function",
        )

    def _fx_check_key(self, key: Any) -> Any:
        """Return the key of a dict in an argument, which is no value of the program."""
        if isinstance(key, Proxy):
            raise TensorError(
                f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key.node}",
                hint="constant keys",
            )
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """Return what a Proxy is in a condition.

        Raises:
            TraceError: always here.
        """
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow",
            hint="torch.where chooses by values; concrete_args= fixes an argument; torch.fx.wrap(name) keeps a "
            "function as one Node",
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Return what a Proxy is in a loop.

        Raises:
            TraceError: always here.
        """
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors",
            hint="a, b = x unpacks; torch.fx.wrap(name) keeps a function with the loop as one Node",
        )

    def keys(self, obj: Proxy) -> Any:
        """Return what a Proxy is in `**`."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A Tracer that adds to a Graph.

    Args:
        graph: the Graph.

    >>> from fxgrad.compat.fx.proxy import GraphAppendingTracer
    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"), GraphAppendingTracer(graph))
    >>> (x + 1).node.args
    (x, 1)
    """

    def __init__(self, graph: Graph):
        self.graph = graph


class Proxy:
    """A value that a traced program computes: it stands for the value of a Node, and what is done to it makes Nodes.

    Methods, operators, functions of torch and functions that `torch.fx.wrap` names are recorded. What asks for the
    value itself, as a condition does, raises a TraceError.

    Args:
        node: the Node.
        tracer: the Tracer that makes Nodes; None: one that adds to the Graph of the Node.

    Raises:
        TraceError: the program asks for its value.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> torch.relu(x).sum(dim=0) + 1
    Proxy(add)
    >>> list(graph.nodes)
    [x, relu, sum_1, add]
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: Any) -> Proxy:
        from copy import deepcopy

        made = type(self).__new__(type(self))
        made.__dict__.update(
            {k: x if k in ("node", "tracer") else deepcopy(x, memo) for k, x in vars(self).items()}
        )
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        count = unpacked_count(sys._getframe(1))
        return (
            self.tracer.iter(self)
            if count is None
            else (operate(self, i, function=operator.getitem) for i in range(count))
        )

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and is_asserted(sys._getframe(1)):
            self.tracer.create_proxy("call_function", find_assert(), (self, ""), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Return what the Tracer says of the Proxy in `**`."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise TensorError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope",
            hint="x.shape[0] is recorded",
        )

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        tracer = find_tracer((args, kwargs))
        name = getattr(orig_method, "__name__", "")
        if name == "__get__":
            name = orig_method.__self__.fget.__name__
            return tracer.create_proxy("call_function", getattr, (*args, name), {})
        if is_method(name, orig_method):
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """An attribute of a Proxy, which is a Node of its own once it is used other than as a method.

    Args:
        root: the Proxy.
        attr: the name of the attribute.
    """

    def __init__(self, root: Proxy, attr: str):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The Node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The Proxy of a parameter, whose shape is known while the program is traced.

    Args:
        tracer: the Tracer.
        node: the Node.
        name: the path of the parameter.
        param: the parameter.
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    shape = property(lambda self: self.param.shape)
    ndim = property(lambda self: self.param.ndim)

    def size(self) -> Any:
        """Return the shape."""
        return self.param.size()

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.param.dim()

    def numel(self) -> int:
        """Return the number of entries."""
        return self.param.numel()

    def nelement(self) -> int:
        """Return the number of entries."""
        return self.param.nelement()


def operate(self: Proxy, *operands: Any, function: Callable[..., Any], is_reflected: bool = False) -> Any:
    """Record an operator."""
    args = (*operands, self) if is_reflected else (self, *operands)
    return find_tracer((args, {})).create_proxy("call_function", function, args, {})


for _name in (*BINARY, *UNARY, "getitem", "abs"):
    _function = getattr(operator, _name)
    setattr(Proxy, f"__{_name.rstrip('_')}__", partialmethod(operate, function=_function))
    if _name in REFLECTED:
        _reflected = partialmethod(operate, function=_function, is_reflected=True)
        setattr(Proxy, f"__r{_name.rstrip('_')}__", _reflected)


def find_tracer(arguments: Any) -> TracerBase:
    """Find the Tracer of the Proxies in arguments.

    Raises:
        RuntimeError: they are of several Tracers.
    """
    found: dict[int, TracerBase] = {}

    def note(x: Any) -> Any:
        if isinstance(x, Proxy):
            found[id(x.tracer)] = x.tracer
        return x

    map_aggregate(arguments, note)
    tracer, *others = found.values()
    if others and any(t.graph is not tracer.graph for t in others):
        raise TensorError(
            f"Found multiple different tracers {list(found.values())} while trying to trace operations",
            hint="Proxies of one Tracer",
        )
    return tracer


def is_method(name: str, function: Any) -> bool:
    """Whether a function of torch is a method only, and no function of this name."""
    return SPACES["method"].get(name) is function and SPACES["function"].get(name) is not function


def find_assert() -> Any:
    """Return `torch._assert`, as which assertions are recorded."""
    return SPACES["function"]["_assert"]


def unpacked_count(frame: Any) -> int | None:
    """Return how many values the statement that a frame executes unpacks: `a, b = x`. None if it is another one."""
    code, place = frame.f_code.co_code, frame.f_lasti
    if opname[code[place]] != "UNPACK_SEQUENCE":
        return None
    high = code[place - 1] if place and opname[code[place - 2]] == "EXTENDED_ARG" else 0
    return high << 8 | code[place + 1]


def is_asserted(frame: Any) -> bool:
    """Whether the instruction that a frame executes is the condition of an `assert`."""
    code, place = frame.f_code.co_code, frame.f_lasti + 2
    while place < len(code) and opname[code[place]] in CONDITIONS:
        place += 2
    return place < len(code) and opname[code[place]] in ("LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT")


__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]

complete_module(globals(), "fx")
complete_methods(TracerBase, "fx")
