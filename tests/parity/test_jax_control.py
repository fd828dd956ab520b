"""Control flow against JAX: each program by itself and under every transform."""

import numpy
import pytest

from tests.parity.oracle import agree, both_refuse, by_fxgrad, by_jax, same

RNG = numpy.random.default_rng(0)
X = RNG.uniform(0.5, 1.5, 3)
W = RNG.normal(size=(3, 3)) / 2
XS = RNG.normal(size=(4, 3))
M = W + 4 * numpy.eye(3)


# Programs of two arrays with an array as result.
def recurrent(fx, np, lax):
    """Carry, rows and results; w is the same in every step."""

    def f(w, xs):
        def step(state, x):
            hidden, total = state
            hidden = np.tanh(w @ hidden + x)
            return (hidden, total + np.sum(hidden)), {"square": hidden**2, "x": x}

        (hidden, total), ys = lax.scan(step, (np.ones(3), 0.0), xs)
        return hidden * total + np.sum(ys["square"] * ys["x"], axis=0)

    return f, (W, XS)


def reversed_scan(fx, np, lax):
    def f(x, xs):
        end, ys = lax.scan(lambda c, row: (c * np.cos(row), c + row), x, xs, reverse=True)
        return np.sum(ys * np.arange(4.0)[:, None], axis=0) + end

    return f, (X, XS)


def power_series(fx, np, lax):
    """The index takes part in the arithmetic; no rows."""

    def f(x, y):
        return lax.fori_loop(1, 6, lambda i, v: (v[0] * x / i, v[1] + v[0] * y), (np.ones(3), np.zeros(3)))[1]

    return f, (X, X + 1)


def nested_scans(fx, np, lax):
    def f(x, xs):
        def inner(c, row):
            return lax.scan(lambda d, e: (d * e + row[0], np.sin(d)), c, row)

        def outer(c, row):
            end, ys = inner(np.sum(c) * 0.1, row)
            return c * end, ys

        end, ys = lax.scan(outer, x, xs)
        return end + np.sum(ys, axis=0)

    return f, (X, XS)


def branches(fx, np, lax):
    """The second branch has no derivative in y, the third none at all."""

    def f(x, y):
        options = [lambda a, b: np.sin(a) * b, lambda a, b: a**2, lambda a, b: np.zeros(3)]
        index = (np.sum(y) * 2).astype(int) % 4
        return lax.switch(index, options, x, y) + x * y

    return f, (X, X[::-1].copy())


def choice(fx, np, lax):
    """Infinite slopes in what is not chosen; captured values."""

    def f(x, y):
        def root(v):
            return {"a": np.sqrt(v - 0.9), "b": y[1] * v}

        def line(v):
            return {"a": v * y[0], "b": v * v}

        out = lax.cond(v0(x) > 0.9, root, line, v0(x))
        return out["a"] * x + out["b"] * y

    def v0(x):
        return x[0]

    return f, (X, X + 1)


def choice_in_scan(fx, np, lax):
    def f(x, xs):
        def step(c, row):
            return lax.cond(row[0] > 0, lambda c: c * np.exp(row), lambda c: np.sin(c) + row[1], c), np.sum(c)

        end, ys = lax.scan(step, x, xs)
        return end * np.sum(ys)

    return f, (X, XS)


def scan_in_choice(fx, np, lax):
    def f(x, xs):
        def summed(v):
            return lax.scan(lambda c, row: (c * row + v, None), v, xs)[0]

        return lax.cond(np.sum(x) > 3.0, summed, lambda v: v**2 + xs[0], x)

    return f, (X, XS)


def prefix_products(fx, np, lax):
    def f(x, xs):
        a, b = lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (xs, xs + x), axis=0)
        return np.sum(a + b, axis=0)

    return f, (X, XS)


def mapped(fx, np, lax):
    def f(x, xs):
        return (
            np.sum(lax.map(lambda row: np.tanh(row * x), xs), axis=0) + lax.map(np.sum, xs, batch_size=3)[0]
        )

    return f, (X, XS)


def linear_system(fx, np, lax):
    """Solved by iteration."""

    def f(m, b):
        def iterate(a):
            return lambda _, b: lax.fori_loop(0, 300, lambda i, x: x + 0.2 * (b - a @ x), np.zeros_like(b))

        return lax.custom_linear_solve(lambda x: m @ x, b, iterate(m), iterate(m.T)) * b

    return f, (M, X)


