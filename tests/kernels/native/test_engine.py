"""When machine code is made, by whom, and what is kept of it."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.kernels.native import engine, storage, threads

pytestmark = pytest.mark.skipif(
    engine.mode() == "never", reason="machine code needs llvmlite (fxgrad[native])"
)
MANY = 300_000  # entries, of which a group becomes machine code after some calls


def chain(x):
    return fnp.exp(-x * x) * 2 + fnp.sqrt(x) - fnp.where(x > 1, x, 0.5)


def is_native(function, *args):
    """Whether a call of the function is one of machine code."""
    code = next(iter(function.cache.values())).plain
    groups = [v for v in code.__globals__.values() if type(v).__name__ == "Group"]
    return bool(groups) and all(g.native is not None for g in groups)


def run(program, **environment):
    """Run a program in a process of its own; return what it prints."""
    text = "import numpy as np, fxgrad as fx, fxgrad.numpy as fnp\n" + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_first_calls_are_numpys_and_later_ones_machine_code(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "auto")
    f, x = fx.jit(chain), np.linspace(0, 2, MANY)
    first = f(x)
    assert not is_native(f)
    for _ in range(100):
        later = f(x)
    assert is_native(f)
    np.testing.assert_allclose(later, first, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(first, f.fun(x))


def test_the_same_call_is_the_first_of_machine_code_in_every_run(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "auto")
    counts = []
    for _ in range(3):
        f, x, count = fx.jit(lambda x: chain(x) + 0), np.linspace(0, 2, MANY), 0
        f(x)
        while not is_native(f) and count < 1000:
            f(x)
            count += 1
        counts.append(count)
    assert len(set(counts)) == 1


def test_few_operations_on_few_entries_stay_with_numpy(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "auto")
    assert "group" not in fx.jit(lambda x: x * 2 + 1).lower(np.ones(10)).source


def test_where_it_is_forbidden_it_is_not_made(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "never")
    f, x = fx.jit(chain), np.linspace(0, 2, MANY)
    for _ in range(100):
        f(x)
    assert not is_native(f)


def test_an_unknown_mode_is_refused():
    code = "from fxgrad.kernels.native import engine\ntry: print(engine.mode())\nexcept ValueError as e: print(e)"
    assert "FXGRAD_NATIVE" in run(code, FXGRAD_NATIVE="no")
    assert run(code, FXGRAD_NATIVE="never") == ["never"]


def test_a_group_that_cannot_be_compiled_stays_with_numpy(monkeypatch):
    def fail(*args):
        raise OSError("no memory that can be executed")

    from fxgrad.kernels.native import runner

    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(runner, "compile_functions", fail)
    f, x = fx.jit(lambda x: x * 3 + 1), np.arange(50_000.0)
    with pytest.warns(RuntimeWarning, match="no memory that can be executed"):
        np.testing.assert_array_equal(f(x), x * 3 + 1)
    np.testing.assert_array_equal(f(x), x * 3 + 1)


def test_threads_that_compile_the_same_function(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "auto")
    f, x = fx.jit(chain), np.linspace(0, 2, MANY)
    want, together = chain(x), threading.Barrier(8)

    def work():
        together.wait(30)
        return [f(x) for _ in range(15)]

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work) for _ in range(8)]:
            for got in done.result(60):
                np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)
    for _ in range(60):  # each thread may have staged it for itself
        f(x)
    assert is_native(f)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_results_do_not_depend_on_the_number_of_threads(count, monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(threads, "THREAD_WORK", 1 << 12)
    x = np.random.default_rng(0).standard_normal((501, 301))
    f = fx.jit(lambda x: (chain(abs(x)), *[fnp.sum(chain(abs(x)), axis=a) for a in (None, 0, 1)]))
    monkeypatch.setattr(threads, "thread_count", lambda: 1)
    want = f(x)
    monkeypatch.setattr(threads, "thread_count", lambda: count)
    for got, alone in zip(f(x), want):
        np.testing.assert_array_equal(got, alone)


def test_exceptions_in_any_thread_are_told(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(threads, "THREAD_WORK", 1 << 12)
    monkeypatch.setattr(threads, "thread_count", lambda: 4)
    f = fx.jit(lambda x: 1 / x + x)
    for place in (0, 70_000, 149_999):
        x = np.ones(150_000)
        x[place] = 0
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            f(x)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_forked_goes_on():
    program = """
    import os
    f, g = (fx.jit(lambda x: fnp.exp(x) * 2 + fnp.sqrt(x) + k) for k in (1, 2))
    x = np.linspace(0, 1, 1_000_000)
    a = [f(x) for _ in range(30)][-1]
    for _ in range(8): g(x)  # another thread compiles it now
    child = os.fork()
    b, c = f(x), [g(x) for _ in range(15)][-1]
    assert np.array_equal(a, b) and np.allclose(c, b + 0, atol=2)
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    else:
        os._exit(7)
    """
    assert run(program, FXGRAD_NATIVE="auto", FXGRAD_NUM_THREADS="2", PYTHONWARNINGS="ignore") == ["7"]


def test_no_thread_is_left_behind_at_the_end():
    program = """
    import threading
    x = np.linspace(0, 1, 3_000_000)
    fx.jit(lambda x: fnp.exp(x) * 2 + x)(x)
    for k in range(12):
        fx.jit(lambda x: fnp.exp(x) * k + fnp.sqrt(x))(x)
    print(len(threading.enumerate()) <= 2)
    """
    assert run(program, FXGRAD_NATIVE="auto", FXGRAD_NUM_THREADS="1") == ["True"]


def test_an_interruption_loses_nothing():
    program = """
    import os, signal, threading, time
    main = threading.main_thread().ident
    signal.signal(signal.SIGINT, signal.default_int_handler)
    f, x = fx.jit(lambda x: fnp.exp(x) * fnp.sin(x) + fnp.log1p(x) + fnp.tanh(x)), np.linspace(0, 1, 2_000_000)
    g = fx.jit(lambda x: fnp.exp(x) * 2 + x)
    for _ in range(20): g(x)  # loads all modules
    caught, done = 0, threading.Event()
    def disturb():
        while not done.wait(0.004):
            signal.pthread_kill(main, signal.SIGINT)
    want = np.exp(x) * np.sin(x) + np.log1p(x) + np.tanh(x)
    thread = threading.Thread(target=disturb)
    end = time.monotonic() + 1
    try:
        thread.start()
    except KeyboardInterrupt:
        pass
    while True:
        try:
            while time.monotonic() < end:
                try:
                    f(x)
                except KeyboardInterrupt:
                    caught += 1
            break
        except KeyboardInterrupt:  # between two calls
            pass
    while True:
        try:
            done.set()
            thread.join(10)
            break
        except KeyboardInterrupt:
            pass
    for _ in range(20):
        np.testing.assert_allclose(f(x), want, rtol=1e-14, atol=1e-14)
    print(caught > 0)
    """
    assert run(program, FXGRAD_NATIVE="auto") == ["True"]


def test_code_is_freed_with_its_function(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    f, x = fx.jit(lambda x: x * 7 + 3), np.arange(40.0)
    f(x)
    code = engine._compiled[next(reversed(engine._compiled))]
    seen = weakref.ref(code)
    del code
    f.clear_cache()
    assert seen() is not None  # for a function of the same text
    engine._compiled.clear()
    del f
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        # Then an object waits for the thread that made it, which has to come to run.
        for _ in range(100):
            time.sleep(0.05)
            gc.collect()
            if seen() is None:
                break
    assert seen() is None


SAVED = """
f = fx.jit(lambda x: fnp.exp(x) * 2 + x)
print(f(np.linspace(0, 1, 100)).sum())
"""


def test_machine_code_on_disk(tmp_path):
    folder = tmp_path / "code"
    settings = {"FXGRAD_NATIVE": "always", "FXGRAD_CACHE_DIR": str(folder)}
    want = run(SAVED, FXGRAD_NATIVE="always", FXGRAD_CACHE_DIR="")
    assert run(SAVED, **settings) == want
    files = sorted(folder.iterdir())
    assert files and all(f.suffix == ".o" for f in files)
    before = {f: (f.read_bytes(), f.stat().st_mtime_ns) for f in files}
    assert run(SAVED, **settings) == want
    assert {f: (f.read_bytes(), f.stat().st_mtime_ns) for f in sorted(folder.iterdir())} == before
    good, name = before[files[0]][0], files[0]
    code = good[len(storage.MAGIC) + 32 :]
    for damage in (
        b"nothing",
        good[:-5],
        storage.heading(name, b"no object") + b"no object",
        storage.heading(name, code[:-20]) + code[:-20],
        storage.heading(name.with_name("other.o"), code) + code,
    ):
        files[0].write_bytes(damage)
        assert run(SAVED, **settings) == want
        assert files[0].read_bytes() == before[files[0]][0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes of POSIX")
def test_a_pipe_in_the_place_of_code_is_not_waited_for(tmp_path):
    settings = {"FXGRAD_NATIVE": "always", "FXGRAD_CACHE_DIR": str(tmp_path)}
    want = run(SAVED, **settings)
    for file in tmp_path.iterdir():
        file.unlink()
        os.mkfifo(file)
    assert run(SAVED, **settings) == want
    assert all(file.is_file() for file in tmp_path.iterdir())


@pytest.mark.parametrize("place", ["~nosuchuser/code", "/dev/null/code", "\x01" * 300])
def test_a_directory_that_cannot_be_made_keeps_nothing(place, tmp_path):
    want = run(SAVED, FXGRAD_NATIVE="always", FXGRAD_CACHE_DIR="")
    assert run(SAVED, FXGRAD_NATIVE="always", FXGRAD_CACHE_DIR=place) == want


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs permissions of POSIX")
def test_code_that_others_could_have_written_is_not_run(tmp_path):
    folder = tmp_path / "code"
    folder.mkdir()
    folder.chmod(0o777)
    run(SAVED, FXGRAD_NATIVE="always", FXGRAD_CACHE_DIR=str(folder))
    assert list(folder.iterdir()) == []


def test_fastmath_is_for_one_function_only(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    x = np.linspace(0, 1, 1000) + 1e-9
    f = lambda x: x * x + x * 3 + 1  # noqa: E731
    strict, free = fx.jit(f), fx.jit(f, fastmath=True)
    np.testing.assert_array_equal(strict(x), f(x))
    np.testing.assert_allclose(free(x), f(x), rtol=1e-15)
    assert (free(x) != f(x)).any()  # one rounding instead of two
    np.testing.assert_array_equal(fx.jit(f)(x), f(x))


def test_importing_loads_no_compiler():
    program = "import sys, fxgrad.compat; print('llvmlite' in sys.modules, 'fxgrad.kernels.native.math' in sys.modules)"
    assert run(program) == ["False", "False"]
