"""The decorator that declares functions of arrays: SciPy's own on plain arrays, programs over primitives on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..extend import load_library
from ..numpy.composite import composite
from ..numpy.documentation import DIFFERENTIABLE

F = TypeVar("F", bound="Callable[..., Any]")


def library(namespace: str, purpose: str) -> Any:
    """Import a namespace of SciPy; `purpose` is what needs it."""
    return load_library(f"scipy.{namespace}", "scipy", purpose)


def scipy_function(
    namespace: str, *, further: tuple[str, ...] = (), derivative: str = DIFFERENTIABLE
) -> Callable[[F], F]:
    """Declare a function of `scipy.<namespace>`: its body is run on traced values, SciPy's function on all others.

    Where a keyword of `further` is given, one that SciPy's function has not, the body serves every value. The docstring
    is completed: see `fxgrad.numpy.documentation`, also for `derivative`.
    """

    def declare(body: F) -> F:
        name = body.__name__

        def reference(*args: Any, **kwargs: Any) -> Any:
            return getattr(library(namespace, f"fxgrad.scipy.{namespace}.{name}"), name)(*args, **kwargs)

        origin = f"scipy.{namespace}.{name}"
        return composite(reference, further=further, derivative=derivative, origin=origin)(body)

    return declare
