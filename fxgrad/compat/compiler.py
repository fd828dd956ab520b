"""torch.compiler: directives to a compiler, which have no effect here. (`fxgrad.jit` compiles functions.)"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

# The switches of the compiler, which are remembered, no more.
config = SimpleNamespace(
    cache_size_limit=8,
    capture_scalar_outputs=False,
    dynamic_shapes=True,
    suppress_errors=False,
    verbose=False,
)


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: object = None,
) -> Any:
    """Return the function itself, or a module that calls the given one; without one, a decorator that does so. The
    options are accepted, and nothing is compiled: operations have compiled plans of their own.

    Args:
        model: a function or module, or None.
        fullgraph, dynamic, backend, mode, options, name, disable: accepted and without effect.
        recompile_limit, isolate_recompiles, shapes_spec: accepted and without effect.

    Raises:
        AssertionError: the model cannot be called.

    >>> @torch.compile(mode="max-autotune")
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.tensor(3.0))
    tensor(6.)
    """
    if disable:
        return hand_back if model is None else model
    if model is None:
        return compile
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    from .nn.modules.module import Module
    from .nn.modules.optimized_module import OptimizedModule

    return OptimizedModule(model) if isinstance(model, Module) else model


def hand_back(function: Any) -> Any:
    """Return the function itself."""
    return function


def disable(
    fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True
) -> Any:
    """Return the function itself, or a decorator that does so: nothing is compiled as it is.

    Args:
        fn: the function.
        recursive: accepted and without effect.
        reason: accepted and without effect.
        wrapping: accepted and without effect.

    >>> torch.compiler.disable(torch.sin) is torch.sin
    True
    """
    return hand_back if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """Return the function itself.

    Args:
        fn: the function.

    >>> torch.compiler.allow_in_graph(torch.sin) is torch.sin
    True
    """
    return fn


assume_constant_result = disallow_in_graph = forbid_in_graph = nonstrict_trace = allow_in_graph


def substitute_in_graph(
    original_fn: Any, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Any:
    """Return a decorator that returns its function itself.

    Args:
        original_fn: accepted and without effect.
        can_constant_fold_through: accepted and without effect.
        skip_signature_check: accepted and without effect.

    >>> @torch.compiler.substitute_in_graph(len)
    ... def count(x):
    ...     return len(x)
    >>> count([1, 2])
    2
    """
    return hand_back


def optimize(*args: object, **options: object) -> Callable[[Any], Any]:
    """Return a decorator that returns its function itself."""
    return hand_back


def is_compiling() -> bool:
    """Whether a compiler looks at the program: never.

    Returns:
        False.

    >>> torch.compiler.is_compiling()
    False
    """
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Forget what was compiled: nothing.

    Returns:
        None.

    >>> torch.compiler.reset()
    """


cudagraph_mark_step_begin = graph_break = reset


def mark_dynamic(t: object, index: object = None, **options: object) -> None:
    """Declare that a size varies; it has no effect."""


mark_static = mark_static_address = maybe_mark_dynamic = mark_dynamic


def list_backends(exclude_tags: object = ()) -> list[str]:
    """The names of the compilers: none.

    Args:
        exclude_tags: accepted and without effect.

    Returns:
        An empty list.

    >>> torch.compiler.list_backends()
    []
    """
    return []


def set_stance(
    stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
) -> AbstractContextManager[None]:
    """Accept how eagerly is to be compiled; also a context manager. It changes nothing.

    Args:
        stance: accepted and without effect.
        skip_guard_eval_unsafe: accepted and without effect.
        force_backend: accepted and without effect.

    >>> with torch.compiler.set_stance("default"):
    ...     y = torch.zeros(2)
    """
    return nullcontext()


__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
]
