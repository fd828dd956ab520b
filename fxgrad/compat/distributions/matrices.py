"""Distributions of positive definite matrices, and of factors of correlation matrices."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .._core.tensor import Size, Tensor
from ..errors import ArgumentValueError, MissingMatrixError
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .multivariate import MatrixParameter, half_log_det, solve_lower
from .parameters import parameter
from .positive import Beta, clamp_tiny
from .utils import broadcast_all, draw_normal, known_truth, torch


class Wishart(MatrixParameter, ExponentialFamily):
    """The distribution of Wishart: of sums of squares and products of normal vectors. Its density is
    ∝ det(X)^((df − d − 1)/2)·e^(−tr(C⁻¹·X)/2), for d×d matrices X and the covariance C.

    Source: T. W. Anderson, An Introduction to Multivariate Statistical Analysis, 2003, chapter 7.

    Raises:
        MissingMatrixError: not exactly one matrix is given. It is an AssertionError.
        ArgumentValueError: the matrix has too few dimensions, or `df` is too small.

    >>> d = torch.distributions.Wishart(3.0, torch.eye(2))
    >>> d.log_prob(torch.eye(2)), d.mean
    (tensor(-3.5310), tensor([[3., 0.],
            [0., 3.]]))
    """

    df = parameter("how many, a number above n - 1 that need not be whole")
    support = constraints.positive_definite
    _mean_carrier_measure = 0

    def __init__(
        self,
        df,
        covariance_matrix=None,
        precision_matrix=None,
        scale_tril=None,
        validate_args: bool | None = None,
    ):
        matrices = {
            "scale_tril": scale_tril,
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
        }
        matrix = self._fx_choose_matrix(matrices, MissingMatrixError)
        if matrix.dim() < 2:
            raise ArgumentValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions",
                hint="scale_tril=torch.eye(n)",
            )
        df = torch.as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        size = matrix.shape[-1]
        if known_truth(df > size - 1) is False:
            raise ArgumentValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.", hint=f"df={size}"
            )
        batch_shape = Size(torch.broadcast_shapes(df.shape, matrix.shape[:-2]))
        self.df = df.expand(batch_shape)
        if known_truth(df >= size) is False:
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        self._fx_set_matrix(matrix, batch_shape, validate_args, event_shape=matrix.shape[-2:])

    @property
    def arg_constraints(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        matrices = ("covariance_matrix", "precision_matrix", "scale_tril")
        found = {name: getattr(MatrixParameter, name).constraint for name in matrices}
        return {**found, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    @property
    def _fx_size(self) -> int:
        return self._event_shape[-1]

    @property
    def _fx_df_of_matrices(self) -> Tensor:
        return self.df.reshape((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._fx_df_of_matrices * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self._fx_df_of_matrices - self._fx_size - 1
        return torch.where(factor > 0, factor, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._fx_df_of_matrices * (self.covariance_matrix.square() + products)

    def rsample(self, sample_shape=()) -> Tensor:
        """Draw samples by the decomposition of Bartlett ("On the theory of statistical regression", 1933), that are
        differentiable in the parameters.

        They are those of a second draw, as in torch 2.13, which takes regular matrices for singular ones and draws in
        their place: so a seed gives the same numbers.
        """
        self._fx_draw_by_bartlett(sample_shape)
        return self._fx_draw_by_bartlett(sample_shape)

    def _fx_draw_by_bartlett(self, sample_shape) -> Tensor:
        size, shape = self._fx_size, self._extended_shape(sample_shape)
        halves = 0.5 * (
            self.df.unsqueeze(-1) - torch.arange(size, dtype=self.df.dtype, device=self.df.device)
        )
        roots = (2 * clamp_tiny(torch._standard_gamma(halves.expand(shape[:-1])))).sqrt()
        below = draw_normal((*shape[:-2], size * (size - 1) // 2), self.df)
        row, column = torch.tril_indices(size, size, -1, device=self.df.device)
        place = torch.nn.functional.one_hot(row * size + column, size * size).to(below.dtype)
        noise = (below @ place).unflatten(-1, (size, size)) + roots.diag_embed()
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        size, half = self._fx_size, 0.5 * self.df
        factor = self._unbroadcasted_scale_tril
        inside = torch.linalg.cholesky(value)
        trace = solve_lower(factor, inside).square().flatten(-2).sum(-1)
        return (
            (self.df - size - 1) * half_log_det(inside)
            - 0.5 * trace
            - self.df * (0.5 * size * math.log(2) + half_log_det(factor))
            - torch.mvlgamma(half, size)
        )

    def entropy(self) -> Tensor:
        size, half = self._fx_size, 0.5 * self.df
        places = torch.arange(size, dtype=half.dtype, device=half.device)
        slope = torch.digamma(half.unsqueeze(-1) - 0.5 * places).sum(-1)  # of mvlgamma
        scale = half_log_det(self._unbroadcasted_scale_tril) + 0.5 * size * math.log(2)
        return (
            (size + 1) * scale + torch.mvlgamma(half, size) - 0.5 * (self.df - size - 1) * slope + half * size
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -0.5 * self.precision_matrix, 0.5 * (self.df - self._fx_size - 1)

    def _log_normalizer(self, x, y) -> Tensor:
        half = y + 0.5 * (self._fx_size + 1)
        return torch.mvlgamma(half, self._fx_size) - half * torch.linalg.slogdet(-x).logabsdet


class LKJCholesky(Distribution):
    """The distribution of Cholesky factors of correlation matrices, with a density of these proportional to
    det(C)^(concentration - 1) (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines
    and extended onion method", 2009).

    Raises:
        ArgumentValueError: `dim` is less than 2.

    >>> _ = torch.manual_seed(0)
    >>> L = torch.distributions.LKJCholesky(3).sample()
    >>> torch.allclose((L @ L.T).diagonal(), torch.ones(3))
    True
    """

    dim: Any = parameter("the size of the matrices, 2 at least")
    concentration = parameter(
        "1 is uniform; above it, matrices are near the unit matrix", constraints.positive
    )
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ArgumentValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.", hint="dim=2"
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args=validate_args)

    def sample(self, sample_shape=()) -> Tensor:
        """Draw samples by the onion method: row k of the factor has a random direction in k dimensions, and the square
        of its length is a beta variable."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            like = self.concentration
            rows = torch.arange(self.dim, dtype=like.dtype, device=like.device).clamp(min=1)
            rest = like.unsqueeze(-1) + 0.5 * (self.dim - 1 - rows)
            squares = Beta(0.5 * rows, rest, validate_args=False).sample(sample_shape)
            squares = torch.nn.functional.pad(
                squares[..., 1:], [1, 0]
            )  # the first row has no other direction
            directions = draw_normal(shape, like).tril(-1)
            lengths = clamp_tiny(directions.square().sum(-1, keepdim=True)).sqrt()
            last = clamp_tiny(1 - squares).sqrt()
            return squares.sqrt().unsqueeze(-1) * directions / lengths + last.diag_embed()

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        diagonal = value.diagonal(dim1=-2, dim2=-1)[..., 1:]
        rows = torch.arange(2, self.dim + 1, dtype=value.dtype, device=value.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        below = self.dim - 1
        alpha = self.concentration + 0.5 * below
        normalizer = (
            0.5 * below * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, below) - torch.lgamma(alpha) * below
        )
        return (powers * diagonal.log()).sum(-1) - normalizer


__all__ = ["LKJCholesky", "Wishart"]
