"""Bases, views and writes, each in a mode of its own: what the Tensors say of themselves, what may be written, and the
gradients, under both libraries."""

from __future__ import annotations

import re

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import ERRORS

MODES = ("enable_grad", "no_grad", "inference_mode")
INFERENCE = "Inplace update to inference tensor"
BASES = {
    "leaf": lambda library, a: a,
    "computed": lambda library, a: a * 1,
    "plain": lambda library, a: library.tensor([1.0, 2.0]),
}
VIEWS = {
    "slice": lambda functions, t: t[:1],
    "slice of a slice": lambda functions, t: t[:][:1],
    "unbind": lambda functions, t: t.unbind(0)[0],
    "split": lambda functions, t: t.split(1)[0],
    "unbind of a slice": lambda functions, t: t[:].unbind(0)[0],
    "Function": lambda functions, t: functions["view"].apply(t),
    "as it is": lambda functions, t: functions["same"].apply(t),
    "one of two": lambda functions, t: functions["parts"].apply(t)[0],
    "slice of a Function's": lambda functions, t: functions["view"].apply(t)[:1],
    "Function of a slice": lambda functions, t: functions["view"].apply(t[:]),
    "detach": lambda functions, t: t.detach(),
}
# Views of an inference Tensor: torch lets a detached one be modified anywhere, and records nothing that follows from
# the history of the others.
DETACHED, RECORDED = (
    {"detach", "as it is"},
    {"Function", "one of two", "slice of a Function's", "Function of a slice"},
)


def put(view):
    view[0] = 1.0


WRITES = {
    "scale": lambda base, view, w: view.mul_(2),
    "scale by a leaf": lambda base, view, w: view.mul_(w),
    "scale the base": lambda base, view, w: base.mul_(2),
    "scale the base by a leaf": lambda base, view, w: base.mul_(w),
    "zero": lambda base, view, w: view.zero_(),
    "shape": lambda base, view, w: view.unsqueeze_(0),
    "put": lambda base, view, w: put(view),
}


def make_functions(library):
    class Identity(library.autograd.Function):
        @staticmethod
        def backward(ctx, g):
            return g

    class View(Identity):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

    class Same(Identity):
        @staticmethod
        def forward(ctx, x):
            return x

    class Parts(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1], x[1:]

        @staticmethod
        def backward(ctx, g, h):
            return library.cat([g, h])

    return {"view": View, "same": Same, "parts": Parts}


def first_line(error):
    """torch makes a view anew by strides; here the steps that made it are repeated."""
    text = str(error).partition("\n")[0]
    return re.sub(r"of (AsStrided|Slice|Select|Unbind|Split) is", "of … is", text)


def attempt(run):
    try:
        return run()
    except ERRORS as error:
        return first_line(error)


def node_name(tensor):
    name = None if tensor.grad_fn is None else tensor.grad_fn.name()
    return re.sub(r"(AsStrided|Slice|Select|Unbind|Split|Unsqueeze)Backward\d", "view", str(name))


def state(tensor):
    text = attempt(lambda: re.sub("grad_fn=<(?!Invalid)[^>]*>", "grad_fn=…", repr(tensor)))
    flags = tensor.requires_grad, attempt(lambda: tensor.is_leaf), tensor._is_view(), tensor.is_inference()
    return flags, attempt(lambda: node_name(tensor)), text


def run(library, base_name, modes, view_name, write_name):
    """What can be seen at each step; None after a write that torch refuses when it has written."""
    in_base, in_view, in_write = [getattr(library, mode) for mode in modes]
    w = library.tensor(3.0, requires_grad=True)
    with in_base():
        a = library.tensor([1.0, 2.0], requires_grad=True)
        base = BASES[base_name](library, a)
    with in_view():
        view = attempt(lambda: VIEWS[view_name](make_functions(library), base))
    if isinstance(view, str):
        return [view]
    found = [state(view)]
    with in_write():
        found.append(attempt(lambda: WRITES[write_name](base, view, w) is None))
    if INFERENCE in str(found[-1]):
        return found
    found += [state(view), state(base), attempt(lambda: (view * view).sum().backward()), a.grad, w.grad]
    found.append(attempt(lambda: view.add_(1) is None))
    return found if INFERENCE in str(found[-1]) else [*found, state(view), state(base)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("in_base", MODES)
@pytest.mark.parametrize("in_view", MODES)
def test_alike(base, in_base, in_view):
    for view in VIEWS:
        unlike = DETACHED | RECORDED if base == "leaf" else DETACHED
        if in_base == "inference_mode" and view in unlike:
            continue
        for in_write in MODES:
            for write in WRITES:
                case = base, (in_base, in_view, in_write), view, write
                ours, theirs = run(fxt, *case), run(torch, *case)
                assert str(ours) == str(theirs), case


def test_a_view_made_under_no_grad_has_a_gradient_of_its_own():
    """Where torch loses it: the view requires a gradient, and `.grad` stays None."""
    a = fxt.ones(2, requires_grad=True)
    with fxt.no_grad():
        view = a[:1]
    (view * view).sum().backward()
    assert view.is_leaf and view.grad.tolist() == [2.0] and a.grad is None
