"""References that loops and branches use though they were made outside."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax

X = np.array([1.0, 2.0, 3.0])


def add_up(x):
    total = fx.new_ref(0.0 * x[0])

    def body(i, count):
        total[...] += fnp.take(x, i) ** 2
        return count + 1

    count = lax.fori_loop(0, 3, body, 0)
    return fx.freeze(total) * count


def scan_rows(x):
    row, factor = fx.new_ref(fnp.zeros(2)), fx.new_ref(1.0)

    def step(carry, v):
        row[0] = row[0] + v * carry
        factor[...] = factor[...] * v
        return carry + 1.0, row[0]

    carry, sums = lax.scan(step, 1.0, x)
    return fnp.sum(sums) + row[0] * factor[...] + carry


def choose(x):
    ref = fx.new_ref(x[0])

    def write(v):
        ref[...] *= v
        return v

    y = lax.cond(x[1] > 0, write, lambda v: 2 * v, x[2])
    return ref[...] + y


def repeat(x):
    ref = fx.new_ref(x[0])

    def body(i):
        ref[...] *= x[1]
        return i + 1

    lax.while_loop(lambda i: (i < 3) & (ref[...] < 1e9), body, 0, max_steps=5)
    return ref[...]


def nest(x):
    ref = fx.new_ref(0.0 * x[0])

    def outer(carry, v):
        def inner(i, other):
            ref[...] += v * carry
            return other

        lax.fori_loop(0, 2, inner, 0)
        return carry + 1.0, None

    lax.scan(outer, 1.0, x)
    return ref[...]


def read_only(x):
    ref = fx.new_ref(x)
    return lax.scan(lambda carry, v: (carry + v * ref[0], None), 0.0, x)[0]


@pytest.mark.parametrize("f", [add_up, scan_rows, choose, repeat, nest, read_only], ids=lambda f: f.__name__)
def test_they_are_carried_from_step_to_step(f):
    with fx.disable_jit():
        wanted = f(X)
    assert f(X) == wanted
    gradient = fx.grad(f, check=True)(X)
    np.testing.assert_allclose(fx.jit(fx.grad(f))(X), gradient)
    np.testing.assert_allclose(fx.jvp(f, (X,), (X,))[1], gradient @ X)
    np.testing.assert_allclose(fx.vmap(f)(np.stack([X, 2 * X])), [f(X), f(2 * X)])


def test_plain_values_are_written_too():
    ref = fx.new_ref(0.0)

    def body(i, count):
        ref[...] += i
        return count

    lax.fori_loop(0, 4, body, 0)
    assert ref[...] == 6.0


def test_a_function_of_jit_takes_along_those_of_outside():
    ref = fx.new_ref(0.0)

    def body(i, x):
        ref[...] += x
        return x

    fx.jit(lambda x: body(0, x))(1.0)
    fx.jit(lambda x: lax.fori_loop(0, 2, body, x))(1.0)
    lax.fori_loop(0, 2, lambda i, x: fx.jit(body)(i, x), 1.0)
    assert ref[...] == 5.0


def test_the_backward_pass_of_a_loop_takes_none_along():
    keep, ref = fx.custom_vjp(lambda ref, x: x), fx.new_ref(0.0)
    keep.defvjp(lambda ref, x: (x, ref), lambda ref, ct: (ref.__setitem__(..., ct), (None, ct))[1])
    with pytest.raises(fx.OuterRefError, match="a loop in Python"):
        fx.grad(lambda x: lax.fori_loop(0, 2, lambda i, y: keep(ref, 2 * y), x))(1.0)


def test_an_error_in_a_body_leaves_the_value():
    ref = fx.new_ref(1.0)

    def body(i, x):
        ref[...] = 5.0
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lax.fori_loop(0, 2, body, 0.0)
    assert ref[...] == 1.0
