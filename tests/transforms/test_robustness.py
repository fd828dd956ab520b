"""Odd arrays, arrays that change under us, interruptions, and crowds."""

import asyncio
import gc
import itertools
import operator
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import reduce

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.interpreter import CURRENT, EVAL

X = np.array([1.0, 2.0, 3.0, 4.0])
ONES = np.ones(4)
BLOCK = np.zeros((3, 4))
READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False


def mixed(x):
    """Elementwise, indexed, reduced, contracted, chosen."""
    return fnp.sum(fnp.sin(x) * x[..., ::-1] @ np.ones((x.shape[-1], 2))) + fnp.sum(fnp.where(x > 1, x**2, x))


SHARED_JIT = fx.jit(lambda x: fnp.sum(fnp.sin(x) * x))
SHARED_CHECKPOINT = fx.checkpoint(lambda x: fnp.sum(fnp.cos(x) * x))
SHARED_PULL = fx.vjp(lambda x: fnp.where(x > 2, x * x, fnp.exp(x)), X)[1]


def nested(x):
    """Of functions that are shared by threads and tasks."""
    return SHARED_JIT(x) * SHARED_CHECKPOINT(x) + mixed(x)


# -- odd arrays ------------------------------------------
LAYOUTS = {
    "read-only": READ_ONLY,
    "every other entry": np.arange(8.0)[::2],
    "backwards": X[::-1],
    "transposed": np.arange(12.0).reshape(3, 4).T,
    "broadcast": np.broadcast_to(X, (3, 4)),
    "a diagonal": np.diagonal(np.arange(16.0).reshape(4, 4)),
    "Fortran order": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "unaligned": np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(float),
    "memory-mapped subclass": X.view(np.memmap),
}
TRANSFORMS = {
    "grad": lambda f, x: fx.grad(f)(x),
    "value_and_grad": lambda f, x: fx.value_and_grad(f)(x),
    "vjp": lambda f, x: fx.vjp(f, x)[1](1.0),
    "jvp": lambda f, x: fx.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: fx.linearize(f, x)[1](x),
    "vmap": lambda f, x: fx.vmap(lambda e: f(fnp.stack([e, e])))(x),
    "jit": lambda f, x: fx.jit(f)(x),
    "jit of grad": lambda f, x: fx.jit(fx.grad(f))(x),
    "checkpoint": lambda f, x: fx.grad(fx.checkpoint(f))(x),
    "hessian": lambda f, x: fx.hessian(f)(x),
    "jacrev": lambda f, x: fx.jacrev(lambda y: fnp.sin(y) * f(y))(x),
}


