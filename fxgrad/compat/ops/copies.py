"""Views as copies: `torch.view_copy(x, …)` is `x.view(…)` in memory of its own, for every kind of view."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from typing import Any

from .._core.layout import contiguous_format
from .._core.tensor import Tensor
from .._declare.out import with_out
from .._declare.signatures import DerivedSignature
from .._declare.spaces import SPACES, expose
from .arguments import dim_index, normalize_dim
from .copying import clone

INPUT = Parameter("input", Parameter.POSITIONAL_OR_KEYWORD)
METHODS = """
    as_strided diagonal expand permute select split split_with_sizes squeeze t transpose unbind unfold unsqueeze
"""


def take_slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    return input[dim_index(normalize_dim(dim, input.ndim), slice(start, end, step))]


def view_contiguous(input: Tensor, size=None, *, dtype=None) -> Tensor:
    """View entries in the order of rows, which a copy can be given in any case, or as those of a dtype."""
    return SPACES["method"]["view"](input.contiguous(), size if dtype is None else dtype)


def view_resolved(input: Tensor) -> Tensor:
    """View complex numbers as pairs of real numbers; unlike a view, a copy can represent conjugates."""
    return SPACES["function"]["view_as_real"](input.resolve_conj())


def declare_copy(name: str, view: Callable[..., Any]) -> None:
    """Expose the function that copies the result of `view`."""

    @with_out
    @wraps(view)
    def copy_view(input: Tensor, *args, **options) -> Any:
        made = view(input, *args, **options)
        if isinstance(made, Tensor):
            return clone(made, memory_format=contiguous_format)
        return tuple([clone(part, memory_format=contiguous_format) for part in made])

    @wraps(copy_view)
    def copy(input: Tensor, *args, out=None, **options) -> Any:
        made = copy_view(input, *args, out=out, **options)
        return None if out is not None and isinstance(made, tuple) else made  # torch returns nothing then

    copy.__signature__ = DerivedSignature(copy_view, lambda given: [INPUT, *given[1:]])  # type: ignore[attr-defined]
    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"What `{name}` shows, in memory of its own."
    expose("function", copy.__name__)(copy)


for name in METHODS.split():
    declare_copy(name, SPACES["method"][name])
declare_copy("view_as_complex", SPACES["function"]["view_as_complex"])
declare_copy("view_as_real", view_resolved)
declare_copy("alias", lambda input: input.view_as(input))
declare_copy("detach", lambda input: input.detach())
declare_copy("slice", take_slice)
declare_copy("view", view_contiguous)
