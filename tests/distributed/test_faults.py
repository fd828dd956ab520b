"""Faults: whatever happens to one process ends all, with one message, and nobody waits for ever."""

import os
import re
import signal
import subprocess
import sys
import textwrap

import pytest

from .ranks import ROOT, mpirun

BEGINNING = """\
import os, signal, sys, threading, time
import numpy as np
import fxgrad as fx
world = fx.distributed.world()
"""


@pytest.fixture
def start(tmp_path):
    """Start a program on several processes; it is ended with the test."""
    pytest.importorskip("mpi4py", reason="needs mpi4py (fxgrad[mpi])")
    if mpirun() is None:
        pytest.skip("needs mpirun, of the package mpich for instance")
    path = tmp_path / "program.py"
    begun = []

    def start(source, count=3, **environment):
        path.write_text(BEGINNING + textwrap.dedent(source))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", **environment}
        command = [mpirun(), "-n", str(count), sys.executable, str(path)]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()


@pytest.fixture
def fail(start):
    """Run a program that is to fail; return the number of the rank that says so, and all that is printed."""

    def fail(source, count=3, **environment):
        process = start(source, count, **environment)
        output, _ = process.communicate(timeout=60)
        assert process.returncode != 0
        ranks = re.findall(r"^rank (\d) of \d has failed", output, re.M)
        assert len(ranks) == 1 and output.count("Traceback") == 1, output
        return int(ranks[0]), output

    return fail


def test_a_rank_that_raises_ends_all_with_one_message(fail):
    rank, output = fail(
        """
        def step(x):
            total = world.all_reduce(x)
            if world.rank == 2:
                raise ValueError("no such thing")
            return world.all_reduce(total)
        step(np.ones(3))
        """
    )
    assert (
        rank == 2 and "ValueError: no such thing" in output and 'raise ValueError("no such thing")' in output
    )
    assert re.search(
        r"last collective: all_reduce\(float64\[3\], sum\) at .*program.py:\d+ in step:  total =", output
    )


def test_where_all_raise_one_of_them_says_so(fail):
    rank, output = fail("world.all_reduce(1.0, 'median')")
    assert rank == 0 and "there is no reduction 'median'" in output and "last collective: none yet" in output


def test_a_rank_that_raises_ends_those_that_compute(fail):
    rank, _ = fail("1 / 0 if world.rank == 1 else time.sleep(100)")
    assert rank == 1


@pytest.mark.parametrize("end", ["sys.exit(0)", "sys.exit(3)", "world.split(0)"])
def test_a_rank_that_ends_is_missed_by_those_that_wait(fail, end):
    _, output = fail(
        f"""
        world.all_reduce(1)
        if world.rank == 1:
            {end}
        else:
            world.split(0)
            world.all_reduce(np.ones(4), "max")
        """
    )
    assert "rank 1 has ended without its part" in output and "CollectiveMismatchError" in output
    assert re.search(r"at: +.*program.py:\d+", output)


def test_a_rank_that_ends_is_missed_in_a_group_of_some(fail):
    _, output = fail(
        """
        pair = world.split(world.rank // 2)
        if world.rank == 0:
            pair.barrier()
        """,
        4,
    )
    assert "barrier(): rank 1 has ended" in output


def test_a_message_that_nobody_sends_is_an_error_when_the_sender_ends(fail):
    _, output = fail("if world.rank == 0: world.recv(np.empty(3), 1)")
    assert "recv(float64[3], source=1, tag=0): rank 1 has ended" in output


def test_ranks_may_end_at_different_times(start):
    process = start(
        """
        time.sleep(0.3 * world.rank)
        y = world.broadcast(np.full(1_000_000, world.rank))
        assert (y == 0).all()
        if world.rank == 0:
            work = world.start_send(y, 1)
        elif world.rank == 1:
            time.sleep(0.5)
            world.recv(np.empty_like(y), 0)
        """
    )
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and output == ""


def test_waiting_has_a_limit(fail):
    program = """
        world.all_reduce(1)
        if world.rank == 1:
            time.sleep(100)
        world.all_reduce(np.ones(2))
        """
    _, output = fail(program, FXGRAD_COMM_TIMEOUT="0.5")
    assert "CollectiveTimeoutError: all_reduce(float64[2], sum): rank" in output
    assert "has waited 0.5 s" in output and "check=True" in output
    _, output = fail(program, FXGRAD_COMM_TIMEOUT="0.5", FXGRAD_COMM_CHECK="1")
    assert "not there: rank 1" in output


def test_a_timeout_may_be_caught_and_what_was_sent_arrives(start):
    process = start(
        """
        world.timeout = 0.3
        x = np.arange(3.0)
        if world.rank == 0:
            time.sleep(1)
        work = world.start_all_reduce(x)
        try:
            work.wait()
        except TimeoutError as error:
            assert world.rank > 0 and error.hint
        else:
            assert world.rank == 0
        world.timeout = None
        np.testing.assert_array_equal(work.wait(), x * world.size)
        assert world.all_reduce(1) == world.size
        """
    )
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and output == ""


def test_an_interrupt_reaches_a_rank_that_waits_in_a_collective(fail):
    rank, output = fail(
        """
        world.all_reduce(1)
        if world.rank == 1:
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        if world.rank:
            world.all_reduce(np.ones(2))
        time.sleep(100)
        """
    )
    assert rank == 1 and "KeyboardInterrupt" in output and "world.all_reduce(np.ones(2))" in output


def test_control_c_ends_all(start):
    process = start(
        """
        world.all_reduce(1)
        print("ready", flush=True)
        if world.rank:
            world.all_reduce(np.ones(2))
        time.sleep(100)
        """
    )
    assert "ready" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert output.count("has failed") <= 1  # none where mpirun is faster


def test_a_rank_that_is_killed_ends_all(start):
    process = start(
        """
        world.all_reduce(1)
        if world.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        world.all_reduce(np.ones(2))
        """
    )
    process.communicate(timeout=60)
    assert process.returncode != 0
