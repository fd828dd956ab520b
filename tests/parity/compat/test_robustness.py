"""Threads, tasks, long graphs, memory and interruptions."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import threading
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor
from dis import opmap

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
import fxgrad.compat.autograd.forward_ad as fwAD
from fxgrad.compat._core.backward import engine
from fxgrad.compat._core.duals import DUAL_LEVEL
from fxgrad.compat._core.hooks import RUNNING
from fxgrad.compat._declare.operation import OPERATIONS
from fxgrad.core.fp_errors import ERROR_STATE, IGNORE
from fxgrad.core.interpreter import CURRENT, EVAL

BOTH = pytest.mark.parametrize("library", [torch, fxt], ids=["torch", "fxgrad"])
X = np.linspace(0.1, 1, 6).reshape(2, 3)


def model(x, w):
    """A number, by compiled operations and others: views, in place, sorting, concatenation."""
    h = fxt.tanh(x @ w)
    z = h * 1
    z[0] = h[:, 1:].sum()
    entries, _ = fxt.sort(fxt.softmax(z, -1), dim=-1)
    c = fxt.cat([entries, h], 1).reshape(-1)
    return (c.cumsum(0) * c).mean() + fxt.logsumexp(h, 0).sum() + fxt.nn.functional.layer_norm(h, (3,))[0, 0]


def derivatives(seed):
    """First and second derivatives of it in every way."""
    x, w = fxt.tensor(X + seed), fxt.tensor(np.eye(3) + seed, requires_grad=True)
    model(x, w).backward()
    (g,) = fxt.autograd.grad(model(x, w), w, create_graph=True)
    (second,) = fxt.autograd.grad(g.sum(), w)
    value = w.detach()
    mapped = fxt.func.vmap(fxt.func.grad(lambda w: (w.sin() * w).sum()))(value)
    with fwAD.dual_level():
        tangent = fwAD.unpack_dual(model(x, fwAD.make_dual(value, fxt.ones_like(value)))).tangent
    found = [w.grad, second, fxt.func.grad(lambda w: model(x, w))(value), mapped, tangent]
    return [f.detach().numpy().copy() for f in found]


def equal(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


# -- threads and tasks ------------------------------------------


@pytest.fixture
def crowd():
    """Runs work(i) in several threads that change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def run(count, work):
        found, ready = {}, threading.Barrier(count)

        def one(i):
            ready.wait()
            try:
                found[i] = work(i)
            except Exception as error:
                found[i] = error

        threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[i] for i in range(count)]

    yield run
    sys.setswitchinterval(before)


def test_caches_are_filled_by_many_threads_at_once(crowd):
    expected = [derivatives(0.1 * i) for i in range(4)]
    for operation in OPERATIONS.values():
        operation.plans.clear()
        operation.composites.clear()
    for found, want in zip(crowd(4, lambda i: derivatives(0.1 * i)), expected):
        equal(found, want)


def test_threads_share_a_graph_and_its_hooks(crowd):
    x = fxt.ones(50, dtype=fxt.float64, requires_grad=True)
    y = x.exp() * x
    loss, calls = y.sum(), []

    def work(i):
        for _ in range(10):
            with y.register_hook(lambda g: calls.append(i)):
                loss.backward(retain_graph=True)

    assert crowd(4, work) == [None] * 4
    assert len(calls) >= 40
    np.testing.assert_allclose(x.grad.numpy(), 40 * 2 * np.e)


def test_a_graph_is_freed_by_one_of_two_threads(crowd):
    for _ in range(50):
        x = fxt.ones(3, requires_grad=True)
        loss = (x.exp() * x.sin()).sum()
        errors = [e for e in crowd(2, lambda i, loss=loss: loss.backward()) if e is not None]
        assert all("backward through the graph a second time" in str(e) for e in errors)


def test_views_are_brought_up_to_date_by_many_threads_at_once(crowd):
    for _ in range(20):
        x = fxt.ones(4, requires_grad=True)
        base = x * 1
        view = base[:2]
        base.mul_(3)
        found = crowd(
            4, lambda i, view=view, x=x: fxt.autograd.grad(view.sum(), x, retain_graph=True)[0].tolist()
        )
        assert found == [[3.0, 3.0, 0.0, 0.0]] * 4