def equal(actual, expected):
    for a, b in zip(*map(fx.tree.leaves, (actual, expected)), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_the_layout_of_an_array_does_not_matter(transform, x):
    before = x.copy()
    equal(transform(mixed, x), transform(mixed, np.array(x)))
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_arrays_without_entries(transform, shape):
    results = fx.tree.leaves(transform(lambda x: fnp.sum(fnp.sin(x) * x), np.zeros(shape)))
    assert all(np.all(np.asarray(r) == 0) for r in results)


def test_arrays_without_entries_have_derivatives_of_their_shape():
    empty = np.zeros((0, 3))
    assert fx.grad(fnp.sum)(empty).shape == (0, 3)
    assert fx.jacrev(fnp.sin)(empty).shape == fx.jacfwd(fnp.sin)(empty).shape == (0, 3, 0, 3)
    assert fx.vmap(fx.grad(fnp.sum))(empty).shape == (0, 3)
    assert fx.vmap(lambda x: x @ np.ones((3, 2)))(empty).shape == (0, 2)
    assert fx.grad(lambda x: fnp.sum(x @ np.ones((3, 2))))(empty).shape == (0, 3)


@pytest.mark.parametrize(
    "x", [np.array(2.0), np.float64(2), 2.0, np.float32(2)], ids=lambda x: type(x).__name__
)
def test_values_without_axes(x):
    def f(x):
        return fnp.sin(x) * x

    slope = np.cos(2.0) * 2 + np.sin(2.0)
    np.testing.assert_allclose(fx.grad(f)(x), slope, rtol=1e-6)
    np.testing.assert_allclose(fx.vjp(f, x)[1](np.asarray(f(x)).dtype.type(1))[0], slope, rtol=1e-6)
    np.testing.assert_allclose(fx.jvp(f, (x,), (x,))[1], 2 * slope, rtol=1e-6)
    np.testing.assert_allclose(fx.jit(fx.grad(f))(x), slope, rtol=1e-6)


# -- arrays that change ------------------------------------------
CAPTURED = {
    "product": lambda x, w: x * w,
    "quotient": lambda x, w: w / x,
    "power": lambda x, w: x**w,
    "view": lambda x, w: x[::2] * w[::2],
    "matmul": lambda x, w: x @ w,
    "einsum": lambda x, w: fnp.einsum("i,j->ij", x, w),
    "choice": lambda x, w: fnp.where(w > 2, x * x, x),
    "maximum": lambda x, w: fnp.maximum(x, w),
    "clip": lambda x, w: fnp.clip(x * x, w, 2 * w),
    "positions": lambda x, w: x[w.astype(int) - 1] * x,
    "mask": lambda x, w: x[w > 2] ** 2,
    "scattered": lambda x, w: fnp.at(x)[w.astype(int) - 1].multiply(w),
    "arctan2": lambda x, w: fnp.arctan2(x, w),
    "stop_gradient": lambda x, w: x * fx.stop_gradient(w),
}  # fmt: skip


@pytest.mark.parametrize("f", CAPTURED.values(), ids=CAPTURED)
@pytest.mark.parametrize("transform", [fx.vjp, fx.linearize])
def test_a_captured_array_that_is_written_into_later(transform, f):
    base = X.copy()
    w = base[:]
    value, pull = transform(lambda x: f(x, w), X)
    direction = np.ones_like(value) if transform is fx.vjp else ONES
    before = fx.tree.map(np.copy, pull(direction))
    base[:] = [4, 1, 1, 1]
    equal(pull(direction), before)


@pytest.mark.parametrize("f", CAPTURED.values(), ids=CAPTURED)
def test_a_captured_array_is_part_of_what_is_staged(f):
    w = X.copy()
    compiled = fx.jit(lambda x: f(x, w))
    graph = fx.make_graph(lambda x: f(x, w))(X)
    before = compiled(X)
    w[:] = [4, 1, 1, 1]
    equal(compiled(X), before)
    equal(graph(X)[0], before)


@pytest.mark.parametrize("f", CAPTURED.values(), ids=CAPTURED)
def test_checkpoint_uses_what_it_closes_over_as_it_is(f):
    w = X.copy()
    checkpointed = fx.checkpoint(lambda x: f(x, w))
    value, pull = fx.vjp(checkpointed, X)
    equal(value, f(X, w))
    before = pull(np.ones_like(value))
    w[:] = [4, 1, 1, 1]
    equal(pull(np.ones_like(value)), before)
    equal(checkpointed(X), f(X, w))
    equal(fx.grad(lambda x: fnp.sum(checkpointed(x)))(X), fx.grad(lambda x: fnp.sum(f(x, w)))(X))


def refilling(x):
    """Sum of i·x over i = 1, 2, 3, from one buffer."""
    buffer, total = np.empty(4), 0.0
    for i in range(1, 4):
        buffer[:] = i
        total = total + fnp.sum(x * buffer)
    buffer[:] = 100
    return total


def test_a_buffer_that_is_refilled_in_a_loop():
    for f in (refilling, fx.jit(refilling), fx.checkpoint(refilling)):
        equal(fx.grad(f)(X), 6 * ONES)
        equal(fx.linearize(f, X)[1](ONES), np.float64(24))
        equal(fx.jvp(f, (X,), (ONES,))[1], np.float64(24))
        equal(fx.vmap(f)(X[None]), 6 * X[None].sum(1))
    equal(fx.make_graph(refilling)(X)(X)[0], 6 * X.sum())


@pytest.mark.parametrize("transform", [fx.vjp, fx.linearize])
def test_arguments_and_results_that_are_written_into_later(transform):
    x = X.copy()
    (y, same), pull = transform(lambda x: (fnp.exp(x), x), x)
    direction = (ONES, 0 * ONES) if transform is fx.vjp else ONES
    before = fx.tree.map(np.copy, pull(direction))
    for array in (x, y, same, *fx.tree.leaves(pull(direction))):
        array[:] = -7
    equal(pull(direction), before)


def test_auxiliary_results_that_are_written_into_later():
    def f(x):
        y = fnp.exp(x)
        return y, (y, x)

    _, pull, aux = fx.vjp(f, X, has_aux=True)
    _, push, more = fx.linearize(f, X, has_aux=True)
    for array in (*aux, *more):
        array[:] = 0
    equal(pull(ONES)[0], np.exp(X))
    equal(push(ONES), np.exp(X))


def test_residuals_of_custom_rules_that_are_written_into_later():
    buffer = np.empty(4)

    @fx.custom_vjp
    def f(x):
        return fnp.sin(x)

    def forward(x):
        buffer[:] = 3.0
        return fnp.sin(x), buffer

    f.defvjp(forward, lambda residual, ct: (ct * residual,))
    _, pull = fx.vjp(f, X)
    buffer[:] = 0
    equal(pull(ONES)[0], 3 * ONES)


def test_values_within_reach_of_the_function():
    """What is written into counts from then on, whether it has a derivative or not; views share it."""

    def mask(x):
        chosen = x > 2
        y = fnp.where(chosen, x * x, x)
        chosen[:] = False
        return fnp.sum(y)

    def steps(x):
        whole = fnp.floor(x)
        y = x * whole
        whole[:] = 0
        return fnp.sum(y)

    equal(fx.grad(mask)(X), np.array([1.0, 1, 6, 8]))
    equal(fx.grad(steps)(X), np.floor(X))
    for part in (
        np.real,
        lambda x: x.reshape(2, 2),
        lambda x: x[::2],
        np.transpose,
        np.ravel,
    ):

        def write(x, part=part):
            part(x)[:] = 0.0
            return fnp.sum(x)

        equal(fx.grad(write)(X), (write(np.ones(4)) == 2) * np.array([0.0, 1, 0, 1]))
        equal(fx.jvp(write, (X,), (X,))[0], write(X.copy()))


def test_integer_arguments_are_the_functions_own():
    positions = np.array([3, 2, 1, 0])

    def f(x, i):
        i[::2][:] = 0
        return fnp.sum(x[i])

    wanted = f(X, positions.copy())
    for call in (
        lambda: fx.vjp(f, X, positions)[0],
        lambda: fx.jvp(f, (X, positions), (X, np.zeros(4, fx.float0)))[0],
        lambda: fx.jit(f)(X, positions),
        lambda: fx.vmap(f)(X[None], positions[None])[0],
    ):
        equal(call(), wanted)
    np.testing.assert_array_equal(positions, [3, 2, 1, 0])


RESULTS = {
    "grad": lambda x, c: fx.grad(fnp.sum)(x),
    "grad of two": lambda x, c: fx.grad(lambda a, b: fnp.sum(a + b), argnums=(0, 1))(x, x),
    "grad with aux": lambda x, c: fx.value_and_grad(lambda a: (fnp.sum(a), (a, a)), has_aux=True)(x),
    "vjp": lambda x, c: (lambda y, pull: (y, pull(c)))(*fx.vjp(lambda a: a, x)),
    "vjp of a pair": lambda x, c: (lambda y, pull: (y, pull((c, c))))(*fx.vjp(lambda a: (a, a), x)),
    "vjp of a sum": lambda x, c: fx.vjp(lambda a, b: a + b, x, x)[1](c),
    "jvp": lambda x, c: fx.jvp(lambda a: (a, a, a[::2]), (x,), (c,)),
    "jvp, broadcast": lambda x, c: fx.jvp(lambda a: a + BLOCK, (x,), (c,)),
    "jvp of a constant": lambda x, c: fx.jvp(lambda a: (x, 0 * x[:1]), (1.0,), (1.0,)),
    "linearize": lambda x, c: (lambda y, push: (y, push(c)))(*fx.linearize(lambda a: (a, a, a[::2], a + BLOCK), x)),
    "vmap": lambda x, c: fx.vmap(lambda a: (a, a, c[0]))(x),
    "vmap of nothing": lambda x, c: fx.vmap(lambda a: x, out_axes=None)(c),
    "jit": lambda x, c: fx.jit(lambda a: (a, a, a.T, x, fnp.broadcast_to(a, (2, 4))))(c),
    "jacobian": lambda x, c: (fx.jacrev(lambda a: a)(x), fx.jacfwd(lambda a: a.reshape(2, 2).T)(x)),
    "jacobian of two": lambda x, c: [m(lambda a, b: a + b, argnums=(0, 1))(x, x) for m in (fx.jacrev, fx.jacfwd)],
    "hessian": lambda x, c: fx.hessian(fnp.sum)(x),
    "hvp": lambda x, c: fx.hvp(fnp.sum, (x,), (c,)),
    "linear_transpose": lambda x, c: fx.linear_transpose(lambda a: a, x)(c),
    "checkpoint": lambda x, c: fx.checkpoint(lambda a: (a, c))(x),
    "grad of checkpoint": lambda x, c: fx.grad(lambda a: fnp.sum(fx.checkpoint(lambda b: b)(a)))(x),
}  # fmt: skip


@pytest.mark.parametrize("compute", RESULTS.values(), ids=RESULTS)
def test_results_are_the_callers_own(compute):
    """They can be written into, and share no memory with an argument or with one another."""
    arguments = X.copy(), ONES.copy()
    results = [r for r in fx.tree.leaves(compute(*arguments)) if isinstance(r, np.ndarray)]
    assert all(r.flags.writeable for r in results)
    for a, b in itertools.combinations([*arguments, *results], 2):
        assert not np.shares_memory(a, b)


def test_a_constant_result_of_jit_is_a_new_array_every_time():
    f = fx.jit(lambda x: np.arange(3.0))
    f(1.0)[:] = 9
    equal(f(1.0), np.arange(3.0))


# -- exceptions and interruptions ------------------------------------------
class Stop(BaseException):
    """Ctrl-C, more or less."""


PLACES = {
    "grad": lambda f: fx.grad(f)(1.0),
    "vjp": lambda f: fx.vjp(f, 1.0),
    "jvp": lambda f: fx.jvp(f, (1.0,), (1.0,)),
    "linearize": lambda f: fx.linearize(f, 1.0),
    "vmap": lambda f: fx.vmap(f)(X),
    "jit": lambda f: fx.jit(f)(1.0),
    "make_graph": lambda f: fx.make_graph(f)(1.0),
    "checkpoint": lambda f: fx.grad(fx.checkpoint(f))(1.0),
    "hessian": lambda f: fx.hessian(f)(1.0),
    "a stack": lambda f: fx.vmap(fx.grad(fx.jit(fx.checkpoint(f))))(X),
}


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, Stop, GeneratorExit])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_an_interrupted_function_leaves_nothing_behind(place, kind):
    def f(x):
        y = fnp.sin(x)
        if broken:
            raise kind
        return y * y

    broken = True
    for _ in range(2):
        with pytest.raises(kind):
            place(f)
        assert CURRENT.get() is EVAL
    broken = False
    place(f)


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_interrupted_rule_leaves_nothing_behind(kind):
    broken = True

    def rule(result):
        if broken:
            raise kind
        return result

    @fx.custom_vjp
    def backward(x):
        return 2.0 * x

    @fx.custom_jvp
    def forward(x):
        return 2.0 * x

    backward.defvjp(lambda x: (2.0 * x, None), lambda _, ct: rule((2.0 * ct,)))
    forward.defjvp(lambda primals, tangents: rule((2.0 * primals[0], 2.0 * tangents[0])))
    _, pull = fx.vjp(backward, 1.0)
    compiled = fx.jit(fx.grad(lambda x: forward(x) * backward(x)))
    calls = [lambda: pull(1.0)[0], lambda: fx.grad(forward)(1.0), lambda: fx.jvp(forward, (1.0,), (1.0,))[1]]
    for call in [*calls, lambda: compiled(1.0)]:
        with pytest.raises(kind):
            call()
        assert CURRENT.get() is EVAL
    broken = False
    assert [float(call()) for call in calls] == [2, 2, 2]
    assert compiled(1.0) == 8


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer on this system")
def test_interruptions_at_any_moment():
    def interrupt(*_):
        raise Stop

    def compute():
        slopes = fx.grad(nested)(X), fx.vmap(fx.grad(nested))(X[None])
        return *slopes, fx.hvp(nested, (X,), (X,)), fx.linearize(nested, X)[1](X)

    expected = compute()
    settings = np.geterr()  # NumPy's own `errstate` may be interrupted on its way out
    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # others have callbacks there, in which an interruption is lost
    try:
        for seconds in np.linspace(1e-5, 3e-3, 300):
            with suppress(Stop):
                signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)  # again: what a finalizer raises is lost
                compute()
                signal.pause()
            assert CURRENT.get() is EVAL
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
        np.seterr(**settings)
    equal(compute(), expected)


