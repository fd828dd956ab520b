"""fxgrad.nn by itself: derivatives against finite differences, under jit and vmap, in tails, and errors. (Values are
compared with JAX's in tests/parity/test_jax_nn.py.)"""

import numpy as np
import pytest
import scipy.special

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.nn import activations, rows
from tests.ways import same

nn = fx.nn
X = np.array([[-2.3, -0.4, 0.6], [1.7, 3.1, -1.2]])
FUNCTIONS = {
    **{name: getattr(nn, name) for name in activations.__all__ if name not in ("glu", "log1mexp")},
    "glu": lambda x: nn.glu(x, 0),
    "log1mexp": lambda x: nn.log1mexp(fnp.abs(x)),
    "gelu, exact": lambda x: nn.gelu(x, approximate=False),
    "softmax": nn.softmax,
    "log_softmax": lambda x: nn.log_softmax(x, 0),
    "logsumexp": lambda x: nn.logsumexp(x, 1, b=np.array([1, 0, 2], "float32")),
    "logmeanexp": lambda x: nn.logmeanexp(x, 0, where=X > -2),
    "standardize": lambda x: nn.standardize(x, epsilon=0.1),
    "attention": lambda x: nn.dot_product_attention(*[fnp.reshape(x, (3, 1, 2))] * 3, is_causal=True),
}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_derivatives(f):
    fx.testing.check_grads(f, (X,), order=2)
    same(fx.jit(f)(X), f(X))
    batch = np.stack([X, X - 0.3])
    same(fx.vmap(f)(batch), np.stack([f(x) for x in batch]))
    assert f(X.astype("float32")).dtype == np.float32


def test_every_name_is_there():
    assert {*activations.__all__, *rows.__all__, "dot_product_attention", "initializers"} <= {*dir(nn)}


def test_tails():
    far = np.array([-1e4, -750.0, 750.0, 1e4])
    with np.errstate(all="raise", under="ignore"):
        same(nn.log_sigmoid(far), np.array([-1e4, -750.0, 0, 0]))
        same(nn.squareplus(np.array([-1e8])), np.array([1e-8]))
        assert nn.logsumexp([]) == -np.inf
        assert nn.log1mexp(1e-20) == pytest.approx(np.log(1e-20)) and nn.log1mexp(800.0) == 0
        same(nn.softmax(far), np.array([0, 0, 0, 1.0]))


INFINITE = [
    [np.inf, 1, 2],
    [np.inf, np.inf, 1],
    [-np.inf, np.inf, 0],
    [-np.inf, -np.inf, -np.inf],
    [np.nan, np.inf, 1],
]


@pytest.mark.parametrize("wrap", [lambda f: f, fx.jit, fx.vmap], ids=["plain", "jit", "vmap"])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_infinite_logits(wrap):
    """There is no limit: as in JAX and SciPy all of the row is NaN; the sum of exponentials is infinite."""
    rows = np.array([*INFINITE, [-np.inf, 0, 0]])
    for f in (nn.softmax, fx.scipy.special.softmax, nn.log_softmax):
        found = wrap(lambda x, f=f: f(x, axis=-1))(rows)
        assert np.isnan(found[:-1]).all() and np.isfinite(found[-1, 1:]).all()
    expected = scipy.special.log_softmax(rows, axis=-1)
    same(wrap(lambda x: fx.scipy.special.log_softmax(x, axis=-1))(rows), expected)
    same(wrap(lambda x: nn.logsumexp(x, axis=-1))(rows), scipy.special.logsumexp(rows, axis=-1))


def test_errors():
    with pytest.raises(fx.ShapeError, match="odd size"):
        nn.glu(X)
    with pytest.raises(fx.UnsupportedError, match="cudnn"):
        nn.dot_product_attention(X, X, X, implementation="cudnn")
    with pytest.raises(AttributeError):
        nn.missing  # noqa: B018


def test_the_gradient_of_an_empty_sum_of_exponentials():
    """No entry of it has a weight; rows beside it and derivatives of every order keep theirs."""
    rows = np.array([[-np.inf, -np.inf], [0.0, 0.0], [-np.inf, 1.0]])

    def total(x):
        return fnp.sum(fnp.array([1.0, 2.0, 3.0]) * nn.logsumexp(x, axis=1))

    expected = [[0, 0], [1, 1], [0, 3]]
    np.testing.assert_array_equal(fx.grad(total)(rows), expected)
    np.testing.assert_array_equal(fx.jit(fx.grad(total))(rows), expected)
    np.testing.assert_array_equal(
        fx.jvp(lambda x: nn.logsumexp(x, axis=1), (rows,), (np.ones((3, 2)),))[1], [0, 1, 1]
    )
    second = fx.hessian(nn.logsumexp)
    np.testing.assert_array_equal(second(rows[0]), np.zeros((2, 2)))
    np.testing.assert_array_equal(second(rows[1]), [[0.25, -0.25], [-0.25, 0.25]])
