"""What the benchmark of many processes measures is equal and is measured, and its model counts every message."""

import sys

import pytest

from benchmarks import communication_cost as cost
from benchmarks.distributed import BY_TCP, measured
from tests.distributed.ranks import mpirun

NETWORK = cost.Network(latency=1.0, bandwidth=8.0, addition=0.5)


def messages_of_a_ring(ranks, size):
    """Return (bytes sent, bytes added) of one process, step by step."""
    part = size / ranks
    return [(part, part)] * (ranks - 1) + [(part, 0)] * (ranks - 1)


def messages_of_rabenseifner(ranks, size):
    """Return the same where halves, quarters … are exchanged, and put together again."""
    parts = [size / 2**k for k in range(1, ranks.bit_length())]
    return [(part, part) for part in parts] + [(part, 0) for part in reversed(parts)]


def messages_of_recursive_doubling(ranks, size):
    return [(size, size)] * (ranks.bit_length() - 1)


@pytest.mark.parametrize("ranks", [1, 2, 8, 64])
def test_the_model_is_the_sum_over_all_messages(ranks):
    for predicted, messages in (
        (cost.ring, messages_of_a_ring),
        (cost.rabenseifner, messages_of_rabenseifner),
        (cost.recursive_doubling, messages_of_recursive_doubling),
    ):
        sent = messages(ranks, 1024.0)
        expected = sum(1.0 + part / 8.0 + added * 0.5 for part, added in sent)
        assert predicted(NETWORK, ranks, 1024.0) == pytest.approx(expected)
    for messages in (messages_of_a_ring, messages_of_rabenseifner):
        assert sum(part for part, _ in messages(ranks, 1024.0)) == pytest.approx(
            cost.sent_bytes(ranks, 1024.0)
        )


def test_the_table_has_a_row_for_each_number_of_processes():
    head, *rows = cost.table(NETWORK, {"4 kB": 4e3})
    assert [int(row[0]) for row in rows] == [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
    assert {len(row) for row in rows} == {len(head)} == {4}
    assert [cost.duration(t) for t in (2.5e-6, 0.0123456, 12.0)] == ["2.50 µs", "12.3 ms", "12.0 s"]


def measured_here(subject, count, **environment):
    pytest.importorskip("mpi4py", reason="needs mpi4py (fxgrad[mpi])")
    if mpirun() is None:
        pytest.skip("needs mpirun, of the package mpich for instance")
    return measured(subject, count, True, **environment)


def test_sums_and_gradients_are_equal_however_they_are_computed():
    for line in measured_here("sums", 2):
        assert {"mpi4py", "communicator", "lax.psum", "jitted lax.psum"} <= line["median"].keys()
    steps = measured_here("steps", 2)
    assert {"no communication", "reduced afterwards", "compat DDP"} <= steps["median"].keys()


@pytest.mark.skipif(sys.platform != "linux", reason="counts at Linux's network device")
def test_a_gradient_sends_what_the_model_says():
    counted = measured_here("sent", 2, **BY_TCP)
    assert counted["sent"] > 0.9 * cost.sent_bytes(2, counted["parameters"])
