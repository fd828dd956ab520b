"""Matrices for the operations of linear algebra: well conditioned, and with values that keep apart."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

import fxgrad.numpy as fnp
from tests.sample import DOMAINS, Sample, flattened, written


def complexified(draw: Callable) -> Callable:
    return lambda rng, shape: draw(rng, shape) + 0.5j * rng.uniform(-1, 1, shape)


def dominant(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """The diagonal outweighs the other entries; its values are 2, 4, 6, …: so are, nearly, the eigenvalues."""
    return rng.uniform(-0.4, 0.4, shape) + np.diag(2.0 * np.arange(1, shape[-1] + 1))


def slanted(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Of any shape, with singular values near 2, 4, 6, …"""
    size = min(shape[-2:])
    return rng.uniform(-0.3, 0.3, shape) + np.eye(*shape[-2:]) * 2.0 * np.arange(1, shape[-1] + 1) * (
        size > 0
    )


DOMAINS.update(
    dominant=dominant,
    slanted=slanted,
    turning=lambda rng, shape: dominant(rng, shape) + 3 * np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 3]]),
    complex_spaced=lambda rng, shape: complexified(DOMAINS["spaced"])(rng, shape),
    complex_dominant=complexified(dominant),
    complex_slanted=complexified(slanted),
    spaced=lambda rng, shape: np.arange(1.0, shape[0] + 1) + rng.uniform(-0.3, 0.3, shape),
    indefinite=lambda rng, shape: dominant(rng, shape) - 5 * np.eye(shape[-1]),
    complex_indefinite=lambda rng, shape: complexified(dominant)(rng, shape) - 5 * np.eye(shape[-1]),
    hermitian=lambda rng, shape: averaged(dominant(rng, shape), True),
    complex_hermitian=lambda rng, shape: averaged(complexified(dominant)(rng, shape), True),
    identical=lambda rng, shape: np.eye(shape[-1]) + rng.uniform(-0.1, 0.1, shape),
    exchanges=lambda rng, shape: np.broadcast_to(np.array([2, 1, 2], np.int32), shape).copy(),
    band=lambda rng, shape: rng.uniform(-0.4, 0.4, shape) + 3.0 * (np.arange(shape[0]) == 1)[:, None],
    rows5=lambda rng, shape: np.array([0, 0, 1, 2, 1]),
    columns5=lambda rng, shape: np.array([0, 2, 1, 2, 1]),
    entries5=lambda rng, shape: np.array([2.0, 1.0, 1.0, 3.0, 2.0]) + rng.uniform(-0.4, 0.4, shape),
)


# -- references ------------------------------------------
def sign(order: tuple[int, ...]) -> int:
    return (-1) ** sum(a > b for a, b in itertools.combinations(order, 2))


def leibniz(a: np.ndarray) -> Any:
    """The determinant as a sum over permutations."""
    n = a.shape[-1]
    terms = [
        sign(order) * math.prod(a[..., i, j] for i, j in enumerate(order))
        for order in itertools.permutations(range(n))
    ]
    return np.sum([t + np.zeros(a.shape[:-2]) for t in terms], axis=0)


def cofactors(a: np.ndarray) -> np.ndarray:
    """The adjugate, entry by entry."""
    n = a.shape[-1]
    return np.array(
        [[(-1) ** (i + j) * leibniz(np.delete(np.delete(a, j, 0), i, 1)) for j in range(n)] for i in range(n)]
    ).reshape(n, n)


def cramer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return cofactors(a) @ b / leibniz(a)


def normal_equations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    ah = a.conj().T
    tall = a.shape[0] >= a.shape[1]
    return cramer(ah @ a, ah @ b) if tall else ah @ cramer(a @ ah, b)


def triangle(a: np.ndarray, lower: bool, unit_diagonal: bool) -> np.ndarray:
    a = np.tril(a) if lower else np.triu(a)
    return a - np.diag(np.diag(a) - 1) if unit_diagonal else a


def crout(a: np.ndarray) -> np.ndarray:
    """Cholesky's factor of the Hermitian part, entry by entry."""
    a = (a + a.conj().T) / 2
    factor = np.zeros_like(a)
    for i, j in itertools.product(range(len(a)), repeat=2):
        rest = a[i, j] - factor[i, :j] @ factor[j, :j].conj() if j <= i else 0
        factor[i, j] = rest**0.5 if i == j else rest / (factor[j, j] if j < i else 1)
    return factor


def eliminated(a: np.ndarray) -> np.ndarray:
    """L and U in one matrix, by rows, and the rows exchanged: none where the diagonal outweighs the rest."""
    lu = a.copy()
    for k in range(min(a.shape)):
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    return np.concatenate([lu.ravel(), np.arange(len(a))])


