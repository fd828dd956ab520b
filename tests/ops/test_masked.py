"""Cotangents that are zero by structure, and what derivatives are where mathematics leaves a choice.

`where`, slices, gathers, extrema and updates pass a cotangent to some entries only. A function that is singular at
the others must not spoil them: 0·∞ is NaN, but those entries are not multiplied by zero, they are not there.
"""

import itertools

import numpy as np
import pytest

from fxgrad import ops
from fxgrad.core.errors import NotDifferentiableError
from fxgrad.ops import operators
from fxgrad.transforms.jit import make_graph
from fxgrad.transforms.jvp import jvp
from fxgrad.transforms.vjp import grad, vjp
from fxgrad.transforms.vmap import vmap

NAN, INF = np.nan, np.inf
# Derivatives are computed quietly; log(0) itself warns as NumPy does.
where_values_warn = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def total(x):
    return ops.reduce_sum(x, axes=tuple(range(x.ndim)))


def forward(f):
    """The derivative of a function of one number."""
    return lambda x: jvp(f, (x,), (1.0,))[1]


def orders(f, order):
    """Every way to differentiate a function of one number `order` times: forward and reverse in any succession."""
    for modes in itertools.product((grad, forward), repeat=order):
        derivative = f
        for mode in modes:
            derivative = mode(derivative)
        yield "∘".join(mode.__name__ for mode in modes), derivative


def direction(f, x, order, e):
    """The derivatives along e, of every order, by every mode: of t ↦ f(x + t·e) at 0."""
    return orders(lambda t: f(x + t * e), order)


# -- selection before a singular function -------------------------------------------------------------------
def safe_root(x):
    return ops.where(ops.less(x, 1.0), x, ops.sqrt(x))


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(("x", "derivatives"), [
    (0.0, (1.0, 0.0, 0.0)),
    (0.5, (1.0, 0.0, 0.0)),
    (4.0, (1 / 4, -1 / 32, 3 / 256)),
])  # fmt: skip
def test_where_beside_a_root(x, derivatives, order):
    for name, derivative in orders(safe_root, order):
        assert derivative(x) == pytest.approx(derivatives[order - 1], abs=1e-15), name
        mapped = vmap(derivative)(np.array([x, 0.0, 9.0]))
        assert mapped[:2] == pytest.approx([derivatives[order - 1], (1.0, 0.0, 0.0)[order - 1]]), name


# Functions of (0, 4, 9) that drop the first entry of the square root before, or after, moving it around.
MASK, LATE = np.array([False, True, True]), np.arange(3, 6)


def twice(a, b):
    return ops.concatenate(a, b, axis=0)