def test_tasks_keep_their_modes_and_levels_over_awaits():
    async def task(i):
        with fxt.no_grad():
            await asyncio.sleep(0)
            assert not fxt.is_grad_enabled()
            with fxt.enable_grad():
                await asyncio.sleep(0)
                assert fxt.is_grad_enabled()
        with fxt.inference_mode():
            await asyncio.sleep(0)
            assert (fxt.ones(1) * 2).is_inference()
        with fwAD.dual_level():
            await asyncio.sleep(0)
            dual = fwAD.make_dual(fxt.tensor(float(i)), fxt.tensor(1.0))
            await asyncio.sleep(0)
            assert fwAD.unpack_dual(dual * dual).tangent.item() == 2 * i
        x = fxt.tensor(float(i), requires_grad=True)
        y = x * x
        await asyncio.sleep(0)
        y.backward()
        return x.grad.item()

    async def every():
        return await asyncio.gather(*map(task, range(30)))

    assert asyncio.run(every()) == [2.0 * i for i in range(30)]
    assert CURRENT.get() is EVAL


def test_a_copied_context_has_modes_of_its_own():
    inside = contextvars.copy_context()
    inside.run(fxt.set_grad_enabled, False)
    assert fxt.is_grad_enabled()
    assert not inside.run(fxt.is_grad_enabled)


# -- long graphs ------------------------------------------
STEPS = {
    "views": lambda y, x: y.view(1),
    "slices": lambda y, x: y[:],
    "in place": lambda y, x: y.add_(x),
    "several results": lambda y, x: y.unbind()[0].reshape(1),
    "hooks": lambda y, x: hooked(y + x),
}
SLOPES = {"in place": 10_001, "hooks": 10_001}


def hooked(y):
    y.register_hook(lambda g: None)
    return y


@pytest.mark.parametrize("name", STEPS, ids=[name.replace(" ", "-") for name in STEPS])
def test_long_chains(name):
    x = fxt.ones(1, requires_grad=True)
    y = x * 1
    for _ in range(10_000):
        y = STEPS[name](y, x)
    y.sum().backward()
    assert x.grad.item() == SLOPES.get(name, 1)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_steps_of_a_view_are_shared():
    """Otherwise a chain of views takes quadratic time and memory."""
    y = fxt.ones(4, requires_grad=True) * 1
    first = y[:]
    second = first[:]
    assert second._fx_view_meta.chain.previous is first._fx_view_meta.chain


@BOTH
def test_a_view_that_is_often_modified(library):
    x = library.ones(3, requires_grad=True)
    y = x * 1
    v, w = y[:2], y[1:]
    for _ in range(1_000):
        v.mul_(1.0)
        w.add_(1.0)
    deep = y
    for _ in range(1_000):
        deep = deep[:]
    deep.mul_(2.0)
    (y.sum() + v.sum()).backward()
    assert x.grad.tolist() == [4.0, 4.0, 2.0]


# -- memory ------------------------------------------


class Exponential(fxt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        _, y = ctx.saved_tensors
        return g * y


def leaf():
    return fxt.ones(4, requires_grad=True)


def views_in_place():
    x = leaf()
    y = x * 1
    v = y[:2]
    w = v[:1]
    v.mul_(2)
    w.add_(1)
    return x, y, v, w


def with_hooks():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g)
    y.retain_grad()
    x.register_post_accumulate_grad_hook(lambda p: None)
    y.sum().backward()
    return x, y, y.grad


def second_order():
    x = leaf()
    y = (x.exp() * x).sum()
    (g,) = fxt.autograd.grad(y, x, create_graph=True)
    y.backward(create_graph=True)
    return x, y, g, x.grad


def failed():
    x = leaf()
    y = x.exp()
    z = y * y
    y.mul_(2)
    for call in (lambda: z.sum().backward(), lambda: y + fxt.ones(3), lambda: y.reshape(7), lambda: y.sum(9)):
        with pytest.raises((RuntimeError, IndexError)):
            call()
    return x, y, z


def dual():
    x, t = fxt.ones(3), fxt.ones(3)
    with fwAD.dual_level():
        d = fwAD.make_dual(x, t)
        z = d.exp()[:2]
        return x, t, d, z, fwAD.unpack_dual(z).tangent


def transformed():
    x = fxt.ones(4, 3)
    y, pull = fxt.func.vjp(lambda x: x.exp() * x, x)
    return x, y, *pull(y), fxt.func.vmap(fxt.func.grad(lambda x: (x.exp() * x).sum()))(x)


