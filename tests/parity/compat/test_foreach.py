"""torch._foreach_…: an operation on each Tensor of a list, against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch as peer

import fxgrad.compat as torch

NAMES = sorted(name for name in dir(peer) if name.startswith("_foreach"))


def lists(t):
    """A list of Tensors, and one of the same shapes."""
    rng = np.random.default_rng(0)
    shapes = [(2, 3), (), (4,)]
    return [[t.from_numpy(rng.uniform(0.2, 0.8, s).reshape(s)) for s in shapes] for _ in range(3)]


def programs(name):
    """The calls of a function that are compared."""
    stem = name.removeprefix("_foreach_").rstrip("_")
    if stem in ("addcdiv", "addcmul"):
        return [lambda f, x, y, z: f(x, y, z, 0.5), lambda f, x, y, z: f(x, y, z, [0.5, 1.0, 2.0])]
    if stem == "lerp":
        return [lambda f, x, y, z: f(x, y, 0.3), lambda f, x, y, z: f(x, y, z)]
    if stem in ("add", "sub"):
        return [
            lambda f, x, y, z: f(x, y, alpha=-0.5),
            lambda f, x, y, z: f(x, 2.0),
            lambda f, x, y, z: f(x, [1.0, 2.0, 3.0]),
        ]
    if stem in ("mul", "div", "pow", "maximum", "minimum", "clamp_min", "clamp_max"):
        return [
            lambda f, x, y, z: f(x, y),
            lambda f, x, y, z: f(x, 0.5),
            lambda f, x, y, z: f(x, [0.1, 0.5, 2.0]),
        ]
    if stem == "powsum":
        return [lambda f, x, y, z: f(x, 3), lambda f, x, y, z: f(x, 0.5)]
    if stem == "mm":
        return [lambda f, x, y, z: f(x[:1], [y[0].T])]
    if stem == "copy":
        return [lambda f, x, y, z: f(x, y)]
    return [lambda f, x, y, z: f(x)]


@pytest.mark.parametrize("name", NAMES)
def test_it_gives_what_torch_gives(name):
    for program in programs(name):
        results = []
        for t in (torch, peer):
            operands = lists(t)
            found = program(getattr(t, name), *operands)
            in_place = name.endswith("_")
            assert found is operands[0] or not in_place
            results.append([np.asarray(x) for x in (operands[0] if in_place else found)])
            assert in_place or type(found) is tuple
        for ours, theirs in zip(*results, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_gradients_flow_and_leaves_are_refused():
    for t in (torch, peer):
        x = [v.requires_grad_() for v in lists(t)[0]]
        total = sum(v.sum() for v in t._foreach_mul(x, 2.0))
        total.backward()
        assert all((v.grad == 2).all() for v in x)
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            t._foreach_add_(x, 1.0)
        with t.no_grad():
            t._foreach_add_(x, [v.grad for v in x], alpha=-0.5)
        assert x[1].item() == pytest.approx(lists(t)[0][1].item() - 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t._foreach_add(x, x[:1]),
        lambda t, x: t._foreach_add(x, [1.0]),
        lambda t, x: t._foreach_add([], 1.0),
        lambda t, x: t._foreach_sqrt([]),
        lambda t, x: t._foreach_add(x[0], 1.0),
    ],
)
def test_errors(call):
    raised = []
    for t in (torch, peer):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            call(t, lists(t)[0])
        raised.append(caught.value)
    assert isinstance(raised[0], type(raised[1]))
    if isinstance(raised[1], RuntimeError):
        assert str(raised[1]).splitlines()[0] in str(raised[0])