DROPPING = {
    "slice": lambda x: ops.sqrt(x)[1:],
    "reversed slice": lambda x: ops.sqrt(x)[:0:-1],
    "integer": lambda x: ops.sqrt(x)[1] + ops.sqrt(x)[2],
    "gather": lambda x: ops.sqrt(x)[np.array([1, 2])],
    "where": lambda x: ops.where(MASK, ops.sqrt(x), 0.0),
    "where of three": lambda x: ops.where(MASK, ops.where(ops.less(x, 5.0), ops.sqrt(x), x**0.5), x * 0),
    "maximum": lambda x: ops.maximum(ops.sqrt(x), np.array([1.0, 0.0, 0.0])) - np.array([1.0, 0.0, 0.0]),
    "minimum": lambda x: ops.negative(ops.minimum(ops.negative(ops.sqrt(x)), np.array([-1.0, 0.0, 0.0]))) - ~MASK,
    "fmax": lambda x: ops.fmax(ops.sqrt(x), np.array([1.0, 0.0, 0.0])) - np.array([1.0, 0.0, 0.0]),
    "update": lambda x: ops.update(ops.sqrt(x), np.zeros(1), index=(slice(0, 1, None),)),
    "scatter": lambda x: ops.update(ops.sqrt(x), np.zeros(1), np.array([0]), index=(ops.ARRAY,)),
    "boolean mask": lambda x: ops.sqrt(x)[MASK],
    "power": lambda x: (x**0.5)[1:],
    "traced power": lambda x: ops.power(x, 0.5 + 0 * x)[1:],
    "after a reshape": lambda x: ops.reshape(ops.sqrt(x), shape=(3, 1))[1:],
    "after a permutation": lambda x: ops.permute(ops.reshape(ops.sqrt(x), shape=(1, 3)), axes=(1, 0))[1:],
    "after a flip": lambda x: ops.flip(ops.sqrt(x), axes=(0,))[:2],
    "after a concatenation": lambda x: ops.concatenate(ops.sqrt(x), x, axis=0)[1:3],
    "after a broadcast": lambda x: ops.broadcast_to(ops.sqrt(x), shape=(2, 3))[:1, 1:],
    "after padding": lambda x: ops.pad(ops.sqrt(x), widths=((1, 0),))[2:],
    "after elementwise operations": lambda x: ops.negative(ops.sqrt(x) * -1.0)[1:] / 1.0,
    "after a conversion": lambda x: ops.real(ops.convert(ops.sqrt(x), dtype=np.dtype(complex)))[1:],
    "after two slices": lambda x: ops.sqrt(x)[0:][1:],
    "after a gather of slices": lambda x: ops.sqrt(x)[1:][np.array([0, 1])],
    "after put": lambda x: ops.scatter_add(ops.sqrt(x), index=(slice(1, 4, None),), shape=(5,))[2:4],
    "after an update": lambda x: ops.update(twice(ops.sqrt(x), x), np.zeros(3), index=(slice(3, 6, None),))[1:],
    "after a scatter": lambda x: ops.update(twice(ops.sqrt(x), x), np.zeros(3), LATE, index=(ops.ARRAY,))[1:],
    "update with them": lambda x: ops.update(np.zeros(4), ops.sqrt(x), index=(slice(1, 4, None),))[2:],
    "dynamic slice": lambda x: ops.dynamic_slice(ops.sqrt(x), 1, sizes=(2,)),
    "after a dynamic update": lambda x: ops.dynamic_update_slice(twice(ops.sqrt(x), x), np.zeros(3), 3)[1:],
    "largest": lambda x: ops.reduce_max(ops.sqrt(x), axes=(0,)) + ops.sqrt(x)[1],
    "take_along": lambda x: ops.take_along(ops.sqrt(x), np.array([2, 1]), 0),
}  # fmt: skip
ROOTS = np.array([0.0, 4.0, 9.0])
# d/dt, d²/dt², d³/dt³ of √(4 + t) + √(9 + 2t) at 0.
ALONG = np.array([5.0, 1.0, 2.0])
EXPECTED = (1 / 4 + 2 / 6, -1 / 32 - 4 / 108, 3 / 256 + 3 * 8 / 8 / 243)


@pytest.mark.parametrize("name", DROPPING)
def test_a_dropped_singularity_leaves_no_trace(name):
    def f(x):
        return total(DROPPING[name](x))

    assert f(ROOTS) == pytest.approx(5.0)
    np.testing.assert_allclose(grad(f)(ROOTS), [0, 1 / 4, 1 / 6], rtol=1e-14)
    batch = np.stack([ROOTS, np.array([0.0, 1.0, 16.0])])
    np.testing.assert_allclose(vmap(grad(f))(batch), [[0, 1 / 4, 1 / 6], [0, 1 / 2, 1 / 8]], rtol=1e-14)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("name", DROPPING)
def test_a_dropped_singularity_at_higher_orders(name, order):
    for modes, derivative in direction(lambda x: total(DROPPING[name](x)), ROOTS, order, ALONG):
        assert derivative(0.0) == pytest.approx(EXPECTED[order - 1], rel=1e-12), modes


@pytest.mark.parametrize("name", DROPPING)
def test_the_hessian_beside_a_singularity(name):
    gradient = grad(lambda x: total(DROPPING[name](x)))
    rows = [vjp(gradient, ROOTS)[1](e)[0] for e in np.eye(3)]
    np.testing.assert_allclose(rows, np.diag([0, -1 / 32, -1 / 108]), atol=1e-15)
    columns = [jvp(gradient, (ROOTS,), (e,))[1] for e in np.eye(3)]
    np.testing.assert_allclose(columns, np.diag([0, -1 / 32, -1 / 108]), atol=1e-15)


