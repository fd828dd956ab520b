"""Threads share machine code's work: results do not depend on how many, and every unit is done once."""

import gc
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp
from fxgrad import nn, random
from fxgrad.kernels.native import engine, threads
from fxgrad.kernels.native.announcement import FUNCTIONS

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="needs machine code")
COUNTS = (1, 2, 3, 5)


def numbers(*shape, dtype="f4"):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def train(function, *shapes):
    """Return a program: a value of `fxgrad.compat` and its gradients."""

    def program():
        operands = [torch.tensor(numbers(*shape), requires_grad=True) for shape in shapes]
        y = function(*operands)
        y.backward(torch.tensor(numbers(*y.shape)))
        return [y.detach().numpy(), *(v.grad.numpy() for v in operands)]

    return program


def differentiate(function, *shapes):
    """Return a program: a jitted value of `fxgrad.numpy`, and its pullback."""

    def program():
        operands = [numbers(*shape) for shape in shapes]
        step = fx.jit(lambda *v: (lambda y, pull: (y, *pull(y)))(*fx.vjp(function, *v)))
        return step(*operands)

    return program


def recur(x, layer=torch.nn.LSTM, *sizes):
    torch.manual_seed(0)
    return layer(*(sizes or (5, 19)))(x)[0]


F = torch.nn.functional
# By the file of `native/` that has the function.
PROGRAMS = {
    "accumulation": train(lambda x: torch.cumsum(x, 0), (301, 37)),
    "conv": train(lambda x, w: F.conv2d(x, w, padding=1), (5, 4, 12, 12), (9, 4, 3, 3)),
    "entrywise": train(lambda x: torch.erf(F.gelu(x)), (37, 1031)),
    "grid": train(partial(F.grid_sample, align_corners=False), (4, 3, 20, 20), (4, 11, 13, 2)),
    "groups of many arrays": differentiate(lambda *x: sum(map(fnp.exp, x)), *[(301, 503)] * 45),
    "gru": train(partial(recur, layer=torch.nn.GRU), (6, 11, 5)),
    "groups": differentiate(lambda x: fnp.sum(fnp.exp(x) * fnp.tanh(x) + x, 0), (501, 301)),
    "lstm": train(recur, (6, 11, 5)),
    "matched": train(
        lambda x, u: x.scatter_add(0, torch.arange(2700).view(-1, 9) % 40, u), (40, 9), (300, 9)
    ),
    "matmul": train(lambda a, b: a @ b, (1000, 500), (500, 900)),
    "matmul, jitted": differentiate(lambda a, b: fnp.tanh(a @ b), (1000, 500), (500, 900)),
    "matmul of few": train(lambda a, b: a @ b, (3, 600, 500), (3, 500, 1040)),
    "matmul of vectors": differentiate(lambda a, v: a @ v + v @ a.T, (1001, 999), (999,)),
    "matmul, recurrent": train(lambda x: recur(x, torch.nn.RNN, 70, 150), (3, 300, 70)),
    "outer": lambda: [fnp.einsum("bi,bj->bij", numbers(9, 33), numbers(9, 70))],
    "permutation": lambda: [torch.randperm(3001, generator=torch.Generator()).numpy()],
    "pool": train(lambda x: F.max_pool2d(x, 3, 2), (5, 7, 20, 20)),
    "ranking": lambda: [part.numpy() for part in torch.tensor(numbers(40, 501)).topk(5)],
    "rows": differentiate(lambda x: nn.softmax(x, axis=-1) * x, (301, 137)),
    "rows in segments": train(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (5, 37, 4, 9), (37,), (37,)
    ),
    "scatter": train(lambda w: F.embedding(torch.arange(3000) % 37, w), (37, 40)),
    "streams": lambda: [
        *(random.normal(random.key(0), (s, 3001)) for s in (1, 7)),
        random.gamma(random.key(1), 2.5, (3, 501)),
        random.fold_in(random.key(2), 3),
    ],
    "twister": lambda: [torch.randn(50_001, generator=torch.Generator().manual_seed(3)).numpy()],
    "sorting": lambda: [f(numbers(40, 501), axis=a) for f in (fnp.sort, fnp.argsort) for a in (0, 1)],
    "totals": lambda: [fnp.sum(numbers(64, 12, 2, 12, 2), (2, 4)), fnp.max(numbers(301, 40, 7), 1)],
    "threads": train(lambda a, b: a @ b, (16, 33, 40), (16, 40, 21)),
}


