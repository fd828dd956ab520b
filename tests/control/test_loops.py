"""scan, fori_loop, while_loop, map and associative_scan: by the Python loops that they stand for."""

import tracemalloc
from functools import partial

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests import ways
from tests.ways import same

X = np.array([0.6, 0.9, 1.3])
W = np.array([[0.3, -0.5, 0.1], [0.2, 0.4, -0.3], [-0.6, 0.1, 0.2]])
XS = np.linspace(-1.0, 1.2, 12).reshape(4, 3)


def recurrent(w, xs, scan=lax.scan):
    def step(state, x):
        hidden, total = state
        hidden = fnp.tanh(w @ hidden + x)
        return (hidden, total + fnp.sum(hidden**2)), fnp.sin(hidden) * w[0]

    (hidden, total), ys = scan(step, (w[1], 0.0), xs)
    return hidden, total, ys


def python_scan(step, carry, xs, reverse=False):
    """What `scan` means."""
    ys = [None] * len(xs)
    for i in range(len(xs))[:: -1 if reverse else 1]:
        carry, ys[i] = step(carry, xs[i])
    return carry, fnp.stack(ys)


def grown(x, y, loop=lax.while_loop):
    """Two, three or four steps, as x says."""
    return loop(
        lambda v: fnp.sum(v[0]) < 20.0, lambda v: (v[0] * (v[0] + y), v[1] + fnp.sum(v[0])), (x + 1, 0.0)
    )


bounded = partial(lax.while_loop, max_steps=9)


def python_while(goes_on, step, value):
    while goes_on(value):
        value = step(value)
    return value


# -- against the loop in Python
def test_scan_under_every_transform():
    ways.agree(recurrent, W, XS)
    ways.agree(lambda x, xs: lax.scan(lambda c, r: (c * r, c - r), x, xs, reverse=True), X, XS)


def test_a_bounded_while_loop_under_every_transform():
    ways.agree(partial(grown, loop=bounded), X, X[::-1].copy())


@pytest.mark.parametrize("derivative", [
    lambda f: fx.grad(f, (0, 1)), lambda f: fx.jacfwd(f, (0, 1)), lambda f: fx.hessian(f, (0, 1)),
    lambda f: fx.jacrev(fx.jacrev(f, (0, 1)), (0, 1)), lambda f: fx.jacrev(fx.jacfwd(f, (0, 1)), (0, 1)),
    lambda f: lambda *args: fx.linearize(f, *args)[1](*args),
])  # fmt: skip
def test_derivatives_are_those_of_the_python_loop(derivative):
    def scanned(w, xs, scan):
        hidden, total, ys = recurrent(w, xs, scan)
        return fnp.sum(hidden) * total + fnp.sum(ys)

    expected = derivative(partial(scanned, scan=python_scan))(W, XS)
    same(derivative(partial(scanned, scan=lax.scan))(W, XS), expected)
    same(fx.jit(derivative(partial(scanned, scan=lax.scan)))(W, XS), expected)

    def repeated(x, y, loop):
        end, total = grown(x, y, loop)
        return fnp.sum(fnp.sin(end)) * total

    expected = derivative(partial(repeated, loop=python_while))(X, X + 0.1)
    same(derivative(partial(repeated, loop=bounded))(X, X + 0.1), expected, 1e-10)
    same(fx.jit(derivative(partial(repeated, loop=bounded)))(X, X + 0.1), expected, 1e-10)


def test_loops_inside_checkpoint():
    def f(w, xs):
        hidden, total, ys = recurrent(w, xs)
        return fnp.sum(hidden) * total + fnp.sum(grown(ys, xs**2, bounded)[0])

    for derivative in (fx.grad, fx.hessian, lambda f: fx.jit(fx.jacrev(fx.jacfwd(f)))):
        same(derivative(fx.checkpoint(f))(W, XS), derivative(f)(W, XS), 1e-10)