@pytest.mark.parametrize("singular", [ops.log, ops.reciprocal, ops.sqrt, ops.arccosh, lambda x: x**-1.5],
                         ids=["log", "reciprocal", "sqrt", "arccosh", "power"])  # fmt: skip
@where_values_warn
def test_other_singular_functions(singular):
    def f(x):
        return ops.where(ops.greater(x, 1.0), singular(ops.maximum(x, 0.0)), x * x)

    for order, expected in [(1, 0.0), (2, 2.0), (3, 0.0)]:
        for name, derivative in orders(f, order):
            assert derivative(0.0) == expected, name


# -- a true 0·∞ ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [
    lambda x: x * (1 / x) * 0,
    lambda x: ops.sqrt(x) * 0,
    lambda x: ops.log(x) * 0,
    lambda x: total(ops.sqrt(x * np.ones(2)) * np.array([0.0, 1.0])),
    lambda x: ops.where(True, ops.sqrt(x) * 0, x),
], ids=["reciprocal", "sqrt", "log", "array", "selected"])  # fmt: skip
@where_values_warn
def test_a_true_zero_times_infinity_stays_nan(f):
    assert np.isnan(grad(f)(0.0))
    assert np.isnan(forward(f)(0.0))


def test_an_infinite_derivative_stays_infinite():
    assert grad(ops.sqrt)(0.0) == INF and forward(ops.sqrt)(0.0) == INF


# -- squares of roots ---------------------------------------------------------------------------------------
def norm(x):
    return operators.remember_radicand(ops.norm2(x, axes=(0,)), lambda x: total(x * x), x)


def hessians(f, x):
    eye = np.eye(len(x))
    yield "rev∘rev", np.array([vjp(grad(f), x)[1](e)[0] for e in eye])
    yield "fwd∘rev", np.array([jvp(grad(f), (x,), (e,))[1] for e in eye])
    yield "rev∘fwd", np.array([grad(lambda x, e=e: jvp(f, (x,), (e,))[1])(x) for e in eye])
    yield (
        "fwd∘fwd",
        np.array([[jvp(lambda x, e=e: jvp(f, (x,), (e,))[1], (x,), (d,))[1] for d in eye] for e in eye]),
    )
    yield "vmap", vmap(lambda e: jvp(grad(f), (x,), (e,))[1])(eye)


@pytest.mark.parametrize("f", [
    lambda x: norm(x) ** 2,
    lambda x: operators.square(norm(x)),
    lambda x: operators.sqrt(total(x * x)) ** 2,
], ids=["power", "square", "sqrt"])  # fmt: skip
@pytest.mark.parametrize("x", [np.zeros(3), np.array([0.0, 1.0, -2.0])], ids=["origin", "elsewhere"])
def test_the_squared_norm_has_hessian_2I(f, x):
    np.testing.assert_allclose(grad(f)(x), 2 * x, atol=1e-15)
    for name, hessian in hessians(f, x):
        np.testing.assert_allclose(hessian, 2 * np.eye(3), atol=1e-14, err_msg=name)


def test_the_norm_at_the_origin():
    """Gradient 0 by convention (a subgradient, as for |x|); there is no second derivative."""
    np.testing.assert_array_equal(grad(norm)(np.zeros(2)), [0, 0])
    np.testing.assert_array_equal(jvp(norm, (np.zeros(2),), (np.ones(2),))[1], 0)
    for name, hessian in hessians(norm, np.zeros(2)):
        assert np.isnan(hessian).all(), name


# -- kinks --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [ops.absolute, ops.fabs], ids=["absolute", "fabs"])
def test_the_absolute_value_at_zero(f):
    assert grad(f)(0.0) == 0 and forward(f)(0.0) == 0
    for _, derivative in orders(f, 2):
        assert derivative(1.5) == 0


def test_the_sign_of_a_complex_number_is_no_step():
    with pytest.raises(NotDifferentiableError, match="sign of complex numbers"):
        vjp(ops.sign, 1 + 1j)
    with pytest.raises(NotDifferentiableError, match="sign of complex numbers"):
        jvp(ops.sign, (1 + 1j,), (1j,))
    assert grad(ops.sign)(2.0) == 0 and forward(ops.sign)(2.0) == 0