@pytest.fixture(autouse=True)
def shared(monkeypatch):
    """All work is shared, if there is more than one unit of it."""
    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(threads, "THREAD_WORK", 1e-9)


def set_count(monkeypatch, count):
    """Compute with so many threads, and NumPy's BLAS as well."""
    monkeypatch.setattr(threads, "thread_count", lambda: count)
    threads.blas_threads()[1](count)


@pytest.fixture(autouse=True)
def blas():
    get, set_to = threads.blas_threads()
    before = get()
    yield
    set_to(before)


def test_every_family_has_a_program():
    assert PROGRAMS.keys() >= FUNCTIONS.keys()


def compare_counts(program, monkeypatch):
    """Assert that a program has the same results with any number of threads."""
    found = []
    for count in COUNTS:
        set_count(monkeypatch, count)
        found.append([np.asarray(fx.random.key_data(v) if v.dtype == object else v) for v in program()])
    for others in found[1:]:
        for alone, shared in zip(found[0], others, strict=True):
            assert alone.tobytes() == shared.tobytes()


@pytest.mark.parametrize("family", PROGRAMS)
def test_results_do_not_depend_on_the_number_of_threads(family, monkeypatch):
    compare_counts(PROGRAMS[family], monkeypatch)


WITHOUT_MACHINE_CODE = {
    "conv": PROGRAMS["conv"],
    "conv of large images": train(lambda x, w: F.conv2d(x, w, padding=1), (4, 8, 64, 64), (40, 8, 3, 3)),
    "rows": train(lambda x: F.layer_norm(x, (700,)), (600, 700)),
    **{name: program for name, program in PROGRAMS.items() if name.startswith("matmul")},
}


@pytest.mark.parametrize("name", WITHOUT_MACHINE_CODE)
def test_nor_do_they_without_machine_code(name, monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "never")
    compare_counts(WITHOUT_MACHINE_CODE[name], monkeypatch)


def cover(units, effort=1.0):
    """Return how often each unit is done."""
    done = np.zeros(units, np.int64)

    def work(first, last):
        done[first:last] += 1

    threads.share_calls(work, units, effort)
    return done


@pytest.mark.parametrize("units", [0, 1, 2, 7, 64, 1000])
@pytest.mark.parametrize("count", COUNTS)
def test_every_unit_is_done_once(units, count, monkeypatch):
    set_count(monkeypatch, count)
    for _ in range(50):
        assert np.all(cover(units) == 1)


def test_work_inside_work_and_of_several_threads_at_once(monkeypatch):
    set_count(monkeypatch, 3)
    inner = []
    threads.share_calls(lambda first, last: inner.append((last - first, cover(40).tolist())), 20, 1.0)
    assert sum(n for n, _ in inner) == 20
    assert all(done == [1] * 40 for _, done in inner)
    with ThreadPoolExecutor(4) as pool:
        for done in pool.map(lambda k: [cover(50) for _ in range(100)], range(4)):
            assert np.all(np.array(done) == 1)


def test_an_exception_of_a_piece_is_raised(monkeypatch):
    set_count(monkeypatch, 3)

    def work(first, last):
        if first <= 70 < last:
            raise ValueError("the 70th")

    for _ in range(20):
        with pytest.raises(ValueError, match="the 70th"):
            threads.share_calls(work, 100, 1.0)
    assert np.all(cover(100) == 1)


@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="then it waits for the thread that made it"
)
def test_shared_work_is_freed_at_once(monkeypatch):
    set_count(monkeypatch, 3)
    held = np.zeros(64)
    seen = weakref.ref(held)
    gc.disable()
    try:
        threads.share_calls(lambda first, last, x=held: x[first:last].sort(), 64, 1.0)
        del held
        assert seen() is None
    finally:
        gc.enable()


def test_the_error_state_is_that_of_the_caller(monkeypatch):
    set_count(monkeypatch, 3)
    a = np.full((16, 8, 8), 3e38, "f4")
    seen = set()
    with np.errstate(over="ignore"):
        threads.share_calls(
            lambda first, last: seen.add((threading.get_ident(), np.geterr()["over"])), 64, 1.0
        )
        assert np.all(np.isinf(fnp.matmul(a, a)))
    assert {state for _, state in seen} == {"ignore"}


def test_blas_has_its_threads_again(monkeypatch):
    get, set_to = threads.blas_threads()
    before = get()
    set_to(3)
    try:
        many = get()
        with threads.HELD_BLAS, threads.HELD_BLAS:
            assert get() == 1
        assert get() == many
    finally:
        set_to(before)
