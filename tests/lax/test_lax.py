"""What fxgrad.lax promises beyond jax.lax's values (those are in tests/parity/test_jax_lax.py): precision, promotion,
errors, what jit keeps."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests.ways import agree, same

RNG = np.random.default_rng(0)
V, X = RNG.normal(size=5), RNG.normal(size=(3, 4))


def test_logistic_is_precise_in_both_tails():
    """σ = e⁻ᵗ/(1 + e⁻ᵗ) for t = −x > 0, and σ′ = σ(1 − σ)."""
    t = np.array([0.0, 1e-8, 1.0, 30.0, 700.0])
    small = np.exp(-t) / (1 + np.exp(-t))
    np.testing.assert_allclose(lax.logistic(-t), small, rtol=1e-13)
    np.testing.assert_allclose(lax.logistic(t), 1 / (1 + np.exp(-t)), rtol=1e-15)
    slope = fx.vmap(fx.grad(lax.logistic))
    for x in (t, -t):
        np.testing.assert_allclose(slope(x), small / (1 + np.exp(-t)), rtol=1e-12)
    assert lax.logistic(np.float32(-90)).dtype == np.float32
    assert [lax.logistic(z) for z in (-800 + 1j, 800 + 1j, -np.inf, np.inf)] == [0, 1, 0, 1]
    np.testing.assert_allclose(
        lax.logistic(np.array([0, 1], np.uint8)), [0.5, 1 / (1 + np.exp(-1))], rtol=1e-15
    )
    assert [e.primitive.name for e in fx.make_graph(lax.logistic)(t).equations] == ["sigmoid"]
    curvature = fx.vmap(fx.grad(fx.grad(lax.logistic)))
    np.testing.assert_allclose(
        curvature(t), -small / (1 + np.exp(-t)) * np.tanh(t / 2), rtol=1e-12, atol=1e-16
    )


def test_second_derivative_of_logaddexp_where_operands_tie():
    for a in (-3.0, 0.0, 2.0):
        same(
            fx.hessian(lambda x: fnp.logaddexp(x[0], x[1]))(np.array([a, a])),
            np.array([[1, -1], [-1, 1]]) / 4,
        )
    assert fx.grad(lambda x: fnp.logaddexp(x, np.inf))(np.inf) == 0.5


def test_infinities_are_rounded_without_a_warning():
    same(lax.round(np.array([np.inf, -np.inf])), np.array([np.inf, -np.inf]))
    same(lax.round(np.array([2.0**53 - 1, -(2.0**52) - 1])), np.array([2.0**53 - 1, -(2.0**52) - 1]))


def test_operands_are_promoted_and_broadcast_as_by_numpy():
    x = np.ones(3, np.float32)
    assert lax.add(x, 1.0).dtype == np.float32
    assert lax.mul(x, np.ones((2, 1))).shape == (2, 3)
    assert fx.jit(lambda x: lax.clamp(0, x, 1.0))(x).dtype == np.float32
    same(lax.div(7, 2.0), np.float64(3.5))


def test_a_window_whose_place_is_traced_is_compiled_once():
    traces = []

    @fx.jit
    def shifted(x, i):
        traces.append(1)
        return lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i,), (2,)), (i + 2,))

    for i in range(4):
        expected = V.copy()
        j = min(i + 2, 3)
        expected[j : j + 2] = V[min(i, 3) : min(i, 3) + 2]
        same(shifted(V, i), expected)
    assert len(traces) == 1


def test_windows_in_every_way():
    agree(lambda x: lax.dynamic_slice(x, (1, 2), (2, 2)) ** 3, X)
    agree(lambda x, u: lax.dynamic_update_slice(x, u**2, (1, 1)) ** 2, X, X[:2, :3])
    agree(lambda x: lax.pad(x, x[0, 0], [(1, -1, 2), (0, 2, 1)]) ** 2, X)


def test_what_lies_outside_a_window_has_no_derivative():
    """Also where the derivative is infinite: a cotangent says where it is zero by structure."""
    x = np.array([0.0, 4.0, 0.0])
    same(fx.grad(lambda x: lax.dynamic_slice_in_dim(fnp.sqrt(x), 1, 1)[0])(x), np.array([0, 0.25, 0]))
    replaced = fx.grad(lambda x: fnp.sum(lax.dynamic_update_slice(fnp.sqrt(x), fnp.zeros(1), (0,))[:2]))
    same(replaced(x), np.array([0, 0.25, 0]))


def test_reduce_by_a_function_with_branches():
    """The function is one of single values, whatever it does with them."""

    def longest(a, b):
        return lax.cond(abs(a) >= abs(b), lambda a, b: a, lambda a, b: b, a, b)

    x = np.array([[1.0, -5.0, 2.0], [4.0, 3.0, -3.5]])
    same(lax.reduce(x, 0.0, longest, (1,)), np.array([-5.0, 4.0]))
    same(lax.reduce(x, 0.0, longest, (0, 1)), np.float64(-5.0))
    same(fx.grad(lambda x: lax.reduce(x, 0.0, longest, (0, 1)) ** 2)(x), np.array([[0, -10.0, 0], [0, 0, 0]]))
    same(lax.reduce(x[:, :0], 7.0, longest, (1,)), np.array([7.0, 7.0]))
    same(lax.reduce(x[:, :0], 7.0, lax.add, (1,)), np.array([7.0, 7.0]))


def test_logarithms_of_running_sums_of_any_size():
    x = np.array([-1e4, -1e4, 0.0, 1e4, -np.inf])
    same(lax.cumlogsumexp(x), np.array([-1e4, -1e4 + np.log(2), 0.0, 1e4, 1e4]))
    same(lax.cumlogsumexp(x, reverse=True), np.array([1e4, 1e4, 1e4, 1e4, -np.inf]))
    same(lax.cumlogsumexp(np.full(2, -np.inf)), np.full(2, -np.inf))


ERRORS = {
    "slice": (fx.IndexingError, lambda x: lax.slice(x, (0, 0), (4, 4))),
    "slice, strides": (fx.IndexingError, lambda x: lax.slice(x, (0, 0), (3, 4), (1, 0))),
    "slice, one axis": (fx.ShapeError, lambda x: lax.slice(x, (0,), (3,))),
    "index_in_dim": (fx.IndexingError, lambda x: lax.index_in_dim(x, 3)),
    "dynamic_slice, size": (fx.ShapeError, lambda x: lax.dynamic_slice(x, (0, 0), (4, 1))),
    "dynamic_slice, starts": (fx.ShapeError, lambda x: lax.dynamic_slice(x, (0,), (1, 1))),
    "dynamic_slice, float": (fx.DTypeError, lambda x: lax.dynamic_slice(x, (0.0, 1), (1, 1))),
    "dynamic_slice, array": (fx.DTypeError, lambda x: lax.dynamic_slice(x, (np.arange(2), 1), (1, 1))),
    "dynamic_update_slice, size": (
        fx.ShapeError,
        lambda x: lax.dynamic_update_slice(x, fnp.ones((4, 1)), (0, 0)),
    ),
    "dynamic_update_slice, axes": (fx.ShapeError, lambda x: lax.dynamic_update_slice(x, fnp.ones(3), (0, 0))),
    "axis": (fx.AxisError, lambda x: lax.dynamic_slice_in_dim(x, 0, 1, axis=2)),
    "broadcast_in_dim": (fx.ShapeError, lambda x: lax.broadcast_in_dim(x, (3, 4, 5), (1, 0))),
    "pad, entries": (fx.ShapeError, lambda x: lax.pad(x, 0.0, [(1, 1, 0)])),
    "pad, interior": (fx.ShapeError, lambda x: lax.pad(x, 0.0, [(1, 1, -1), (0, 0, 0)])),
    "pad, removed": (fx.ShapeError, lambda x: lax.pad(x, 0.0, [(-2, -2, 0), (0, 0, 0)])),
    "split": (fx.ShapeError, lambda x: lax.split(x, (1, 1))),
    "dot": (fx.ShapeError, lambda x: lax.dot(x, x[None])),
    "dot, sizes": (fx.ShapeError, lambda x: lax.dot(x, x)),
    "dot_general": (fx.ShapeError, lambda x: lax.dot_general(x, x, (((0,), (1,)), ((), ())))),
    "batch_matmul": (fx.ShapeError, lambda x: lax.batch_matmul(x[None], x)),
    "top_k": (fx.ShapeError, lambda x: lax.top_k(x, 5)),
    "sort, shapes": (fx.ShapeError, lambda x: lax.sort((x, x[0]))),
    "sort, keys": (fx.ShapeError, lambda x: lax.sort((x, x), num_keys=3)),
    "reduce": (fx.ShapeError, lambda x: lax.reduce((x, x), 0.0, lax.add, (0,))),
}


@pytest.mark.parametrize("error, f", ERRORS.values(), ids=ERRORS)
def test_errors(error, f):
    for way in (lambda: fx.jit(f)(X), lambda: fx.vjp(f, X), lambda: fx.vmap(f)(X[None])):
        with pytest.raises(error):
            way()


def test_what_control_flow_takes_from_programs_for_jax():
    assert lax.fori_loop(0.0, 3.0, lambda i, c: c + i, 0.0) == 3.0
    assert lax.fori_loop(0.5, 3, lambda i, c: c + i, 0.0) == 4.5
    assert fx.jit(lambda n: lax.fori_loop(0.0, n, lambda i, c: c + i, 0.0))(3.0) == 3.0
    with pytest.raises(fx.DTypeError, match="a number"):
        lax.fori_loop(0, 1j, lambda i, c: c, 0.0)
    assert lax.cond(True, lambda x: 2 * x, lambda x: x, operand=3.0) == 6.0
    assert lax.cond(False, lambda x: 1.0, lambda x: 2.0, operand=None) == 2.0
    with pytest.raises(fx.StructureError, match="operand"):
        lax.cond(True, lambda x: x, lambda x: x, 1.0, operand=2.0)
    assert lax.scan(lambda c, x: (c + x, x), 0.0, V, unroll=0)[0] == pytest.approx(V.sum())
    with pytest.raises(fx.StructureError, match="from 1 on"):
        lax.fori_loop(0, 1, lambda i, c: c, 0.0, unroll=0)
    assert lax.empty((2, 3), "float32").dtype == np.float32


def test_vmap_hands_on_what_it_does_not_map():
    same(fx.vmap(lambda f, x, mode: f(x) if mode == "f" else x, (None, 0, None))(fnp.sin, V, "f"), np.sin(V))
    with pytest.raises(fx.DTypeError, match="a function"):
        fx.vmap(lambda f, x: x)(fnp.sin, V)