def custom():
    x = leaf()
    y = Exponential.apply(x)
    return x, y, y.grad_fn


def checkpointed():
    x = leaf()
    y = fxt.utils.checkpoint.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
    z = fxt.utils.checkpoint.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
    z.sum().backward()
    return x, y, z


def trained():
    x = leaf()
    optimizer = fxt.optim.Adam([x], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (x * x).sum().backward()
        optimizer.step()
    return x, optimizer


MADE = [views_in_place, with_hooks, second_order, failed, dual, transformed, custom, checkpointed, trained]


@pytest.mark.parametrize("make", MADE, ids=lambda f: f.__name__)
def test_everything_dies_by_reference_counting(make):
    make()
    gc.collect()
    gc.disable()
    try:
        made = make()
        references = [weakref.ref(m) for m in made]
        references += [
            weakref.ref(m._fx_value) for m in made if type(getattr(m, "_fx_value", None)) is np.ndarray
        ]
        del made
        if make is not failed:  # pytest keeps the tracebacks
            assert [r() for r in references] == [None] * len(references)
    finally:
        gc.enable()
    gc.collect()
    assert [r() for r in references] == [None] * len(references)


def test_backward_frees_arrays_as_it_passes():
    """At its peak there is the forward pass and a few cotangents, not all of them."""
    size, length = 100_000, 20
    x = fxt.ones(size, dtype=fxt.float64, requires_grad=True)
    x.exp().sum().backward()
    x.grad = None
    tracemalloc.start()
    try:
        y = x
        for _ in range(length):
            y = y.sin()
        loss = y.sum()
        del y
        forward, _ = tracemalloc.get_traced_memory()
        loss.backward()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    array = 8 * size
    assert forward <= (length + 0.5) * array
    assert peak - forward <= 3.5 * array
    assert after <= 1.5 * array


def test_training_does_not_grow():
    w, b = fxt.ones(8, 8, requires_grad=True), fxt.zeros(8, requires_grad=True)
    optimizer, x = fxt.optim.SGD([w, b], lr=1e-3, momentum=0.9), fxt.ones(4, 8)

    def steps(count):
        for _ in range(count):
            optimizer.zero_grad()
            loss = (((x @ w + b).relu() - 1) ** 2).mean()
            loss.backward()
            optimizer.step()
            (w.detach() * 1)[:2].add_(1)

    steps(50)
    gc.collect()
    tracemalloc.start()
    try:
        steps(50)
        before, _ = tracemalloc.get_traced_memory()
        steps(200)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 16_000
    finally:
        tracemalloc.stop()


def test_caches_are_bounded():
    """A program whose shapes never come again."""
    add = OPERATIONS["lerp"]
    limits = [add.plans.limit, *[p.pullbacks.limit for p in add.composites.values()]]
    assert max(limits) <= 4096


# -- interruptions ------------------------------------------


class Stop(BaseException):
    """As Ctrl-C."""


W = fxt.tensor(np.linspace(0.1, 1, 9).reshape(3, 3), requires_grad=True)
XT = fxt.tensor(X)


def first_derivatives():
    W.grad = None
    h = fxt.tanh(XT @ W)
    v = h * 1
    v[0].mul_(2)
    h.register_hook(lambda g: g * 1)
    (fxt.softmax(v, -1).log().sum() + Exponential.apply(h).sum()).backward()
    return [W.grad]


def second_derivatives():
    (g,) = fxt.autograd.grad((XT @ W).sin().sum(), W, create_graph=True)
    return fxt.autograd.grad((g * g).sum(), W)


def transforms():
    slope = fxt.func.vmap(fxt.func.grad(lambda x: (x.exp() * x).sum()))(XT)
    return [slope, fxt.func.jvp(fxt.sin, (XT,), (XT,))[1]]


def batched():
    return fxt.autograd.grad((XT @ W).exp(), W, fxt.ones(2, 2, 3, dtype=fxt.float64), is_grads_batched=True)


def recomputed():
    W.grad = None
    fxt.utils.checkpoint.checkpoint(lambda w: (XT @ w).sin(), W, use_reentrant=False).sum().backward()
    return [W.grad]


# Where a line begins with these, Python handles no signals before the next call: at `try`, and at the end of a `with`,
# on the way to its `__exit__`. An interruption there could not happen, and would leave a lock locked for ever.
UNINTERRUPTED = [[opmap["NOP"]], 3 * [opmap["LOAD_CONST"]]]


def interrupted(compute, at):
    """Stop it at the at-th line of this library; the number of lines that were reached."""
    count = 0

    def line(frame, event, arg):
        nonlocal count
        if event == "line":
            coming = [*frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 6 : 2]]
            if not any(coming[: len(codes)] == codes for codes in UNINTERRUPTED):
                count += 1
                if count == at:
                    raise Stop
        return line

    def call(frame, event, arg):
        return (
            line if "fxgrad" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename else None
        )

    before = sys.gettrace()
    sys.settrace(call)
    try:
        compute()
    except Stop:
        pass
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "compute",
    [first_derivatives, second_derivatives, transforms, batched, recomputed],
    ids=lambda f: f.__name__,
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interruptions_at_any_line(compute):
    """They leave no level open and no mode changed, and the next run gives the right numbers."""
    # CPython does not forget an exception in whose handler a trace function has raised: that is for this thread only.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(interrupt_at_any_line, compute).result()