def test_a_function_whose_staging_failed_is_staged_again():
    @fx.jit
    def f(x):
        if broken:
            raise ValueError
        return 2 * x

    broken = True
    with pytest.raises(ValueError):
        f(1.0)
    assert not f.cache
    broken = False
    assert f(1.0) == 2
    broken = True
    assert f(2.0) == 4


def test_generators_that_rest_inside_a_transform():
    """Each is resumed in the level in which it is asked, and leaves none open."""

    def powers(x):
        while True:
            yield x
            x = 2 * x

    def loss(x):
        inside = powers(x)
        next(inside)
        kept.append(inside)
        return next(inside) * next(outside)

    kept, outside = [], powers(3.0)
    assert fx.grad(loss)(1.0) == 6
    assert CURRENT.get() is EVAL
    assert next(outside) == 6
    with pytest.raises(fx.EscapedTracerError):
        next(kept[0])

    def gradients():
        for point in X:
            yield fx.grad(lambda x: x * next(gradients()))(point) if point > 1 else fx.grad(fnp.sin)(point)

    np.testing.assert_allclose(list(gradients()), [np.cos(1.0)] * 4)


# -- crowds ------------------------------------------
def work(seed):
    """Nested transforms, with functions that all workers share."""
    x = X + seed
    batch = np.stack([x, 2 * x])
    return fx.grad(nested)(x), fx.vmap(fx.grad(nested))(batch), fx.hvp(nested, (x,), (x,)), SHARED_PULL(x)


