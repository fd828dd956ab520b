"""fxgrad.nn against jax.nn: values, derivatives of first and second order, batches, masks, attention, signatures."""

import inspect

import numpy
import pytest

import fxgrad
from fxgrad.nn import activations, attention, rows
from tests.parity.oracle import same

import jax  # isort: skip
import jax.numpy

rng = numpy.random.default_rng(0)
X = rng.normal(size=(3, 4)) * 2
EXTREME = numpy.array([-800.0, -40.0, -3.0, -1.5, 1e-9, 0.5, 4.0, 7.0, 40.0, 800.0])
MASK = rng.random((3, 4)) < 0.6
MASK[:, 0] = True

UNARY = sorted({*activations.__all__} - {"glu", "log1mexp"})
DIFFERENTIABLE = {
    **{name: (lambda nn, x, name=name: getattr(nn, name)(x), X) for name in UNARY},
    "log1mexp": (lambda nn, x: nn.log1mexp(x), numpy.array([1e-12, 0.3, 0.7, 2.0, 50.0])),
    "glu": (lambda nn, x: nn.glu(x), X),
    "glu, axis": (lambda nn, x: nn.glu(x, 0), X.T),
    "gelu, exact": (lambda nn, x: nn.gelu(x, False), X),
    "elu, alpha": (lambda nn, x: nn.elu(x, 0.7), X),
    "celu, alpha": (lambda nn, x: nn.celu(x, 0.7), X),
    "leaky_relu, slope": (lambda nn, x: nn.leaky_relu(x, 0.3), X),
    "squareplus, b": (lambda nn, x: nn.squareplus(x, 2.0), X),
    "softmax": (lambda nn, x: nn.softmax(x), X),
    "softmax, axes": (lambda nn, x: nn.softmax(x, (0, 1)), X),
    "softmax, all axes": (lambda nn, x: nn.softmax(x, None), X),
    "softmax, where": (lambda nn, x: nn.softmax(x, 1, MASK), X),
    "log_softmax": (lambda nn, x: nn.log_softmax(x, 0), X),
    "logsumexp": (lambda nn, x: nn.logsumexp(x), X),
    "logsumexp, axis": (lambda nn, x: nn.logsumexp(x, 1, keepdims=True), X),
    "logsumexp, b": (lambda nn, x: nn.logsumexp(x, 1, b=numpy.array([1.0, 0.0, 2.0, 0.5])), X),
    "logsumexp, sign": (lambda nn, x: list(nn.logsumexp(x, 1, b=x, return_sign=True)), X),
    "logsumexp, where": (lambda nn, x: nn.logsumexp(x, 1, where=MASK), X),
    "logmeanexp": (lambda nn, x: nn.logmeanexp(x, 1), X),
    "logmeanexp, where": (lambda nn, x: nn.logmeanexp(x, 0, where=MASK), X),
    "standardize": (lambda nn, x: nn.standardize(x), X),
    "standardize, axes": (lambda nn, x: nn.standardize(x, (0, 1), epsilon=0.1), X),
    "standardize, given": (lambda nn, x: nn.standardize(x, 0, mean=0.5, variance=2.0), X),
    "standardize, where": (lambda nn, x: nn.standardize(x, 1, where=MASK), X),
}


@pytest.mark.parametrize("f, x", DIFFERENTIABLE.values(), ids=DIFFERENTIABLE)
def test_values_and_derivatives(f, x):
    def program(fx, nn, np):
        g = lambda x: f(nn, x)  # noqa: E731
        total = lambda x: sum(np.sum(np.sin(y) * 3) for y in fx.tree.leaves(g(x)))  # noqa: E731
        t = numpy.cos(x)
        return [g(x), fx.grad(total)(x), fx.jvp(g, (x,), (t,))[1], fx.jvp(fx.grad(total), (x,), (t,))[1]]

    ours = program(fxgrad, fxgrad.nn, fxgrad.numpy)
    theirs = jax.jit(lambda: program(jax, jax.nn, jax.numpy))()
    close(ours, theirs)
    close(fxgrad.jit(lambda x: f(fxgrad.nn, x))(x), ours[0])
    close(f(fxgrad.nn, x.astype("float32")), f(jax.nn, x.astype("float32")), 2e-6)


def close(ours, theirs, rtol=1e-9):
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        numpy.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
        assert a.dtype == b.dtype


