"""Subclasses of Tensor beside torch's: `__torch_function__`, Parameters of classes of their own, torch.overrides."""

from __future__ import annotations

import traceback

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

LIBRARIES = pytest.mark.parametrize("T", [fxt, torch], ids=["fxgrad.compat", "torch"])


def logged_class(T, log):
    """A class that notes which functions are called."""

    class Logged(T.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logged


CALLS = [
    "x + 1", "x * x", "T.sin(x)", "x.exp()", "T.ones(2, 2) @ x", "T.nn.functional.relu(x)", "x.view(2, 1)", "x.sum()",
    "T.cat([T.ones(2), x])", "T.stack([x, x])", "x.split(1)[0]", "x.add_(1)",
    "T.add(T.ones(2), x, alpha=2)", "x.clone()",
    "x.max(0).values", "T.where(x > 1, x, 0.0)", "x.mean(dim=0)", "x.reshape(1, 2)", "x.softmax(0)", "x.detach()",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_functions_ask_the_class(code):
    found = []
    for T in (fxt, torch):
        log = []
        x = T.tensor([1.0, 2.0]).as_subclass(logged_class(T, log))
        result = eval(code, {"T": T, "x": x})
        found.append(
            (
                type(result).__name__,
                np.round(result.detach().numpy(), 5).tolist(),
                [n for n in log if not n.startswith("__")][:2],
            )
        )
    assert found[0][:2] == found[1][:2]
    assert found[0][2][-1] == found[1][2][-1]


@LIBRARIES
def test_a_class_may_answer_itself(T):
    class Answering(T.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is T.add:
                return "sum", len(args), kwargs
            return NotImplemented

    x = T.ones(2).as_subclass(Answering)
    assert T.add(T.ones(2), x) == ("sum", 2, kwargs_of(T))
    assert T.add(x, 1, alpha=3) == ("sum", 2, {"alpha": 3})
    with pytest.raises(TypeError, match="returned NotImplemented"):
        T.sin(x)


def kwargs_of(T):
    """What torch gives where there are no keywords: None."""
    return None if T is torch else {}


@LIBRARIES
def test_a_subclass_of_a_subclass_is_asked_first(T):
    asked = []

    class Base(T.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(cls.__name__)
            return NotImplemented

    class Derived(Base):
        pass

    x, y = T.ones(1).as_subclass(Base), T.ones(1).as_subclass(Derived)
    with pytest.raises(TypeError):
        T.mul(x, y)
    assert asked == ["Derived", "Base"]


@LIBRARIES
def test_gradients_of_subclasses(T):
    log = []
    w = T.tensor([1.0, 2.0], requires_grad=True)
    y = (w.as_subclass(logged_class(T, log)) * 3).sum()
    y.backward()
    assert w.grad.tolist() == [3.0, 3.0] and type(w.grad) is T.Tensor
    assert "mul" in log and "sum" in log


@LIBRARIES
def test_parameters_of_a_class_of_their_own(T):
    class OnManifold(T.nn.Parameter):
        def __new__(cls, data, manifold, requires_grad=True):
            made = T.Tensor._make_subclass(cls, data, requires_grad)
            made.manifold = manifold
            return made

    class Model(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.point = OnManifold(T.ones(2), "sphere")

        def forward(self, x):
            return (self.point * x).sum()

    model = Model()
    assert [(name, p.manifold) for name, p in model.named_parameters()] == [("point", "sphere")]
    assert type(model.point * 2) is T.Tensor and model.point.is_leaf and model.point.requires_grad
    model(T.tensor([1.0, 2.0])).backward()
    T.optim.SGD(model.parameters(), lr=1.0).step()
    assert model.point.tolist() == [0.0, -1.0] and isinstance(model.point, OnManifold)


@LIBRARIES
def test_overrides_of_functions_of_the_user(T):
    class Thing:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, types, args[1:], kwargs

    def twice(x, by=2):
        if T.overrides.has_torch_function((x,)):
            return T.overrides.handle_torch_function(twice, (x,), x, by=by)
        return x * by

    thing = Thing()
    assert twice(thing, by=3) == ("twice", (Thing,), (), {"by": 3}) and twice(T.ones(())).item() == 2.0
    assert T.overrides.has_torch_function_unary(thing) and not T.overrides.has_torch_function_unary(T.ones(1))
    assert T.overrides.has_torch_function_variadic(1, thing)
    assert T.overrides.is_tensor_like(thing) and T.overrides.is_tensor_like(T.ones(1))
    assert not T.overrides.is_tensor_like(3)
    assert T.overrides.resolve_name(T.nn.functional.relu) == "torch.nn.functional.relu"
    assert T.nn.functional.relu in T.overrides.get_overridable_functions()[T.nn.functional]


@LIBRARIES
def test_calls_wait_for_the_end_of_backward(T):
    queue = T.autograd.Variable._execution_engine.queue_callback
    seen = []
    a, b = (T.ones(1, requires_grad=True) for _ in range(2))

    def hook(grad):
        queue(lambda: seen.append((a.grad is not None, b.grad is not None)))

    a.register_hook(hook)
    (a * b).sum().backward()
    assert seen == [(True, True)]
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue(lambda: None)


@LIBRARIES
def test_modes_see_every_function(T):
    log = []

    class Log(T.overrides.TorchFunctionMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append((self.name, func.__name__))
            return func(*args, **(kwargs or {}))

    x = T.ones(2)
    with Log("outer"):
        y = x.sin()
        with T.no_grad(), Log("inner"):
            z = T.mul(y, 2)
        z + 1
    x.cos()
    assert [entry for entry in log if not entry[1].startswith("__") and "grad" not in entry[1]] == [
        ("outer", "sin"),
        ("inner", "mul"),
        ("outer", "mul"),
        ("outer", "add"),
    ]


@pytest.mark.parametrize("code", ["x.mT", "setattr(x, 'grad', 1.0)", "setattr(x, 'requires_grad', 3)"])
def test_errors_of_attributes_end_at_the_user_s_line_beside_such_a_class(code):
    logged_class(fxt, [])  # from here on attributes ask
    with pytest.raises((TypeError, RuntimeError)) as caught:
        eval(code, {"x": fxt.ones(2)})
    assert traceback.extract_tb(caught.value.__traceback__)[-1].filename == "<string>"
