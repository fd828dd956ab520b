"""Algorithms that NumPy programs write in place, as they stand in books, are differentiated, mapped and compiled as
they are."""

import gc
import weakref

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.ways import agree

RNG = np.random.default_rng(7)
MATRIX = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
SYMMETRIC = MATRIX @ MATRIX.T / 8
VECTOR = RNG.uniform(0.5, 1.5, 4)
SIGNAL = RNG.normal(size=8)
FIELD = RNG.normal(size=(5, 6))


def lu(a):
    """Doolittle's factors, in the place of the matrix, with rows exchanged by the largest pivot."""
    n = len(a)
    for k in range(n - 1):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        if p != k:
            a[[k, p]] = a[[p, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def lu_without_pivots(a):
    for k in range(len(a) - 1):
        rest = a[k + 1 :]
        rest[:, k] /= a[k, k]
        rest[:, k + 1 :] -= rest[:, k : k + 1] * a[k, k + 1 :]
    return a


def cholesky(a):
    for j in range(len(a)):
        a[j, j] = np.sqrt(a[j, j] - a[j, :j] @ a[j, :j])
        for i in range(j + 1, len(a)):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
            a[j, i] = 0.0
    return a


def thomas(d, b):
    """The solution of a tridiagonal system with −1 beside the diagonal d, in the place of b."""
    for i in range(1, len(d)):
        w = -1.0 / (d[i - 1] + 4)
        d[i] += w
        b[i] -= w * b[i - 1]
    b[-1] /= d[-1] + 4
    for i in range(len(d) - 2, -1, -1):
        b[i] = (b[i] + b[i + 1]) / (d[i] + 4)
    return b


def gauss_seidel(a, b):
    x = np.zeros_like(b)
    for _ in range(5):
        for i in range(len(b)):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def jacobi(u):
    """Relaxation of the inside of a field."""
    new = u.copy()
    for _ in range(4):
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        u, new = new, u
    return u


def red_black(u):
    """Relaxation of every other point, by a mask."""
    i, j = np.indices(u.shape)
    inside = np.zeros(u.shape, bool)
    inside[1:-1, 1:-1] = True
    for colour in (0, 1, 0):
        mean = 0.25 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1))
        chosen = inside & ((i + j) % 2 == colour)
        u[chosen] = mean[chosen]
    return u


def gram_schmidt(a):
    for k in range(a.shape[1]):
        q = a[:, k]
        for j in range(k):
            q -= (a[:, j] @ q) * a[:, j]
        q /= np.sqrt(q @ q)
    return a


def householder(a):
    """The triangular factor, by reflections of what is left of the matrix."""
    for k in range(len(a) - 1):
        part = a[k:, k:]
        v = part[:, 0].copy()
        v[0] += np.sign(v[0]) * np.sqrt(v @ v)
        v /= np.sqrt(v @ v)
        part -= 2 * np.outer(v, v @ part)
    return a


def fdtd(e):
    """Yee's steps of an electric and a magnetic field."""
    h = np.zeros_like(e[:-1])
    for n in range(6):
        h += 0.5 * (e[1:] - e[:-1])
        e[1:-1] += 0.5 * (h[1:] - h[:-1])
        e[0] = np.sin(0.3 * n)
    return np.concatenate([e, h])


