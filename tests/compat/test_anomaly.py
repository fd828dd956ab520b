"""Anomaly mode by itself: tasks and threads, what is reported and kept, and that gradients are the same."""

from __future__ import annotations

import contextvars
import gc
import re
import threading
import warnings
import weakref
from pathlib import Path

import pytest

import fxgrad.compat as fxt

PACKAGE = Path(fxt.__file__).parent.parent
ENTRY = re.compile(r'  File "([^"]*)", line \d+, in (\S+)')


@pytest.fixture
def anomalies():
    """Anomalies are detected, and reports are collected."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with fxt.autograd.set_detect_anomaly(True):
            yield found


def failing():
    """A loss whose gradient is NaN."""
    return (root() * 0).sum()


def root():
    return fxt.sqrt(fxt.zeros(1, requires_grad=True))


def test_the_error_has_the_forward_line(anomalies):
    with pytest.raises(RuntimeError, match=r"returned nan values in its 0th output\.\n  at: .* in root"):
        failing().backward()


def test_stacks_have_only_the_users_frames(anomalies):
    with pytest.raises(RuntimeError):
        failing().backward()
    (report,) = anomalies
    paths = [path for path, _ in ENTRY.findall(str(report.message))]
    assert paths[-2:] == [__file__, __file__]
    assert not [path for path in paths if Path(path).is_relative_to(PACKAGE)]
    assert report.filename == __file__


def test_where_warnings_are_errors_the_error_itself_has_the_report():
    with (
        warnings.catch_warnings(),
        fxt.autograd.set_detect_anomaly(True),
        pytest.raises(RuntimeError, match="returned nan values") as found,
    ):
        warnings.simplefilter("error")
        failing().backward()
    assert [note.partition(".")[0] for note in found.value.__notes__] == ["Error detected in SqrtBackward0"]


def test_the_mode_is_that_of_the_task(anomalies):
    seen = {}

    def note(name):
        seen[name] = fxt.is_anomaly_enabled()

    copied = contextvars.copy_context()
    threads = [
        threading.Thread(target=contextvars.Context().run, args=(note, "new")),
        threading.Thread(target=copied.run, args=(note, "copied")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == {"new": False, "copied": True}


def test_backward_in_a_thread_with_a_copy_of_the_context(anomalies):
    y = failing()
    errors = []

    def run():
        try:
            y.backward()
        except RuntimeError as error:
            errors.append(str(error).partition("\n")[0])

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,))
    thread.start()
    thread.join(60)
    assert errors == ["Function 'SqrtBackward0' returned nan values in its 0th output."]
    assert "in root" in str(anomalies[0].message)


def test_a_batch_of_cotangents(anomalies):
    x = fxt.tensor([0.0, 1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values"):
        fxt.autograd.grad(fxt.sqrt(x), x, fxt.eye(2), is_grads_batched=True)


def test_the_mode_inside_a_transform(anomalies):
    def loss(t):
        with fxt.autograd.set_detect_anomaly(True):
            failing().backward()
        return t

    with fxt.autograd.set_detect_anomaly(False):
        with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values"):
            fxt.func.grad(loss)(fxt.tensor(1.0))
        assert fxt.is_anomaly_enabled() is False
    assert "in root" in str(anomalies[0].message)


def test_numpy_does_not_warn_after_user_code_that_catches_an_error():
    x = fxt.zeros(1, requires_grad=True)
    y = fxt.sqrt(x)

    def hook(gradient):
        with pytest.raises(RuntimeError):
            fxt.ones(2) @ fxt.ones(3)

    z = y * 0
    z.register_hook(hook)
    z.register_hook(lambda gradient: gradient * 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        z.sum().backward(create_graph=True, inputs=(x,))
    assert bool(x.grad.isnan())


def test_decorators():
    @fxt.autograd.set_detect_anomaly(True)
    def decorated():
        return fxt.is_anomaly_enabled()

    assert decorated() is True
    assert fxt.is_anomaly_enabled() is False


def test_what_is_kept_goes_with_the_graph(anomalies):
    x = fxt.tensor([2.0], requires_grad=True)
    y = x**3
    (g,) = fxt.autograd.grad(y.sum(), x, create_graph=True)

    class Note:
        pass

    note = y.grad_fn.metadata["note"] = Note()
    reference = weakref.ref(note)
    (h,) = fxt.autograd.grad(g.sum(), x, create_graph=True)
    h.sum().backward()
    del note, y, g, h
    x.grad = None
    gc.collect()
    assert reference() is None


def test_the_fast_path_is_back_afterwards():
    before = contextvars.copy_context().run(lambda: fxt.exp(fxt.ones(2, requires_grad=True)).grad_fn.metadata)
    with fxt.autograd.set_detect_anomaly(True):
        inside = fxt.exp(fxt.ones(2, requires_grad=True)).grad_fn.metadata
    after = fxt.exp(fxt.ones(2, requires_grad=True)).grad_fn.metadata
    assert (before, list(inside), after) == ({}, ["traceback_"], {})


def test_gradients_are_the_same(anomalies):
    def gradients():
        x = fxt.tensor([[0.5, 1.5], [2.5, 3.5]], requires_grad=True)
        w = fxt.tensor([[1.0, -1.0], [0.5, 2.0]], requires_grad=True)
        y = fxt.nn.functional.softmax((x @ w).tanh(), -1)
        y = y.clone()
        y[:, 0].mul_(2)
        g = fxt.autograd.grad(y.log().sum(), (x, w), create_graph=True)
        return [t.tolist() for t in (*g, *fxt.autograd.grad(sum(t.sum() for t in g), (x, w)))]

    inside = gradients()
    with fxt.autograd.set_detect_anomaly(False):
        assert gradients() == inside
    assert not anomalies
