"""Values that were computed, and arguments, are written into with NumPy's aliasing, whoever refers to them."""

import operator

import numpy as np
import pytest

import fxgrad as fx
from tests.numpy.test_in_place import X, agree


class State:
    """Something with attributes."""


def write_twice(x):
    y = x * 2
    kept = y * y
    y[0] = 1.0
    y[y > 3] = 0.0
    y += x
    y[1:] *= 3
    return kept + y


def write_after_views_that_are_gone(x):
    y = np.sin(x)
    d = y[1:] - y[:-1]
    y[0] = d[0]
    y[1:] += d
    return y


def write_into_what_shows_the_only_reference(x):
    y = (x * 2).reshape(4, 3)
    y[0] = 1.0
    z = np.sin(x).T
    z[1:] += y[1:]
    return z


def write_into_an_attribute(x):
    state = State()
    state.u = x**2
    state.u[1:] += state.u[:-1]
    return state.u


def write_by_methods(x):
    y, z = x * 2, x * 3
    y.sort()
    y.put([0, 3], [x[0, 0], 2.0])
    z.fill(x[1, 1])
    return y * z


def show_what_was_written(x):
    y = x * 2
    y[0] = 1.0
    column, copied = y[:, 1], y.copy()
    column *= 2
    y.T[-1] = 9.0
    return np.concatenate([column, copied.ravel(), y.ravel()])


@pytest.mark.parametrize(
    "program",
    [
        write_twice,
        write_after_views_that_are_gone,
        write_into_what_shows_the_only_reference,
        write_into_an_attribute,
        write_by_methods,
        show_what_was_written,
    ],
)
def test_computed_values_can_be_written_into(program):
    agree(program, X)
    np.testing.assert_allclose(
        fx.hessian(lambda x: (program(x) ** 2).sum())(X),
        fx.jacfwd(fx.grad(lambda x: (program(x) ** 2).sum()))(X),
    )


def test_large_ones_too():
    """Of so many entries the work is put off, and done in one go."""
    x = np.linspace(0.5, 2.0, 150_000)

    def program(x):
        y = np.sin(x) * 2
        y[0] = 1.0
        y[5:] *= x[5:]
        return (y * y).sum()

    slope = 8 * np.sin(x) * np.cos(x)
    slope[5:] = slope[5:] * x[5:] ** 2 + 8 * np.sin(x[5:]) ** 2 * x[5:]
    slope[0] = 0.0
    np.testing.assert_allclose(fx.grad(program)(x), slope)


def fill_first(u):
    u[0] = 0.0


def held_by_a_name(x):
    y = x * 2
    z = y
    y[0] = 1.0
    return z


def held_by_a_view(x):
    y = x * 2
    v = y[1:]
    y[0] = 1.0
    return v


def held_by_its_base(x):
    y = x * 2
    v = y.reshape(4, 3)[1:]
    v[0] = 1.0
    return y


def held_by_a_row(x):
    y = x * 2
    for row in y:
        row[0] = 1.0
    return y


def held_by_a_pullback(x):
    y = x * 2
    _, pullback = fx.vjp(lambda z: z * y, y)
    y[0] = 1.0
    return pullback(x)[0]


def held_by_a_list(x):
    rows = [x, x * 2]
    for row in rows:
        row[0] = 1.0
    return rows[1]


def held_by_a_caller(x):
    y = x * 2
    fill_first(y)
    return y


def an_argument(x):
    x[0] = 1.0
    return x


def a_view_of_an_argument(x):
    v = x.T
    v[0] = 1.0
    return v


def an_operator_of_python(x):
    y = x * 2
    z = y
    operator.setitem(y, 0, 1.0)
    return z


def broadcast_together(x):
    y = x * 2
    a, b = np.atleast_1d(y, x)
    a[0] = 1.0
    return y + b


@pytest.mark.parametrize(
    "program",
    [
        held_by_a_name,
        held_by_a_view,
        held_by_its_base,
        held_by_a_row,
        held_by_a_pullback,
        held_by_a_list,
        held_by_a_caller,
        an_argument,
        a_view_of_an_argument,
        an_operator_of_python,
        broadcast_together,
    ],
)
def test_all_names_and_views_show_what_is_written(program):
    if program is held_by_a_pullback:  # which keeps the value that it was made with
        np.testing.assert_allclose(fx.jvp(program, (X,), (X,))[0], X * 2 * X)
        np.testing.assert_allclose(fx.jit(program)(X), X * 2 * X)
    else:
        agree(program, X)


def test_neither_an_array_of_numpys_nor_its_origin_misses_a_write():
    def program(x):
        b = np.zeros_like(x)
        shown = np.asarray(b)
        assert not shown.flags.writeable
        b[0] = x[0]
        return shown

    with pytest.raises(fx.ImmutableError, match=r"(?s)np\.asarray.*try: np\.array\(x\)"):
        fx.jvp(program, (X,), (X,))

    def again(x):
        b = np.zeros_like(x)
        copied, total = np.array(b), np.asarray(b).sum()
        b[0] = x[0]
        return copied + total + np.array([b[0], x[1], x[2]])

    agree(again, X)
