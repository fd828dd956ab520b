"""Sparse Jacobians and Hessians: the pattern lacks nothing, and the values are those of dense ones."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax

N = 6
MATRIX = np.diag([1.0, 2, 0, 3, 4, 5]) + np.eye(N, k=2)
PLACES = np.array([3, 1, 1, 0, 5, 2])


@fx.custom_vjp
def doubled(x):
    return 2 * x


doubled.defvjp(lambda x: (2 * x, None), lambda _, ct: (2 * ct,))


@fx.custom_jvp
def sine(x):
    return fnp.sin(x)


sine.defjvp(lambda primals, tangents: (sine(*primals), fnp.cos(primals[0]) * tangents[0]))


def running(x):
    return lax.scan(lambda c, r: (c * r, c + r), 1.0, x)[1]


def long_running(x):
    return lax.scan(lambda c, r: (fnp.roll(c, 1) * r, c[0]), x, fnp.ones(600) * x[2])[0]


# name → (function of N numbers, how many entries its pattern has; None where it may have more than it needs)
STEPS = {
    "differences": (lambda x: fnp.append(x[1:] - x[:-1], 0), 10),
    "products": (lambda x: x * fnp.roll(x, 2), 12),
    "square": (lambda x: x**2, 6),
    "reversed": (lambda x: x[::-1], 6),
    "gathered": (lambda x: x[PLACES], 6),
    "scattered": (lambda x: fnp.at(x)[PLACES].add(x), None),
    "matrix": (lambda x: MATRIX @ x, 9),
    "outer": (lambda x: (x[:3, None] @ x[None, 3:])[:2].reshape(-1), 12),
    "masked": (lambda x: fnp.where(np.arange(N) > 3, x, 0.0), 2),
    "branched": (lambda x: fnp.where(x > 0, x, x[0]), 11),
    "zero": (lambda x: x * 0, 0),
    "some zeros": (lambda x: x * np.array([0, 1.0, 0, 2, 0, 0]), 2),
    "rounded": (lambda x: fnp.round(x) + x.astype(int), 0),
    "cumulated": (lambda x: fnp.cumsum(x.reshape(2, 3), axis=1).reshape(-1), 12),
    "sorted": (lambda x: fnp.sort(x), 36),
    "maximum": (lambda x: fnp.max(x.reshape(2, 3), axis=1).repeat(3), 18),
    "normalized": (lambda x: x / fnp.linalg.norm(x), 36),
    "convolved": (lambda x: fnp.convolve(x, np.array([1.0, 0, 2]), "same"), 10),
    "transformed": (lambda x: fnp.fft.fft(x.reshape(2, 3)).real.reshape(-1), 18),
    "inverses": (lambda x: fnp.linalg.inv(x.reshape(N, 1, 1) + 3.0).reshape(-1), 6),
    "scan": (running, 21),
    "long scan": (long_running, None),
    "fori": (lambda x: lax.fori_loop(1, N, lambda i, c: fnp.at(c)[i].multiply(c[i - 1]), x), 21),
    "while": (
        lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] * s[1][0]), (0, x))[1], 11,
    ),
    "open while": (lambda x: lax.while_loop(lambda s: s[0] > 9, lambda s: s * s[1], x), 11),
    "solve": (lambda x: lax.custom_linear_solve(lambda v: 2 * v, x**2, lambda _, b: b / 2), 36),
    "cond": (lambda x: lax.cond(x[0] > 0, lambda x: x, lambda x: x[::-1], x), 12),
    "own vjp": (doubled, 6),
    "own jvp": (sine, 6),
    "own vjp in scan": (lambda x: lax.scan(lambda c, r: (c, doubled(r)), 0.0, x)[1], 6),
    "checkpoint": (fx.checkpoint(fnp.sin), 6),
    "argument index": (lambda x: x[fnp.argmax(x)] * x, None),
    "moving window": (lambda x: fnp.tile(lax.dynamic_slice(x, (fnp.argmin(x),), (2,)), 3), 36),
    "map": (fx.vmap(lambda a: a * a), 6),
    "fixed": (lambda x: fx.stop_gradient(x) * x, 6),
}  # fmt: skip


def points(count=3):
    return np.random.default_rng(0).uniform(-1, 1, (count, N))


def covers(pattern, fun):
    """Whether the pattern has each entry of the Jacobian that is not zero at some points."""
    return not any(((fx.jacfwd(fun)(x) != 0) & ~pattern.toarray()).any() for x in points())


@pytest.mark.parametrize("name", STEPS)
def test_the_pattern_of_an_operation(name):
    fun, entries = STEPS[name]
    pattern = fx.sparsity_pattern(fun)(points()[0])
    assert covers(pattern, fun)
    assert entries is None or pattern.nnz == entries


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=4))
def test_no_entry_is_missing(names):
    def fun(x):
        for name in names:
            x = fnp.tanh(STEPS[name][0](x))
        return x

    pattern = fx.sparsity_pattern(fun)(points()[0])
    assert covers(pattern, fun)
    x = points()[0]
    sparse = fx.jacobian(fun, sparsity="auto")(x)
    assert np.allclose(sparse.toarray(), fx.jacobian(fun)(x), atol=1e-12)


def arrow(x):
    return fnp.concatenate([fnp.sum(x**2)[None], x[1:] * x[0]])


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
@pytest.mark.parametrize("fun", [running, arrow, lambda x: arrow(x)[::-1] * x[3], lambda x: x[:2] * x[3:5]])
def test_values_are_those_of_a_dense_jacobian(fun, mode):
    x = points()[0]
    found = fx.jacobian(fun, mode=mode, sparsity="auto")(x)
    assert isinstance(found, scipy.sparse.csr_array)
    assert np.allclose(found.toarray(), fx.jacobian(fun)(x))
    given = fx.jacobian(fun, mode=mode, sparsity=fx.sparsity_pattern(fun)(x).toarray())(x)
    assert np.allclose(found.toarray(), given.toarray())


def chain(x):
    return fnp.sum((x[1:] - x[:-1] ** 2) ** 2)


@pytest.mark.parametrize(
    "fun", [chain, lambda x: x[0] ** 2 * fnp.sum(x), fnp.prod, fnp.sum, lambda x: chain(x)[None]]
)  # fmt: skip
def test_values_are_those_of_a_dense_hessian(fun):
    x = points()[0]
    assert np.allclose(fx.hessian(fun, sparsity="auto")(x).toarray(), fx.hessian(fun)(x).reshape(N, N))


def test_an_arrow_takes_three_products_and_its_symmetric_form_two():
    pattern = fx.sparsity_pattern(arrow)(np.ones(50))
    assert (fx.color(pattern).column_products, fx.color(pattern).row_products) == (2, 1)
    assert fx.color(pattern, symmetric=True).column_products == 2


def test_symmetry_never_costs_products():
    """The Hessian of an energy on a grid, of which every point meets the eight around it: greedy star colorings have
    more colors than greedy colorings of its columns."""
    ten = np.eye(10) + np.eye(10, k=1) + np.eye(10, k=-1)
    matrix = np.kron(ten, ten)
    coloring = fx.color(matrix, symmetric=True)
    assert coloring.column_products <= fx.color(matrix).column_products == 9
    found = fx.hessian(lambda x: 0.5 * x @ (matrix @ x), sparsity=coloring)(np.ones(100))
    assert np.allclose(found.toarray(), matrix)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1), st.floats(0.05, 0.9))
def test_every_coloring_tells_the_entries_apart(m, n, seed, density):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, n)) * (rng.random((m, n)) < density)
    for mode in ("auto", "fwd", "rev"):
        coloring = fx.color(matrix, mode=mode)
        found = fx.jacobian(lambda x: matrix @ x, sparsity=coloring)(np.ones(n))
        assert np.allclose(found.toarray(), matrix)
    both = matrix @ matrix.T
    coloring = fx.color(both, symmetric=True)
    found = fx.hessian(lambda x: 0.5 * x @ (both @ x), sparsity=coloring)(np.ones(m))
    assert np.allclose(found.toarray(), both)


def test_pytrees_give_blocks():
    x = points()[0]
    tree = {"a": x[:3], "b": x[3:].astype(np.float32), "c": 2.0}

    def fun(tree, scale):
        a, b = tree["a"], tree["b"]
        return {"u": a * b * scale, "v": fnp.sum(b) * tree["c"], "w": fnp.argmax(a)}, "aux"

    found, aux = fx.jacobian(fun, has_aux=True, sparsity="auto")(tree, scale=x[:3])
    dense, _ = fx.jacobian(fun, has_aux=True)(tree, scale=x[:3])
    assert aux == "aux"
    for name in ("u", "v", "w"):
        for key, block in found[name].items():
            want = dense[name][key]
            assert np.allclose(block.toarray().reshape(want.shape), want)
            assert name == "w" or block.dtype == want.dtype
    several = fx.jacobian(lambda x, y: x * y[::-1], argnums=(0, 1), sparsity="auto")(x, x)
    assert np.allclose(several[1].toarray(), np.diag(x)[:, ::-1])


def test_further_transforms():
    x = points()[0]
    sparse, dense = fx.jacobian(running, sparsity="auto"), fx.jacobian(running)
    jitted = fx.jit(sparse)(x)
    assert isinstance(jitted, fx.SparseMatrix)
    assert np.allclose(jitted.todense(), dense(x))
    assert np.allclose(jitted.to_scipy().toarray(), dense(x))
    assert np.allclose(jitted @ x, dense(x) @ x)
    assert np.allclose(jitted.T @ points().T, dense(x).T @ points().T)
    square = fx.grad(lambda x: fnp.sum(sparse(x).data ** 2))(x)
    assert np.allclose(square, fx.grad(lambda x: fnp.sum(dense(x) ** 2))(x))
    mapped = fx.vmap(lambda x: sparse(x).todense())(points())
    assert np.allclose(mapped, fx.vmap(dense)(points()))


def test_the_pattern_follows_the_arguments_that_are_not_differentiated():
    gather = fx.jacobian(lambda x, places: x[places] ** 2, sparsity="auto")
    x = points()[0]
    for places in (PLACES, PLACES[::-1].copy()):
        assert np.allclose(gather(x, places).toarray(), fx.jacobian(lambda x, p=places: x[p] ** 2)(x))


def test_integers_and_complex_numbers():
    x = points()[0]
    z = x + 1j * x[::-1]
    found = fx.jacobian(lambda z: z[1:] * z[:-1], holomorphic=True, sparsity="auto")(z)
    assert np.allclose(found.toarray(), fx.jacobian(lambda z: z[1:] * z[:-1], holomorphic=True)(z))
    magnitudes = fx.jacobian(lambda z: fnp.abs(z) ** 2, sparsity="auto")(z)
    assert np.allclose(magnitudes.toarray(), fx.jacobian(lambda z: fnp.abs(z) ** 2)(z))
    counted = fx.jacobian(lambda x: x.astype(int), sparsity="auto")(x)
    assert counted.shape == (N, N) and counted.nnz == 0
    nothing = fx.jacobian(lambda x: x * 2, sparsity="auto")(np.zeros(0))
    assert nothing.shape == (0, 0)
    single = fx.jacobian(lambda x: x**2, sparsity="auto")(3.0)
    assert single.toarray() == [[6.0]]


def test_errors_say_what_to_write():
    with pytest.raises(fx.ConcretizationError, match="give the pattern"):
        fx.jacobian(lambda x: x if x[0] > 0 else -x, sparsity="auto")(np.ones(3))
    with pytest.raises(ValueError, match=r"shape \(2, 2\), the results have 3 entries"):
        fx.jacobian(lambda x: x**2, sparsity=np.eye(2))(np.ones(3))
    with pytest.raises(TypeError, match="no sparsity='dense'"):
        fx.jacobian(lambda x: x**2, sparsity="dense")
    with pytest.raises(ValueError, match="no mode='both'"):
        fx.color(np.eye(3), mode="both")
    with pytest.raises(TypeError, match="expected a boolean array"):
        fx.color(np.array([["a"]]))
    with pytest.raises(ValueError, match="that of no matrix"):
        fx.color(np.ones(3))
    with pytest.raises(ValueError, match="expected a square one"):
        fx.color(np.ones((3, 2)), symmetric=True)
    with pytest.raises(fx.CheckError):
        fx.jacobian(lambda x: x * x[::-1], sparsity=np.eye(4), check=True)(np.arange(4.0))


def test_what_dense_ones_refuse():
    x = points()[0]
    for sparsity in (None, "auto"):
        with pytest.raises(TypeError, match="a result is complex"):
            fx.jacobian(lambda x: x * 1j, mode="rev", sparsity=sparsity)(x)
        with pytest.raises(TypeError, match="has no derivative"):
            fx.jacobian(lambda x: x * 2, sparsity=sparsity)(np.arange(3))
        with pytest.raises(TypeError, match="expected a complex one"):
            fx.jacobian(fnp.abs, holomorphic=True, sparsity=sparsity)(x + 1j)


def test_a_loop_that_moves_entries_for_a_long_time():
    def fun(x):
        return lax.fori_loop(0, x.astype(int)[0], lambda i, c: fnp.roll(c, 1), x)

    assert fx.sparsity_pattern(fun)(np.ones(40)).nnz == 1600


def test_traced_values_beside_the_argument():
    def fun(x, scale, places):
        return scale * x[places] ** 2

    x = points()[0]
    sparse, dense = fx.jacobian(fun, sparsity="auto"), fx.jacobian(fun)
    found = fx.jit(sparse)(x, 3.0, PLACES)
    assert np.allclose(found.todense(), dense(x, 3.0, PLACES))
    rate = fx.grad(lambda scale: fnp.sum(sparse(x, scale, PLACES).data))(3.0)
    assert np.allclose(rate, fx.grad(lambda scale: fnp.sum(dense(x, scale, PLACES)))(3.0))


def test_given_patterns_serve_functions_that_cannot_be_staged():
    def branching(x):
        return x**2 if x[0] > 0 else -x

    x = np.abs(points()[0])
    with pytest.raises(fx.ConcretizationError):
        fx.jacobian(branching, sparsity="auto")(x)
    found = fx.jacobian(branching, sparsity=scipy.sparse.eye_array(N), check=True)(x)
    assert np.allclose(found.toarray(), np.diag(2 * x))


def test_a_pattern_is_that_of_the_function_as_it_is_now():
    index, power, shift = np.array([0, 1, 2]), [1], {"by": 1}

    def f(x):
        y = fnp.roll(x, shift["by"]) * x[index]
        return y if power[0] == 1 else fnp.cumsum(y)

    x = np.arange(1.0, 4.0)
    jacobian = fx.jacobian(f, sparsity="auto")
    hessian = fx.hessian(lambda x: fnp.sum(f(x)), sparsity="auto")
    for change in (lambda: None, lambda: index.sort(), lambda: index.__setitem__(slice(None), [2, 0, 1]),
                   lambda: shift.update(by=2), lambda: power.__setitem__(0, 2)):  # fmt: skip
        change()
        np.testing.assert_array_equal(jacobian(x).toarray(), fx.jacobian(f)(x))
        np.testing.assert_array_equal(hessian(x).toarray(), fx.hessian(lambda x: fnp.sum(f(x)))(x))