def test_threads_at_once():
    expected = [work(seed) for seed in range(8)]
    barrier = threading.Barrier(8)

    def together(seed):
        barrier.wait()
        return [work(seed) for _ in range(5)]

    with ThreadPoolExecutor(8) as pool:
        for results, want in zip(pool.map(together, range(8)), expected):
            for result in results:
                equal(result, want)


def test_tasks_at_once():
    expected = [work(seed) for seed in range(100)]

    async def task(seed):
        await asyncio.sleep(0)
        first = work(seed)
        await asyncio.sleep(0)
        equal(work(seed), first)
        return first

    async def every():
        return await asyncio.gather(*map(task, range(100)))

    for result, want in zip(asyncio.run(every()), expected):
        equal(result, want)


@pytest.mark.parametrize(
    "transform", [fx.grad, fx.hessian, lambda f: lambda x: fx.vmap(fx.grad(f))(np.stack([x, x]))]
)
def test_threads_that_record_at_once_lose_nothing(transform):
    """Threads with a copy of the context record into one level: without a global lock they do it at the same time."""

    def waves(x, k):
        y = x * (k + 1.0)
        for _ in range(50):
            y = fnp.sin(y) + 0.1 * x
        return y

    def product(parts):
        return fnp.sum(reduce(operator.mul, parts) + sum(map(fnp.cos, parts)))

    def at_once(x):
        with ThreadPoolExecutor(6) as pool:
            runs = [pool.submit(copy_context().run, waves, x, k) for k in range(6)]
            return product([run.result() for run in runs])

    expected = transform(lambda x: product([waves(x, k) for k in range(6)]))(X)
    for _ in range(5):
        np.testing.assert_allclose(transform(at_once)(X), expected, rtol=1e-11)


def test_rules_that_are_derived_by_many_threads_at_once():
    """First uses race: the caches of pullbacks, of result dtypes, of jit."""
    functions = [fnp.sin, fnp.tanh, fnp.cumsum, fnp.sqrt, fnp.prod]
    caches = [f.primitive.pullbacks for f in functions if hasattr(f, "primitive")]
    expected = [fx.grad(lambda x, f=f: fnp.sum(f(x) * x))(X) for f in functions]
    for _ in range(10):
        for cache in caches:
            cache.clear()
        compiled = fx.jit(lambda x: [fx.grad(lambda x, f=f: fnp.sum(f(x) * x))(x) for f in functions])
        barrier = threading.Barrier(8)

        def race(_, barrier=barrier, compiled=compiled):
            barrier.wait()
            return [fx.grad(lambda x, f=f: fnp.sum(f(x) * x))(X) for f in functions], compiled(X)

        with ThreadPoolExecutor(8) as pool:
            for plain, staged in pool.map(race, range(8)):
                equal(plain, expected)
                equal(staged, expected)
