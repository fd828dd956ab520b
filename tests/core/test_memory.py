"""Programs of many thousand operations, and the memory that transforms take and give back."""

import gc
import tracemalloc
import weakref
from contextlib import suppress

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import scipy
from fxgrad.core import same_graphs

pytestmark = pytest.mark.usefixtures("no_heap_of_others")

X = np.array([1.0, 2.0, 3.0, 4.0])
ONES = np.ones(4)


def mixed(x):
    """Elementwise, indexed, reduced, contracted, chosen."""
    return fnp.sum(fnp.sin(x) * x[..., ::-1] @ np.ones((x.shape[-1], 2))) + fnp.sum(fnp.where(x > 1, x**2, x))


# -- long programs ------------------------------------------
LENGTH = 100_000


def repeated(step, length=LENGTH):
    def chain(x):
        for _ in range(length):
            x = step(x)
        return fnp.sum(x)

    return chain


STEPS = {
    "sines": fnp.sin,
    "roots": fnp.sqrt,
    "slices": lambda x: x[:],
    "masks": lambda x: fnp.where(x > -1, x, 0.0),
}
LONG = {
    "grad": lambda f: fx.grad(f)(ONES),
    "vjp": lambda f: fx.vjp(f, ONES)[1](1.0)[0],
    "jvp": lambda f: np.atleast_1d(fx.jvp(f, (ONES,), (np.eye(4)[0],))[1]),
    "linearize": lambda f: np.atleast_1d(fx.linearize(f, ONES)[1](np.eye(4)[0])),
    "vmap": lambda f: fx.vmap(f)(ONES[None]),
}


@pytest.mark.parametrize("transform, step", [
    *((t, "sines") for t in LONG), ("grad", "roots"), ("grad", "slices"), ("grad", "masks"), ("jvp", "masks"),
])  # fmt: skip
def test_a_hundred_thousand_operations(transform, step):
    result = LONG[transform](repeated(STEPS[step]))
    slope = {"slices": 1.0, "masks": 1.0, "roots": 0.0}
    if step == "sines":
        value = np.float64(1.0)
        derivative = 1.0
        for _ in range(LENGTH):
            derivative *= np.cos(value)
            value = np.sin(value)
        np.testing.assert_allclose(result, 4 * value if transform == "vmap" else derivative, rtol=1e-9)
    else:
        np.testing.assert_array_equal(result, np.full_like(result, slope[step]))


def test_long_programs_that_are_staged():
    chain = repeated(fnp.sin, 20_000)
    expected = fx.grad(chain)(ONES)
    assert len(fx.make_graph(chain)(ONES).equations) == 20_001
    for f in (fx.jit(chain), fx.checkpoint(chain)):
        np.testing.assert_array_equal(fx.grad(f)(ONES), expected)


def test_deep_trees():
    tree = 2.0
    for _ in range(400):
        tree = {"a": [tree]}
    gradient = fx.grad(lambda tree: fx.tree.leaves(tree)[0] ** 2)(tree)
    assert fx.tree.leaves(gradient) == [4.0]


# -- memory ------------------------------------------
def failing(x):
    raise LookupError(fnp.sin(x))


def rule(x):
    @fx.custom_vjp
    def f(x):
        return fnp.sin(x)

    f.defvjp(lambda x: (fnp.sin(x), x), lambda x, ct: (ct * fnp.cos(x),))
    return fnp.sum(f(x))


def looped(step, x):
    """A loop in whose body the step closes over x."""
    return fnp.sum(fx.lax.scan(lambda c, _: (step(c) * x, None), x, None, length=2)[0])


def printed(c):
    fx.debug.callback(lambda c: None, c)
    return fx.pure_callback(lambda c: c, fx.ShapeDtypeStruct(X.shape, float), fx.stop_gradient(c)) + c


