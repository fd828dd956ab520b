"""Compiled code calls NumPy directly where shapes are known: with the results of the kernels, for every dtype."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

SIZES = dict(zip("abcst", (2, 3, 4, 5, 2)))
SPECS = [
    "ab,bc->ac", "ab,bc->ca", "ba,bc->ac", "ba,bc->ca", "ab,cb->ac", "ba,cb->ca", "ab,b->a", "ba,b->a", "b,bc->c",
    "b,cb->c", "a,a->", "a,b->ab", "a,b->ba", "sab,sac->bc", "abs,sac->bc", "sab,csa->cb", "sab,sbc->sac",
    "sab,sac->sbc", "sta,stb->ab", "ast,stb->ba", "sab,s->ab", "abc,abc->c", "ab,ab->", "sa,tb->satb",
]  # fmt: skip


def operand(rng, letters, dtype):
    x = rng.integers(-3, 4, [SIZES[c] for c in letters])
    return (x + 1j * x[..., ::-1] if dtype == "c8" else x).astype(dtype)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(
    "dtypes", [("f8", "f8"), ("f4", "f8"), ("c8", "f4"), ("i4", "i8"), ("?", "?"), ("f2", "f2")]
)
def test_contractions(spec, dtypes):
    rng = np.random.default_rng(0)
    a, b = [operand(rng, letters, d) for letters, d in zip(spec.split("->")[0].split(","), dtypes)]
    expected = np.einsum(spec, a, b)
    for x in (a, np.asfortranarray(a), a[::-1][::-1]):
        for found in (fx.jit(lambda x, y: fnp.einsum(spec, x, y))(x, b), fnp.einsum(spec, x, b)):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("empty", ["a", "b", "s"])
def test_contractions_of_nothing(empty, monkeypatch):
    monkeypatch.setitem(SIZES, empty, 0)
    for spec in SPECS:
        a, b = [
            operand(np.random.default_rng(0), letters, "f8") for letters in spec.split("->")[0].split(",")
        ]
        np.testing.assert_array_equal(
            fx.jit(lambda x, y, s=spec: fnp.einsum(s, x, y))(a, b), np.einsum(spec, a, b)
        )


def test_bfloat16_is_contracted_in_single_precision():
    dtype = pytest.importorskip("ml_dtypes").bfloat16
    a = np.arange(6.0).reshape(2, 3).astype(dtype)
    found = fx.jit(lambda x: x @ x.T)(a)
    assert found.dtype == a.dtype
    np.testing.assert_array_equal(
        found.astype("f4"), (a.astype("f4") @ a.astype("f4").T).astype(dtype).astype("f4")
    )


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "i8", "u1", "?"])
@pytest.mark.parametrize("shape", [(3, 4), (0, 3), (), (1,), (2, 3, 4)])
def test_other_forms(dtype, shape):
    def f(x):
        results = [
            fnp.sum(x),
            fnp.prod(x),
            fnp.any(x),
            fnp.all(x),
            x.T,
            x.reshape(-1),
            x.astype("c8"),
        ]
        results += [fnp.where(x != 0, x, 0), fnp.where(x == 1, 2, x), x[None], x[..., None]]
        if x.ndim > 1:
            results += [
                fnp.sum(x, 0),
                fnp.sum(x, (0, 1)),
                x[1:, ::-1],
                x[:, 0],
                x[-1:] * 1,
                fnp.swapaxes(x, 0, 1),
            ]
        if x.ndim > 1 and x.shape[0]:
            results += [fnp.max(x, 0), fnp.min(x, (0, 1)), x[0], x[0, 0]]
        return results

    x = (np.arange(np.prod(shape, dtype=int)) % 3).reshape(shape).astype(dtype)
    x = x if shape else x[()]
    with np.errstate(all="ignore"):
        for found, expected in zip(fx.jit(f)(x), f(x), strict=True):
            assert (np.shape(found), np.asarray(found).dtype) == (
                np.shape(expected),
                np.asarray(expected).dtype,
            )
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("number", [2, 0.1, -0.0, float("inf"), float("nan"), 1e300, 1e-300, True, 1j, 2**70])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4", "f2"])
def test_numbers_beside_arrays(number, dtype):
    def f(x):
        with np.errstate(all="ignore"):
            return [x * number, number - x, x == number, x < number if dtype != "c8" and number != 1j else x]

    x = np.array([0.0, 1.0, -2.0]).astype(dtype)
    try:
        expected = f(x)
    except OverflowError:
        with pytest.raises((OverflowError, fx.FxgradError)):
            fx.jit(f)(x)
        return
    for found, wanted in zip(fx.jit(f)(x), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_results_of_compiled_code_are_not_shared():
    x = np.arange(6.0).reshape(2, 3)
    f = fx.jit(lambda x: (x @ x.T, x.T, fnp.sum(x, 0), x.astype("f8"), fnp.where(x > 1, x, 0), (x + 1)[0]))
    for index in range(6):
        results = f(x)
        kept = [np.copy(r) for r in results]
        results[index][...] = 9.0
        np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3))
        assert all(np.array_equal(a, b) for i, (a, b) in enumerate(zip(results, kept)) if i != index)
        assert all(np.array_equal(a, b) for a, b in zip(f(x), kept))
