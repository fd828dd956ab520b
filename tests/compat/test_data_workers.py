"""Batches loaded by workers: their order, their errors, and that no process is left behind."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
from pickle import PicklingError

import numpy as np
import pytest

import fxgrad.compat as fxt

data = fxt.utils.data
# Python and JAX, where other tests have begun to use it, warn of threads that a forked process does not have. The
# workers use neither's, and `no_heap_of_others` keeps what belongs to JAX from being freed by them.
pytestmark = [
    pytest.mark.usefixtures("no_heap_of_others"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
    pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning"),
]
FORK = {"multiprocessing_context": "fork", "timeout": 60}


class Squares(data.Dataset):
    def __len__(self):
        return 7

    def __getitem__(self, i):
        return fxt.full((2,), float(i * i)), i


class Stream(data.IterableDataset):
    """0, 1, 2 of worker 0, 10, … 14 of worker 1, and so on."""

    def __iter__(self):
        info = data.get_worker_info()
        start, count = (0, 4) if info is None else (10 * info.id, 3 + 2 * info.id)
        return iter(range(start, start + count))


class Calls(data.Dataset):
    """A dataset that calls a function with each number."""

    def __init__(self, function, count=4):
        self.function, self.count = function, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.function(i)


def plain(x):
    """What can be compared, of Tensors in batches."""
    if isinstance(x, fxt.Tensor):
        return x.tolist()
    return x if isinstance(x, int) else [plain(part) for part in x]


def children():
    """The workers that are there, also those that have ended and that nobody has waited for. `active_children` alone
    keeps naming workers that are gone, where pytest was started by a program that ignores SIGCHLD."""
    return [p for p in multiprocessing.active_children() if p.daemon and exists(p.pid)]


def exists(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    "options", [{"batch_size": 2}, {"batch_size": None}, {"batch_size": 3, "drop_last": True}]
)
def test_workers_give_what_this_process_gives(workers, options):
    alone = plain(data.DataLoader(Squares(), **options))
    assert plain(data.DataLoader(Squares(), num_workers=workers, **options, **FORK)) == alone
    assert not children()


def test_the_order_of_streams_is_fixed():
    loader = data.DataLoader(Stream(), 2, num_workers=2, **FORK)
    assert plain(loader) == plain(loader) == [[0, 1], [10, 11], [2], [12, 13], [14]]
    assert plain(data.DataLoader(Stream(), 2)) == [[0, 1], [2, 3]]


def test_the_order_is_drawn_by_the_generator_with_workers_and_without():
    def order(workers):
        generator = fxt.Generator().manual_seed(5)
        options = FORK if workers else {}
        loader = data.DataLoader(
            range(20), 4, shuffle=True, num_workers=workers, generator=generator, **options
        )
        return [plain(loader) for _ in range(2)]

    assert order(0) == order(2)
    assert order(0)[0] != order(0)[1]


def test_workers_know_who_they_are_and_draw_different_numbers():
    def look(i):
        info = data.get_worker_info()
        time.sleep(0.02)
        draws = random.random(), float(fxt.rand(())), float(np.random.random())
        return info.id, info.num_workers, info.seed, len(info.dataset), draws

    def load():
        generator = fxt.Generator().manual_seed(1)
        options = {"batch_size": None, "num_workers": 2, "collate_fn": lambda x: x, "generator": generator}
        return list(data.DataLoader(Calls(look), **options, **FORK))

    rows = load()
    assert [row[:2] for row in rows] == [(0, 2), (1, 2)] * 2
    assert rows[1][2] == rows[0][2] + 1 and rows[0][3] == 4
    assert len({draw for row in rows for draw in row[4]}) == 12
    assert rows == load()
    assert data.get_worker_info() is None


def test_worker_init_fn_changes_the_copies():
    def shift(number):
        data.get_worker_info().dataset.count = 100 * number

    dataset = Calls(lambda i: data.get_worker_info().dataset.count + i)
    loader = data.DataLoader(dataset, 1, num_workers=2, worker_init_fn=shift, **FORK)
    assert plain(loader) == [[0], [101], [2], [103]]
    assert dataset.count == 4


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


def fail(kind, *args):
    def get(i):
        if i == 2:
            raise kind(*args)
        return i

    return get


@pytest.mark.parametrize(
    ("error", "caught"),
    [((ValueError, "bad sample"), ValueError), ((KeyError, "bad"), KeyError), ((Odd, 1, 2), RuntimeError)],
    ids=["ValueError", "KeyError", "a class that wants two arguments"],
)
def test_an_error_of_a_worker_comes_with_its_traceback(error, caught):
    batches = iter(data.DataLoader(Calls(fail(*error)), 1, num_workers=2, **FORK))
    assert [next(batches).tolist(), next(batches).tolist()] == [[0], [1]]
    name = error[0].__name__
    with pytest.raises(caught, match=f"(?s)Caught {name} in DataLoader worker process 0.*in get\n") as info:
        next(batches)
    assert "\\n" not in str(info.value)
    assert plain(batches) == [[3]]
    assert not children()


def test_an_error_of_worker_init_fn_reaches_the_user():
    loader = data.DataLoader(range(3), num_workers=1, worker_init_fn=fail(ZeroDivisionError), **FORK)
    assert len(list(loader)) == 3

    def break_down(number):
        raise ZeroDivisionError

    loader = data.DataLoader(range(3), num_workers=1, worker_init_fn=break_down, **FORK)
    with pytest.raises(ZeroDivisionError, match="Caught ZeroDivisionError in DataLoader worker process 0"):
        list(loader)
    assert not children()  # they end with the exception, and do not wait for a garbage collection


def test_what_cannot_be_sent_is_an_error_of_that_batch():
    loader = data.DataLoader(Calls(lambda i: lambda: i), None, num_workers=1, collate_fn=lambda x: x, **FORK)
    with pytest.raises((AttributeError, PicklingError), match=r"Can't (get|pickle) local"):
        list(loader)
    assert not children()


def test_a_worker_that_dies_is_missed():
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+(, \d+)?\) exited unexpectedly"):
        list(data.DataLoader(Calls(lambda i: os._exit(3)), num_workers=2, **FORK))
    assert not children()


REAPED = """
import os, signal, time
import fxgrad.compat as torch
from fxgrad.compat.utils.data import DataLoader, pool

