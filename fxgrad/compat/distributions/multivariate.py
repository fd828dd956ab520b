"""Normal distributions of vectors."""

from __future__ import annotations

import math
from typing import Any

from ...extend import FxgradError
from ...random import laws
from .._core.tensor import Size, Tensor
from ..errors import ArgumentValueError
from . import constraints
from .continuous import LOG_TWO_PI
from .distribution import Distribution
from .parameters import computed_parameter, parameter
from .utils import attribute_of, draw_normal, lazy_property, torch


def solve_lower(factor: Tensor, right: Tensor) -> Tensor:
    """Solve with a lower triangle."""
    return torch.linalg.solve_triangular(factor, right, upper=False)


def mahalanobis(factor: Tensor, offset: Tensor) -> Tensor:
    """The squares of offsets (…, n) in the metric of the covariance with this Cholesky factor; with one factor for all
    it is one solve."""
    if factor.dim() > 2:
        return solve_lower(factor, offset.unsqueeze(-1)).squeeze(-1).square().sum(-1)
    columns = offset.reshape(-1, offset.shape[-1]).mT
    return solve_lower(factor, columns).square().sum(0).reshape(offset.shape[:-1])


def half_log_det(factor: Tensor) -> Tensor:
    """Half the logarithm of the determinant, by the Cholesky factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def unit_like(matrix: Tensor) -> Tensor:
    """The unit matrix of the size of a matrix."""
    return torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def factor_from_precision(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse: the inverse of the transposed factor of the matrix taken backwards, itself
    taken backwards, is a lower triangle."""
    backward = torch.linalg.cholesky(precision.flip((-2, -1)))
    return solve_lower(backward.flip((-2, -1)).mT, unit_like(precision))


def multiply_vectors(matrices: Tensor, vectors: Tensor) -> Tensor:
    """The products of matrices (…, n, n) and vectors (…, n), whose other dimensions are broadcast."""
    return torch.matmul(matrices, vectors.unsqueeze(-1)).squeeze(-1)


# torch's names for these, which programs import.
_precision_to_scale_tril, _batch_mahalanobis, _batch_mv = factor_from_precision, mahalanobis, multiply_vectors


def ensure_vector(loc: Tensor) -> None:
    """Raise for a mean without dimensions."""
    if loc.dim() < 1:
        raise ArgumentValueError(
            "loc must be at least one-dimensional.",
            hint="loc.reshape(1), or Normal(loc, scale) for one number",
        )