def test_entries_of_a_batch_end_at_different_steps():
    batch = np.array([[0.1], [0.5], [2.0], [40.0]])
    y = np.array([0.3])

    def end(x, loop):
        return grown(x, y, loop)[0][0]

    for transform in (lambda f: f, fx.grad, lambda f: fx.hessian(f)):
        rows = [transform(partial(end, loop=python_while))(x) for x in batch]
        same(fx.vmap(transform(partial(end, loop=bounded)))(batch), np.stack(rows), 1e-10)
    rows = np.stack([fx.grad(partial(end, loop=python_while))(x) for x in batch])
    same(fx.grad(lambda b: fnp.sum(fx.vmap(partial(end, loop=bounded))(b)))(batch), rows, 1e-10)


def test_max_steps_is_a_bound_on_the_steps():
    doubled = partial(lax.while_loop, lambda v: v < 100.0, lambda v: v * 2.0)
    assert [doubled(1.0, max_steps=n) for n in (0, 3, 7, 50)] == [1.0, 8.0, 128.0, 128.0]
    assert fx.grad(lambda x: doubled(x, max_steps=3))(1.0) == 8.0


def test_bounds_known_and_unknown():
    def factorial(n, x):
        return lax.fori_loop(1, n + 1, lambda i, v: v * i * x, 1.0)

    assert factorial(5, 1.0) == 120.0
    assert fx.grad(factorial, 1)(5, 1.0) == 600.0
    assert fx.jit(factorial)(5, 1.0) == 120.0
    assert fx.jvp(lambda x: fx.jit(factorial)(5, x), (1.0,), (1.0,)) == (120.0, 600.0)
    assert fx.grad(fx.jit(factorial), 1)(5, 1.0) == 600.0
    with pytest.raises(fx.NotDifferentiableError, match=r"(?s)while_loop.*max_steps"):
        fx.jit(fx.grad(factorial, 1))(5, 1.0)


def test_a_while_loop_without_bound_has_the_derivatives_of_the_steps_that_it_takes():
    def repeated(x, y, loop):
        end, total = grown(x, y, loop)
        return fnp.sum(fnp.sin(end)) * total

    for derivative in (
        lambda f: fx.grad(f, (0, 1)),
        lambda f: fx.hessian(f, (0, 1)),
        lambda f: fx.jacfwd(fx.grad(f)),
    ):
        for scale in (0.3, 1.0, 40.0):  # which ends at other steps, or takes none
            expected = derivative(partial(repeated, loop=python_while))(scale * X, X + 0.1)
            same(derivative(partial(repeated, loop=lax.while_loop))(scale * X, X + 0.1), expected, 1e-10)


def test_the_error_comes_only_where_the_derivative_is_asked_for():
    def end(x):
        return lax.while_loop(lambda v: v < 5.0, lambda v: v * 2.0, x)

    assert fx.grad(end)(1.0) == 8.0
    assert fx.jit(fx.grad(lambda x: x * fx.stop_gradient(end(x))))(1.0) == 8.0
    with pytest.raises(fx.NotDifferentiableError, match=r"(?s)test_loops.*return lax.while_loop.*max_steps"):
        fx.jit(fx.grad(end))(1.0)


# -- what is carried
def test_python_numbers_take_the_dtype_of_the_body():
    row = np.ones(3, np.float32)
    carry, _ = lax.scan(lambda c, x: (c + x, None), 0.0, row)
    assert (carry, carry.dtype) == (3, np.float32)
    assert lax.fori_loop(0, 3, lambda i, v: v * 2 + i, 1) == 12
    assert type(lax.fori_loop(0, 3, lambda i, v: v * 2, 1.0)) is float
    assert lax.fori_loop(0, 2, lambda i, v: v * i, row).dtype == np.float32
    assert lax.scan(lambda c, x: (0.0, c), np.float32(1), row)[1].dtype == np.float32