pool.GRACE = 0.5
signal.signal(signal.SIGCHLD, signal.SIG_IGN)

class Calls(list):
    def __getitem__(self, i):
        return super().__getitem__(i)()

for calls in ([lambda: os._exit(3)] * 2, [lambda: time.sleep(30)], [lambda: 1] * 4):
    batches = iter(DataLoader(Calls(calls), num_workers=2, timeout=1, multiprocessing_context="fork"))
    pids = [process.pid for process in batches.pool.processes]
    try:
        print(len(list(batches)))
    except RuntimeError as error:
        print(str(error).splitlines()[0].replace(str(pids[0]), "first").replace(str(pids[1]), "second"))
    for pid in pids:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        print("left behind:", pid)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of children are POSIX's")
def test_workers_whose_exit_codes_are_lost_are_missed_and_end():
    done = subprocess.run(
        [sys.executable, "-c", REAPED], capture_output=True, text=True, timeout=60, check=False
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stdout + done.stderr
    assert re.fullmatch(r"DataLoader worker \(pid\(s\) .*(first|second)\) exited unexpectedly", lines[0])
    assert lines[1:] == ["DataLoader timed out after 1 seconds", "4"]


def test_a_timeout_ends_the_wait(monkeypatch):
    monkeypatch.setattr("fxgrad.compat.utils.data.pool.GRACE", 0.1)
    loader = data.DataLoader(Calls(lambda i: time.sleep(30)), num_workers=1, **{**FORK, "timeout": 0.3})
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
        list(loader)
    for child in children():  # which has been told to end
        child.join(timeout=20)
    assert not children()


def test_workers_end_with_an_iteration_that_is_broken_off():
    big = Calls(lambda i: np.zeros(200_000), 30)
    for batch in data.DataLoader(big, 1, num_workers=2, **FORK):
        assert batch.shape == (1, 200_000)
        break
    del batch
    assert not children()


def test_persistent_workers_stay():
    def who(i):
        return os.getpid()

    loader = data.DataLoader(Calls(who), 1, num_workers=2, persistent_workers=True, **FORK)
    first = next(iter(loader))  # what else comes of this pass is not wanted
    passes = [sorted({pid for (pid,) in plain(loader)}) for _ in range(2)]
    assert passes[0] == passes[1] and first.item() in passes[0] and len(passes[0]) == 2
    old, new = iter(loader), iter(loader)
    assert len(list(new)) == 4
    with pytest.raises(RuntimeError, match="another has begun"):
        next(old)
    del loader, old, new
    assert not children()


def test_out_of_order_the_first_loaded_comes_first():
    def get(i):
        time.sleep(0.5 if i == 0 else 0)
        return i

    loader = data.DataLoader(Calls(get, 6), 1, num_workers=2, in_order=False, **FORK)
    loaded = [i for (i,) in plain(loader)]
    assert sorted(loaded) == list(range(6)) and loaded[0] != 0


def test_requests_larger_than_a_pipe_pass():
    rows = [list(range(60_000))] * 4
    loader = data.DataLoader(range(60_000), batch_sampler=rows, num_workers=1, **FORK)
    assert [len(batch) for batch in loader] == [60_000] * 4


SPAWNED = """
import os, sys
import fxgrad.compat as torch
from fxgrad.compat.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    dataset = TensorDataset(torch.arange(5), torch.arange(5.0))
    loader = DataLoader(dataset, 2, num_workers=1, multiprocessing_context="spawn", timeout=100)
    print([[x.tolist() for x in batch] for batch in loader])
"""
ABANDONED = """
import os, time
from fxgrad.compat.utils.data import DataLoader

batches = iter(DataLoader(range(5), 1, num_workers=2, multiprocessing_context="fork"))
next(batches)
print(*[process.pid for process in batches.pool.processes], flush=True)
os.kill(os.getpid(), 9)
"""


def test_workers_may_be_spawned(tmp_path):
    program = tmp_path / "spawned.py"
    program.write_text(SPAWNED)
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.stdout.strip() == "[[[0, 1], [0.0, 1.0]], [[2, 3], [2.0, 3.0]], [[4], [4.0]]]", done.stderr


def test_workers_do_not_outlive_a_process_that_is_killed():
    done = subprocess.run(
        [sys.executable, "-c", ABANDONED], capture_output=True, text=True, timeout=60, check=False
    )
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 20
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
    except OSError:
        return False


def test_a_loader_can_be_sent_elsewhere():
    import copy

    loader = data.DataLoader(range(3), num_workers=1, persistent_workers=True, **FORK)
    next(iter(loader))
    assert plain(copy.deepcopy(data.DataLoader(range(3), 2))) == [[0, 1], [2]]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified in"),
        ({"num_workers": 1, "prefetch_factor": -2}, ValueError, "prefetch_factor option should be non-neg"),
        ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
        ({"multiprocessing_context": "fork"}, ValueError, "can only be used with multi-process loading"),
        (
            {"num_workers": 1, "multiprocessing_context": "x"},
            ValueError,
            "should specify a valid start method",
        ),
        ({"num_workers": 1, "multiprocessing_context": 3}, TypeError, "should be a valid context object"),
    ],
)
def test_arguments_about_workers(options, kind, message):
    with pytest.raises(kind, match=message):
        data.DataLoader([1], **options)


def test_a_stream_longer_than_it_says_is_warned_of():
    class Short(Stream):
        def __len__(self):
            return 2

    loader = data.DataLoader(Short(), 2)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match=r"was reported to be 1\(when accessing len"):
        assert len(list(loader)) == 2