def test_the_modulus_of_complex_zero():
    (ct,) = vjp(ops.absolute, np.array([0j, 3 + 4j]))[1](np.ones(2))
    np.testing.assert_allclose(ct, [0, 0.6 - 0.8j])


@pytest.mark.parametrize("extremum", [ops.maximum, ops.minimum, ops.fmax, ops.fmin], ids=lambda f: f.__name__)
def test_ties_of_two_share(extremum):
    assert grad(extremum, (0, 1))(2.0, 2.0) == (0.5, 0.5)
    assert jvp(extremum, (2.0, 2.0), (1.0, 0.0))[1] == 0.5
    assert grad(lambda x: extremum(x, x))(2.0) == 1.0
    assert grad(lambda x: extremum(x, 0.0))(0.0) == 0.5


@pytest.mark.parametrize("extremum", [ops.reduce_max, ops.reduce_min], ids=lambda f: f.__name__)
def test_ties_of_many_share(extremum):
    x = np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    np.testing.assert_array_equal(grad(lambda x: total(extremum(x, axes=(1,))))(x), np.full((2, 3), 1 / 3))
    np.testing.assert_array_equal(
        jvp(lambda x: extremum(x, axes=(1,)), (x,), (np.eye(2, 3),))[1], [1 / 3, 1 / 3]
    )
    best = x == extremum(x, axes=(0, 1))
    np.testing.assert_array_equal(grad(lambda x: extremum(x, axes=(0, 1)))(x), best / 3)


def test_nan_is_handed_on_to_what_caused_it():
    x = np.array([1.0, NAN, 3.0])
    np.testing.assert_array_equal(grad(lambda x: ops.reduce_max(x, axes=(0,)))(x), [0, 1, 0])
    np.testing.assert_array_equal(grad(ops.maximum, (0, 1))(NAN, 1.0), [1, 1])
    np.testing.assert_array_equal(grad(ops.fmax, (0, 1))(NAN, 1.0), [0, 1])


# -- powers -------------------------------------------------------------------------------------------------
def test_zero_to_the_zero():
    assert grad(ops.power, (0, 1))(0.0, 0.0) == (0.0, -INF)
    assert grad(lambda x: x**0)(0.0) == 0
    for order in (1, 2, 3):
        for name, derivative in orders(lambda x: ops.power(x, 0.0 * x), order) if order == 1 else []:
            assert np.isnan(derivative(0.0)) or derivative(0.0) == -INF, name


@pytest.mark.parametrize("p", [0, 1, 2, 3])
def test_integer_powers_at_zero(p):
    """Polynomials are smooth: every derivative is finite at 0."""
    for order in (1, 2, 3):
        expected = float(np.prod(range(p - order + 1, p + 1))) if p == order else 0.0
        for f in (lambda x: x**p, lambda x: ops.power(x, float(p))):
            for name, derivative in orders(f, order):
                assert derivative(0.0) == expected, (name, order)


def test_python_zero_to_a_negative_power_is_infinite():
    for name, derivative in orders(lambda x: x**0.5, 1):
        assert derivative(0.0) == INF, name
    assert grad(lambda x: ops.where(ops.greater(x, 1.0), x**-1, x))(0.0) == 1.0


def test_the_derivative_in_the_exponent_at_base_zero():
    assert grad(ops.power, 1)(0.0, 2.0) == 0.0
    assert grad(grad(ops.power, 1), 1)(0.0, 2.0) == 0.0


@pytest.mark.parametrize("x", [np.zeros(3), np.array([0.0, 2.0, 3.0]), np.array([0.0, 0.0, 3.0])], ids=str)
def test_products_with_zeros(x):
    expected = [np.prod(np.delete(x, i)) for i in range(3)]
    np.testing.assert_allclose(grad(lambda x: ops.reduce_prod(x, axes=(0,)))(x), expected)
    np.testing.assert_allclose(grad(lambda x: ops.cumprod(x, axis=0)[2])(x), expected)
    mixed = [[0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(3)] for i in range(3)]
    for name, hessian in hessians(lambda x: ops.reduce_prod(x, axes=(0,)), x):
        np.testing.assert_allclose(hessian, mixed, err_msg=name)


