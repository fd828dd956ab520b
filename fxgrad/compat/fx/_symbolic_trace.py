"""torch.fx._symbolic_trace: Tracer and `symbolic_trace`, which make Graphs of modules and functions. The name is
private, but other packages use it.

A program is traced by calling it with Proxies. Calls of functions of torch ask their arguments what to do (see
`_core.overriding`), so that these are recorded by themselves. For calls of modules, parameters, and functions that
`wrap` names, a `Watch` is put into their places meanwhile.
"""

from __future__ import annotations

import builtins
import inspect
import itertools
import math
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from functools import wraps
from threading import RLock
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ...extend import source_info
from .._core.tensor import Tensor
from ..errors import ArgumentError, NotSupportedError, TensorError
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..utils import _pytree as pytree
from .code import PyTreeCodeGen
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, base_types
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase, find_assert

TRACER: ContextVar[Tracer | None] = ContextVar("fxgrad torch.fx tracer", default=None)
TRACING = RLock()  # what is put into the places of functions holds for all threads
WRAPPED: dict[tuple[int, str], dict[str, Any]] = {}  # global names of users' modules, by module and name
VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
MISSING: Any = object()
OURS = __name__.replace(".fx._symbolic_trace", ".nn.")


class PHBase:
    """A mark in concrete arguments: what is in its place is an input, as `torch.fx.PH`."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


def is_fx_tracing() -> bool:
    """Whether a program is traced by a Tracer.

    >>> from fxgrad.compat.fx._symbolic_trace import is_fx_tracing
    >>> is_fx_tracing()
    False
    """
    return TRACER.get() is not None


is_fx_symbolic_tracing = is_fx_tracing


def _assert_is_none(value: Any, msg: str) -> None:
    """Raise AssertionError with a message unless a value is None."""
    assert value is None, msg


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Have calls of a function recorded as they are, where a Proxy is among the arguments: at the top of a module.

    Args:
        fn_or_name: a function of this module, or the name of one, which may be one of Python's: `len`.

    Returns:
        The argument, so that it can be used as a decorator.

    Raises:
        RuntimeError: it is something else.
        NotImplementedError: the call is inside a function.

    >>> program = '''
    ... import fxgrad.compat as torch
    ... torch.fx.wrap("len")
    ... @torch.fx.wrap
    ... def middle(x, n):
    ...     return x[n // 2]
    ... print(torch.fx.symbolic_trace(lambda x: middle(x, len(x))).code.strip())
    ... '''
    >>> exec(program, {"__name__": "program"})
    torch.fx._symbolic_trace.wrap("len")
    torch.fx._symbolic_trace.wrap("program_middle")
    <BLANKLINE>
    def forward(self, x):
        len_1 = len(x)
        middle = program_middle(x, len_1);  x = len_1 = None
        return middle
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise TensorError(
            "Unsupported type for global function! Must be either a callable or string name",
            hint="torch.fx.wrap('len')",
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotSupportedError(
            "wrap must be called at the top level of a module", hint="outside of all functions"
        )
    WRAPPED[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def record_calls(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function whose calls are recorded where a Proxy is among the arguments."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        found = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        found.node.meta["is_wrapped"] = True
        return found

    return call


def find_proxy(arguments: Any) -> Proxy | None:
    """Find a Proxy in arguments."""
    return next((x for x in pytree.tree_leaves(arguments) if isinstance(x, Proxy)), None)


class Patches(ExitStack):
    """What is put into the places of functions while a program is traced."""

    def put(self, names: dict[str, Any], name: str, value: Any) -> None:
        """Put a value under a global name."""
        before = names.get(name, MISSING)
        names[name] = value
        if before is MISSING:
            self.callback(names.pop, name, None)
        else:
            self.callback(names.__setitem__, name, before)

    def put_attribute(self, cls: type, name: str, value: Any) -> None:
        """Put a value into the place of an attribute of a class."""
        before = vars(cls).get(name, MISSING)
        setattr(cls, name, value)
        self.callback(delattr, cls, name) if before is MISSING else self.callback(setattr, cls, name, before)


class Tracer(TracerBase):
    """What makes a Graph of a module or a function.

    Subclasses say which modules stay whole (`is_leaf_module`), and what happens at calls of modules (`call_module`) and
    to attributes of them (`getattr`).

    Args:
        autowrap_modules: Python modules whose functions are recorded as if `wrap` had named them.
        autowrap_functions: functions that are recorded so.
        param_shapes_constant: whether shapes of parameters are numbers, and no values of the program.

    >>> class Flat(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> print(Flat().trace(torch.nn.Sequential(torch.nn.ReLU())))
    graph():
        %input_1 : [num_users=1] = placeholder[target=input]
        %relu : [num_users=1] = call_function[target=torch.nn.functional.relu](args = (%input_1,), ...
        return relu
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ):
        super().__init__()
        found = [
            f for m in autowrap_modules for n, f in vars(m).items() if callable(f) and not n.startswith("_")
        ]
        self._autowrap_function_ids = {id(f) for f in (*found, *autowrap_functions)}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope, self.module_stack = Scope("", None), OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}

    # -- what subclasses decide ------------------------------------------
    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is one Node, and nothing of it is traced: those of torch.nn are, but for Sequential.

        Args:
            m: the module.
            module_qualified_name: its path.
        """
        return type(m).__module__.startswith((OURS, "torch.nn.")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Return the path of a module in the one that is traced.

        Raises:
            NameError: it is not in it.
        """
        paths = self.submodule_paths
        path = paths.get(mod) if paths else next((n for n, m in self.root.named_modules() if m is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Return what the call of a module returns while it is traced: a Proxy of it if it is a leaf.

        Args:
            m: the module.
            forward: what carries out the call.
            args, kwargs: the arguments.
        """
        path = self.path_of_module(m)
        count = self.num_calls.get(path, 0)
        self.num_calls[path] = count + 1
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            self.module_stack[f"{path}@{count}" if count else path] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Return what an attribute of a module is while it is traced: a Proxy of a parameter.

        Args:
            attr: its name.
            attr_val: its value.
            parameter_proxy_cache: the Proxies of attributes by their paths.
        """
        if isinstance(attr_val, Parameter):
            members = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            members = self.root.named_buffers()
        else:
            return attr_val
        path = next((n for n, p in members if p is attr_val), None)
        if path is None:
            return attr_val
        if path not in parameter_proxy_cache:
            make = (
                (lambda node: ParameterProxy(self, node, path, attr_val))
                if self.param_shapes_constant
                else None
            )
            options: Any = {} if make is None else {"proxy_factory_fn": make}
            parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {}, **options)
        return parameter_proxy_cache[path]

    def create_arg(self, a: Any) -> Argument:
        """Return an argument of a call as an argument of a Node: Tensors are attributes of the module.

        Args:
            a: a Proxy, a Tensor, a constant, or containers of such.

        Raises:
            NameError: it is a parameter that the module does not have.
            NotImplementedError: it is something else.
        """
        if isinstance(a, Parameter):
            path = next((n for n, p in self.root.named_parameters() if p is a), None)
            if path is None:
                raise NameError("parameter is not a member of this module")
            return self.create_node("get_attr", path, (), {})
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._fx_find_tensor(a), (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super().create_arg(a)

    def _fx_find_tensor(self, a: Tensor) -> str:
        """Return the path of a Tensor in the module, which gets one that is nowhere."""
        for path, module in self.root.named_modules():
            for name, value in (*module._buffers.items(), *vars(module).items()):
                if value is a:
                    return f"{path}.{name}".lstrip(".")
        name = self.get_fresh_qualname("_tensor_constant")
        setattr(self.root, name, a)
        return name

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return a name that no attribute of the module has."""
        count = 0
        while hasattr(self.root, f"{prefix}{count}"):
            count += 1
        return f"{prefix}{count}"

    # -- tracing ------------------------------------------
    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """Trace a module or a function.

        Args:
            root: the module, whose `forward` is called, or the function.
            concrete_args: values of parameters that are no inputs, by name; `torch.fx.PH` marks inputs in containers.

        Returns:
            The Graph.

        Raises:
            TraceError: the program asks for a value that depends on inputs.
            RuntimeError: `concrete_args` does not fit to it.
        """
        is_module = isinstance(root, Module)
        function: Any = getattr(type(root), self.traced_func_name) if is_module else root
        self.root: Module = root if is_module else Module()
        self.submodule_paths = {m: n for n, m in self.root.named_modules()} if is_module else None
        self.root_module_name = type(self.root).__name__
        self.graph = Graph(tracer_cls=type(self))
        if not hasattr(inspect.unwrap(function), "__code__"):
            raise ArgumentError(
                f"symbolic_trace() takes a module or a function of Python, not {type(root).__name__}",
                hint="lambda x: function(x)",
            )
        returned = annotations_of(function).get("return")
        function, args = self.create_args_for_root(function, is_module, concrete_args)
        with TRACING, Patches() as patches:
            token = TRACER.set(self)
            patches.callback(TRACER.reset, token)
            self._fx_watch(patches, inspect.unwrap(function))
            result = function(*args)
            self.create_node("output", "output", (self.create_arg(result),), {}, None, returned)
        self.submodule_paths = None
        return self.graph

    def _fx_watch(self, patches: Patches, function: Any) -> None:
        """Have calls and attributes of modules, and wrapped functions, recorded."""
        call, get, parameters = Module.__call__, Module.__getattr__, {}

        def ask_call(module: Module, *args: Any, **kwargs: Any) -> Any:
            if TRACER.get() is not self:
                return call(module, *args, **kwargs)
            self._fx_wrap_names(patches, getattr(getattr(module, "forward", module), "__globals__", {}))
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        def ask_getattr(module: Module, name: str) -> Any:
            value = get(module, name)
            return self.getattr(name, value, parameters) if TRACER.get() is self else value

        patches.put_attribute(Module, "__call__", ask_call)
        patches.put_attribute(Module, "__getattr__", ask_getattr)
        for (_, name), names in list(WRAPPED.items()):
            if name in names or hasattr(builtins, name):
                patches.put(names, name, record_calls(names.get(name) or getattr(builtins, name)))
        for names in (getattr(function, "__globals__", {}), *map(vars, self._autowrap_search)):
            self._fx_wrap_names(patches, names)

    def _fx_wrap_names(self, patches: Patches, names: dict[str, Any]) -> None:
        """Have functions recorded that the Tracer wraps by itself, under the names of a module."""
        for name, value in list(names.items()):
            if id(value) in self._autowrap_function_ids and not name.startswith("_"):
                patches.put(names, name, record_calls(value))

    # -- inputs ------------------------------------------
    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Make the Proxies of the inputs.

        Args:
            root_fn: the function.
            is_module: whether it is called with the module first.
            concrete_args: values of parameters that are no inputs.

        Returns:
            The function that is called, and the arguments by position.

        Raises:
            RuntimeError: the function has no parameter for the module, or `concrete_args` does not fit.
        """
        fn: Any = inspect.unwrap(root_fn)
        signature, code = inspect.signature(fn), fn.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = [*code.co_varnames[:count]]
        if is_module and count == 0:
            raise TensorError(
                "``self`` argument cannot be part of *args expansion!", hint="def forward(self, …)"
            )
        args: list[Any] = [self.root] if is_module else []
        names = names[len(args) :]
        if isinstance(concrete_args, tuple):
            if len(names) != len(concrete_args):
                raise TensorError(
                    f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete arguments",
                    hint=f"one for each of {names}, or a dict",
                )
            concrete_args = dict(zip(names, concrete_args))
        concrete_args = concrete_args or {}
        args += [self._fx_make_input(name, concrete_args, signature, fn) for name in names]
        if code.co_flags & inspect.CO_VARARGS:
            args.append(self._fx_make_input(f"*{code.co_varnames[count]}", concrete_args, signature, fn))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            place = count + bool(code.co_flags & inspect.CO_VARARGS)
            args.append(self._fx_make_input(f"**{code.co_varnames[place]}", concrete_args, signature, fn))
        if len(args) > code.co_argcount:
            fn = take_by_position(fn, len(args))
        leaves, spec = pytree.tree_flatten(tuple(args))
        if len(leaves) == len(args):
            return fn, args
        codegen = self.graph._codegen = PyTreeCodeGen(names, spec)

        def call_with_leaves(*given: Any) -> Any:
            found, codegen.out_spec = pytree.tree_flatten(fn(*pytree.tree_unflatten(given, spec)))
            return found

        return call_with_leaves, leaves

    def _fx_make_input(self, name: str, concrete_args: dict[str, Any], signature: Any, fn: Any) -> Any:
        """Make the Proxy of a parameter, or return the value that it has."""
        plain = name.lstrip("*")
        parameter = signature.parameters[plain]
        has_default = parameter.default is not parameter.empty
        default = (parameter.default,) if has_default else ()
        if plain not in concrete_args:
            annotation = annotations_of(fn).get(plain)
            return self.create_proxy("placeholder", name, default, {}, type_expr=annotation)
        count = itertools.count(1)

        def fix(value: Any) -> Any:
            made = self.create_proxy("placeholder", f"{name}_{next(count)}", default, {})
            return made if isinstance(value, PHBase) else self._fx_check_constant(name, value, made)

        return pytree.tree_map(fix, concrete_args[plain])

    def _fx_check_constant(self, name: str, value: Any, given: Proxy) -> Any:
        """Return the value of a parameter; the program checks that it is given."""
        text = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (given, text), {})
        elif isinstance(value, base_types) and not isinstance(value, Tensor):
            self.create_proxy("call_function", find_assert(), (given == value, text), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to "
                "the user to make sure that your inputs match the inputs you specialized the function with.",
                stacklevel=source_info.user_stacklevel(),
            )
        return value


def annotations_of(function: Any) -> dict[str, Any]:
    """Return the annotations of a user's function; those of our modules are not torch's."""
    is_ours = f"{function.__module__}.".startswith(OURS)
    return {} if is_ours else getattr(function, "__annotations__", {})


def take_by_position(function: Any, count: int) -> Any:
    """Return a function that takes all its arguments by position: those by keyword, and what `*` and `**` gather."""
    code: CodeType = function.__code__
    changed = code.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~VARIADIC
    )
    return FunctionType(changed, function.__globals__, function.__name__, None, function.__closure__)


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """Make a GraphModule of a module or a function, which computes the same and whose program can be changed.

    What the program does is recorded once, with Proxies in the place of inputs: conditions and loops may depend on
    constants only.

    Args:
        root: the module, whose `forward` is called, or the function.
        concrete_args: values of parameters that are no inputs, by name; `torch.fx.PH` marks inputs in containers.

    Returns:
        The GraphModule, which has the parameters, buffers and modules of `root` that it uses.

    Raises:
        TraceError: the program asks for a value that depends on inputs.
        TypeError: `root` has no code of Python.

    >>> def f(x, y):
    ...     return torch.relu(x) @ y
    >>> module = torch.fx.symbolic_trace(f)
    >>> print(module.code.strip())
    def forward(self, x, y):
        relu = torch.relu(x);  x = None
        matmul = relu @ y;  relu = y = None
        return matmul
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


__all__ = ["PH", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]