def implicit_root(fx, np, lax):
    def f(x, y):
        def newton(g, start):
            return lax.fori_loop(0, 20, lambda i, v: v - g(v) / fx.grad(lambda u: np.sum(g(u)))(v), start)

        def tangent_solve(g, b):
            return b / g(np.ones_like(b))

        return lax.custom_root(lambda v: v**3 + x * v - y, np.ones(3), newton, tangent_solve) * x

    return f, (X, X + 1)


PROGRAMS = [
    recurrent,
    reversed_scan,
    power_series,
    nested_scans,
    branches,
    choice,
    choice_in_scan,
    scan_in_choice,
    prefix_products,
    mapped,
    linear_system,
    implicit_root,
]
BOTH = (0, 1)
TRANSFORMS = {
    "value": lambda fx, f: f,
    "jacfwd": lambda fx, f: fx.jacfwd(f, BOTH),
    "jacrev": lambda fx, f: fx.jacrev(f, BOTH),
    "hessian": lambda fx, f: fx.hessian(lambda *args: f(*args).sum(), BOTH),
    "reverse over reverse": lambda fx, f: fx.jacrev(fx.grad(lambda *args: f(*args).sum(), BOTH), BOTH),
}


def of_jax(fx):
    """The namespace of control flow that goes with the transforms."""
    if hasattr(fx, "lax"):
        return fx.lax
    import jax

    return jax.lax


def agree_jitted(transformed, args):
    """Both libraries agree on `transformed(fx, np)(*args)`, and ours by itself and jitted. JAX is always jitted, which
    is quicker than its single operations are compiled."""
    theirs = by_jax(lambda fx, np: fx.jit(transformed(fx, np))(*args))
    with numpy.errstate(invalid="ignore"):  # jitted code computes the branches of a batch in the open
        same(by_fxgrad(lambda fx, np: transformed(fx, np)(*args)), theirs)
        same(by_fxgrad(lambda fx, np: fx.jit(transformed(fx, np))(*args)), theirs)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_program_under_a_transform(program, transform):
    def transformed(fx, np):
        return TRANSFORMS[transform](fx, program(fx, np, of_jax(fx))[0])

    agree_jitted(transformed, program(None, numpy, None)[1])


VMAPPED = {
    "value": lambda fx, f, axes: fx.vmap(f, axes),
    "vmap of grad": lambda fx, f, axes: fx.vmap(fx.grad(lambda *args: f(*args).sum(), BOTH), axes),
    "grad of vmap": lambda fx, f, axes: fx.grad(lambda *args: fx.vmap(f, axes)(*args).sum(), BOTH),
    "vmap of jvp": lambda fx, f, axes: fx.vmap(lambda *args: fx.jvp(f, args, args), axes),
}
AXES = [("value", (0, None)), ("grad of vmap", (None, 0)), *((t, (0, 0)) for t in VMAPPED if t != "value")]


