"""Values of pandas, xarray, JAX, torch, SciPy and array-api-strict wherever a value may come in: taken as the arrays
that they are, or refused by name."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.core.errors import DTypeError

X = np.array([0.5, 1.5, 2.5])


def f(x):
    return fnp.sum(fnp.sin(x) * x + fnp.exp(x))


def rule(t, y, x):
    return t * 2 * x


custom = fx.custom_jvp(lambda x: x * x)
custom.defjvps(rule)
USES = {
    "grad": lambda v: fx.grad(f)(v),
    "value_and_grad": lambda v: fx.value_and_grad(f)(v),
    "vjp": lambda v: fx.vjp(fnp.sin, np.ones_like(np.asarray(v)))[1](v),
    "jvp": lambda v: fx.jvp(f, (v,), (v,)),
    "linearize": lambda v: fx.linearize(f, v)[1](v),
    "vmap": lambda v: fx.vmap(fx.grad(f), None, axis_size=2)(v),
    "hessian": lambda v: fx.hessian(f)(v),
    "jit": lambda v: fx.jit(lambda x: (x, f(x)))(v),
    "checkpoint": lambda v: fx.grad(fx.checkpoint(f))(v),
    "custom_jvp": lambda v: fx.grad(lambda x: fnp.sum(custom(x)))(v),
    "scan": lambda v: lax.scan(lambda c, x: (fnp.sin(c), x), v, np.ones(2)),
    "cond": lambda v: lax.cond(True, fnp.sin, fnp.cos, v),
    "closed over": lambda v: fx.grad(lambda x: fnp.sum(fnp.sin(x * v)))(
        np.ones(np.shape(v), np.asarray(v).dtype)
    ),
    "closed over under jit": lambda v: fx.jit(lambda x: fnp.add(v, x))(1.0),
    "in a list": lambda v: fx.grad(lambda x: fnp.sum(x * fnp.stack([v, fnp.sin(v)])))(2.0),
    "an update": lambda v: fnp.at(np.zeros(np.shape(v)))[...].set(v),
}


def compared(value):
    """Every use gives what it gives for the array of the entries."""
    for name, use in USES.items():
        expected = fx.tree.leaves(use(np.asarray(value).copy()))
        for a, b in zip(fx.tree.leaves(use(value)), expected, strict=True):
            assert isinstance(a, np.ndarray | np.generic | float), (name, type(a))  # labels are structure
            np.testing.assert_allclose(a, b, rtol=1e-6, err_msg=name)


def refused(value, words):
    for name, use in USES.items():
        with pytest.raises(DTypeError, match=words):
            use(value)
            pytest.fail(name)


def made(value):
    """The Tensor of a value, as an array."""
    return fxgrad.compat.tensor(value).numpy()


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    for value in (jnp.asarray(X), jnp.float32(0.5), jnp.asarray([[1.0, 2.0]])):
        compared(value)
        np.testing.assert_array_equal(made(value), np.asarray(value))
    np.testing.assert_array_equal(made([jnp.asarray(X)] * 2), np.float32([X, X]))
    np.testing.assert_array_equal(fx.jit(fnp.cumsum)(jnp.arange(3)), [0, 1, 3])
    jax = pytest.importorskip("jax")
    with pytest.raises(DTypeError, match=r"is a jax\..*PRNGKeyArray, whose operations"):
        fx.jit(f)(jax.random.key(0))
    with pytest.raises(DTypeError, match="which gives no array"):
        jax.jit(fx.grad(f))(jnp.asarray(X))


def test_torch():
    torch = pytest.importorskip("torch")
    for value in (torch.tensor(X), torch.tensor(0.5), torch.ones((), dtype=torch.float32)):
        compared(value)
        np.testing.assert_array_equal(made(value), value.numpy())
    np.testing.assert_array_equal(made([torch.tensor(X)] * 2), [X, X])
    with pytest.raises(DTypeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        fx.grad(f)(torch.tensor(X, requires_grad=True))
    with pytest.raises(DTypeError, match="BFloat16"):
        fx.jit(f)(torch.ones(3, dtype=torch.bfloat16))
    with pytest.raises(DTypeError, match="Sparse"):
        fx.jit(f)(torch.eye(3).to_sparse())


def test_pandas():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(X, index=[2, 1, 0])
    compared(series)
    compared(pandas.Series([1.0, None, 2.0], dtype="Float64"))
    for value in (pandas.Index(X), pandas.array(X)):
        refused(value, r"is a pandas\.")
    for value in (pandas.Timestamp(0), pandas.NA):
        with pytest.raises(DTypeError, match=r"is a pandas\."):
            fx.jit(f)(value)
    for value in (
        pandas.Series(["a"]),
        pandas.Series(["a"], dtype="category"),
        pandas.DataFrame({"a": ["b"]}),
    ):
        with pytest.raises(DTypeError, match="has dtype"):
            fx.jit(f)(value)
    for operation in (lambda x: x * series, lambda x: series * x, lambda x: fnp.add(x, series)):
        y, pull = fx.vjp(operation, X)
        assert type(y) is np.ndarray
        np.testing.assert_array_equal(y, operation(X))
        assert type(pull(series)[0]) is np.ndarray
    # A conversion that the user asks for.
    np.testing.assert_array_equal(made(series), X)
    assert made(series).dtype == np.float64
    np.testing.assert_array_equal(made(pandas.DataFrame({"a": X, "b": X})), np.stack([X, X], 1))
    np.testing.assert_array_equal(made([series, series]), [X, X])


def test_xarray():
    xarray = pytest.importorskip("xarray")
    for value in (xarray.DataArray(X, dims="x"), xarray.DataArray(0.5)):
        compared(value)
        np.testing.assert_array_equal(made(value), value.values)
    refused(xarray.Variable("x", X), r"is a xarray\..*, whose operations")
    with pytest.raises(DTypeError, match=r"is a xarray\..*Dataset"):
        fx.jit(f)(xarray.Dataset({"a": ("x", X)}))


def test_sparse_arrays():
    sparse = pytest.importorskip("scipy.sparse")
    for value in (sparse.csr_array(X[None]), sparse.csr_matrix(X[None])):
        with pytest.raises(DTypeError, match="not an array or a number"):
            fx.jit(f)(value)


def test_array_api_strict():
    """Arrays of the standard are computed with in their own library."""
    strict = pytest.importorskip("array_api_strict")
    value = strict.asarray(X)
    for use in (
        "grad",
        "value_and_grad",
        "jvp",
        "linearize",
        "hessian",
        "jit",
        "checkpoint",
        "custom_jvp",
        "cond",
    ):
        for a, b in zip(fx.tree.leaves(USES[use](value)), fx.tree.leaves(USES[use](X)), strict=True):
            assert type(a) is type(value)
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-13)
    np.testing.assert_array_equal(made(value), X)
    with pytest.raises(DTypeError, match="different array libraries"):
        USES["closed over"](value)
