"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._core.tensor import Size, Tensor
from ..errors import ArgumentValueError
from . import constraints
from .base_transforms import Transform
from .constraints import Constraint
from .number_transforms import sigmoid_inside
from .utils import absent_member, part_lengths, sum_rightmost, torch, tril_matrix_to_vec, vec_to_tril_matrix


def ensure_vector(shape, event_dim: int = 1) -> None:
    """Raise for a shape with fewer dimensions than an event has."""
    if len(shape) < event_dim:
        raise ArgumentValueError(
            "Too few dimensions on input", hint=f"{tuple(shape)}, not {event_dim} at least"
        )


class ReshapeTransform(Transform):
    """Events in another shape.

    Args:
        in_shape, out_shape: of events, before and after.

    Raises:
        ArgumentValueError: they have different numbers of elements.

    >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.arange(4.0))
    tensor([[0., 1.],
            [2., 3.]])
    """

    bijective = True
    _fx_settings = ("in_shape", "out_shape")

    def __init__(self, in_shape, out_shape, cache_size: int = 0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ArgumentValueError(
                "in_shape, out_shape have different numbers of elements",
                hint=f"{self.in_shape.numel()} elements in both, such as out_shape=({self.in_shape.numel()},)",
            )

    @property
    def domain(self) -> Constraint:
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Constraint:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.zeros(x.shape[: x.dim() - len(self.in_shape)], dtype=x.dtype, device=x.device)

    def forward_shape(self, shape) -> Size:
        return exchange_event_shape(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape) -> Size:
        return exchange_event_shape(shape, self.out_shape, self.in_shape)


def exchange_event_shape(shape, given: Size, wanted: Size) -> Size:
    """Replace the last sizes of a shape."""
    ensure_vector(shape, len(given))
    cut = len(shape) - len(given)
    if tuple(shape[cut:]) != given:
        raise ArgumentValueError(
            f"Shape mismatch: expected {tuple(shape[cut:])} but got {given}",
            hint=f"ReshapeTransform({tuple(shape[cut:])}, …), or x.reshape({tuple(given)})",
        )
    return Size((*shape[:cut], *wanted))


# -- of vectors ------------------------------------------
class SoftmaxTransform(Transform):
    """Log probabilities to probabilities: it does not depend on a constant that is added, and has no inverse but the
    logarithm.

    >>> torch.distributions.SoftmaxTransform()(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    _fx_settings = ()

    def _call(self, x: Tensor) -> Tensor:
        return torch.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape) -> Size:
        ensure_vector(shape)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """The map from K - 1 numbers to K probabilities: each breaks a part off the rest of a stick (Stan Reference
    Manual, "Unit simplex transform"). It is a bijection, and 0 becomes the middle of the simplex.

    >>> t = torch.distributions.StickBreakingTransform()
    >>> x = torch.tensor([0.0, 0.0])
    >>> t(x), t.log_abs_det_jacobian(x, t(x))
    (tensor([0.3333, 0.3333, 0.3333]), tensor(-3.2958))
    """

    bijective = True
    domain, codomain = constraints.real_vector, constraints.simplex
    _fx_settings = ()

    def _fx_offsets(self, x: Tensor) -> Tensor:
        """The log odds of the part that each is to break off, if all are to be equal."""
        count = x.shape[-1]
        return torch.arange(count, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        part = sigmoid_inside(x - self._fx_offsets(x))
        pad = torch.nn.functional.pad
        return pad(part, [0, 1], value=1.0) * pad((1 - part).cumprod(-1), [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        y = y[..., :-1]
        rest = (1 - y.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return y.log() - rest.log() + self._fx_offsets(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        odds = x - self._fx_offsets(x)
        return (torch.nn.functional.logsigmoid(odds) - odds + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape) -> Size:
        ensure_vector(shape)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape) -> Size:
        ensure_vector(shape)
        return Size((*shape[:-1], shape[-1] - 1))


# -- of matrices ------------------------------------------
class LowerCholeskyTransform(Transform):
    """Matrices to lower triangles with positive diagonals: these are exponentials, what is above becomes 0.

    >>> torch.distributions.LowerCholeskyTransform()(torch.tensor([[0.0, 5.0], [1.0, 0.0]]))
    tensor([[1., 0.],
            [1., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky
    _fx_settings = ()

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones, by their Cholesky factors.

    >>> torch.distributions.PositiveDefiniteTransform()(torch.tensor([[0.0, 5.0], [1.0, 0.0]]))
    tensor([[1., 1.],
            [1., 2.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite
    _fx_settings = ()

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """The map from D·(D - 1)/2 numbers to the Cholesky factor of a correlation matrix of size D: their tanh are
    partial correlations (Stan Reference Manual, "Cholesky factors of correlation matrices").

    >>> t = torch.distributions.CorrCholeskyTransform()
    >>> x = torch.tensor([0.0])
    >>> t(x), t.log_abs_det_jacobian(x, t(x))
    (tensor([[1., 0.],
            [0., 1.]]), tensor(0.))
    """

    bijective = True
    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    _fx_settings = ()

    def _call(self, x: Tensor) -> Tensor:
        eps = torch.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=eps - 1, max=1 - eps), diag=-1)
        # what the entries before leave of the length of a row, which is 1
        rest = (1 - partial.square()).sqrt().cumprod(-1)
        unit = torch.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return (partial + unit) * torch.nn.functional.pad(rest[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        left = torch.nn.functional.pad(1 - y.square().cumsum(-1)[..., :-1], [1, 0], value=1.0)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return partial.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = tril_matrix_to_vec(1 - y.square().cumsum(-1), diag=-2)
        slopes = x + torch.nn.functional.softplus(-2.0 * x) - math.log(2.0)
        return 0.5 * left.log().sum(-1) - 2.0 * slopes.sum(-1)

    def forward_shape(self, shape) -> Size:
        ensure_vector(shape)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ArgumentValueError("Input is not a flattened lower-diagonal number", hint=f"not {count}")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape) -> Size:
        ensure_vector(shape, 2)
        if shape[-2] != shape[-1]:
            raise ArgumentValueError("Input is not square", hint=f"not {tuple(shape)}")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


# -- several at once ------------------------------------------
class PartsTransform(Transform):
    """The base of transforms that treat parts of a dimension differently.

    Args:
        tseq: the transforms.
        dim: the dimension.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _fx_split_parts(self, x: Tensor) -> list[Tensor]:
        raise absent_member(self, "_fx_split_parts")

    def _fx_join(self, parts: list[Tensor], dim: int) -> Tensor:
        raise absent_member(self, "_fx_join")

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    def _call(self, x: Tensor) -> Tensor:
        return self._fx_join([t(part) for t, part in zip(self.transforms, self._fx_split_parts(x))], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._fx_join(
            [t.inv(part) for t, part in zip(self.transforms, self._fx_split_parts(y))], self.dim
        )

    def with_cache(self, cache_size: int = 1) -> Transform:
        if cache_size == self._cache_size:
            return self
        new: Any = super().with_cache(cache_size)
        new.transforms = [t.with_cache(cache_size) for t in self.transforms]
        return new


class CatTransform(PartsTransform):
    """Transforms of parts of a dimension, one after another.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: the size of each part, 1 unless given.

    Raises:
        ValueError: not one length for each transform.

    >>> t = torch.distributions.CatTransform(
    ...     [torch.distributions.ExpTransform(), torch.distributions.AffineTransform(0.0, 2.0)]
    ... )
    >>> x = torch.tensor([1.0, 1.0])
    >>> t(x), t.inv(t(x))
    (tensor([2.7183, 2.0000]), tensor([1.0000, 1.0000]))
    """

    _fx_settings = ("transforms", "dim", "lengths")

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ):
        super().__init__(tseq, dim, cache_size)
        self.lengths = part_lengths(lengths, len(self.transforms), "transforms")

    @property
    def length(self) -> int:
        """The size of the dimension."""
        return sum(self.lengths)

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def domain(self) -> Constraint:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Constraint:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _fx_split_parts(self, x: Tensor) -> list[Tensor]:
        return x.split(self.lengths, self.dim)

    def _fx_join(self, parts: list[Tensor], dim: int) -> Tensor:
        return torch.cat(parts, dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = []
        for t, before, after in zip(self.transforms, self._fx_split_parts(x), self._fx_split_parts(y)):
            each = t.log_abs_det_jacobian(before, after)
            found.append(sum_rightmost(each, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return self._fx_join(found, dim) if dim < 0 else sum(found[1:], found[0])


class StackTransform(PartsTransform):
    """Transforms of the entries of a dimension, one each.

    Args:
        tseq: the transforms.
        dim: the dimension.

    >>> t = torch.distributions.StackTransform(
    ...     [torch.distributions.ExpTransform(), torch.distributions.AffineTransform(0.0, 2.0)]
    ... )
    >>> x = torch.tensor([1.0, 1.0])
    >>> t(x), t.inv(t(x))
    (tensor([2.7183, 2.0000]), tensor([1.0000, 1.0000]))
    """

    _fx_settings = ("transforms", "dim")

    @property
    def domain(self) -> Constraint:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Constraint:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _fx_split_parts(self, x: Tensor) -> list[Tensor]:
        if x.shape[self.dim] != len(self.transforms):
            raise ArgumentValueError(
                f"dimension {self.dim} of x has {x.shape[self.dim]} entries, for {len(self.transforms)} transforms",
                hint=f"{x.shape[self.dim]} transforms, or dim= another dimension",
            )
        return [x.select(self.dim, i) for i in range(x.shape[self.dim])]

    def _fx_join(self, parts: list[Tensor], dim: int) -> Tensor:
        return torch.stack(parts, dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        triples = zip(self.transforms, self._fx_split_parts(x), self._fx_split_parts(y))
        return self._fx_join(
            [t.log_abs_det_jacobian(before, after) for t, before, after in triples], self.dim
        )


__all__ = [
    "CatTransform", "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
    "ReshapeTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform",
]  # fmt: skip