@pytest.mark.parametrize("transform, axes", AXES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_program_on_batches(program, transform, axes):
    def transformed(fx, np):
        return VMAPPED[transform](fx, program(fx, np, of_jax(fx))[0], axes)

    args = program(None, numpy, None)[1]
    agree_jitted(
        transformed,
        [a if n is None else numpy.stack([a, 0.7 * a, 1.1 * a]) for a, n in zip(args, axes)],
    )


# -- loops of any number of steps: forward mode only, in both libraries
def squared_until_large(fx, np, lax):
    def f(x, y):
        return lax.while_loop(
            lambda v: v[0] < 50.0, lambda v: (v[0] * (v[0] + y[0]), v[1] + 1), (x[0] + 1, 0)
        )

    return f, (X, X)


def dynamic_bounds(fx, np, lax):
    def f(x, y):
        return fx.jit(lambda n: lax.fori_loop(0, n, lambda i, v: v * x[0] + i * y, y))(4)

    return f, (X, X)


FORWARD = {
    **{name: TRANSFORMS[name] for name in ("value", "jacfwd")},
    "jvp": lambda fx, f: lambda *args: fx.jvp(f, args, args),
    "linearize": lambda fx, f: lambda *args: fx.linearize(f, *args)[1](*args),
    "hessian": lambda fx, f: fx.jacfwd(fx.jacfwd(lambda *args: f(*args)[0], BOTH), BOTH),
    "vmap": lambda fx, f: lambda x, y: fx.vmap(f)(numpy.stack([x, 2 * x]), numpy.stack([y, 0.5 * y])),
    "vmap, shared": lambda fx, f: lambda x, y: fx.vmap(f, (None, 0))(x, numpy.stack([y, 0.5 * y])),
    "vmap of jvp": lambda fx, f: (
        lambda x, y: fx.vmap(lambda v: fx.jvp(f, (v, y), (v, y)))(numpy.stack([x, 2 * x]))
    ),
}


@pytest.mark.parametrize("transform", FORWARD)
@pytest.mark.parametrize("program", [squared_until_large, dynamic_bounds], ids=lambda p: p.__name__)
def test_loops_of_any_length(program, transform):
    def run(fx, np):
        f, args = program(fx, np, of_jax(fx))
        if transform in ("jacfwd", "jvp", "linearize", "vmap of jvp") and program is squared_until_large:
            return FORWARD[transform](fx, lambda *a: f(*a)[0])(*args)
        return FORWARD[transform](fx, f)(*args)

    agree(run)


# -- dtypes and structures
@pytest.mark.parametrize(
    "init", [0, 1.5, numpy.float32(2), numpy.arange(3), numpy.ones(3, numpy.float32)], ids=str
)
@pytest.mark.parametrize("row", [numpy.arange(4), numpy.ones(4, numpy.float32), numpy.ones(4) > 0], ids=str)
def test_dtypes_of_carries_and_rows(init, row):
    agree(lambda fx, np: of_jax(fx).scan(lambda c, x: (c + c, x), init, row))
    agree(lambda fx, np: of_jax(fx).fori_loop(0, 3, lambda i, v: v * 2, init))
    agree(lambda fx, np: of_jax(fx).cond(True, lambda v, r: (v, r), lambda v, r: (v * 2, r), init, row))


STRUCTURES = {
    "no rows": lambda fx, np: of_jax(fx).scan(lambda c, _: (c * 2.0, c), 1.0, None, length=3),
    "no steps": lambda fx, np: of_jax(fx).scan(lambda c, x: (c + x, {"c": c}), 1.0, numpy.ones(0)),
    "no steps, gradient": lambda fx, np: fx.grad(
        lambda c: of_jax(fx).scan(lambda c, x: (c * x, c), c, numpy.ones(0))[0]
    )(2.0),
    "no carry": lambda fx, np: of_jax(fx).scan(lambda c, x: (c, x * 2), None, X),
    "no results": lambda fx, np: of_jax(fx).scan(lambda c, x: (c + x, None), numpy.zeros(()), X),
    "trees": lambda fx, np: of_jax(fx).scan(
        lambda c, x: ({"a": c["a"] + x[0]}, [x[1], (c["a"],)]), {"a": numpy.float64(1)}, (X, X[::-1])
    ),
    "length too": lambda fx, np: of_jax(fx).scan(lambda c, x: (c, x), 0.0, X, length=3),
    "unrolled": lambda fx, np: of_jax(fx).scan(lambda c, x: (c + x, c), 0.0, X, unroll=2),
    "index out of range": lambda fx, np: [
        of_jax(fx).switch(i, [lambda v: v, lambda v: -v], 2.0) for i in (-3, 0, 1, 9)
    ],
    "number as predicate": lambda fx, np: of_jax(fx).cond(2, lambda: 1.0, lambda: 0.0),
    "empty range": lambda fx, np: of_jax(fx).fori_loop(3, 1, lambda i, v: v * 2, 1.0),
    "weak index": lambda fx, np: of_jax(fx).fori_loop(0, 3, lambda i, v: v * i, numpy.ones(2, numpy.float32)),
    "batch of bounds": lambda fx, np: fx.vmap(lambda n: of_jax(fx).fori_loop(0, n, lambda i, v: v + i, 0))(
        numpy.arange(4)
    ),
    "integers": lambda fx, np: fx.grad(
        lambda x: of_jax(fx).scan(lambda c, i: ((c[0] * i, c[1] + i), c[1]), (x, 0), numpy.arange(1, 4))[0][0]
    )(2.0),
}


@pytest.mark.parametrize("case", STRUCTURES)
def test_structures(case):
    agree(STRUCTURES[case])


REFUSED = {
    "carry of another shape": lambda fx, np: of_jax(fx).scan(lambda c, x: (np.stack([c, c]), x), 0.0, X),
    "carry of another structure": lambda fx, np: of_jax(fx).scan(lambda c, x: ((c, c), x), 0.0, X),
    "carry of another dtype": lambda fx, np: of_jax(fx).scan(lambda c, x: (c > 0, x), X[0], X),
    "no pair": lambda fx, np: of_jax(fx).scan(lambda c, x: c, 0.0, X),
    "lengths": lambda fx, np: of_jax(fx).scan(lambda c, x: (c, x), 0.0, (X, XS)),
    "another length": lambda fx, np: of_jax(fx).scan(lambda c, x: (c, x), 0.0, X, length=5),
    "no length": lambda fx, np: of_jax(fx).scan(lambda c, x: (c, x), 0.0),
    "branches' structures": lambda fx, np: of_jax(fx).cond(True, lambda x: x, lambda x: (x, x), X),
    "branches' shapes": lambda fx, np: of_jax(fx).cond(True, lambda x: x, lambda x: x[:2], X),
    "branches' dtypes": lambda fx, np: of_jax(fx).cond(True, lambda x: x, lambda x: x > 0, X),
    "no branch": lambda fx, np: of_jax(fx).switch(0, [], X),
    "predicate with axes": lambda fx, np: of_jax(fx).cond(X > 0, lambda x: x, lambda x: x, X),
    "condition with axes": lambda fx, np: of_jax(fx).while_loop(lambda v: v > 0, lambda v: v - 1, X),
    "condition is a number": lambda fx, np: of_jax(fx).while_loop(lambda v: v, lambda v: v - 1, 3),
    "body changes the dtype": lambda fx, np: of_jax(fx).while_loop(
        lambda v: v[0] > 1, lambda v: v.astype(complex), X
    ),
    "reverse mode": lambda fx, np: fx.jit(
        fx.grad(lambda x: of_jax(fx).while_loop(lambda v: v < 5.0, lambda v: v * 2.0, x))
    )(1.0),
    "a float as index": lambda fx, np: of_jax(fx).switch(0.5, [lambda: 1.0, lambda: 2.0]),
    "bool()": lambda fx, np: of_jax(fx).scan(lambda c, x: (c if x > 0 else -c, x), 0.0, X),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    both_refuse(REFUSED[case])


CARRIES = {
    "0": 0, "0.5": 0.5, "True": True, "1j": 1j, "i1": numpy.int8(1), "i8": numpy.int64(1), "u1": numpy.uint8(1),
    "f4": numpy.float32(1), "f8": numpy.float64(1), "bool": numpy.bool_(True), "f4[2]": numpy.ones(2, "f4"),
}  # fmt: skip
STEPS = {
    "c + 1": lambda np, c: c + 1, "c + 0.5": lambda np, c: c + 0.5, "c * 1j": lambda np, c: c * 1j,
    "c + i1": lambda np, c: c + numpy.int8(1), "c + f4": lambda np, c: c + numpy.float32(1),
    "c + f8": lambda np, c: c + numpy.float64(1), "0": lambda np, c: 0, "0.0": lambda np, c: 0.0,
    "True": lambda np, c: True, "c != 0": lambda np, c: c != 0, "f4": lambda np, c: numpy.float32(2),
    "c / 2": lambda np, c: c / 2, "[2]": lambda np, c: c + numpy.ones(2),
}  # fmt: skip
LOOPS = {
    "fori_loop": lambda lax, f, c: lax.fori_loop(0, 3, lambda i, c: f(c), c),
    "while_loop": lambda lax, f, c: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, f(s[1])), (0, c))[
        1
    ],
    "scan": lambda lax, f, c: lax.scan(lambda c, x: (f(c), None), c, None, 3)[0],
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("carry", CARRIES)
def test_carries_have_jaxs_dtypes(loop, carry):
    """A Python number takes the dtype of what it becomes; a truth value is no number. Where JAX refuses a step, we do,
    or its number becomes one of the carry's own dtype, in which nothing is lost."""
    init = CARRIES[carry]
    for name, step in STEPS.items():
        results = []
        for of in (by_jax, by_fxgrad):
            try:
                value = of(lambda fx, np, step=step: LOOPS[loop](of_jax(fx), lambda c: step(np, c), init))
                results.append((numpy.shape(value), numpy.asarray(value).dtype))
            except TypeError:
                results.append(None)
        jaxs, ours = results
        own = numpy.shape(init), numpy.asarray(init).dtype
        assert ours == jaxs or (jaxs is None and ours == own and name in ("0", "0.0")), (name, results)
