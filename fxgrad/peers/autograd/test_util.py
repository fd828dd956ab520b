"""`autograd.test_util`: checks of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import testing
from .wrap_util import unary_to_nary

__all__ = ["check_grads", "quick_grad_check"]


@unary_to_nary
def check_grads(fun: Any, x: Any, modes: Any = ("fwd", "rev"), order: int = 2) -> None:
    """Compare derivatives with numerical ones.

    Raises:
        CheckError: they differ; an AssertionError.
    """
    testing.check_grads(fun, (x,), order=order, modes=tuple(modes))


def quick_grad_check(
    fun: Callable[..., Any], arg0: Any, extra_args: Any = (), kwargs: Any = None, **options: Any
) -> None:
    """Compare the gradient in the first argument with a numerical one."""
    check_grads(fun, 0, ("rev",), 1)(arg0, *extra_args, **(kwargs or {}))
