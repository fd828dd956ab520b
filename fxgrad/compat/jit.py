"""torch.jit: decorators and markers of TorchScript, which return their argument: programs run as Python."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NamedTuple

from ._core.absence import make_absent
from ._declare.packages import complete_module
from .nn.modules.module import Module

NOT_SCRIPTED = "functions and modules stay Python here; save a state_dict"


class Error(RuntimeError):
    """The error of a script in torch. Here the error of Python comes through as it is.

    >>> issubclass(torch.jit.Error, Exception)
    True
    """


class TracerWarning(Warning):
    """The warning of torch about values that a trace takes for constants. Nothing is traced here."""


class ScriptWarning(Warning):
    """The warning of torch about a script."""


class ScriptModule(Module):
    """A Module, no more: `script` returns its argument, so that nothing else is of this class.

    Args:
        kwargs: what the class takes.

    >>> isinstance(torch.jit.ScriptModule(), torch.nn.Module)
    True
    """


RecursiveScriptModule = ScriptModule
ScriptFunction = make_absent("torch.jit.ScriptFunction", NOT_SCRIPTED)
CompilationUnit = make_absent("torch.jit.CompilationUnit", NOT_SCRIPTED)
_get_trace_graph = make_absent("torch.jit._get_trace_graph", NOT_SCRIPTED)
save = make_absent("torch.jit.save", NOT_SCRIPTED)
load = make_absent("torch.jit.load", NOT_SCRIPTED)


def script(
    obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None
) -> Any:
    """Return the function, module or class itself: it runs as Python, with all that Python has.

    Args:
        optimize: accepted and without effect.

    >>> @torch.jit.script
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return 2 * x
    >>> double(torch.tensor(3.0))
    tensor(6.)
    """
    return obj


def trace(func: Any, example_inputs: Any = None, *args: object, **options: object) -> Any:
    """Return the function or module itself: what it does still depends on its arguments. The examples are not looked
    at.

    >>> torch.jit.trace(torch.sin, torch.zeros(2)) is torch.sin
    True
    """
    return func


def trace_module(mod: Any, inputs: Any = None, *args: object, **options: object) -> Any:
    """Return the module itself.

    Args:
        inputs: accepted and without effect.

    >>> model = torch.nn.Linear(2, 3)
    >>> torch.jit.trace_module(model, {}) is model
    True
    """
    return mod


def export(fn: Any) -> Any:
    """Return the function itself.

    >>> torch.jit.export(len) is len
    True
    """
    return fn


unused = script_method = script_if_tracing = _script_if_tracing = _drop = export
_overload = _overload_method = _copy_to_script_wrapper = export


def interface(obj: Any) -> Any:
    """Return the class itself.

    >>> torch.jit.interface(dict) is dict
    True
    """
    return obj


def ignore(drop: Any = False, **options: object) -> Any:
    """Return the function itself; called with options, a decorator that does so.

    Args:
        drop: the function, or an option.

    >>> torch.jit.ignore(len) is len
    True
    """
    return drop if callable(drop) else export


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """Return the module itself.

    Args:
        preserved_attrs: accepted and without effect.
        optimize_numerics: accepted and without effect.

    >>> model = torch.nn.Linear(2, 3)
    >>> torch.jit.freeze(model) is model
    True
    """
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """Return the module itself.

    Args:
        other_methods: accepted and without effect.

    >>> model = torch.nn.Linear(2, 3)
    >>> torch.jit.optimize_for_inference(model) is model
    True
    """
    return mod


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value; the type is for readers.

    Args:
        the_type: the type.
        the_value: the value.

    >>> torch.jit.annotate(int, 3)
    3
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a class, or one of several; of a generic alias, its container.

    Args:
        target_type: a class, several, or a generic alias.

    >>> torch.jit.isinstance([1], list[int])
    True
    """
    kinds = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return any(builtins.isinstance(obj, getattr(kind, "__origin__", kind)) for kind in kinds)


class Attribute(NamedTuple):
    """A value and its type.

    >>> torch.jit.Attribute(1, int).value
    1
    """

    value: Any
    type: Any


def is_scripting() -> bool:
    """Whether a script is being compiled: never.

    Returns:
        False.

    >>> torch.jit.is_scripting()
    False
    """
    return False


is_tracing = onednn_fusion_enabled = is_scripting


class Future(NamedTuple):
    """The result of `fork`, which is available at once.

    Args:
        outcome: the result.

    >>> torch.jit.fork(max, 1, 2).wait()
    2
    """

    outcome: Any

    def wait(self) -> Any:
        """The result."""
        return self.outcome


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call a function at once, and return its result for `wait`.

    Args:
        args: its arguments.
        kwargs: its arguments by name.

    >>> torch.jit.wait(torch.jit.fork(torch.add, torch.tensor(1), torch.tensor(2)))
    tensor(3)
    """
    return Future(func(*args, **kwargs))


def wait(future: Future) -> Any:
    """Return the result of what was forked.

    Args:
        future: what `fork` returned.

    >>> torch.jit.wait(torch.jit.fork(max, 1, 2))
    2
    """
    return future.wait()


def optimized_execution(should_optimize: bool) -> AbstractContextManager[None]:
    """Return a context manager that changes nothing.

    Args:
        should_optimize: accepted and without effect.

    >>> with torch.jit.optimized_execution(True):
    ...     y = torch.zeros(2)
    """
    return nullcontext()


strict_fusion = nullcontext


def set_fusion_strategy(strategy: object) -> list[Any]:
    """Accept how scripts are fused, which changes nothing; return the strategy until now: none.

    >>> torch.jit.set_fusion_strategy([])
    []
    """
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Accept a switch that changes nothing.

    Args:
        enabled: whether it does anything.

    >>> torch.jit.enable_onednn_fusion(True)
    """


_isinstance, _fork, _wait = isinstance, fork, wait

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]


complete_module(globals(), "jit")