@pytest.mark.parametrize("name", UNARY)
def test_far_out_and_integers(name):
    """Far out ours keep what JAX loses to overflow or cancellation: there values are compared with JAX's to its own
    precision, and derivatives are finite."""
    ours, theirs = getattr(fxgrad.nn, name), getattr(jax.nn, name)
    numpy.testing.assert_allclose(ours(EXTREME), theirs(EXTREME), rtol=1e-6, atol=1e-12)
    assert numpy.isfinite(fxgrad.vmap(fxgrad.grad(ours))(EXTREME)).all()
    found = ours(numpy.array([-7, -1, 0, 1, 7]))
    numpy.testing.assert_allclose(found, theirs(numpy.array([-7.0, -1, 0, 1, 7])), rtol=1e-6, atol=1e-9)


def test_rows_that_are_infinite_or_empty():
    infinite = numpy.array([[-numpy.inf, -numpy.inf], [numpy.inf, 0.0], [-numpy.inf, 3.0], [numpy.nan, 0.0]])
    for name in ("logsumexp", "logmeanexp"):
        same(getattr(fxgrad.nn, name)(infinite, 1), getattr(jax.nn, name)(infinite, 1))
    assert fxgrad.nn.logsumexp(numpy.zeros(0)) == -numpy.inf
    assert fxgrad.nn.softmax(numpy.zeros((3, 0))).shape == (3, 0)
    complex_rows = X + 1j * X[::-1]
    close(fxgrad.nn.logsumexp(complex_rows, 1), jax.nn.logsumexp(complex_rows, 1))


def test_one_hot():
    for axis in (-1, 0, 1):
        places = numpy.array([[0, 3, -1], [2, 1, 7]])
        same(fxgrad.nn.one_hot(places, 4, axis=axis), jax.nn.one_hot(places, 4, axis=axis, dtype=float))
    assert fxgrad.nn.one_hot(1, 3, dtype=bool).tolist() == [False, True, False]
    assert fxgrad.jit(lambda i: fxgrad.nn.one_hot(i, 3))(2).tolist() == [0, 0, 1]


