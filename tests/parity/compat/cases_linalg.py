"""Systems of equations, decompositions and norms."""

import numpy as np

from tests.parity.compat.case import T, case

Z = "complex128"
INF = float("inf")


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


def definite(a):
    """Hermitian and positive definite."""
    return a @ adjoint(a) + np.eye(a.shape[-1])


def spread(a):
    """Hermitian with eigenvalues far apart."""
    return 0.1 * (a + adjoint(a)) + np.diag(np.arange(1.0, a.shape[-1] + 1))


def regular(a):
    """Far from singular."""
    return a + 3 * np.eye(*a.shape[-2:])


def factored(a):
    """A lower triangle with ones and more on the diagonal."""
    return np.tril(a, -1) + (1 + np.abs(a)) * np.eye(a.shape[-1])


def upper(a):
    """The transpose of `factored`."""
    return np.swapaxes(factored(a), -1, -2)


def strictly_upper(a):
    """Zeros on and below the diagonal."""
    return np.triu(a, 1)


def slim(a):
    """Of rank one."""
    return a[..., :1] * a[..., :1, :]


def squares(results):
    """The squared moduli: signs and phases of vectors are arbitrary."""
    results = results if isinstance(results, tuple) else [results]
    return [(r * r.conj()).real if r.is_complex() else r * r for r in results]


R, RZ = T(3, 3, of=regular), T(3, 3, dtype=Z, of=regular)
RR = T(2, 3, 3, of=regular)
D, DZ, DD = T(3, 3, of=definite), T(3, 3, dtype=Z, of=definite), T(2, 3, 3, of=definite)
S, SZ, SS = T(3, 3, of=spread), T(3, 3, dtype=Z, of=spread), T(2, 3, 3, of=spread)
L = T(3, 3, of=factored)
PIVOTS = T(values=[3, 2, 3], dtype="int32")