class MatrixParameter(Distribution):
    """The base of distributions with a positive definite matrix, given as one of three."""

    _fx_given: str
    _unbroadcasted_scale_tril: Tensor
    _fx_kept = ("_unbroadcasted_scale_tril",)

    def _fx_choose_matrix(self, matrices: dict[str, Any], error: type[FxgradError]) -> Tensor:
        """Remember which matrix is given, and its Cholesky factor, and return it."""
        given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        if len(given) != 1:
            raise error(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.",
                hint=f"{' or '.join(given)} alone" if given else "scale_tril=torch.eye(n)",
            )
        ((self._fx_given, matrix),) = given.items()
        return matrix

    def _fx_set_matrix(self, matrix: Tensor, batch_shape: Size, validate_args: bool | None, **others) -> None:
        """Set the matrix that is given, check it, and set the factor that all others follow from."""
        vars(self)[self._fx_given] = matrix.expand(batch_shape + matrix.shape[-2:])
        Distribution.__init__(self, batch_shape, others.pop("event_shape"), validate_args=validate_args)
        if self._fx_given == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif self._fx_given == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = factor_from_precision(matrix)

    def _fx_spread(self, matrix: Tensor) -> Tensor:
        """Expand a matrix over the batch."""
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @computed_parameter("the covariance, (…, n, n); or", constraints.positive_definite)
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._fx_spread(factor @ factor.mT)

    @computed_parameter("its inverse; or", constraints.positive_definite)
    def precision_matrix(self) -> Tensor:
        return self._fx_spread(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @computed_parameter(
        "its Cholesky factor, with which no work is left to be done", constraints.lower_cholesky
    )
    def scale_tril(self) -> Tensor:
        return self._fx_spread(self._unbroadcasted_scale_tril)


class MultivariateNormal(MatrixParameter):
    """The normal distribution of vectors, of density e^(−zᵀ·C⁻¹·z/2)/√det(2π·C) with z = x − loc and the covariance C.

    Raises:
        ArgumentValueError: not exactly one matrix is given, or what has too few dimensions.

    >>> normal = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> normal.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    _fx_source = laws.chapter(laws.VECTORS, 45)
    loc = parameter("the mean, (…, n)", constraints.real_vector)
    support = constraints.real_vector

    def __init__(
        self,
        loc,
        covariance_matrix=None,
        precision_matrix=None,
        scale_tril=None,
        validate_args: bool | None = None,
    ):
        ensure_vector(loc)
        matrices = {
            "covariance_matrix": covariance_matrix,
            "scale_tril": scale_tril,
            "precision_matrix": precision_matrix,
        }
        matrix = self._fx_choose_matrix(matrices, ArgumentValueError)
        if matrix.dim() < 2:
            raise ArgumentValueError(
                f"{self._fx_given} must be at least two-dimensional, with optional leading batch dimensions",
                hint=f"{self._fx_given}=torch.eye({loc.shape[-1]})",
            )
        batch_shape = Size(torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        self.loc = loc.expand((*batch_shape, -1))
        self._fx_set_matrix(matrix, batch_shape, validate_args, event_shape=loc.shape[-1:])

    mean = mode = attribute_of("loc")

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.square().sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()) -> Tensor:
        noise = draw_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        square = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        half_size = 0.5 * self._event_shape[0] * LOG_TWO_PI
        return -0.5 * square - half_size - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        half_size = 0.5 * self._event_shape[0] * (1.0 + LOG_TWO_PI)
        return (half_size + half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with covariance W·Wᵀ + diag(d), by the matrix determinant lemma and the
    identity of Woodbury: the work grows with n·m².

    Source: the lemma and the identity are those of D. A. Harville, Matrix Algebra From a Statistician's Perspective,
    1997, chapter 18.

    Raises:
        ArgumentValueError: these do not fit together.

    >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2))
    >>> d.log_prob(torch.zeros(2)), d.covariance_matrix
    (tensor(-2.3872), tensor([[2., 1.],
            [1., 2.]]))
    """

    loc = parameter("the mean, (…, n)", constraints.real_vector)
    cov_factor = parameter("W, (…, n, m)", constraints.independent(constraints.real, 2))
    cov_diag = parameter("d, (…, n)", constraints.independent(constraints.positive, 1))
    _fx_kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")
    support = constraints.real_vector

    def __init__(self, loc, cov_factor, cov_diag, validate_args: bool | None = None):
        ensure_vector(loc)
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ArgumentValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions",
                hint="cov_factor.unsqueeze(-1), for one factor",
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ArgumentValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m",
                hint=f"torch.zeros({event_shape[0]}, m), which has a column for each factor",
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ArgumentValueError(
                f"cov_diag must be a batch of vectors with shape {event_shape}",
                hint=f"cov_diag=torch.ones({event_shape[0]})",
            )
        shapes = loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
        try:
            batch_shape = Size(torch.broadcast_shapes(*shapes))
        except RuntimeError as e:
            raise ArgumentValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}",
                hint="batches of one shape, or of sizes 1: loc[None], cov_factor[None]",
            ) from e
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self.loc, self.cov_diag = (x.expand((*batch_shape, -1)) for x in (loc, cov_diag))
        self.cov_factor = cov_factor.expand((*batch_shape, -1, -1))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        inner = unit_like(cov_factor) + self._fx_scaled_factor() @ cov_factor
        self._capacitance_tril = torch.linalg.cholesky(inner)

    def _fx_scaled_factor(self) -> Tensor:
        """Wᵀ·diag(d)⁻¹."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    mean = mode = attribute_of("loc")

    @lazy_property
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The diagonal of the covariance."""
        value = self._unbroadcasted_cov_factor.square().sum(-1) + self._unbroadcasted_cov_diag
        return value.expand(self._batch_shape + self._event_shape)

    def _fx_spread(self, matrix: Tensor) -> Tensor:
        """Expand a matrix over the batch."""
        return matrix.expand(self._batch_shape + self._event_shape * 2)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return torch.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._fx_spread(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """Its inverse."""
        corrected = solve_lower(self._capacitance_tril, self._fx_scaled_factor())
        return self._fx_spread(
            self._unbroadcasted_cov_diag.reciprocal().diag_embed() - corrected.mT @ corrected
        )

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        inner = draw_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        own = draw_normal(shape, self.loc) * self._unbroadcasted_cov_diag.sqrt()
        return self.loc + (self._unbroadcasted_cov_factor @ inner.unsqueeze(-1)).squeeze(-1) + own

    def _fx_half_log_det(self) -> Tensor:
        """Half the logarithm of the determinant of the covariance."""
        return half_log_det(self._capacitance_tril) + 0.5 * self._unbroadcasted_cov_diag.log().sum(-1)

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        offset = value - self.loc
        inner = (self._fx_scaled_factor() @ offset.unsqueeze(-1)).squeeze(-1)
        own = (offset.square() / self._unbroadcasted_cov_diag).sum(-1)
        square = own - mahalanobis(self._capacitance_tril, inner)
        return -0.5 * (self._event_shape[0] * LOG_TWO_PI + square) - self._fx_half_log_det()

    def entropy(self) -> Tensor:
        half_size = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (half_size + self._fx_half_log_det()).expand(self._batch_shape)


__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]
