"""torch.futures: results that are there when they are waited for."""

import pytest

import fxgrad.compat as torch


def test_callbacks_follow_when_the_result_is_set():
    future, seen = torch.futures.Future(), []
    future.add_done_callback(lambda f: seen.append(f.value()))
    doubled = future.then(lambda f: 2 * f.value())
    assert not future.done() and not doubled.done()
    future.set_result(3)
    assert seen == [3] and doubled.done() and doubled.wait() == 6
    future.add_done_callback(lambda f: seen.append("at once"))
    assert seen == [3, "at once"]
    with pytest.raises(RuntimeError, match="already completed"):
        future.set_result(4)


def test_errors_arrive_where_the_result_is_waited_for():
    future = torch.futures.Future()
    following = future.then(lambda f: f.value() + 1)
    future.set_exception(ValueError("broken"))
    for waiting in (future, following):
        with pytest.raises(ValueError, match="broken"):
            waiting.wait()


def test_a_result_that_nobody_sets_is_an_error_and_not_waited_for_without_end():
    with pytest.raises(RuntimeError, match="not there"):
        torch.futures.Future().wait()
    with pytest.raises(RuntimeError, match="not there"):
        torch.futures.Future().then(lambda f: f.value()).wait()


def test_several_are_waited_for_together():
    futures = [torch.futures.Future() for _ in range(3)]
    together = torch.futures.collect_all(futures)
    for number, future in enumerate(futures):
        assert not together.done()
        future.set_result(number)
    assert together.done() and [f.value() for f in together.wait()] == [0, 1, 2]
    assert torch.futures.wait_all(futures) == [0, 1, 2]


def test_a_future_has_the_type_of_its_result_in_annotations():
    assert torch.futures.Future[int]().done() is False