def test_ties_of_a_running_extremum_go_to_the_latest():
    np.testing.assert_array_equal(
        grad(lambda x: total(ops.cummax(x, axis=0)))(np.array([1.0, 1, 0, 2])), [1, 2, 0, 1]
    )


# -- through reductions --------------------------------------------------------------------------------------
ROWS = np.array([[0.0, 0.0], [1.0, 4.0]])


def test_a_dropped_sum_of_singularities():
    np.testing.assert_array_equal(
        grad(lambda x: ops.reduce_sum(ops.sqrt(x), axes=(1,))[1])(ROWS), [[0, 0], [1 / 2, 1 / 4]]
    )


def test_a_contraction_with_zeros_is_a_true_zero_times_infinity():
    gradient = grad(lambda x: ops.contract(np.eye(2), ops.sqrt(x), spec="ij,j->i")[1])(np.array([0.0, 4.0]))
    np.testing.assert_array_equal(gradient, [NAN, 1 / 4])


REDUCTIONS = {
    "sum": lambda x: ops.reduce_sum(x, axes=(1,)),
    "max": lambda x: ops.reduce_max(x, axes=(1,)),
    "prod": lambda x: ops.reduce_prod(x, axes=(1,)),
    "norm": lambda x: ops.norm2(x, axes=(1,)),
    "cumsum": lambda x: ops.cumsum(x, axis=1)[:, 1],
    "cumprod": lambda x: ops.cumprod(x, axis=1)[:, 1],
    "cummax": lambda x: ops.cummax(x, axis=1)[:, 1],
    "recurrence": lambda x: ops.recurrence(x, x, axis=1)[:, 1],
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_dropped_reduction_of_singularities(name):
    def alone(row):
        return REDUCTIONS[name](ops.sqrt(row[None]))[0]

    def selected(x):
        return REDUCTIONS[name](ops.sqrt(x))[1]

    expected = grad(alone)(ROWS[1])
    np.testing.assert_allclose(grad(selected)(ROWS), [[0, 0], expected], rtol=1e-14)
    np.testing.assert_allclose(vmap(grad(selected))(ROWS[None]), [[[0, 0], expected]], rtol=1e-14)
    along = np.array([[5.0, 3.0], [1.0, 2.0]])
    for order in (2, 3):
        wanted = next(direction(alone, ROWS[1], order, along[1]))[1](0.0)
        for modes, derivative in direction(selected, ROWS, order, along):
            assert derivative(0.0) == pytest.approx(wanted, rel=1e-12), modes


def test_the_safe_norm_has_every_derivative():
    """The norm of a row that is selected only where it is not zero."""

    def f(x):
        n = ops.norm2(x, axes=(1,))
        return total(ops.where(ops.greater(n, 0.0), n, 0.0))

    for _, derivative in direction(f, ROWS, 2, np.ones((2, 2))):
        assert derivative(0.0) == pytest.approx(9 / 17**1.5, rel=1e-12)


STAGED = {
    "slices": lambda x: ops.getitem(x, index=(slice(1, 3),)) / ops.getitem(x, index=(slice(0, 2),)),
    "arrays": lambda x: ops.sqrt(ops.getitem(x, np.array([0, 3]), index=(ops.ARRAY,))),
    "updates": lambda x: ops.update(ops.sqrt(x), 0.0, index=(0,)),
    "windows": lambda x: ops.sqrt(ops.dynamic_slice(ops.sqrt(x), 1, sizes=(2,))),
    "window updates": lambda x: ops.sqrt(ops.dynamic_update_slice(ops.exp(x), np.ones(2), 1)),
}


@pytest.mark.parametrize("name", STAGED)
def test_supports_that_depend_on_no_value_are_constants(name):
    """They are computed while a program is staged, not in every call."""

    def f(x):
        y = ops.exp(STAGED[name](x))
        return total(ops.multiply(y, ops.getitem(x, index=(slice(0, y.shape[0]),))))

    x = np.array([1.0, 2.0, 3.0, 4.0])
    staged = make_graph(grad(f))(x)
    assert not {"not_equal", "logical_or", "convert"} & {e.primitive.name for e in staged.equations}
    np.testing.assert_allclose(staged(x)[0], grad(f)(x), rtol=1e-14)