def of_rows(shape: tuple[int, int], data: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The matrix with these entries at these places."""
    a = np.zeros(shape, data.dtype)
    np.add.at(a, (rows, columns), data)
    return a


def banded(ab: np.ndarray, upper: int) -> np.ndarray:
    """The matrix whose diagonals are the rows of an array."""
    a = np.zeros((ab.shape[1],) * 2, ab.dtype)
    for i, j in itertools.product(range(len(a)), repeat=2):
        if 0 <= upper + i - j < len(ab):
            a[i, j] = ab[upper + i - j, j]
    return a


def kronecker_sum(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray:
    """X with AX + XB = Q, as one system."""
    left = np.kron(a, np.eye(len(b))) + np.kron(np.eye(len(a)), b.T)
    return (
        cramer(left, q.reshape(-1, 1)).reshape(q.shape)
        if len(left) < 7
        else np.linalg.solve(left, q.ravel()).reshape(q.shape)
    )


def frechet(a: np.ndarray, t: np.ndarray) -> np.ndarray:
    return scipy.linalg.expm_frechet(a, t, compute_expm=False)


def mirrored(upper: bool, a: np.ndarray) -> np.ndarray:
    """The Hermitian matrix of which a triangle is given, entry by entry."""
    result = np.zeros_like(a)
    for i, j in itertools.product(range(len(a)), repeat=2):
        given = i < j if upper else i > j
        result[i, j] = a[i, j].real if i == j else a[i, j] if given else a[j, i].conj()
    return result


def averaged(a: np.ndarray, upper: bool) -> np.ndarray:
    """The Hermitian part."""
    return (a + a.conj().T) / 2


def of_eigenvalues(function: Callable, a: np.ndarray) -> np.ndarray:
    """A function of a matrix with a basis of eigenvectors."""
    w, v = np.linalg.eig(a)
    found = (v * function(w.astype(complex))) @ np.linalg.inv(v)
    return found if np.iscomplexobj(a) else found.real


# -- what does not depend on the choice of vectors ------------------------------------------
def composed(left: Any, right: Any) -> Any:
    """L·diag(1, 2, …)·Rᴴ."""
    return fnp.matmul(
        fnp.multiply(left, np.arange(1, left.shape[-1] + 1)), fnp.conj(fnp.matrix_transpose(right))
    )


def of_hermitian(w: Any, v: Any) -> Any:
    return flattened(w, composed(v, v))


def of_singular(u: Any, s: Any, vh: Any) -> Any:
    """Of the thin parts: the others are bases of complements."""
    k = s.shape[-1]
    u, v = u[..., :, :k], fnp.conj(fnp.matrix_transpose(vh[..., :k, :]))
    return flattened(s, composed(u, v), composed(u, u), composed(v, v))


def of_general(w: Any, v: Any) -> Any:
    """Eigenvalues, and the moduli of eigenvectors, which have length one."""
    return flattened(w, fnp.abs(v))


def of_form(form: Any, q: Any) -> Any:
    """Of a form, up to phases: moduli, and what the two give together."""
    product = fnp.matmul(fnp.matmul(q, form), fnp.conj(fnp.matrix_transpose(q)))
    return flattened(*[fnp.real(x * fnp.conj(x)) for x in (form, q)], product)


def projection(q: Any) -> Any:
    """The projection onto a space."""
    return fnp.ravel(fnp.matmul(q, fnp.conj(fnp.matrix_transpose(q))))


def without_phases(values: Any, turn: Any) -> Any:
    """A cotangent along the phases of vectors, the diagonal, is refused."""
    return flattened(values, fnp.where(np.eye(3, dtype=bool), 0, turn))


def spectral(name: str, domain: str, shape: tuple[int, ...], joined: Callable, **params: Any) -> Sample:
    return Sample(name, ((domain, shape),), params, joined=joined)


BOTH = ("dominant", "complex_dominant")
SHAPES = ((3, 3), (3, 2), (2, 3))
DENSE = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0], [2.0, 0.0, 1.0]])
OPERATOR = scipy.sparse.linalg.aslinearoperator(DENSE)
SAMPLES = [
    *(
        written("solve", (a, (3, 3)), (b, (3, 2)), reference=cramer)
        for a, b in zip(BOTH, ("real", "complex"))
    ),
    written("solve", ("dominant", (2, 3, 3)), ("real", (2, 3, 1))),
    written("solve", ("real", (0, 0)), ("real", (0, 2))),
    *(
        written(
            "triangular_solve",
            (a, (3, 3)),
            (b, (3, 2)),
            lower=lower,
            unit_diagonal=unit,
            reference=lambda a, b, lower=lower, unit=unit: cramer(triangle(a, lower, unit), b),
        )
        for a, b, lower, unit in [
            ("dominant", "real", True, False),
            ("dominant", "real", False, True),
            ("complex_dominant", "complex", False, False),
        ]
    ),
    *(
        written("inv", (a, (3, 3)), strict=strict, reference=lambda a: cramer(a, np.eye(3)))
        for a, strict in zip(BOTH, (True, False))
    ),
    written("inv", ("real", (2, 0, 0)), strict=True),
    *(
        written("lstsq", (a, shape), (b, (shape[0], 2)), rcond=1e-10, reference=normal_equations)
        for a, b in (("slanted", "real"), ("complex_slanted", "complex"))
        for shape in SHAPES
    ),
    written("lstsq", ("real", (0, 2)), ("real", (0, 3)), rcond=1e-10),
    *(
        written(name, (a, (3, 3)), reference=r)
        for name, r in (("det", leibniz), ("adjugate", cofactors))
        for a in BOTH
    ),
    *(written(name, ("dominant", shape)) for name in ("det", "adjugate") for shape in ((0, 0), (1, 1))),
    written("det", ("dominant", (2, 2, 2)), reference=leibniz),
    *(written("adjugate_slope", (a, (3, 3)), (a, (3, 3))) for a in BOTH),
    written("adjugate_slope", ("dominant", (1, 1)), ("real", (1, 1))),
    *(
        Sample("slogdet", ((a, (3, 3)),), reference=leibniz, joined=lambda sign, log: sign * fnp.exp(log))
        for a in BOTH
    ),
    *(
        Sample("mirror_triangle", ((a, (3, 3)),), {"upper": upper}, partial(mirrored, upper), averaged)
        for a in BOTH
        for upper in (False, True)
    ),
    *(written("cholesky", (a, (3, 3)), reference=crout) for a in BOTH),
    written("cholesky", ("real", (0, 0))),
    *(
        written(name, (a, (3, 3)), (b, (3, 3)))
        for name in ("cholesky_slope", "cholesky_slope_transpose")
        for a, b in zip(BOTH, ("real", "complex"))
    ),
    *(Sample("factorization", ((a, (3, 3)),), {}, eliminated, lambda a: np.zeros(12)) for a in BOTH),
    *(written("qr", (a, shape), complete=False) for a in ("slanted", "complex_slanted") for shape in SHAPES),
    written("qr", ("slanted", (2, 3)), complete=True),
    *(
        Sample(
            "spectral_perturbation",
            ((e, (3, 3)), (w, (3,)), ("bool", (3,)), ("bool", (3,))),
            {"kind": kind},
            joined=without_phases,
        )
        for e, w, kind in [
            ("real", "distinct", "hermitian"),
            ("complex", "distinct", "hermitian"),
            ("complex", "complex_spaced", "general"),
            ("real", "spaced", "singular"),
        ]
    ),
    *(
        written("singular_quotient", (x, (3, 3)), ("positive", (3,)), turning=turning)
        for x in ("real", "complex")
        for turning in (False, True)
    ),
    written(
        "singular_quotient", ("real", (2, 3)), ("positive", (3,)), turning=False, reference=lambda x, s: x / s
    ),
    *(spectral("eigh", a, (3, 3), of_hermitian, uplo="L") for a in BOTH),
    spectral("eigh", "dominant", (0, 0), of_hermitian, uplo="L"),
    *(written("eigvalsh", (a, (3, 3)), uplo="L") for a in BOTH),
    written("eigvalsh", ("dominant", (0, 0)), uplo="L"),
    *(
        spectral("svd", a, shape, of_singular, full=full)
        for a in ("slanted", "complex_slanted")
        for shape in SHAPES
        for full in (False, True)
    ),
    spectral("svd", "slanted", (0, 2), of_singular, full=False),
    *(written("svdvals", (a, shape)) for a in ("slanted", "complex_slanted") for shape in SHAPES),
    written("svdvals", ("slanted", (0, 2))),
    *(spectral("eig", a, (3, 3), of_general) for a in (*BOTH, "turning")),
    *(
        written(name, (a, (3, 3)), reference=lambda a: np.zeros((), np.int32))
        for name in ("zero_pivot", "indefinite_minor")
        for a in BOTH
    ),
    written("row_order", ("exchanges", (3,)), rows=4, reference=lambda pivots: np.array([2, 1, 0, 3])),
    written("row_order", ("exchanges", (2, 3)), rows=3, reference=lambda pivots: np.array([[2, 1, 0]] * 2)),
    *(
        Sample("lu", ((a, shape),), reference=lambda a: eliminated(a)[: a.size], joined=lambda lu, *_: fnp.ravel(lu))
        for a, shape in zip((*BOTH, "slanted", "slanted"), ((3, 3), *SHAPES))
    ),
    *(written("matrix_exp", (a, (3, 3)), reference=scipy.linalg.expm) for a in ("real", "complex", "dominant")),
    *(written("matrix_exp_slope", (a, (3, 3)), (a, (3, 3)), reference=frechet) for a in ("real", "complex")),
    *(
        written(name, (a, (3, 3)), reference=partial(of_eigenvalues, function), **params)
        for name, function, params in [
            ("matrix_log", np.log, {}),
            ("matrix_sqrt", np.sqrt, {}),
            ("fractional_power", lambda w: w**0.3, {"exponent": 0.3}),
        ]
        for a in BOTH
    ),
    *(
        written(name, ("indefinite" if name == "matrix_sign_slope" else "turning", (3, 3)), ("real", (3, 3)), **params)
        for name, params in [
            ("matrix_log_slope", {}),
            ("matrix_sign_slope", {}),
            ("fractional_power_slope", {"exponent": 0.3}),
        ]
    ),
    *(
        written("matrix_sign", (a, (3, 3)), reference=partial(of_eigenvalues, lambda w: np.sign(w.real)))
        for a in ("indefinite", "complex_indefinite")
    ),
    *(
        written("sylvester", (a, (3, 3)), (a, (2, 2)), (q, (3, 2)), reference=kronecker_sum)
        for a, q in zip(BOTH, ("real", "complex"))
    ),
    written("sylvester", ("real", (0, 0)), ("dominant", (2, 2)), ("real", (0, 2))),
    written(
        "banded_solve", ("band", (3, 4)), ("real", (4, 2)), lower=1, upper=1,
        reference=lambda ab, b: np.linalg.solve(banded(ab, 1), b),
    ),
    written(
        "banded_solve", ("band", (4, 4)), ("complex", (4, 1)), lower=2, upper=1,
        reference=lambda ab, b: np.linalg.solve(banded(ab, 1), b),
    ),
    *(written("polar_unitary", (a, (3, n))) for a in ("slanted", "complex_slanted") for n in (2, 3)),
    *(
        Sample("space_basis", ((a, shape),), {"rank": 2, "null": null}, joined=projection)
        for a, shape, null in (("slanted", (3, 2), False), ("slanted", (2, 3), True))
    ),
    *(spectral("schur", a, (3, 3), of_form) for a in BOTH),
    *(spectral("hessenberg", a, (4, 4), of_form) for a in ("real", "complex")),
    *(
        written("ldl", (a, (3, 3)), lower=lower, hermitian=True)
        for a, lower in (("hermitian", True), ("complex_hermitian", False))
    ),
    written("column_order", ("slanted", (2, 3)), reference=lambda a: np.array([1, 0, 2], np.int32)),
    *(
        written(
            "riccati",
            (a, (2, 2)), ("nonzero", (2, 1)), ("identical", (2, 2)), ("identical", (1, 1)), discrete=where,
        )
        for a, where in (("real", False), ("complex", True))
    ),
    *(
        written(
            "operator_product", (x, (3, 2)), operator=OPERATOR, transposed=transposed,
            reference=lambda x, a=a: a @ x,
        )
        for x, transposed, a in (("real", False, DENSE), ("complex", True, DENSE.T))
    ),
    *(
        Sample(
            "reflected_form",
            (("hermitian", (3, 3)),),
            {"form": form},
            model=lambda a, form: np.zeros(9),
            joined=lambda packed, _: fnp.ravel(packed),
        )
        for form in ("hessenberg", "tridiagonal")
    ),
    *(
        written(
            name, ("entries5", (5,)), ("rows5", (5,)), ("columns5", (5,)), ("real", (3, 2)), shape=(3, 3),
            reference=reference,
        )
        for name, reference in [
            ("sparse_matmul", lambda data, i, j, x: of_rows((3, 3), data, i, j) @ x),
            ("sparse_solve", lambda data, i, j, b: np.linalg.solve(of_rows((3, 3), data, i, j), b)),
        ]
    ),
]  # fmt: skip
DOMAINS["spaced"] = lambda rng, shape: np.arange(1.0, shape[0] + 1) + rng.uniform(-0.3, 0.3, shape)
