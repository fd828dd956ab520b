"""Outer products as machine code give what NumPy gives, to the bit, and warn as it does."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.kernels import contraction
from fxgrad.kernels.native import engine, outer, threads

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e38, -1e38, 1.0]


@pytest.fixture(autouse=True)
def products_are_compiled(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(contraction, "OUTER_ENTRIES", 0)


@pytest.fixture(params=[0, 1 << 62], ids=["streamed", "stored"])
def way(request, monkeypatch):
    """Whether results are written past the caches."""
    monkeypatch.setattr(outer, "STREAMED_BYTES", request.param)


@pytest.mark.usefixtures("way")
@settings(max_examples=60, deadline=None, database=None)
@given(
    shared=st.integers(1, 3),
    rows=st.integers(1, 5),
    length=st.integers(32, 90),
    dtype=st.sampled_from(["f4", "f8"]),
)
def test_values_at_any_length_and_place(shared, rows, length, dtype):
    rng = np.random.default_rng(length)
    a = rng.choice([*SPECIAL, *rng.standard_normal(9)], (shared, rows)).astype(dtype)
    b = rng.choice([*SPECIAL, *rng.standard_normal(99)], (shared, length)).astype(dtype)
    with np.errstate(all="ignore"):
        got, want = outer.multiply_outer(a, b, 1), a[:, :, None] * b[:, None, :]
    assert got is not None and got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(np.where(np.isnan(want), got, want)))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("offset", [0, 4, 16, 36, 60])
def test_memory_at_any_place_is_written_and_nothing_beside_it(offset, monkeypatch):
    memory = np.full(100_000, 7, np.uint8)
    start = -memory.ctypes.data % 64 + 128 + offset

    def allocate(shape, dtype):
        return memory[start : start + 4 * np.prod(shape)].view(dtype).reshape(shape)

    monkeypatch.setattr(outer, "allocate", allocate)
    a, b = np.arange(2 * 50, dtype="f4").reshape(2, 50), np.arange(2 * 67, dtype="f4").reshape(2, 67)
    got = outer.multiply_outer(a, b, 1)
    want = a[:, :, None] * b[:, None, :]
    np.testing.assert_array_equal(got, want)
    assert (memory[:start] == 7).all() and (memory[start + want.nbytes :] == 7).all()


@pytest.mark.usefixtures("way")
def test_threads_that_share_the_rows(monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: 3)
    monkeypatch.setattr(threads, "THREAD_WORK", 1)
    a, b = np.arange(7 * 11.0).reshape(7, 11), np.arange(7 * 35.0).reshape(7, 35)
    np.testing.assert_array_equal(outer.multiply_outer(a, b, 1), a[:, :, None] * b[:, None, :])


@pytest.mark.parametrize(
    "spec", ["ab,ac->abc", "ab,ac->acb", "b,c->bc", "b,c->cb", "ab,c->abc", "abd,acd->acbd", "ba,ca->bca"]
)
@pytest.mark.parametrize(
    "sizes", [{"b": 40, "c": 70}, {"b": 3, "c": 70}, {"b": 70, "c": 3}, {"b": 3, "c": 4}]
)
def test_any_order_of_axes_and_strides(spec, sizes):
    left, right, _ = contraction.parse_spec(spec)
    sizes, rng = {"a": 3, "d": 2, **sizes}, np.random.default_rng(0)
    x, y = (rng.standard_normal([sizes[c] for c in s])[..., ::-1] for s in (left, right))
    np.testing.assert_array_equal(contraction.plan_contraction(spec)(x, y), np.einsum(spec, x, y))


@pytest.mark.parametrize("dtypes", ["f2f2", "i4i4", "F F ", "f4f8", "> "])
def test_what_is_no_machine_code_for_is_left_to_numpy(dtypes):
    first, second = (">f4", ">f4") if dtypes == "> " else (dtypes[:2].strip(), dtypes[2:].strip())
    x, y = np.arange(40).astype(first), np.arange(50).astype(second)
    got, want = contraction.plan_contraction("a,b->ab")(x, y), np.multiply.outer(x, y)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_warnings_are_those_of_numpy():
    big, ones = np.full(40, 1e300), np.ones(40)
    product = contraction.plan_contraction("a,b->ab")
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
        assert np.isinf(product(big, big)).all()
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        product(big, big)
    with np.errstate(all="ignore"):
        assert np.isnan(product(np.inf * ones, 0 * ones)).all()
    assert (product(big, ones) == 1e300).all()  # nothing is left in the processor's register
    with np.errstate(over="raise"):
        product(ones, ones)


def test_gradients_per_sample(monkeypatch):
    rng = np.random.default_rng(0)
    w, x = rng.standard_normal((40, 70)), rng.standard_normal((5, 40))
    per_sample = fx.vmap(fx.grad(lambda w, x: fnp.sum(fnp.tanh(x @ w) ** 2)), (None, 0))
    got = [per_sample(w, x), fx.jit(per_sample)(w, x)]
    monkeypatch.setattr(engine, "mode", lambda: "never")
    monkeypatch.setattr(outer, "_tiers", {})
    for g in got:
        np.testing.assert_allclose(g, per_sample(w, x), rtol=1e-13, atol=1e-13)
        assert g.flags.c_contiguous and g.flags.writeable


def test_a_product_is_computed_in_threads_at_once():
    a, b = np.arange(3 * 20.0).reshape(3, 20), np.arange(3 * 64.0).reshape(3, 64)
    want, wrong = a[:, :, None] * b[:, None, :], []

    def work():
        wrong.extend(1 for _ in range(50) if (outer.multiply_outer(a, b, 1) != want).any())

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not wrong and not any(worker.is_alive() for worker in workers)
