"""Complex numbers in machine code: by parts, and as NumPy has them at the ends of their range."""

import itertools
import operator

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import ops
from fxgrad.kernels.native import engine

from .random_programs import parts, same, set_way, size_of

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="native kernels are switched off")

PARTS = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.3,
    np.inf,
    -np.inf,
    np.nan,
    1e-310,
    1e-160,
    1e300,
    -1e300,
    710.0,
    -746.0,
    90.0,
]
NUMBERS = np.array([complex(*pair) for pair in itertools.product(PARTS, PARTS)])
ONE = {
    "abs": abs, "angle": fnp.angle, "conj": fnp.conj, "exp": fnp.exp, "isfinite": fnp.isfinite, "isinf": fnp.isinf,
    "isnan": fnp.isnan, "neg": operator.neg, "not": fnp.logical_not, "reciprocal": fnp.reciprocal, "square": fnp.square,
    "sign": fnp.sign, "parts": lambda x: x.imag + 1j * x.real, "unit": lambda x: ops.unit_vector(x, abs(x)),
}  # fmt: skip
TWO = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "equal": operator.eq, "unequal": operator.ne, "where": lambda x, y: fnp.where(x.real > 0, x, y),
}  # fmt: skip


def run(function, *operands):
    """Return results of machine code, in which all is in groups, and those of NumPy."""
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        want = function(*operands)
        set_way(patch, "always")
        compiled = fx.jit(function)
        *_, graph = compiled.lower(*operands).passes.values()
        assert all(e.params["native"] for e in graph.equations)
        return compiled(*operands), want


@pytest.mark.parametrize("dtype", ["c16", "c8"])
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_special_values_are_numpys(name, dtype):
    with np.errstate(all="ignore"):
        x = NUMBERS.astype(dtype)
    operands = (x,) if name in ONE else (np.repeat(x, len(x)), np.tile(x, len(x)))
    function = ONE.get(name) or TWO[name]
    ((got,), (want,)) = run(lambda *values: (function(*values),), *operands)
    assert got.dtype == want.dtype
    for a, b in zip(parts(got), parts(want)):
        good = same(a, b)
        if a.dtype.kind == "f":
            info = np.finfo(a.dtype)
            bound = 4 * info.eps * size_of(want) + 4 * info.smallest_subnormal
            with np.errstate(all="ignore"):
                good |= np.abs(a.astype(np.longdouble) - b) <= bound
            good &= (a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b))
        assert good.all(), [(*(x[i] for x in operands), got[i], want[i]) for i in np.flatnonzero(~good)[:3]]


@pytest.mark.parametrize("shape", [(5,), (17,), (300, 7), (7, 300), (3, 9000), (2, 3, 65)])
def test_sums_along_any_axes(shape):
    random = np.random.default_rng(0)
    x, y = (random.standard_normal(shape) + 1j * random.standard_normal(shape) for _ in range(2))
    ways = {None, -1, 0, tuple(range(1, len(shape))) or None}
    got, want = run(lambda x, y: [fnp.sum(x * y + 1j, axis=a) for a in ways], x, y)
    for a, b in zip(got, want):
        assert (a.dtype, np.shape(a)) == (b.dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-12)


def test_real_and_complex_numbers_meet():
    x, z = np.linspace(-2, 2, 50, dtype="f4"), np.exp(1j * np.linspace(0, 6, 50))
    got, want = run(lambda x, z: ((x + z) * 2, abs(z - x) > 1, fnp.where(x > 0, x, z * 0.5j), x * 1j), x, z)
    for a, b in zip(got, want):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype == "c8" else 1e-15)


def test_a_gradient_is_one_group():
    z = np.random.default_rng(1).standard_normal((2, 40)).view(complex)[0]
    loss = lambda z: fnp.sum(abs(z * z - 1) ** 2 + fnp.angle(fnp.exp(1j * z)))  # noqa: E731
    (got,), (want,) = run(lambda z: (fx.grad(loss)(z),), z)
    np.testing.assert_allclose(got, want, rtol=1e-13)


def test_warnings_are_numpys(monkeypatch):
    set_way(monkeypatch, "always")
    x = np.ones(40, complex)
    x[33] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero|invalid value"):
        fx.jit(lambda x: (1 + 1j) / x + x)(x)
    with np.errstate(all="raise"):
        fx.jit(lambda x: fnp.conj(x) * 2 + abs(x))(x)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        fx.jit(lambda x: fnp.conj(x * 1e200) * 1e200)(x)
