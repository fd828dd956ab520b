"""Matrices for the operations of linear algebra: well conditioned, and with values that keep apart."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

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
    for k in range(len(a)):
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    return np.concatenate([lu.ravel(), np.arange(len(a))])


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


# -- what does not depend on the choice of vectors ------------------------------------------
def composed(left: Any, right: Any) -> Any:
    """L·diag(1, 2, …)·Rᴴ."""
    return fnp.matmul(left * np.arange(1.0, left.shape[-1] + 1), fnp.conj(fnp.matrix_transpose(right)))


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


def without_phases(values: Any, turn: Any) -> Any:
    """A cotangent along the phases of vectors, the diagonal, is refused."""
    return flattened(values, turn * (1 - np.eye(3)))


def spectral(name: str, domain: str, shape: tuple[int, ...], joined: Callable, **params: Any) -> Sample:
    return Sample(name, ((domain, shape),), params, joined=joined)


BOTH = ("dominant", "complex_dominant")
SHAPES = ((3, 3), (3, 2), (2, 3))
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
]
DOMAINS["spaced"] = lambda rng, shape: np.arange(1.0, shape[0] + 1) + rng.uniform(-0.3, 0.3, shape)
