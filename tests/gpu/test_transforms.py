"""The public families of functions on CuPy's arrays: what they give on NumPy's, and everything stays on the device."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.core.errors import DTypeError
from fxgrad.kernels.cuda import group
from tests.sample import close

X = np.linspace(0.2, 1.7, 6).reshape(2, 3)
V = np.array([0.3, -0.8, 1.1, 0.6])
A = np.array([[3.0, 1.0, 0.5], [1.0, 4.0, -1.0], [0.5, -1.0, 5.0]])
MASK = np.array([[True, False, True], [False, True, True]])


@pytest.fixture(autouse=True)
def equations_of_groups_one_by_one(monkeypatch):
    """Kernels are compiled in tests/kernels/cuda."""
    monkeypatch.setattr(group, "covers", lambda equation: False)


def f(x):
    y = fnp.sin(x) * x + fnp.exp(-x) / (1 + x**2)
    return fnp.sum(fnp.where(y > 0.4, y, 2 * y), axis=0)


def loss(x):
    return fnp.sum(f(x) ** 2)


@fx.custom_jvp
def doubled(x):
    return fnp.sin(x)


doubled.defjvp(lambda primals, tangents: (doubled(*primals), 2 * fnp.cos(primals[0]) * tangents[0]))


@fx.custom_vjp
def tripled(x):
    return fnp.sin(x)


tripled.defvjp(lambda x: (tripled(x), x), lambda x, ct: (3 * fnp.cos(x) * ct,))


def rows_of(x):
    """A mask made on the same device as x."""
    return fnp.cumsum(fnp.ones_like(x), axis=0) > 1


FAMILIES = {
    "grad": (fx.grad(loss), X),
    "value_and_grad": (fx.value_and_grad(loss), X),
    "vjp": (lambda x: (lambda y, pull: pull(fnp.cos(y)))(*fx.vjp(f, x)), X),
    "jvp": (lambda x: fx.jvp(f, (x,), (fnp.cos(x),)), X),
    "linearize": (lambda x: fx.linearize(f, x)[1](fnp.cos(x)), X),
    "linear_transpose": (lambda x: fx.linear_transpose(lambda t: fx.jvp(f, (x,), (t,))[1], x)(f(x)), X),
    "vmap": (fx.vmap(f, in_axes=1, out_axes=-1), np.stack([X, X + 1], 1)),
    "vmap of grad": (fx.vmap(fx.grad(loss)), np.stack([X, X + 1])),
    "jit": (fx.jit(f), X),
    "jit of grad": (fx.jit(fx.grad(loss)), X),
    "jacfwd": (fx.jacfwd(f), X),
    "jacrev": (fx.jacrev(f), X),
    "hessian": (fx.hessian(loss), X),
    "hvp": (lambda x: fx.jvp(fx.grad(loss), (x,), (fnp.sin(x),))[1], X),
    "checkpoint": (fx.grad(fx.checkpoint(loss)), X),
    "custom_jvp": (fx.grad(lambda x: fnp.sum(doubled(x))), X),
    "custom_vjp": (fx.grad(lambda x: fnp.sum(tripled(x))), X),
    "scan": (lambda x: lax.scan(lambda c, row: (c * 0.5 + fnp.sum(row), fnp.sin(row) * c), fnp.sum(x), x), X),
    "grad of scan": (fx.grad(lambda x: lax.scan(lambda c, row: (c * fnp.sum(row), c), fnp.sum(x), x)[0]), X),
    "fori_loop": (lambda x: lax.fori_loop(0, 3, lambda i, y: fnp.sin(y) + x * i, x), X),
    "grad of fori_loop": (fx.grad(lambda x: fnp.sum(lax.fori_loop(0, 3, lambda i, y: fnp.sin(y) * x, x))), X),
    "select": (lambda x: lax.select(x > 1, x, fnp.sin(x)), X),
    "linalg": (
        lambda a: [
            *(fnp.linalg.inv(a), fnp.linalg.det(a), fnp.linalg.norm(a)),
            *(fnp.linalg.eigh(a)[0], fnp.linalg.cholesky(a)),
        ],
        A,
    ),
    "grads of linalg": (
        lambda a: [
            fx.grad(lambda a: fnp.sum(fnp.linalg.solve(a, fnp.sin(a))))(a),
            fx.grad(lambda a: fnp.sum(fnp.linalg.svd(a)[1] ** 2))(a),
            fx.grad(lambda a: fnp.linalg.slogdet(a)[1])(a),
            fx.grad(lambda a: fnp.sum(fnp.linalg.qr(a)[1] ** 2))(a),
        ],
        A,
    ),
    "fft": (lambda x: [fnp.abs(fnp.fft.rfft(x)), fx.grad(lambda x: fnp.sum(fnp.abs(fnp.fft.fft2(x)) ** 2))(x)], X),
    "sorting": (lambda x: [fnp.sort(x), fnp.argsort(x), fx.grad(lambda x: fnp.sum(fnp.sort(x) ** 2))(x)], V),
    "statistics": (lambda x: [fnp.mean(x), fnp.var(x, axis=0), fnp.median(x), fnp.quantile(x, 0.3)], X),
    "indexing": (lambda x: [x[:, ::-1], x[0], fnp.take(x, [1, 0], axis=1, mode="wrap")], X),
    "at": (fx.grad(lambda x: fnp.sum((x * 2).at[0, [1, 1]].add(x[1, 0]).at[1].set(0.0) ** 2)), X),
    "einsum": (fx.grad(lambda x: fnp.sum(fnp.einsum("ij,kj->ik", x, fnp.sin(x)))), X),
    "convolve": (fx.grad(lambda v: fnp.sum(fnp.convolve(v, v[:2]) ** 2)), V),
    "nn": (
        fx.grad(lambda x: fnp.sum(fx.nn.gelu(x) * fx.nn.softmax(x) + fx.nn.silu(x) + fx.nn.logsumexp(x))),
        X,
    ),
    "jet": (lambda x: fx.jet(f, (x,), ((fnp.sin(x), fnp.cos(x)),)), X),
    "collectives": (fx.vmap(lambda x: x - lax.pmean(x, "rows") + lax.psum(x**2, "rows"), axis_name="rows"), X),
    "associative_scan": (fx.grad(lambda x: fnp.sum(lax.associative_scan(fnp.multiply, x, axis=1))), X),
    "conv": (fx.grad(lambda x: fnp.sum(lax.conv(x[None, None], x[None, None, :, :2], (1, 1), "SAME") ** 2)), X),
    "reduce_window": (
        fx.grad(lambda x: fnp.sum(lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), "VALID") ** 2)),
        X,
    ),
    "cumulative": (fx.grad(lambda x: fnp.sum(fnp.cumsum(x, 1) * fnp.cumprod(x, 0) * lax.cummax(x, 1))), X),
    "norms and distances": (fx.grad(lambda x: fnp.linalg.norm(x - 1) + fnp.sum(fnp.linalg.norm(x, axis=1))), X),
    "masked": (fx.grad(lambda x: fnp.sum(fnp.where(rows_of(x), fnp.log(x), x))), X),
}  # fmt: skip


def compare(cupy, got, expected):
    """Compare trees of arrays, and require those that were computed to be on the device."""
    got, expected = fx.tree.leaves(got), fx.tree.leaves(expected)
    assert len(got) == len(expected)
    for y, e in zip(got, expected):
        assert type(y) is cupy.ndarray, type(y)
        close(cupy.asnumpy(y), np.asarray(e), 1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_gives_on_a_device_what_it_gives_on_the_host(cupy, stays, family):
    function, x = FAMILIES[family]
    expected, there = function(x), cupy.asarray(x)
    got = function(there)  # when constants go there
    with stays():
        again = function(there)
    compare(cupy, got, expected)
    compare(cupy, again, expected)


# What depends on entries asks for them, in the place where it does and nowhere else.
DECISIONS = {
    "cond": (lambda x: lax.cond(fnp.sum(x) > 0, fnp.sin, fnp.cos, x), "int"),
    "while_loop": (lambda x: lax.while_loop(lambda y: fnp.sum(y) < 30, lambda y: y * 1.5, x), "bool"),
    "python": (lambda x: fnp.sin(x) if fnp.sum(x) > 0 else x, "bool"),
    "positions that may be outside": (lambda x: fnp.take(x, fnp.argsort(x[0]), axis=1), "int"),
    "a mask as an index": (lambda x: x[x > 1], "nonzero"),
}


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_asks_for_one_value(cupy, stays, decision):
    function, how = DECISIONS[decision]
    there = cupy.asarray(X)
    with stays({("device→host", how)}):
        got = function(there)
    compare(cupy, got, function(X))


def test_random_draws_are_those_of_the_host(cupy, stays):
    key = fx.random.key(7)
    there = cupy.asarray(np.asarray(key))

    def draw(key):
        a, b, c = fx.random.split(key, 3)
        return fx.random.normal(a, (5,)), fx.random.uniform(b, (2, 3)), fx.random.randint(c, (4,), 0, 9)

    expected = draw(key)
    draw(there)
    with stays():
        got = draw(there)
    compare(cupy, got, expected)


def test_per_sample_gradients_stay_on_the_device(cupy, stays):
    w, xs = {"w": np.ones((3, 2)), "b": np.zeros(2)}, np.linspace(-1, 1, 12).reshape(4, 3)

    def model(p, x):
        return fnp.sum(fnp.tanh(x @ p["w"] + p["b"]) ** 2)

    per_sample = fx.vmap(fx.grad(model), in_axes=(None, 0))
    there = fx.tree.map(cupy.asarray, w)
    x = cupy.asarray(xs)
    with stays():
        got = per_sample(there, x)
    compare(cupy, got, per_sample(w, xs))


@pytest.mark.parametrize(
    "statistic",
    ["squared_norms", "gram", "mean", "second_moment", "variance", "fisher_diagonal", "kfac"],
)
def test_statistics_of_per_sample_gradients_stay_on_the_device(cupy, stays, statistic):
    w, xs = {"w": np.ones((3, 2)), "b": np.zeros(2)}, np.linspace(-1, 1, 12).reshape(4, 3)
    compute = getattr(fx.per_sample, statistic)(lambda p, x: fnp.sum(fnp.tanh(x @ p["w"] + p["b"]) ** 2))
    there, x = fx.tree.map(cupy.asarray, w), cupy.asarray(xs)
    with stays({("host→device", "array")}):  # weights of the examples
        got = compute(there, x)
    compare(cupy, got, compute(w, xs))


def test_an_optimizer_trains_on_the_device(cupy, stays):
    def train(p, steps=4):
        optimizer = fx.optim.adam(0.1)
        state = optimizer.init(p)
        for _ in range(steps):
            gradient = fx.grad(lambda p: fnp.sum((p["w"] - 2) ** 2) + fnp.sum(p["b"] ** 4))(p)
            updates, state = optimizer.update(gradient, state, p)
            p = fx.optim.apply_updates(p, updates)
        return p

    start = {"w": np.ones(3), "b": np.full(2, 0.5)}
    there = fx.tree.map(cupy.asarray, start)
    with stays():
        got = train(there)
    compare(cupy, got, train(start))


def test_sparse_jacobians_are_computed_on_the_device(cupy):
    def g(x):
        return x[1:] * x[:-1] + fnp.sin(x[1:])

    got = fx.jacfwd(g, sparsity="auto")(cupy.asarray(V))
    assert type(got.data) is cupy.ndarray
    compare(cupy, got.todense(), fx.jacfwd(g)(V))


def test_arrays_of_the_host_and_of_a_device_do_not_mix(cupy):
    x = cupy.asarray(V)
    for mixed in (lambda: fnp.add(x, V), lambda: fx.grad(lambda y: fnp.sum(y * V))(x)):
        with pytest.raises(DTypeError, match=r"cupy, numpy(.|\n)*fx.device_put"):
            mixed()