def test_complex_and_single_precision():
    z = np.array([0.5 + 0.2j, -0.3j])

    def f(z, scan):
        end, ys = scan(lambda c, x: (c * z + x, fnp.real(c)), z, np.stack([z, 1j * z, z]))
        return fnp.sum(fnp.abs(end) ** 2) + fnp.sum(ys)

    same(fx.grad(partial(f, scan=lax.scan))(z), fx.grad(partial(f, scan=python_scan))(z))
    single = fx.grad(lambda x: fnp.sum(recurrent(W.astype(np.float32), x)[2]))(XS.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(
        single, fx.grad(lambda x: fnp.sum(recurrent(W, x)[2]))(XS), rtol=1e-4, atol=1e-5
    )


def test_integers_beside_floats_in_the_carry():
    def f(x):
        def step(state, i):
            power, count, even = state
            return (power * x, count + i, ~even), count

        (power, count, _), counts = lax.scan(step, (1.0, 0, True), np.arange(1, 4))
        return power * count + fnp.sum(counts)

    assert (f(2.0), fx.grad(f)(2.0), fx.grad(fx.grad(f))(2.0)) == (52.0, 72.0, 72.0)


def test_zeros_that_are_structural_stay_so():
    """The root's slope is infinite at 0; no result depends on it, or only on its other entries."""

    def unused(x):
        return lax.scan(lambda c, _: ((fnp.sqrt(c[0]), c[1] * 2.0), None), (x, x), None, length=2)[0][1]

    assert fx.grad(unused)(0.0) == 4.0
    assert fx.jit(fx.grad(unused))(0.0) == 4.0

    def chosen(x):
        return fnp.sum(lax.map(lambda v: fnp.where(v > 0, fnp.sqrt(v), v), x))

    same(fx.grad(chosen)(np.array([0.0, 4.0])), np.array([1.0, 0.25]))


def test_transforms_inside_a_body():
    def descend(x):
        def loss(v):
            return fnp.sum((v**2 - x) ** 2)

        return lax.fori_loop(0, 5, lambda i, v: v - 0.05 * fx.grad(loss)(v), np.ones(3))

    def unrolled(x):
        v = np.ones(3)
        for _ in range(5):
            v = v - 0.05 * fx.grad(lambda v: fnp.sum((v**2 - x) ** 2))(v)
        return v

    same(fx.jacrev(descend)(X), fx.jacrev(unrolled)(X))
    same(fx.jacfwd(descend)(X), fx.jacrev(unrolled)(X))
    mapped = lax.map(fx.vmap(fx.grad(fnp.sin)), XS)
    same(mapped, np.cos(XS))


def test_a_scan_that_is_linear_is_transposed():
    def f(x, ys):
        return lax.scan(lambda c, y: (W @ c + y, 2.0 * c), x, ys)

    ct = (np.ones(3), np.arange(12.0).reshape(4, 3))
    same(fx.linear_transpose(f, X, XS)(ct), fx.vjp(f, X, XS)[1](ct))
    with pytest.raises(fx.NotLinearError):
        fx.linear_transpose(lambda x: lax.scan(lambda c, _: (c * x, None), x, None, length=2)[0], X)(X)


# -- results and operands
def test_results_are_the_callers():
    start, xs = np.zeros(3), np.ones((2, 3))
    end, ys = lax.scan(lambda c, x: (c, x), start, xs)
    end += 1
    ys += 1
    same((start, xs), (np.zeros(3), np.ones((2, 3))))
    a, b = lax.fori_loop(0, 1, lambda i, v: (v[0], v[0]), (start, xs[0]))
    a += 1
    same((b, start), (np.zeros(3), np.zeros(3)))


def test_what_is_written_later_does_not_reach_a_pullback():
    xs = XS.copy()
    _, pullback = fx.vjp(lambda x: lax.scan(lambda c, r: (c * r, None), x, xs)[0], X)
    xs[:] = 0.0
    same(pullback(np.ones(3))[0], np.prod(XS, axis=0))


def test_an_equal_body_is_derived_once(monkeypatch):
    """A call stages its functions anew; a Graph that says the same finds what was made before."""
    from fxgrad.control import loops, recurrence

    made = []
    monkeypatch.setattr(
        loops, "scan_function", loops.cached_on_graph(lambda *a: made.append(a) or recurrence.Recurrence(*a))
    )

    def run(factor):
        return lax.scan(lambda c, x: (c * factor + x, None), 0.0, X)[0]

    values = [run(np.float64(f)) for f in (2.0, 2.0, 3.0)]
    assert values[0] == values[1] != values[2] == ((X[0] * 3.0) + X[1]) * 3.0 + X[2]
    assert len(made) == 2


# -- size
def test_ten_thousand_steps_in_reverse():
    steps = 10_000
    xs = np.full(steps, 1e-4)
    same(
        fx.grad(lambda x: lax.scan(lambda c, r: (c * (1 + r), None), x, xs)[0])(1.0),
        (1 + 1e-4) ** steps,
        1e-9,
    )
    loop = partial(
        lax.while_loop, lambda v: v[1] < steps, lambda v: (v[0] * 1.0001, v[1] + 1), max_steps=2 * steps
    )
    same(fx.grad(lambda x: loop((x, 0))[0])(1.0), 1.0001**steps, 1e-9)


def peak(function):
    """Bytes allocated at most, beyond what there was."""
    function()
    tracemalloc.start()
    function()
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used


def test_constants_of_the_loop_are_not_stacked():
    w, xs = np.eye(200) / 2, np.ones((100, 200))

    def loss(x):
        return fnp.sum(lax.scan(lambda c, r: (fnp.tanh(fnp.exp(w) * 1e-3 @ c) + r, None), x, xs)[0])

    assert peak(lambda: fx.grad(loss)(xs[0])) < 12 * w.nbytes  # a hundred copies would be 800 of them


# -- Graphs
def test_the_graph_shows_the_body():
    graph = fx.make_graph(lambda xs: lax.scan(lambda c, x: (c + fnp.sum(x), c * x), 0.0, xs))(XS)
    text = str(graph.check())
    assert "scan(4, 0.0, xs, body=…, consts=0, carry=1, length=4, reverse=False)" in text
    assert text.count("control/test_loops.py:") == 4  # the call and the operations of the body
    fx.make_graph(fx.grad(lambda xs: fnp.sum(recurrent(W, xs)[2])))(XS).check()
    graph = fx.make_graph(partial(grown, loop=bounded))(X, X).check()
    assert "cond: " in str(graph) and "body: " in str(graph)
    source = fx.jit(lambda xs: recurrent(W, xs)).source(XS)
    assert "scan(4, " in source


# -- associative_scan, map
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("reverse", [False, True])
def test_prefixes(size, reverse):
    a = np.random.default_rng(size).normal(size=(2, size))
    flip = slice(None, None, -1 if reverse else 1)
    same(lax.associative_scan(fnp.add, a, reverse, axis=1), np.cumsum(a[:, flip], axis=1)[:, flip])
    matrices = np.random.default_rng(0).normal(size=(size, 2, 2))
    products = lax.associative_scan(lambda p, q: q @ p if reverse else p @ q, matrices, reverse)
    expected = np.zeros((size, 2, 2))
    for i in range(size):
        expected[i] = np.linalg.multi_dot(
            [np.eye(2), np.eye(2), *(matrices[i:] if reverse else matrices[: i + 1])]
        )
    same(products, expected, 1e-10)


@pytest.mark.parametrize("batch_size", [None, 1, 3, 4, 9])
def test_map_in_batches(batch_size):
    mapped = lax.map(lambda row: {"sum": fnp.sum(row), "max": row * 2}, XS, batch_size=batch_size)
    same(mapped, {"sum": XS.sum(1), "max": XS * 2})
    ways.agree(lambda xs: lax.map(fnp.sin, xs, batch_size=batch_size), XS)


# -- errors
@pytest.mark.parametrize("call, words", [
    (lambda: lax.scan(lambda c, x: ({"w": c["w"][:2]}, x), {"w": X}, XS),
     r"scan: f: the carry, its leaf \['w'\], is float64\[3\] before a step and float64\[2\] after it"),
    (lambda: lax.while_loop(lambda v: True, lambda v: (v[0], v[1] > 0), (X, X)),
     r"body_fun: the carry, its leaf \[1\], is float64\[3\] before a step and bool\[3\] after it"),
    (lambda: lax.scan(lambda c, x: (c, x), 0.0, {"a": X, "b": np.ones(4)}), r"xs \['b'\] has 4 rows.* says 3"),
    (lambda: lax.scan(lambda c, x: (c, x), 0.0, (X, 2.0)), r"xs \[1\] has no axis"),
    (lambda: lax.scan(lambda c, x: (c, x), 0.0, X, unroll=-1), "unroll must be"),
    (lambda: lax.scan(lambda c, x: (c, x), 0.0, length=-1), "length must be"),
    (lambda: lax.while_loop(lambda v: v < 3, lambda v: v, 0, max_steps=1.5), "max_steps must be"),
    (lambda: lax.while_loop(lambda v: (v < 3, v), lambda v: v, 0), "cond_fun must give one boolean"),
    (lambda: lax.fori_loop(0, X, lambda i, v: v, 0), "upper must be a number without axes"),
    (lambda: lax.map(fnp.sin, X, batch_size=0), "batch_size must be"),
    (lambda: lax.associative_scan(lambda a, b: a > b, X), r"is float64\[1\] as operand and bool\[1\] as result"),
    (lambda: lax.associative_scan(fnp.add, X, axis=1), "axis 1 is out of bounds"),
    (lambda: lax.scan(lambda c, x: (c, "text"), 0.0, X), r"the result \[1\] is a str"),
])  # fmt: skip
def test_errors_name_the_leaf_and_the_users_line(call, words):
    with pytest.raises(fx.FxgradError, match=f"(?s){words}.*control/test_loops.py"):
        call()


def test_arrays_of_other_libraries():
    xp = pytest.importorskip("array_api_strict")

    def scanned(w, xs):
        def step(state, x):
            hidden, total = state
            hidden = fnp.tanh(fnp.matmul(w, hidden) + x)
            return (hidden, total + fnp.sum(hidden**2)), hidden

        (hidden, total), ys = lax.scan(step, (w[1, :], 0.0), xs, reverse=True)
        return fnp.sum(hidden) * total + fnp.sum(ys)

    def repeated(x, _):
        return fnp.sum(grown(x, x, bounded)[0])

    def branched(x, _):
        return fnp.sum(lax.cond(fnp.sum(x) > 2.0, fnp.sin, fnp.square, x))

    batched = (fx.vmap(fx.grad(scanned), (None, 0)), (W, np.stack([XS, 2 * XS])))
    programs = [(scanned, (W, XS)), (repeated, (X, X)), (branched, (X, X))]
    calls = [(fx.grad(f), args) for f, args in programs] + [
        (fx.jit(fx.grad(f)), args) for f, args in programs
    ]
    for f, args in [*calls, batched]:
        actual = f(*map(xp.asarray, args))
        assert type(actual) is type(xp.asarray(X))
        same(np.asarray(actual), f(*args))


@pytest.mark.parametrize("differentiated", [
    lambda f: fx.vmap(fx.grad(f)), lambda f: fx.grad(lambda x: fnp.sum(fx.vmap(f)(x))),
    lambda f: fx.jit(fx.vmap(fx.grad(f))), lambda f: fx.vmap(fx.jit(fx.jacrev(f))),
])  # fmt: skip
def test_entries_that_have_ended_are_silent_in_reverse_mode(differentiated):
    """What the body makes of them is discarded, and so are the warnings about it."""
    f = lambda x: lax.while_loop(lambda v: v > 1.0, fnp.log, x, max_steps=5)  # noqa: E731
    slopes = [1.0, 1.0, 0.25 / np.log(4.0), np.exp(-3.0) / (3.0 * np.log(3.0))]
    same(differentiated(f)(np.array([0.0, -1.0, 4.0, np.exp(3.0)])), np.array(slopes))


def test_messages_of_map_speak_of_map():
    with pytest.raises(fx.ShapeError, match="map: xs has no axis to go along"):
        lax.map(fnp.sin, 3.0)
    with pytest.raises(fx.ShapeError, match=r"map: xs \['b'\] has 3 rows"):
        lax.map(lambda row: row["a"], {"a": X[:2], "b": X}, batch_size=2)
    with pytest.raises(fx.StructureError, match="map: the number of steps is unknown"):
        lax.map(lambda x: x, None)