def fft_in_place(x):
    """The transform by Cooley and Tukey, of an array of real numbers."""
    a = x * (1 + 0j)
    n = a.shape[0]
    a[:] = a[[int(f"{i:03b}"[::-1], 2) for i in range(n)]]
    size = 2
    while size <= n:
        w = np.exp(-2j * np.pi * np.arange(size // 2) / size)
        for start in range(0, n, size):
            even, odd = a[start : start + size // 2], a[start + size // 2 : start + size]
            t = w * odd
            odd[:] = even - t
            even += t
        size *= 2
    return np.abs(a) ** 2


def cumulative_loop(x):
    for i in range(1, len(x)):
        x[i] += 0.5 * x[i - 1]
    return x


def fortran_step(u, out):
    """A step in the manner of Fortran: it writes what it is given, and returns nothing."""
    out[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    out[0], out[-1] = u[1], u[-2]
    u[...] = out


def fortran(u):
    work = np.empty_like(u)
    for _ in range(3):
        fortran_step(u, work)
    return u


def bubble_sort(x):
    for i in range(len(x)):
        for j in range(len(x) - 1 - i):
            x[j], x[j + 1] = np.minimum(x[j], x[j + 1]), np.maximum(x[j], x[j + 1])
    return x


def knapsack(values):
    """Dynamic programming over a table."""
    best = np.zeros((len(values) + 1, 6), like=values)
    for i, weight in enumerate((1, 2, 3, 2)):
        best[i + 1] = best[i]
        best[i + 1, weight:] = np.maximum(best[i, weight:], best[i, : 6 - weight] + values[i])
    return best


def verlet(q):
    """Leapfrog steps of a chain of springs."""
    p, force = np.zeros_like(q), np.zeros_like(q)
    for _ in range(4):
        stretch = q[1:] - q[:-1] - 1.0
        force[:] = 0
        force[:-1] += stretch
        force[1:] -= stretch
        p += 0.1 * force
        q += 0.1 * p
    return q


def adam(w):
    """An optimizer that keeps its moments in arrays, and writes the parameters."""
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t in range(1, 5):
        g = 2 * (w - 1)
        m *= 0.9
        m += 0.1 * g
        np.multiply(v, 0.99, out=v)
        v += 0.01 * g**2
        w -= 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-3)
    return w


ALGORITHMS = {
    "LU": (lu_without_pivots, MATRIX),
    "Cholesky": (cholesky, SYMMETRIC),
    "Thomas": (thomas, VECTOR, VECTOR[::-1].copy()),
    "Gauss-Seidel": (gauss_seidel, MATRIX, VECTOR),
    "Jacobi": (jacobi, FIELD),
    "red and black": (red_black, FIELD),
    "Gram-Schmidt": (gram_schmidt, MATRIX),
    "Householder": (householder, MATRIX),
    "FDTD": (fdtd, SIGNAL),
    "FFT": (fft_in_place, SIGNAL),
    "cumulative loop": (cumulative_loop, SIGNAL),
    "Fortran": (fortran, SIGNAL),
    "bubble sort": (bubble_sort, SIGNAL),
    "knapsack": (knapsack, VECTOR),
    "Verlet": (verlet, SIGNAL),
    "Adam": (adam, VECTOR),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms(name):
    algorithm, *arguments = ALGORITHMS[name]
    agree(algorithm, *arguments)
    loss = lambda *xs: fnp.sum(algorithm(*xs) ** 2)  # noqa: E731
    np.testing.assert_allclose(
        fx.hessian(loss)(*arguments), fx.jacfwd(fx.grad(loss))(*arguments), rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(
        fx.jit(fx.hessian(loss))(*arguments), fx.hessian(loss)(*arguments), rtol=1e-8, atol=1e-8
    )


def test_pivots_follow_values_where_these_are_known():
    a = MATRIX[[2, 0, 3, 1]]
    value, tangent = fx.jvp(lu, (a,), (MATRIX,))
    np.testing.assert_array_equal(value, lu(a.copy()))
    h = 1e-6
    slope = (lu(a + h * MATRIX) - lu(a - h * MATRIX)) / (2 * h)
    np.testing.assert_allclose(tangent, slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.sum(fx.grad(lambda a: lu(a).sum())(a) * MATRIX), tangent.sum())


def test_a_program_that_imports_this_librarys_numpy_allocates_buffers():
    def program(x, np):
        table = np.zeros((3, 4))
        table[0], table[1, 1:] = x, x[1:] * 2
        np.multiply(table[0], x, out=table[2])
        weights = np.full(4, 0.5)
        weights[x > 1] = 2.0
        steps = np.arange(4.0)
        steps[1:] *= x[:-1]
        return table * weights + steps

    wanted = program(VECTOR, np)
    for transform in (
        lambda f: fx.jit(f)(VECTOR),
        lambda f: fx.vmap(f)(VECTOR[None])[0],
        lambda f: fx.vjp(f, VECTOR)[0],
        lambda f: fx.jvp(f, (VECTOR,), (VECTOR,))[0],
    ):
        np.testing.assert_array_equal(transform(lambda x: program(x, fnp)), wanted)
    assert type(program(VECTOR, fnp)) is np.ndarray


def test_new_arrays_are_numpys_own_outside_of_transforms_and_have_at_inside():
    makers = [
        lambda: fnp.zeros(3), lambda: fnp.ones(3), lambda: fnp.full(3, 2.0), lambda: fnp.array([1.0, 2.0, 3.0]),
        lambda: fnp.empty(3) * 0, lambda: fnp.arange(3.0), lambda: fnp.eye(3)[0], lambda: fnp.zeros_like(np.ones(3)),
        lambda: fnp.linspace(0.0, 1.0, 3), lambda: fnp.copy(np.ones(3)), lambda: fnp.identity(3)[1],
    ]  # fmt: skip
    for make in makers:
        wanted = make()
        assert type(wanted) is np.ndarray
        wanted[0] = 7.0

        def with_at(x, make=make):
            return make().at[0].set(x)

        def written(x, make=make):
            y = make()
            y[0] = x
            return y

        for f in (with_at, written):
            np.testing.assert_array_equal(fx.jit(f)(7.0), wanted)
            np.testing.assert_array_equal(fx.jacobian(f)(7.0), [1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: fx.grad(f)(VECTOR),
        lambda f: fx.jvp(f, (VECTOR,), (VECTOR,)),
        lambda f: fx.jit(f)(VECTOR),
        lambda f: fx.vmap(f)(VECTOR[None]),
        lambda f: fx.jit(fx.grad(f))(VECTOR),
    ],
    ids=["grad", "jvp", "jit", "vmap", "jit of grad"],
)
@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.zeros(3).__setitem__(0, x[0]),
        lambda x: np.zeros(4).__setitem__(slice(None), x),
        lambda x: np.add(x, 1, out=np.zeros(4)),
        lambda x: np.zeros(4).__iadd__(x),
        lambda x: np.copyto(np.zeros(4), x),
        lambda x: np.put(np.zeros(4), [0], x[0]),
    ],
    ids=["entry", "slice", "out", "iadd", "copyto", "put"],
)
def test_numpys_own_arrays_have_one_remedy_under_all_transforms(write, transform):
    with pytest.raises(
        (fx.ArrayConversionError, fx.ConcretizationError), match=r"(?s)try: .*fnp\.zeros.*fnp\.full"
    ):
        transform(lambda x: (write(x), x.sum())[1])


def test_a_plain_table_at_a_traced_index_is_told_the_remedy():
    table = np.arange(5.0)
    with pytest.raises(
        (fx.ArrayConversionError, fx.ConcretizationError), match=r"(?s)try: .*fnp\.take\(a, i, axis=0\)"
    ):
        fx.jit(lambda i: table[i])(2)
    assert fx.jit(lambda i: fnp.array(table)[i])(2) == 2.0


def test_every_call_of_a_function_has_arguments_of_its_own():
    weights = np.ones(3)

    def accumulate(x, w):
        w += x
        return w.sum()

    rows = np.arange(6.0).reshape(2, 3)
    wanted = [accumulate(row, weights.copy()) for row in rows]
    for f in (
        lambda: fx.vmap(accumulate)(rows, np.stack([weights, weights])),
        lambda: [fx.jit(accumulate)(row, weights) for row in rows],
        lambda: fx.jit(lambda rows, w: fx.vmap(accumulate, (0, None), chunk_size=1)(rows, w))(rows, weights),
        lambda: (
            fx.grad(lambda w: fx.vmap(accumulate, (0, None))(rows, w).sum(), has_aux=False)(weights)
            * wanted[0]
        ),
    ):
        f()
        np.testing.assert_array_equal(weights, 1)
    np.testing.assert_array_equal(
        fx.jit(lambda r, w: fx.vmap(accumulate, (0, None))(r, w))(rows, weights), wanted
    )


def test_rules_of_the_users_own_may_write_into_what_they_are_given():
    @fx.custom_vjp
    def double_sine(x):
        x *= 2
        return np.sin(x)

    def forward(x):
        x *= 2
        return np.sin(x), x

    def backward(x, ct):
        ct *= 2 * np.cos(x)
        x[:] = 0
        return (ct,)

    double_sine.defvjp(forward, backward)
    x, ct = VECTOR.copy(), np.ones(4)
    value, pullback = fx.vjp(lambda x: double_sine(x) + x, x)
    for _ in range(2):
        np.testing.assert_allclose(pullback(ct)[0], 2 * np.cos(2 * VECTOR) + 1)
    np.testing.assert_array_equal(ct, 1)
    np.testing.assert_array_equal(x, VECTOR)
    np.testing.assert_allclose(value, np.sin(2 * VECTOR) + VECTOR)
    gradient = fx.grad(lambda x: double_sine(x).sum())
    for found in (fx.jit(gradient)(x), fx.vmap(gradient)(x[None])[0]):
        np.testing.assert_allclose(found, 2 * np.cos(2 * VECTOR))


def test_arguments_that_are_not_differentiated_are_the_functions_own():
    def f(w, state, *, scale):
        state[0] = w[0]
        scale *= 2
        scale[1:] = w[1:]
        return (state * scale * w).sum()

    w, state, scale = np.arange(1.0, 4.0), np.ones(3), np.ones(3)
    wanted = np.array([4.0, 4.0, 6.0])
    for gradient in (fx.grad(f), fx.jacrev(f), fx.jacfwd(f), fx.jit(fx.grad(f))):
        np.testing.assert_allclose(gradient(w, state, scale=scale), wanted)
    np.testing.assert_allclose(fx.hessian(f)(w, state, scale=scale), np.diag([4.0, 2.0, 2.0]))
    mapped = fx.vmap(fx.grad(f), (0, None))(np.stack([w, w]), state, scale=np.stack([scale, scale]))
    np.testing.assert_allclose(mapped, [wanted, wanted])
    np.testing.assert_array_equal([state, scale], 1)

    def seen(w, x):
        notes.append((type(np.asarray(x)), float(x[0]), bool(x[0] > 0), np.linalg.norm(np.asarray(x))))
        return w.sum()

    notes: list = []
    fx.grad(seen)(w, state)
    assert notes == [(np.ndarray, 1.0, True, np.sqrt(3.0))]


def test_views_and_what_they_show_are_released_by_reference_counting():
    def f(x):
        gc.collect()
        gc.disable()
        try:
            a = x * 2
            rows, whole = a.reshape(2, 2), weakref.ref(a)
            row = rows[0]
            row += 1
            kept = [weakref.ref(rows), weakref.ref(row), whole]
            del a, rows
            assert kept[2]() is not None  # of which `row` is a view
            del row
            assert [r() for r in kept] == [None] * 3
            for _ in range(1000):
                x[1:]
            assert len(x.views) < 20
        finally:
            gc.enable()
        return x.sum()

    fx.grad(f)(VECTOR)
    fx.jit(f)(VECTOR)
