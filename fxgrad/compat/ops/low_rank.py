"""The greatest singular values and a few eigenvalues.

Singular values come from products with random vectors: Halko, Martinsson and Tropp, "Finding structure with randomness"
(2009), algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from .._core.tensor import Tensor
from .._declare.spaces import expose
from .._make.sampling import randn
from ..errors import ArgumentValueError, TensorError
from .decompositions import linalg_cholesky, linalg_eigh, linalg_qr, linalg_svd
from .linalg import linalg_solve_triangular
from .matmul import matmul


def adjoint(matrix: Tensor) -> Tensor:
    return matrix.transpose(-1, -2).conj() if matrix.is_complex() else matrix.transpose(-1, -2)


def get_approximate_basis(A: Tensor, q: int, niter: int | None = 2, M: Tensor | None = None) -> Tensor:
    """An orthonormal basis of q vectors, whose span is near the range of A - M: Q of (…, m, q) with QQᴴ(A - M) ≈ A - M.

    Args:
        A: matrices of (…, m, n).
        q: how many vectors; somewhat more than the rank that is wanted.
        niter: how often the vectors are multiplied by A and its adjoint, so that small singular values fade.
        M: what is subtracted from A.
    """
    A = A if M is None else A - M
    vectors = randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    basis = linalg_qr(matmul(A, vectors)).Q
    for _ in range(2 if niter is None else niter):
        basis = linalg_qr(matmul(adjoint(A), basis)).Q
        basis = linalg_qr(matmul(A, basis)).Q
    return basis


@expose()
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition U, S and V of A - M ≈ U·diag(S)·Vᴴ, with the q greatest singular values, found
    by random vectors.

    Args:
        A: matrices of (…, m, n).
        q: how many; somewhat more than the rank.
        niter: how often the vectors are multiplied by A and its adjoint.
        M: what is subtracted from A.

    >>> A = torch.outer(torch.tensor([3.0, 4.0]), torch.tensor([0.0, 1.0]))
    >>> print(f"{torch.svd_lowrank(A, q=1)[1].item():.4f}")
    5.0000
    """
    A = A if M is None else A - M
    q = 6 if q is None else q
    wide = A.shape[-2] < A.shape[-1]
    tall = adjoint(A) if wide else A
    basis = get_approximate_basis(tall, q, niter)
    U, S, Vh = linalg_svd(matmul(adjoint(basis), tall), full_matrices=False)
    U, V = matmul(basis, U), adjoint(Vh)
    return (V, S, U) if wide else (U, S, V)


@expose()
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of the rows of A: U, S and V of A less the means of its columns, as `svd_lowrank`.

    Args:
        A: samples of (…, m, n): m of n variables.
        q: how many components, six or as many as there are unless it is given.
        center: whether the means are subtracted.

    Raises:
        ValueError: q is greater than m or n; niter is negative.
    """
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ArgumentValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}",
            hint=f"q={min(m, n)}",
        )
    if niter < 0:
        raise ArgumentValueError(f"niter(={niter}) must be non-negative integer", hint=f"niter={-niter}")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter)


@expose()
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k greatest or least eigenvalues λ, and eigenvectors x with Ax = λBx, of symmetric matrices.

    They are those of `linalg.eigh`, exact whatever is given to steer torch's iteration (n, iK, niter, tol, method,
    tracker and ortho_…).

    Args:
        A: symmetric matrices of (…, m, m).
        k: how many, 1 unless it is given, or the columns of X.
        B: symmetric positive definite matrices, 1 unless they are given.
        X: a first guess of the eigenvectors, of which only the number matters.
        largest: whether the greatest are wanted, as by default.
        ortho_iparams: accepted and without effect.
        ortho_fparams: accepted and without effect.
        ortho_bparams: accepted and without effect.

    Returns:
        (k eigenvalues, the greatest or least first; the eigenvectors as columns of (…, m, k)).

    Raises:
        ValueError: m is less than 3k.
        RuntimeError: `A` is not square.

    >>> torch.lobpcg(torch.diag(torch.tensor([1.0, 5.0, 3.0])))[0]
    tensor([5.])
    """
    m = A.shape[-1]
    if A.ndim < 2 or A.shape[-2] != m:
        raise TensorError(
            f"A must be square, got shape {tuple(A.shape)}", hint="A.mT @ A, or torch.svd_lowrank(A)"
        )
    k = k if k is not None else 1 if X is None else X.shape[-1]
    if m < 3 * k:
        raise ArgumentValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={k})",
            hint=f"torch.linalg.eigh(A), which gives all {m}",
        )
    order = slice(0, k) if largest is False else slice(m - k, m)
    if B is None:
        values, vectors = linalg_eigh(A)
    else:
        factor = linalg_cholesky(B)
        half = linalg_solve_triangular(factor, A, upper=False)
        values, vectors = linalg_eigh(linalg_solve_triangular(adjoint(factor), half, upper=True, left=False))
        vectors = linalg_solve_triangular(adjoint(factor), vectors, upper=True)
    values, vectors = values[..., order], vectors[..., order]
    return (values, vectors) if largest is False else (values.flip(-1), vectors.flip(-1))
