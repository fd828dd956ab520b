"""Parametrizations of weights: orthogonal, of spectral norm one, by length and direction."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.dtypes import finfo
from ..._core.tensor import Tensor, make_tensor, refresh
from ..._make.creation import eye, zeros_like
from ..._make.sampling import randn
from ...autograd.grad_mode import no_grad
from ...errors import ArgumentValueError, DimensionError, NotSupportedError
from ...ops.arguments import shape_hint
from ...ops.decompositions import linalg_householder_product, linalg_qr
from ...ops.joining import cat
from ...ops.linalg import linalg_solve
from .. import functional
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import check_iterations, output_dim
from .weight_norm import norm_except_dim


def is_orthogonal(Q: Tensor) -> bool:
    """Whether the columns of a matrix are orthonormal up to rounding."""
    n, k = Q.shape[-2:]
    eps = 10 * n * finfo(Q.dtype).eps
    gram = Q.mH @ Q
    return bool(((gram - eye(k, dtype=Q.dtype)).abs() <= eps + 1e-5 * eye(k)).all())


def make_orthogonal(A: Tensor) -> Tensor:
    """The orthogonal matrix nearest in direction to a square one: Q of QR, with a positive diagonal of R."""
    Q, R = linalg_qr(A)
    return Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def find_reflections(A: Tensor) -> tuple[Tensor, Tensor]:
    """(vectors below the diagonal, scales) of the Householder reflections of QR; R is in the triangle above."""
    raw, tau = np.linalg.qr(refresh(A)._fx_value, mode="raw")
    return tuple(make_tensor(A._fx_tape, np.ascontiguousarray(x)) for x in (np.swapaxes(raw, -1, -2), tau))  # type: ignore[return-value]


class _Orthogonal(Module):
    """Matrices with orthonormal columns, or rows, as a function of any matrix. Source: Lezcano-Casado, 2019,
    arXiv:1909.09501, for trivializations; Higham, 2008, Functions of Matrices, for the maps."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ArgumentValueError(
                "The householder parametrization does not support complex tensors.",
                hint='orthogonal_map="matrix_exp", or "cayley"',
            )
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """The orthogonal matrix of a matrix."""
        n, k = X.shape[-2:]
        transposed = n < k
        if transposed:
            X, n, k = X.mT, k, n
        if self.orthogonal_map == "householder":
            A: Any = X.tril(-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = linalg_householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = cat([X, X.new_zeros((*X.shape[:-1], n - k))], dim=-1)
            A = X - X.mH
            if self.orthogonal_map == "matrix_exp":
                Q = A.matrix_exp()
            else:
                identity: Any = eye(n, dtype=A.dtype)
                Q = linalg_solve(identity - 0.5 * A, identity + 0.5 * A)
            Q = Q[..., :k]
        if getattr(self, "base", None) is not None:
            Q = self.base @ Q
        return Q.mT if transposed else Q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """Return a matrix that the parametrization maps to Q.

        Raises:
            ValueError: another shape than that of the weight.
            NotImplementedError: the exponential and Cayley's map without trivialization.
        """
        if Q.shape != self.shape:
            raise ArgumentValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.",
                hint=shape_hint("Q", Q.shape, self.shape),
            )
        start = Q
        n, k = Q.shape[-2:]
        transposed = n < k
        if transposed:
            Q, n, k = Q.mT, k, n
        if "base" not in self._buffers:
            if self.orthogonal_map != "householder":
                raise NotSupportedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False.",
                    hint='use_trivialization=True, or orthogonal_map="householder"',
                )
            A, tau = find_reflections(Q)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0.0] *= -1
            return A.mT if transposed else A
        if n == k:
            Q = Q.clone() if is_orthogonal(Q) else make_orthogonal(Q)
        else:
            more = randn(*Q.shape[:-1], n - k, dtype=Q.dtype)
            Q = make_orthogonal(cat([Q, more], dim=-1))
        self.base = Q
        made = zeros_like(start)
        made.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return made


class _SpectralNorm(Module):
    """A matrix divided by its greatest singular value, which steps of the power iteration follow. Source: Miyato et
    al., 2018, arXiv:1802.05957."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.dim()
        if dim >= ndim or dim < -ndim:
            raise DimensionError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})",
                hint=f"dim={ndim - 1}" if ndim else "a weight of one dimension or more",
            )
        check_iterations(n_power_iterations)
        self.dim, self.eps = dim if dim >= 0 else dim + ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            h, w = matrix.shape
            for name, size in (("_u", h), ("_v", w)):
                start = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(name, functional.normalize(start, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(functional.normalize(weight_mat.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(functional.normalize(weight_mat.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """The matrix of spectral norm one; in training after another step of the iteration."""
        if weight.dim() == 1:
            return functional.normalize(weight, dim=0, eps=self.eps)
        matrix: Any = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # which later steps modify
        return weight / u.vdot(matrix.mv(v))  # type: ignore[operator]

    def right_inverse(self, value: Tensor) -> Tensor:
        """The matrix itself: its norm is lost."""
        return value


class _WeightNorm(Module):
    """A weight by its length along a dimension and its direction. Source: Salimans and Kingma, 2016,
    arXiv:1602.07868."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Tensor:
        """The weight of this length and direction."""
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """(length, the weight as its direction)."""
        return norm_except_dim(weight, self.dim), weight


def find_tensor(module: Module, name: str) -> Tensor:
    """Return a parameter or buffer of a module."""
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ArgumentValueError(
            f"Module '{module}' has no parameter or buffer with name '{name}'",
            hint=f"one of {', '.join([*module._parameters, *module._buffers])}",
        )
    return found


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Parametrize a weight by matrices with orthonormal columns, or rows where these are fewer.

    Args:
        orthogonal_map: "matrix_exp", "cayley" or "householder"; None: "matrix_exp" where the weight is square or
            complex, "householder" otherwise.
        use_trivialization: whether the map is around a fixed matrix, so that every orthogonal matrix can be assigned.
        module: the module.
        name: the name.

    Raises:
        ValueError: there is no such weight, or it is no matrix; another map.

    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 2))
    >>> bool(torch.dist(layer.weight @ layer.weight.T, torch.eye(2)) < 1e-5)
    True
    """
    weight = find_tensor(module, name)
    if weight.dim() < 2:
        raise ArgumentValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.",
            hint="torch.nn.utils.parametrizations.weight_norm, for a vector",
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ArgumentValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}',
            hint='orthogonal_map="matrix_exp"',
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Parametrize a weight by matrices of spectral norm one.

    Args:
        n_power_iterations: steps of the power iteration in each forward call in training.
        eps: the least norm by which is divided.
        dim: the dimension of the outputs; None: 1 for transposed convolutions, else 0.
        module: the module.
        name: the name.

    Returns:
        The module.

    Raises:
        ValueError: the module has no such Tensor.

    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(2, 3))
    >>> torch.nn.utils.parametrize.is_parametrized(layer, "weight")
    True
    """
    weight = find_tensor(module, name)
    dim = output_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Parametrize a weight by its length along a dimension (None: of all of it) and its direction. States of the older
    `nn.utils.weight_norm` are taken as well.

    Args:
        module: the module.
        name: the name.
        dim: the dimension; None: of all.

    Returns:
        The module.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> torch.nn.utils.parametrize.is_parametrized(layer, "weight")
    True
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_old_keys(state_dict: dict[str, Any], prefix: str, *rest) -> None:
        olds = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in olds):
            for i, key in enumerate(olds):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename_old_keys)
    return module


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
