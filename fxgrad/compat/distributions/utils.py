"""Helpers of distributions: broadcast parameters, probabilities and logits, packed triangles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from inspect import cleandoc
from numbers import Number
from operator import attrgetter
from types import GenericAlias
from typing import Any

import numpy as np

from ... import compat
from ...extend import Tracer, insert_before_example
from .._core.overriding import is_tensor_like
from .._core.tensor import Tensor, refresh
from ..errors import ArgumentValueError, NotSupportedError

# Distributions are programs over the public names, as a user would write them. These are attached when they are first
# used, where no checker of types sees them.
torch: Any = compat
euler_constant = 0.57721566490153286060


def broadcast_all(*values) -> tuple[Tensor, ...]:
    """Broadcast Tensors and numbers against one another; numbers get the dtype and device of the first Tensor.

    Args:
        values: Tensors or numbers.

    Returns:
        As many Tensors, all of one shape.

    Raises:
        ArgumentValueError: one is neither.

    >>> [x.shape for x in torch.distributions.utils.broadcast_all(torch.ones(2), 3.0)]
    [torch.Size([2]), torch.Size([2])]
    """
    if not all(is_tensor_like(v) or isinstance(v, Number) for v in values):
        raise ArgumentValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.",
            hint=f"not {', '.join(type(v).__name__ for v in values)}: torch.as_tensor makes Tensors of data",
        )
    options: dict[str, Any] = {"dtype": torch.get_default_dtype()}
    given = next((v for v in values if is_tensor_like(v)), None)
    if given is not None:
        options = {"dtype": given.dtype, "device": given.device}
    return torch.broadcast_tensors(*[v if is_tensor_like(v) else torch.tensor(v, **options) for v in values])


def absent_member(one: Any, name: str) -> NotSupportedError:
    """Return the error that a distribution or a transform does not define a part."""
    return NotSupportedError(f"{type(one).__name__} has no `{name}`")


def absent_property(name: str, text: str) -> Any:
    """Return a property, of this docstring, that a distribution or a transform does not define."""

    def refuse(one: Any) -> Any:
        raise absent_member(one, name)

    return property(refuse, doc=text)


def is_ours(cls: type) -> bool:
    """Whether a class is one of this package, not a user's."""
    return cls.__module__.startswith(f"{__package__}.")


def insert_arguments(text: str, lines: str) -> str:
    """Put lines into the arguments of a docstring: last, or as a section of their own."""
    said, heading, rest = cleandoc(text).partition("\n\nArgs:\n")
    if not heading:
        return insert_section(said, f"Args:\n{lines}")
    given, blank, rest = rest.partition("\n\n")
    return f"{said}{heading}{given}\n{lines}{blank}{rest}"


def insert_section(text: str, section: str) -> str:
    """Put a section into a docstring, before those of errors and of the example."""
    said, heading, rest = cleandoc(text).partition("\n\nRaises:\n")
    completed = insert_before_example(said, section)
    return f"{completed.rstrip()}{heading}{rest}" if heading else completed


def attribute_of(path: str, text: str | None = None) -> Any:
    """Return a property, of this docstring, that is another attribute, perhaps one of a part: "base_dist.mean"."""
    return property(attrgetter(path), doc=text)


def sum_rightmost(value: Tensor, count: int) -> Tensor:
    """Sum over so many dimensions from the right."""
    return value.flatten(-count).sum(-1) if count else value


_sum_rightmost = sum_rightmost  # torch's name, which packages import


def draw_normal(shape, like: Tensor) -> Tensor:
    """Draw standard normal numbers of the dtype and device of a Tensor."""
    return torch.randn(shape, dtype=like.dtype, device=like.device)


def _standard_normal(shape, dtype, device) -> Tensor:
    """Draw standard normal numbers, as packages that define distributions ask for them."""
    return torch.randn(shape, dtype=dtype, device=device)


def draw_uniform(shape, like: Tensor) -> Tensor:
    """Draw numbers uniform in [tiny, 1), of the dtype and device of a Tensor: their logarithms are finite."""
    return torch.rand(shape, dtype=like.dtype, device=like.device).clamp(min=torch.finfo(like.dtype).tiny)


