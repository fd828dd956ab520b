"""What public packages do with the surface of torch, under torch and here: Tensors for numbers, derived classes."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt

LIBRARIES = [pytest.param(torch, id="torch"), pytest.param(fxt, id="fxgrad")]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("lib", LIBRARIES)
def test_a_tensor_without_axes_stands_for_a_number(lib):
    x, two = lib.ones(2), lib.tensor(2.0)
    for y in (
        lib.add(x, x, alpha=two),
        x.clone().add_(x, alpha=two),
        lib.add(x, two, x),
        x.clone().addcdiv_(two, x, x),
        lib.addcmul(x, x, x, value=two),
    ):
        assert y.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("lib", LIBRARIES)
def test_a_tensor_that_requires_a_gradient_or_has_axes_does_not(lib):
    x = lib.ones(2)
    for bad in (lib.tensor(2.0, requires_grad=True), lib.tensor([2.0])):
        with pytest.raises(TypeError, match="argument 'alpha' must be Number, not Tensor"):
            lib.add(x, x, alpha=bad)


@pytest.mark.parametrize("lib", LIBRARIES)
@pytest.mark.parametrize("base", ["ModuleDict", "ParameterDict", "ParameterList"])
def test_a_container_made_of_nothing_does_not_call_what_subclasses_override(lib, base):
    def refuse(self, *args):
        raise AssertionError("called before the subclass was ready")

    kind = type("Mine", (getattr(lib.nn, base),), {"update": refuse, "extend": refuse})
    assert len(kind()) == 0


@pytest.mark.parametrize("lib", LIBRARIES)
def test_an_optimizer_around_another_needs_no_hooks(lib):
    class Around(lib.optim.Optimizer):
        def __init__(self, inner):  # not the base's
            self.inner, self.param_groups = inner, inner.param_groups

        def step(self, closure=None):
            return self.inner.step(closure)

    p = lib.nn.Parameter(lib.ones(1))
    p.grad = lib.ones(1)
    Around(lib.optim.SGD([p], lr=0.5)).step()
    assert p.item() == 0.5


@pytest.mark.parametrize("lib", LIBRARIES)
def test_a_tensor_of_a_class_of_its_own_says_which(lib):
    mine = type("Mine", (lib.Tensor,), {})
    parameter = type("Weight", (lib.nn.Parameter,), {})
    made = lib.Tensor._make_subclass(parameter, lib.ones(1), True)
    assert repr(lib.ones(1).as_subclass(mine)) == "Mine([1.])"
    assert repr(made) == "Parameter containing:\nParameter(Weight([1.], requires_grad=True))"


@pytest.mark.parametrize("lib", LIBRARIES)
def test_groups_of_an_optimizer_are_printed_apart(lib):
    groups = [{"params": [lib.nn.Parameter(lib.ones(1))]} for _ in range(2)]
    assert "\n\nParameter Group 1\n" in repr(lib.optim.SGD(groups, lr=0.1))
