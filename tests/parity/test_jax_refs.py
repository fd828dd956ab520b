"""References under transforms against JAX: `new_ref`, `freeze`, what is written by whom."""

import numpy
import pytest

from tests.parity.oracle import agree, both_refuse, by_fxgrad, by_jax

X = numpy.array([0.3, -1.2, 2.0])
ROWS = numpy.arange(12.0).reshape(4, 3)


def adder(np):
    def add(ref, x):
        ref[...] += np.sin(x)
        ref[0] = ref[1] * 2.0
        return ref[0]

    return add


def stash(fx, np):
    """A function whose rule writes the cotangent into a reference."""
    f = fx.custom_vjp(lambda ref, x: x)

    def backward(ref, ct):
        ref[...] = ct
        return None, ct

    f.defvjp(lambda ref, x: (x, ref), backward)
    return f


def plain(fx, np):
    ref, add = fx.new_ref(np.zeros(3)), adder(np)
    return [add(ref, X), add(ref, X), fx.freeze(ref)]


def jitted_argument(fx, np):
    ref, add = fx.new_ref(np.zeros(3)), fx.jit(adder(np))
    return [add(ref, X), add(ref, 2 * X), ref[...]]


def jitted_closure(fx, np):
    ref, add = fx.new_ref(np.zeros(3)), adder(np)
    step = fx.jit(lambda x: add(ref, x))
    return [step(X), step(2 * X), ref[...]]


def jitted_tree(fx, np):
    state = {"sum": fx.new_ref(np.zeros(3)), "x": X}
    step = fx.jit(lambda state, n: adder(np)(state["sum"], n * state["x"]), static_argnames="n")
    return [step(state, n=2), step(state, n=3), state["sum"][...]]


def jit_in_jit(fx, np):
    inner, ref = fx.jit(adder(np)), fx.new_ref(np.zeros(3))
    outer = fx.jit(lambda ref, x: inner(ref, x) + inner(ref, ref[...]))
    return [outer(ref, X), ref[...]]


def made_inside(fx, np):
    def f(x):
        ref = fx.new_ref(0.0 * x)
        fx.jit(adder(np))(ref, x)
        adder(np)(ref, ref[...] * x)
        return np.sum(ref[...])

    return [
        f(X),
        fx.jit(f)(X),
        fx.grad(f)(X),
        fx.jit(fx.grad(f))(X),
        fx.vmap(f)(ROWS),
        fx.jvp(f, (X,), (X,))[1],
    ]


def by_traced_index(fx, np):
    ref = fx.new_ref(np.zeros(3))

    @fx.jit
    def put(ref, i):
        ref[i] += 1.0
        return ref[i]

    return [put(ref, 1), put(ref, 2), put(ref, 1), ref[...]]


def in_scan(fx, np):
    @fx.jit
    def run(ref, rows):
        def step(carry, row):
            ref[...] += row
            return carry, ref[0]

        return fx.lax.scan(step, 0.0, rows)[1]

    ref = fx.new_ref(np.zeros(3))
    return [run(ref, ROWS), run(ref, ROWS), ref[...]]


def in_branches_and_loops(fx, np):
    @fx.jit
    def run(ref, n):
        def grow(i):
            ref[0] += i
            return i + 1.0

        fx.lax.cond(n > 2.0, lambda: ref.__setitem__(1, n), lambda: ref.__setitem__(2, n))
        return fx.lax.while_loop(lambda i: i < n, grow, 0.0)

    ref = fx.new_ref(np.zeros(3))
    return [run(ref, 1.0), ref[...], run(ref, 4.0), ref[...]]


def mapped(fx, np):
    ref, add = fx.new_ref(np.zeros((4, 3))), adder(np)
    return [fx.vmap(add)(ref, ROWS), fx.jit(lambda r, x: fx.vmap(add)(r, x))(ref, ROWS), ref[...]]


def mapped_along_another_axis(fx, np):
    ref = fx.new_ref(np.zeros((2, 3)))

    def f(ref, x):
        ref[0] = x
        ref[1] = 5.0
        return np.sum(ref[...])

    return [fx.vmap(fx.jit(f), in_axes=(1, 0))(ref, X), ref[...]]


def read_by_all_entries(fx, np):
    ref = fx.new_ref(X)
    by_argument = fx.vmap(lambda ref, x: ref[...] * x, in_axes=(None, 0))(ref, ROWS)
    return [by_argument, fx.vmap(lambda x: ref[0] * x)(ROWS)]


def beside_a_derivative_of_much(fx, np):
    ref, x = fx.new_ref(np.zeros(200_000)), np.linspace(0.0, 1.0, 200_000)

    def f(x):
        y = np.sin(x)
        ref[...] += fx.stop_gradient(y)
        return np.sum(y * y)

    return [fx.grad(f)(x), ref[...]]