def draw_inside(shape, like: Tensor) -> Tensor:
    """Draw numbers uniform in [tiny, 1 - eps], of the dtype and device of a Tensor."""
    return draw_uniform(shape, like).clamp(max=1 - torch.finfo(like.dtype).eps)


def draw_exponential(shape, like: Tensor) -> Tensor:
    """Draw exponential numbers of mean 1, of the dtype and device of a Tensor."""
    return like.new_empty(shape).exponential_()


def known_truth(condition: Tensor) -> bool | None:
    """Whether a condition holds in all entries, those along mapped axes among them. None: it is staged, or on the
    device "meta", and nobody knows."""
    value = refresh(condition)._fx_value
    while isinstance(value, Tracer):
        inside = value.contents()
        if not inside:
            return None
        value = inside[0]
    return bool(np.all(value)) if isinstance(value, np.ndarray | np.generic | bool) else bool(value.all())


def show(value: Tensor) -> str:
    """Write a Tensor as text: a single number as that, unless it differs along mapped axes or is staged."""
    return repr(value) if isinstance(refresh(value)._fx_value, Tracer) else f"{value}"


# -- probabilities ------------------------------------------
def clamp_probs(probs: Tensor) -> Tensor:
    """Bring probabilities into [eps, 1 - eps], where their logarithms are finite."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Convert log odds (if binary) or unnormalized log probabilities along the last dimension to probabilities."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Convert probabilities to log odds (if binary) or log probabilities; 0 and 1 become the nearest finite ones.

    >>> torch.distributions.utils.probs_to_logits(torch.tensor(0.5), is_binary=True)
    tensor(0.)
    """
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


def part_lengths(lengths: Sequence[int] | None, count: int, parts: str) -> list[int]:
    """Return the lengths of `count` parts of a dimension, 1 unless given."""
    found = [1] * count if lengths is None else list(lengths)
    if len(found) != count:
        raise ArgumentValueError(
            f"{len(found)} lengths were given of {count} {parts}",
            hint=f"{count} lengths, such as {[1] * count}",
        )
    return found


class lazy_property:
    """An attribute that is computed when it is first asked for, with gradients, and kept."""

    __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, wrapped: Callable[[Any], Any]):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __set_name__(self, owner: type, name: str) -> None:
        self._fx_name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.wrapped(instance)
        vars(instance)[self._fx_name] = value
        return value


# -- triangles ------------------------------------------
def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Pack the lower triangle of matrices row by row.

    Args:
        mat: (…, n, n).
        diag: the last diagonal of the triangle: 0 the main one.

    Returns:
        (…, entries of the triangle).

    Raises:
        ArgumentValueError: there is no such diagonal.

    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 2], [3, 4]])).tolist()
    [1, 3, 4]
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ArgumentValueError(
            f"diag ({diag}) provided is outside [{-n}, {n - 1}].", hint="diag=0 is the main diagonal"
        )
    rows, columns = torch.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def triangle_entries(n: int, diag: int) -> int:
    """The number of entries of an n × n matrix up to a diagonal: those of a triangle, or all without one."""
    side = n + diag if diag <= 0 else n - 1 - diag
    triangle = side * (side + 1) // 2
    return triangle if diag <= 0 else n * n - triangle


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Unpack a lower triangle, the inverse of `tril_matrix_to_vec`.

    Args:
        vec: (…, entries of the triangle).
        diag: the last diagonal of the triangle.

    Returns:
        (…, n, n), 0 above that diagonal.

    Raises:
        ArgumentValueError: no triangle has so many entries.
    """
    sizes = range(abs(diag) + 1, abs(diag) + vec.shape[-1] + 2)
    size = next((n for n in sizes if triangle_entries(n, diag) == vec.shape[-1]), None)
    if size is None:
        raise ArgumentValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of "
            "a square D x D matrix.",
            hint=f"{triangle_entries(abs(diag) + 2, diag)} entries make a matrix of {abs(diag) + 2} rows, "
            "for one",
        )
    inside = torch.ones((size, size), dtype=torch.bool, device=vec.device).tril(diag)
    places = torch.where(inside, inside.flatten().cumsum(0).reshape(size, size) - 1, vec.shape[-1])
    return torch.nn.functional.pad(vec, [0, 1])[..., places]