CASES = [
    *[case(name, a) for name in ("linalg.inv", "inverse", "linalg.inv_ex") for a in (R, RZ, RR)],
    *[case(name, a) for name in ("linalg.det", "det") for a in (R, RZ, RR, T(1, 1))],
    *[case(name, a) for name in ("linalg.slogdet", "slogdet") for a in (R, RZ, RR)],
    *[case("logdet", a) for a in (D, DD)],
    case("linalg.pinv", R),
    case("linalg.pinv", T(4, 2)),
    case("linalg.pinv", T(2, 2, 4)),
    case("linalg.pinv", T(3, 2, dtype=Z)),
    case("linalg.pinv", S, hermitian=True, backward=False),
    case("linalg.pinv", T(4, 2), atol=0.1),
    case("linalg.pinv", T(4, 2), rtol=1e-3),
    case("pinverse", T(4, 2)),
    case("linalg.tensorinv", T(2, 3, 6), 2),
    case("linalg.tensorinv", T(6, 2, 3), ind=1),
    case("linalg.solve", R, T(3, 2)),
    case("linalg.solve", RZ, T(3, 2, dtype=Z)),
    case("linalg.solve", R, T(3)),
    case("linalg.solve", RR, T(2, 3)),
    case("linalg.solve", RR, T(3, 2)),
    case("linalg.solve", R, T(2, 3, 2)),
    case("linalg.solve", R, T(2, 3), left=False),
    case("linalg.solve_ex", R, T(3, 2)),
    case("linalg.solve_ex", RR, T(2, 3)),
    case("linalg.solve_triangular", R, T(3, 2), upper=True),
    case("linalg.solve_triangular", RZ, T(3, 2, dtype=Z), upper=False),
    case("linalg.solve_triangular", R, T(2, 3), upper=True, left=False),
    case("linalg.solve_triangular", RR, T(3, 2), upper=True, unitriangular=True),
    case("triangular_solve", T(3, 2), T(3, 3, of=upper)),
    # torch's forward mode is wrong for the transpose: it differs from a central difference.
    case("triangular_solve", T(3, 2), L, upper=False, transpose=True, forward=False),
    case("triangular_solve", T(3, 2), T(3, 3, of=strictly_upper), unitriangular=True),
    case("linalg.tensorsolve", T(2, 3, 6), T(2, 3)),
    case("linalg.tensorsolve", R, T(3)),
    case("linalg.tensorsolve", T(3, 2, 6), T(6), dims=(0, 1)),
    case("linalg.lstsq", T(4, 2), T(4, 3)),
    case("linalg.lstsq", T(2, 4), T(2, 3)),
    case("linalg.lstsq", T(2, 4, 2), T(2, 4, 1)),
    case("linalg.lstsq", T(4, 2), T(4, 3), driver="gelsd"),
    case("linalg.lstsq", T(4, 2), T(4, 3), driver="gels"),
    case("linalg.cholesky", D),
    case("linalg.cholesky", DZ, then=squares),
    case("linalg.cholesky", DD, upper=True),
    case("cholesky", D),
    case("linalg.cholesky_ex", D),
    # torch's gradients take L whole, and so do those of these gradients: see test_linalg.
    case("cholesky_solve", T(3, 2), L, backward=False),
    case("cholesky_solve", T(3, 2), T(2, 3, 3, of=factored), backward=False),
    case("cholesky_inverse", L, backward=False),
    case("linalg.qr", R),
    case("linalg.qr", T(4, 2)),
    case("linalg.qr", T(2, 4)),
    case("linalg.qr", RZ),
    case("linalg.qr", T(2, 4, 2), mode="r", backward=False),
    case("linalg.qr", T(4, 2), mode="complete", backward=False),
    case("qr", T(4, 2)),
    case("linalg.householder_product", T(4, 2), T(2)),
    case("linalg.householder_product", T(4, 3, dtype=Z), T(2, dtype=Z)),
    case("orgqr", T(4, 2), T(2)),
    case("linalg.svd", R, then=squares),
    case("linalg.svd", T(4, 2), full_matrices=False, then=squares),
    case("linalg.svd", T(2, 2, 4), False, then=squares),
    case("svd", T(4, 2), then=squares),
    case("linalg.svdvals", T(4, 2)),
    case("linalg.svdvals", T(2, 3, 3, dtype=Z)),
    case("linalg.eigh", S, then=squares),
    case("linalg.eigh", SS, UPLO="U", then=squares),
    case("linalg.eigvalsh", S),
    case("linalg.eigvalsh", SZ),
    case("linalg.eig", S, then=squares),
    case("linalg.eigvals", R),
    case("linalg.eigvals", T(2, 3, 3)),
    case("linalg.lu", R),
    case("linalg.lu", T(4, 2)),
    case("linalg.lu", T(2, 2, 4)),
    case("linalg.lu_factor", RZ),
    case("linalg.lu_factor", T(2, 4, 3)),
    case("linalg.lu_factor_ex", T(3, 3)),
    case("lu", R),
    case("lu_unpack", R, PIVOTS),
    case("lu_unpack", T(4, 3), PIVOTS),
    case("linalg.lu_solve", R, PIVOTS, T(3, 2)),
    case("linalg.lu_solve", RZ, PIVOTS, T(3, 2, dtype=Z), adjoint=True),
    case("linalg.lu_solve", R, PIVOTS, T(2, 3), left=False),
    case("lu_solve", T(3, 2), R, PIVOTS),
    *[case("linalg.vector_norm", T(2, 3), ord) for ord in (2, 1, 3, 0.5, INF, -INF, -1)],
    case("linalg.vector_norm", T(2, 3), 0, backward=False),
    case("linalg.vector_norm", T(2, 3, dtype=Z), 3, dim=1, keepdim=True),
    # torch gives the tangent the dtype of the operand.
    case("linalg.vector_norm", T(2, 3, dtype="float32"), dim=(0, 1), dtype="torch.float64", forward=False),
    *[case("linalg.matrix_norm", T(3, 4), ord) for ord in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)],
    case("linalg.matrix_norm", T(2, 3, 4, dtype=Z), "nuc", dim=(0, 2), keepdim=True),
    case("linalg.norm", T(2, 3)),
    case("linalg.norm", T(3), 3),
    case("linalg.norm", T(3, values=[0.0, 1.0, -2.0]), -0.5, double=False),  # torch's is NaN
    case("linalg.norm", T(2, 3), 1, 0),
    case("linalg.norm", T(2, 3), "nuc"),
    case("linalg.norm", T(2, 3, 4), 2, (1, 2), True),
    *[case("linalg.cond", R, p) for p in (None, 2, -2, "nuc")],
    # torch's own backward raises: it modifies the inverse that it saved.
    *[case("linalg.cond", R, p, backward=False) for p in (1, "fro", INF)],
    case("linalg.matrix_rank", T(4, 3, of=slim)),
    case("linalg.matrix_rank", T(2, 4, 3), atol=0.1, rtol=0.1),
    case("linalg.matrix_rank", S, hermitian=True),
    case("linalg.matrix_exp", T(3, 3)),
    case("linalg.matrix_exp", T(2, 3, 3, dtype=Z)),
    case("linalg.matrix_exp", T(3, 3, low=-20, high=20), tol=1e-8, double=False),
    case("matrix_exp", T(3, 3)),
    case("linalg.diagonal", T(2, 3, 4)),
    case("linalg.diagonal", T(2, 3, 4), offset=1, dim1=0, dim2=2),
    case("linalg.vector_norm", T(low=0.3, grad=False), 0),
    case("linalg.norm", T(low=0.3), 1, 0),
    case("linalg.vander", T(3, dtype="int32")),
    case("linalg.solve_triangular", T(1, 2, 2, low=1), T(2, 1), upper=True),
    case("cholesky_solve", T(1, 1, low=1), T(1, 1, 1, low=1)),
    # There are no derivatives of these factors.
    case("geqrf", T(4, 3, grad=False)),
    case("geqrf", T(2, 3, 4, grad=False)),
    case("ormqr", T(4, 3), T(3), T(4, 2)),
    case("ormqr", T(4, 3), T(3), T(2, 4), left=False, transpose=True),
    *[case("linalg.ldl_factor", T(4, 4, dtype=dtype, grad=False)) for dtype in ("float64", Z)],
    case("linalg.ldl_factor_ex", T(2, 4, 4, dtype=Z, grad=False, of=spread), hermitian=True),
    *[
        case(
            "linalg.ldl_solve",
            T(3, 3, grad=False, of=regular),
            T(values=pivots, dtype="int32"),
            T(3, 2),
            backward=False,
        )
        for pivots in ([1, 2, 3], [-3, -3, 3])
    ],
    case("frobenius_norm", T(2, 3), [0, 1]),
    case("frobenius_norm", T(2, 3), 1, True),
    case("nuclear_norm", T(2, 3)),
    case("norm_except_dim", T(2, 3, 4), 2, 1),
    case("norm_except_dim", T(2, 3), 2, -1, forward=False),
    case("linalg.vander", T(), N=2),
    case("linalg.pinv", T(4, 2), rtol=T(values=0.1, grad=False), vmap=False),
    case("linalg.pinv", T(4, 2), atol=T(values=[0.1], grad=False), vmap=False),
    case("linalg.matrix_rank", T(4, 3, of=slim), atol=T(values=0.1, grad=False), vmap=False),
]