def beside_a_derivative(fx, np):
    def f(x, ref):
        y = np.sin(x)
        ref[...] += fx.stop_gradient(y)
        return np.sum(y * y)

    ref = fx.new_ref(np.zeros(3))
    return [fx.grad(f)(X, ref), fx.jit(fx.grad(f))(X, ref), fx.grad(fx.jit(f))(X, ref), ref[...]]


def stashed_cotangent(fx, np):
    keep, ref = stash(fx, np), fx.new_ref(np.zeros(3))

    def f(x, ref):
        y = keep(ref, np.sin(x))
        return np.sum(y * y)

    results = []
    for step in (fx.grad(f), fx.jit(fx.grad(f)), fx.grad(fx.jit(f))):
        ref[...] = np.zeros(3)
        results += [step(X, ref), ref[...]]
    return results


def stashed_cotangents_of_a_batch(fx, np):
    keep, ref = stash(fx, np), fx.new_ref(np.zeros((4, 3)))
    f = fx.grad(lambda x, ref: np.sum(keep(ref, np.sin(x)) ** 2))
    return [fx.vmap(f)(ROWS, ref), ref[...]]


def gradients_added_up(fx, np):
    def loss(w, x):
        return np.sum((w * x) ** 2)

    @fx.jit
    def run(w, rows):
        ref = fx.new_ref(np.zeros(3))

        def step(total, row):
            value, pull = fx.vjp(lambda w: loss(w, row), w)
            pull.with_refs(ref)(1.0)
            return total + value, None

        return fx.lax.scan(step, 0.0, rows)[0], fx.freeze(ref)

    return run(X, ROWS)


PROGRAMS = [
    plain,
    jitted_argument,
    jitted_closure,
    jitted_tree,
    jit_in_jit,
    made_inside,
    by_traced_index,
    in_scan,
    in_branches_and_loops,
    mapped,
    mapped_along_another_axis,
    read_by_all_entries,
    beside_a_derivative,
    beside_a_derivative_of_much,
    stashed_cotangent,
    stashed_cotangents_of_a_batch,
    gradients_added_up,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    agree(program)


def write_from(transform, index=...):
    def program(fx, np):
        ref = fx.new_ref(np.zeros(3))

        def f(x):
            ref[index] = x
            return np.sum(x * x)

        return transform(fx)(f)(X)

    return program


REFUSED = {
    "differentiated": write_from(lambda fx: fx.grad),
    "differentiated, inside jit": write_from(lambda fx: lambda f: fx.grad(fx.jit(f))),
    "jvp": write_from(lambda fx: lambda f: lambda x: fx.jvp(f, (x,), (x,))),
    "mapped": write_from(lambda fx: fx.vmap, 0),
    "mapped inside jit": write_from(lambda fx: lambda f: fx.jit(fx.vmap(f)), 0),
    "argument that is not mapped": lambda fx, np: fx.vmap(adder(np), in_axes=(None, 0))(
        fx.new_ref(np.zeros(3)), ROWS
    ),
    "of a tree": lambda fx, np: fx.new_ref({"a": X}),
    "operand of a function": lambda fx, np: np.sin(fx.new_ref(X)),
    "another shape": lambda fx, np: fx.new_ref(np.zeros(3)).__setitem__(..., np.zeros(4)),
}


def twice(fx, np, transform):
    ref = fx.new_ref(np.zeros(3))
    return transform(lambda a, b: a.__setitem__(..., b[...]))(ref, ref)


def also_closed_over(fx, np):
    ref = fx.new_ref(np.zeros(3))

    @fx.jit
    def f(given):
        given[...] += 1.0
        ref[...] += 2.0

    return f(ref)


REFUSED |= {
    "twice to jit": lambda fx, np: twice(fx, np, fx.jit),
    "twice to vmap": lambda fx, np: twice(fx, np, fx.vmap),
    "given and closed over": also_closed_over,
}


def leaked(fx, np):
    kept = []
    fx.jit(lambda x: kept.append(fx.new_ref(x)))(X)
    return kept[0][...] + 1.0


# Of other built-in classes than JAX's: what is no array is a TypeError, as everywhere.
NO_VALUES = {
    "derivative by a reference": lambda fx, np: fx.grad(lambda ref: np.sum(ref[...]))(
        fx.new_ref(np.zeros(3))
    ),
    "returned": lambda fx, np: fx.jit(fx.new_ref)(X),
    "returned argument": lambda fx, np: fx.jit(lambda ref: ref)(fx.new_ref(X)),
    "returned by scan": lambda fx, np: fx.lax.scan(lambda c, x: (c, fx.new_ref(x)), 0.0, X),
    "carried": lambda fx, np: fx.lax.scan(lambda c, x: (c, x), fx.new_ref(X), X),
    "leaked": leaked,
}


@pytest.mark.parametrize("name", NO_VALUES)
def test_a_reference_is_no_value(name):
    for run in (by_fxgrad, by_jax):
        with pytest.raises(Exception, match=r"(?i)ref|escape|used outside"):
            run(NO_VALUES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    both_refuse(REFUSED[name])
