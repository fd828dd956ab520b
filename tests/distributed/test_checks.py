"""`check=True`: ranks that are about to do different things all raise, and say what; right programs go on."""

from functools import partial

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.distributed.checks import Call

from .ranks import run_on_ranks
from .test_communicator import CHECKS


def differ(world, here, elsewhere):
    """All ranks get the same error; return it. `elsewhere` is what the last rank does."""
    with pytest.raises(fx.CollectiveMismatchError) as caught:
        if world.rank == world.size - 1:
            elsewhere()
        else:
            here()
    message = caught.value.args[0].partition("different things:")[2]
    assert message and world.gather_objects(message) == [message] * world.size
    return message


def with_checks(function):
    def checked(world):
        world.check = True
        function(world)
        world.check = False

    return checked


@with_checks
def on_ranks_different_collectives(world):
    x = np.ones((2, 3))
    message = differ(world, lambda: world.all_reduce(x), lambda: world.all_gather(x))
    assert "rank 2: all_gather(float64[2,3]) at" in message
    assert "ranks 0, 1: all_reduce(float64[2,3], sum) at" in message
    assert "test_checks.py:" in message and "lambda: world.all_gather(x)" in message
    for here, elsewhere in (
        (lambda: world.all_reduce(x), lambda: world.all_reduce(x, "max")),
        (lambda: world.all_reduce(x), lambda: world.all_reduce(x.astype("f"))),
        (lambda: world.all_reduce(x), lambda: world.all_reduce(x.T)),
        (lambda: world.start_all_gather(x), lambda: world.start_all_gather(x[:1])),
        (lambda: world.broadcast(x), lambda: world.broadcast(x, 1)),
        (lambda: world.broadcast(x), lambda: world.broadcast(x[0])),
        (lambda: world.permute(x, [(0, 1)]), lambda: world.permute(x, [(1, 0)])),
        (lambda: world.gather_rows(x), lambda: world.gather_rows(x[:, 0])),
        (lambda: world.broadcast_object(1), lambda: world.gather_objects(1)),
        (lambda: world.barrier(), lambda: world.split(0)),
    ):
        differ(world, here, elsewhere)


def on_ranks_operands_that_do_not_fit_without_checks(world):
    """What is combined is compared on the way, also where nobody has asked for it; the group goes on."""
    x = np.ones((2, 3))
    big = np.ones((world.size, 9000))
    message = differ(world, lambda: world.all_reduce(x), lambda: world.all_reduce(x.astype("f4")))
    assert "ranks 0, 1: all_reduce(float64[2,3], sum) at" in message
    assert "rank 2: all_reduce(float32[2,3], sum) at" in message
    for method in ("all_reduce", "reduce", "all_gather", "gather", "reduce_scatter", "all_to_all"):
        call, begin = getattr(world, method), getattr(world, f"start_{method}", None)
        for here in (big, big.astype("f2"), big[:, :2]):
            for elsewhere in (here.astype("f4"), here.repeat(2, -1), here.reshape(*here.shape, 1)):
                differ(world, partial(call, here), partial(call, elsewhere))
                if begin is not None:
                    right, wrong = begin(here), begin(elsewhere if world.rank == 1 else here)
                    right.wait()
                    while not wrong.test():
                        pass
                    with pytest.raises(fx.CollectiveMismatchError, match=method):
                        wrong.wait()
    differ(world, lambda: world.all_reduce(x), lambda: world.all_reduce(x, "max"))
    differ(world, lambda: world.all_reduce(x), lambda: world.all_gather(x))
    assert world.all_reduce(1) == world.size


@with_checks
def on_ranks_different_lines(world):
    """Two sums of the same shape would silently be added to each other."""
    differ(
        world,
        lambda: world.all_reduce(1.0),
        lambda: world.all_reduce(2.0),
    )


@with_checks
def on_ranks_lines_of_the_root_may_be_its_own(world):
    if world.rank == 0:
        np.testing.assert_array_equal(world.gather(world.rank), np.arange(world.size))
        x = world.scatter(np.arange(world.size))
    else:
        world.gather(world.rank)
        x = world.scatter()
    assert x == world.rank


@with_checks
def on_ranks_groups_inherit(world):
    group = world.split(0 if world.rank < 2 else None)
    if group is not None:
        assert group.check
        with pytest.raises(fx.CollectiveMismatchError, match="the 2 processes"):
            if group.rank:
                group.all_reduce(1)
            else:
                group.all_reduce(1.0)


@with_checks
def on_ranks_right_programs(world):
    for check in CHECKS:
        if check.__name__ not in ("check_reductions", "check_moves"):  # long, and of the same calls
            check(world)


def on_ranks_the_world_is_told(world):
    assert fx.distributed.world(check=True, timeout=30) is world and world.check and world.timeout == 30
    differ(world, lambda: world.all_reduce(1.0), lambda: world.all_reduce(1))
    fx.distributed.world(check=False)
    world.timeout = None


def test_on_ranks():
    run_on_ranks(__name__, 3)


def test_a_call_describes_itself():
    call = Call("gather_rows", "world", 1, (0, 1))
    call.dtype, call.shape, call.detail = np.dtype(int), (None, 3), "root=1"
    assert str(call) == "gather_rows(int64[·,3], root=1)"
    assert "test_checks.py" in call.text() and 'Call("gather_rows"' in call.describe()
    call.rooted = True
    assert call.text() == str(call)