Q, K, V = (rng.normal(size=(2, n, h, 4)) for n, h in ((5, 4), (6, 2), (6, 2)))
OPTIONS = {
    "plain": {},
    "scale": {"scale": 0.3},
    "causal": {"is_causal": True},
    "bias": {"bias": rng.normal(size=(1, 4, 5, 6))},
    "mask": {"mask": rng.random((2, 1, 5, 6)) < 0.7},
    "lengths": {
        "query_seq_lengths": numpy.array([5, 2], "int32"),
        "key_value_seq_lengths": numpy.array([3, 6], "int32"),
    },
    "window": {"local_window_size": 1},
    "window, both": {"local_window_size": (2, 0), "is_causal": True},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_attention(options):
    def program(fx, nn, np):
        f = lambda *a: nn.dot_product_attention(*a, **options)  # noqa: E731
        return [f(Q, K, V), fx.grad(lambda *a: np.sum(np.sin(f(*a))), (0, 1, 2))(Q, K, V)]

    ours = program(fxgrad, fxgrad.nn, fxgrad.numpy)
    # JAX computes the softmax in single precision, whatever the operands are.
    close(ours, jax.jit(lambda: program(jax, jax.nn, jax.numpy))(), 3e-6)


def test_attention_without_a_batch_or_keys():
    same_heads = K[0, :5], V[0, :5]
    found = fxgrad.nn.dot_product_attention(Q[0][:, :2], *same_heads)
    close(found, jax.nn.dot_product_attention(Q[0][:, :2], *same_heads), 3e-6)
    nothing = fxgrad.nn.dot_product_attention(Q, K, V, mask=numpy.zeros((1, 1, 5, 6), bool))
    assert not nothing.any()
    slope = fxgrad.grad(
        lambda q: fxgrad.nn.dot_product_attention(q, K, V, mask=numpy.zeros((1, 1, 5, 6), bool)).sum()
    )
    assert not slope(Q).any()
    with pytest.raises(ValueError, match="divides the heads"):
        fxgrad.nn.dot_product_attention(Q[:, :, :3], K, V)


ABSENT = {  # matrices in formats of GPUs
    "get_scaled_dot_general_config",
    "scaled_dot_general",
    "scaled_matmul",
}
ELSEWHERE = {"return_residual", "algorithm", "out_sharding"}  # choices among implementations


def test_names_and_signatures_are_jaxs():
    public = {n for n in dir(jax.nn) if not n.startswith("_")} - ABSENT - {"initializers"}
    assert public == {*activations.__all__, *rows.__all__, *attention.__all__}
    for name in public:
        compare_signatures(getattr(fxgrad.nn, name), getattr(jax.nn, name))
    for name in dir(jax.nn.initializers):
        if not name.startswith("_") and name != "Initializer":
            compare_signatures(getattr(fxgrad.nn.initializers, name), getattr(jax.nn.initializers, name))


def compare_signatures(ours, theirs):
    ours, theirs = (inspect.signature(f).parameters for f in (ours, theirs))
    expected = [(n, p.default) for n, p in theirs.items() if n not in ELSEWHERE]
    assert [(n, p.default) for n, p in ours.items()] == expected


SHAPES = [(30, 40), (3, 20, 30), (2, 3, 10, 12)]
INITIALIZERS = {
    **{
        name: lambda init, name=name: getattr(init, name)()
        for name in (
            "glorot_normal",
            "glorot_uniform",
            "he_normal",
            "he_uniform",
            "lecun_normal",
            "lecun_uniform",
        )
    },
    "normal": lambda init: init.normal(0.5),
    "uniform": lambda init: init.uniform(0.5),
    "truncated_normal": lambda init: init.truncated_normal(0.5, lower=-1.0, upper=3.0),
    "geometric": lambda init: init.variance_scaling(2.0, "fan_geo_avg", "normal", 0, 1, batch_axis=()),
    "batch": lambda init: init.variance_scaling(2.0, "fan_out", "uniform", batch_axis=0),
    "constant": lambda init: init.constant(0.3),
    "zeros": lambda init: init.zeros,
    "ones": lambda init: init.ones,
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("make", INITIALIZERS.values(), ids=INITIALIZERS)
def test_initial_parameters_are_distributed_as_jaxs(make, shape):
    """Numbers of other generators: means, variances and extremes agree as closely as samples do."""
    is_complex = shape == SHAPES[0] and make not in (
        INITIALIZERS["truncated_normal"],
        INITIALIZERS["uniform"],
    )
    # JAX compiles a sampler for each shape and dtype, for seconds; that of float32 serves both real dtypes.
    dtypes, asked = ("F", "F") if is_complex else ("fd", "f")
    theirs = numpy.asarray(make(jax.nn.initializers)(jax.random.key(3), shape, asked))
    for dtype in dtypes:
        ours = numpy.asarray(make(fxgrad.nn.initializers)(fxgrad.random.key(3), shape, dtype))
        assert ours.dtype == dtype and ours.shape == theirs.shape
        check_samples(ours, theirs)


def check_samples(ours, theirs):
    rounding = 1e-6  # of numbers that are all the same
    assert abs(ours.mean() - theirs.mean()) < 0.3 * theirs.std() + rounding
    numpy.testing.assert_allclose(ours.std(), theirs.std(), rtol=0.15, atol=rounding)
    numpy.testing.assert_allclose(abs(ours).max(), abs(theirs).max(), rtol=0.35)


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (2, 3, 5)])
@pytest.mark.parametrize("axis", [-1, 0])
def test_orthogonal_parameters(shape, axis):
    x = fxgrad.nn.initializers.orthogonal(2.0, axis)(fxgrad.random.key(0), shape)
    rows = numpy.moveaxis(x, axis, -1).reshape(-1, shape[axis])
    gram = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
    numpy.testing.assert_allclose(gram, 4 * numpy.eye(len(gram)), atol=1e-12)


def test_kernels_that_are_orthogonal_in_the_middle():
    x = fxgrad.nn.initializers.delta_orthogonal()(fxgrad.random.key(0), (3, 5, 4, 6))
    numpy.testing.assert_allclose(x[1, 2] @ x[1, 2].T, numpy.eye(4), atol=1e-12)
    assert numpy.count_nonzero(x) == numpy.count_nonzero(x[1, 2])
    for bad in ((3, 6, 4), (3, 4)):
        with pytest.raises(ValueError, match="no more inputs"):
            fxgrad.nn.initializers.delta_orthogonal()(fxgrad.random.key(0), bad)
    with pytest.raises(ValueError, match="two axes"):
        fxgrad.nn.initializers.he_normal()(fxgrad.random.key(0), (3,))
    with pytest.raises(ValueError, match="fan_in"):
        fxgrad.nn.initializers.variance_scaling(1.0, "fan", "normal")