WORK = {
    "grad": lambda x: fx.grad(mixed)(x),
    "grad with aux": lambda x: fx.grad(lambda x: (mixed(x), x), has_aux=True)(x),
    "vjp": lambda x: fx.vjp(mixed, x)[1](1.0),
    "a pullback that is never called": lambda x: fx.vjp(mixed, x),
    "jvp": lambda x: fx.jvp(mixed, (x,), (x,)),
    "linearize": lambda x: fx.linearize(mixed, x)[1](x),
    "vmap": lambda x: fx.vmap(mixed)(x[None]),
    "vmap of grad": lambda x: fx.vmap(fx.grad(mixed), chunk_size=1)(np.stack([x, x])),
    "hessian": lambda x: fx.hessian(mixed)(x),
    "jacobian": lambda x: fx.jacobian(fnp.sin)(x),
    "jit": lambda x: fx.jit(lambda x: mixed(x))(x),
    "jit of grad": lambda x: fx.jit(fx.grad(mixed))(x),
    "grad of jit": lambda x: fx.grad(fx.jit(lambda x: mixed(x)))(x),
    "jit closing over a tracer": lambda x: fx.grad(lambda s: fx.jit(lambda x: mixed(x) * s)(x))(1.0),
    "make_graph": lambda x: repr(fx.make_graph(fx.grad(mixed))(x)),
    "eval_shape": lambda x: fx.eval_shape(mixed, x),
    "checkpoint": lambda x: fx.grad(fx.checkpoint(mixed))(x),
    "linear_transpose": lambda x: fx.linear_transpose(lambda x: x[::2], x)(x[::2]),
    "closure_convert": lambda x: fx.closure_convert(lambda y: y * x, x),
    "custom_vjp": lambda x: (fx.grad(rule)(x), fx.jvp(rule, (x,), (x,)), fx.vmap(fx.grad(rule))(x[None])),
    "loops": lambda x: fx.grad(lambda x: looped(fnp.sin, x) + looped(lambda c: looped(fnp.sin, c), x))(x),
    "a branch": lambda x: fx.vmap(fx.grad(lambda c: fx.lax.cond(c > 2, fnp.sin, lambda c: c * x[0], c)))(x),
    "a rule in a loop": lambda x: fx.grad(lambda c: looped(rule, c) + looped(rule, x))(x),
    "callbacks in a loop": lambda x: fx.grad(lambda c: looped(printed, c) + looped(printed, x))(x),
    "blocks": lambda x: fx.grad(lambda x: fnp.sum(fnp.block([[x, x], [fnp.array([x[0], 1.0]), x[:2], x]])))(x),
    "prefixes": lambda x: fx.grad(lambda x: fnp.sum(fx.lax.associative_scan(fnp.multiply, x)))(x),
    "leaves in pairs": lambda x: fx.tree.reduce_associative(lambda a, b: a + b, [x, x, x]),
    "derivatives that are checked": lambda x: fx.testing.check_grads(fnp.sin, (x,), order=2),
    "a double integral": lambda x: scipy.integrate.nquad(lambda a, b: a * b * x[0], [(0.0, 1.0), (0.0, x[1])]),
    "an error": lambda x: fx.grad(fx.checkpoint(failing))(x),
    "an error in a stack": lambda x: fx.vmap(fx.grad(fx.jit(failing)))(x[None]),
    "an error of a kernel": lambda x: fx.grad(lambda x: fnp.sum(x + np.ones(7)))(x),
    "an error when compiled code runs": lambda x: fx.jit(fnp.take)(x, 7),
    "an error about the result": lambda x: fx.grad(fnp.sin)(x),
    "an error about a cotangent": lambda x: fx.vjp(fnp.sin, x)[1](1.0),
    "a loss of tracers": lambda x: fx.grad(lambda y: fx.grad(lambda z: y)(1.0) * bool(fx.jit(lambda a: a > 0)(y)))(1.0),
}  # fmt: skip


@pytest.mark.parametrize("call", WORK.values(), ids=WORK)
def test_memory_is_released_by_reference_counting(call):
    """Nothing is left for the garbage collector, neither of the work nor of its arrays."""
    same_graphs._interned.clear()  # what others left there would be pushed out by this work, machine code included
    for _ in range(2):  # what is kept on purpose: derived rules, and from the second call on machine code, of
        with suppress(
            Exception
        ):  # which each piece leaves a pointer of ctypes that llvmlite has made a cycle
            call(X.copy())
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)  # what is found is shown when the test fails
    try:
        x = X.copy()
        with suppress(Exception):
            call(x)
        alive = weakref.ref(x)
        del x
        assert alive() is None
        gc.collect()
        assert gc.garbage == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_what_was_derived_of_a_program_is_forgotten_with_it():
    """It may refer back to the program, and is released by reference counting all the same."""
    same_graphs._interned.clear()
    graph = same_graphs.intern_graph(fx.make_graph(fnp.sin)(1.0))
    graph.cache["derived"] = [graph]
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        del graph
        for k in range(same_graphs._interned.limit):
            same_graphs.intern_graph(fx.make_graph(lambda x, k=k: x * float(k))(1.0))
        gc.collect()
        assert gc.garbage == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def peak(call):
    """The most memory in use during a call, and what is left after it, in arrays of a megabyte."""
    call()
    tracemalloc.start()
    try:
        call()
        left, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return most / 2**20, left / 2**20


BIG = np.ones(2**17)


def test_reverse_mode_keeps_one_residual_for_an_operation_and_frees_it_on_the_way_back():
    most, left = peak(lambda: fx.grad(repeated(fnp.sin, 20))(BIG))
    assert most < 20 + 4
    assert left < 0.1

    def growing(
        x,
    ):  # what is kept of the second half is freed before the cotangents of the first half are there
        return repeated(fnp.sin, 10)(fnp.concatenate([x, repeated(fnp.sin, 10)(x) + x]))

    assert peak(lambda: fx.grad(growing)(BIG))[0] < 10 + 20 + 8


def test_checkpoint_keeps_less():
    part = fx.checkpoint(lambda x: fnp.sin(fnp.sin(fnp.sin(fnp.sin(fnp.sin(x))))))
    assert peak(lambda: fx.grad(lambda x: fnp.sum(part(part(part(part(x))))))(BIG))[0] < 4 + 5 + 4


def test_a_captured_array_that_is_used_often_is_kept_once():
    def f(x):
        for _ in range(10):
            x = x * weight
        return fnp.sum(x)

    weight = BIG.copy()
    assert peak(lambda: fx.grad(f)(BIG))[0] < 8