def interrupt_at_any_line(compute):
    compute()
    expected = [r.detach().numpy().copy() for r in compute()]
    lines = interrupted(compute, 0)
    assert lines > 300
    for at in range(1, lines, max(1, lines // 100)):
        interrupted(compute, at)
        assert CURRENT.get() is EVAL
        assert ERROR_STATE.get() is not IGNORE
        assert DUAL_LEVEL.get() is None
        assert engine.PASS_DEPTH.get() == 0
        assert RUNNING.get() is None
        equal([r.detach().numpy() for r in compute()], expected)
        other = threading.Thread(target=lambda: (leaf() * fxt.rand(4)).sum().backward(), daemon=True)
        other.start()
        other.join(20)
        assert not other.is_alive(), "a lock was left"


PLACES = {
    "no_grad": lambda f: under(fxt.no_grad(), f),
    "inference_mode": lambda f: under(fxt.inference_mode(), f),
    "dual_level": lambda f: under(fwAD.dual_level(), f),
    "hook": lambda f: hooked_by(f).sum().backward(),
    "func.grad": lambda f: fxt.func.grad(lambda x: f(x).sum())(fxt.ones(2)),
    "vmap of grad": lambda f: fxt.func.vmap(fxt.func.grad(lambda x: f(x).sum()))(fxt.ones(2, 2)),
    "jvp": lambda f: fxt.func.jvp(f, (fxt.ones(2),), (fxt.ones(2),)),
    "checkpoint": lambda f: fxt.utils.checkpoint.checkpoint(f, leaf(), use_reentrant=False).sum().backward(),
    "Function": lambda f: function_of(f).apply(leaf()).sum().backward(),
}


def under(context, f):
    with context:
        f(leaf())


def hooked_by(f):
    y = leaf() * 2
    y.register_hook(f)
    return y


def function_of(f):
    def backward(ctx, g):
        return f(g)

    return type(
        "Custom",
        (fxt.autograd.Function,),
        {"forward": staticmethod(lambda ctx, x: x * 1), "backward": staticmethod(backward)},
    )


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("place", PLACES.values(), ids=[name.replace(" ", "-") for name in PLACES])
def test_an_error_leaves_nothing_behind(place, kind):
    def f(x):
        y = x * 2
        if broken:
            raise kind
        return y

    broken = True
    for _ in range(2):
        with pytest.raises(kind):
            place(f)
        assert CURRENT.get() is EVAL
        assert DUAL_LEVEL.get() is None
        assert ERROR_STATE.get() is not IGNORE
        assert engine.PASS_DEPTH.get() == 0
    broken = False
    place(f)


@BOTH
def test_backward_within_backward_deep(library):
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x * 1

    def backward(ctx, g):
        if not ctx.depth:
            return g * 2, None
        with library.enable_grad():
            y = library.ones(1, requires_grad=True)
            deeper.apply(y, ctx.depth - 1).sum().backward()
        return g * y.grad, None

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    deeper = type("Deeper", (library.autograd.Function,), members)
    x = library.ones(1, requires_grad=True)
    deeper.apply(x, 200).sum().backward()
    assert x.grad.tolist() == [2.0]
