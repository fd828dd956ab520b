"""What public packages do with the surface of torch, under torch and here: Tensors for numbers, derived classes."""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module

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


@pytest.mark.parametrize("lib", LIBRARIES)
def test_types_say_what_their_tensors_are(lib):
    kinds = (
        lib.FloatTensor,
        lib.LongTensor,
        lib.BFloat16Tensor,
        lib.cuda.FloatTensor,
        lib.sparse.FloatTensor,
    )
    tensors = [lib.ones(2), lib.ones(2).long(), lib.ones(2).bfloat16(), lib.eye(2).to_sparse()]
    assert [[isinstance(x, kind) for kind in kinds] for x in tensors] == [
        [True, False, False, False, False],
        [False, True, False, False, False],
        [False, False, True, False, False],
        [False, False, False, False, True],
    ]
    assert [(kind.is_cuda, kind.is_sparse, str(kind.dtype)) for kind in kinds[2:]] == [
        (False, False, "torch.bfloat16"),
        (True, False, "torch.float32"),
        (False, True, "torch.float32"),
    ]
    assert (
        repr(kinds[3]) == "<class 'torch.cuda.FloatTensor'>"
        and repr(kinds[0] | None) == "torch.FloatTensor | None"
    )
    assert [x.type() for x in tensors] == [
        "torch.FloatTensor",
        "torch.LongTensor",
        "torch.BFloat16Tensor",
        "torch.sparse.FloatTensor",
    ]
    with pytest.raises(TypeError, match=r"type torch.cuda.FloatTensor not available"):
        kinds[3](2)
    assert (
        lib.ones(2).int().type(lib.Tensor).dtype
        == lib.ones(2).int().type("torch.Tensor").dtype
        == lib.float32
    )


@pytest.mark.parametrize("lib", LIBRARIES)
def test_sparse_tensors_are_made_by_the_older_classes(lib):
    places, entries = lib.tensor([[0, 1], [1, 0]]), lib.tensor([2.0, 3.0])
    made = lib.sparse.FloatTensor(places, entries, (2, 3))
    again = made.new(made._indices(), made._values() * 2, made.size())
    assert made.to_dense().tolist() == [[0, 2, 0], [3, 0, 0]] and again.to_dense().tolist() == [
        [0, 4, 0],
        [6, 0, 0],
    ]
    assert lib.sparse.DoubleTensor(places, entries).dtype == lib.float32  # that of the entries
    assert lib.sparse.DoubleTensor(2, 3).dtype == lib.float64 and tuple(made.new(2, 4).shape) == (2, 4)
    assert made.type(lib.float64).type() == "torch.sparse.DoubleTensor"
    with pytest.raises(TypeError, match=r"new\(\) received an invalid combination of arguments"):
        lib.sparse.FloatTensor([[0], [1]], [1.0])


@pytest.mark.parametrize("lib", LIBRARIES)
def test_optimizers_written_elsewhere_find_what_they_import(lib):
    own = import_module(f"{lib.__name__}.optim.optimizer")

    class Descent(lib.optim.Optimizer):
        def __init__(self, params, differentiable=False):
            super().__init__(params, {"lr": 0.5, "differentiable": differentiable})

        @own._use_grad_for_differentiable
        def step(self, closure=None):
            """Descend."""
            assert lib.is_grad_enabled() == self.defaults["differentiable"]
            for group in self.param_groups:
                for p in group["params"]:
                    p.data.add_(p.grad, alpha=-own._get_value(lib.tensor(group["lr"])))

    p, q = lib.nn.Parameter(lib.ones(2)), lib.nn.Parameter(lib.ones(1, dtype=lib.float64))
    p.grad = lib.ones(2)
    Descent([p]).step()
    Descent([p], differentiable=True).step()
    assert p.tolist() == [0, 0] and Descent.step.__doc__ == "Descend."
    groups = lib.optim.Optimizer._group_tensors_by_device_and_dtype([[p, q, p], [None, q, None], []], True)
    found = {str(key[1]): (lists, places) for key, (lists, places) in groups.items()}
    assert found["torch.float32"][1] == [0, 2] and found["torch.float64"][0][1][0] is q
    assert found["torch.float64"][0][2] == [] and found["torch.float32"][0][1] == [None, None]
    for bad in ([], [[]], [[p], [p, q]]):
        with pytest.raises(RuntimeError):
            own._group_tensors_by_device_and_dtype(bad)
    assert own._default_to_fused_or_foreach([p], False, True) == (True, False)
    assert (
        own._default_to_fused_or_foreach([p], False)
        == own._default_to_fused_or_foreach([p], True)
        == (False, False)
    )
    params, state = [lib.ones(1, dtype=lib.complex64), p], [lib.ones(1, dtype=lib.complex64), p]
    own._view_as_real(params, state)
    assert tuple(params[0].shape) == tuple(state[0].shape) == (1, 2) and params[1] is p


@pytest.mark.parametrize("lib", LIBRARIES)
def test_an_optimizer_around_another_may_bring_its_own_lists_of_hooks(lib):
    class Around(lib.optim.Optimizer):
        def __init__(self, inner):
            self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = OrderedDict(), OrderedDict()
            self.inner, self.param_groups = inner, inner.param_groups
            self._patch_step_function()

        def step(self, closure=None):
            self.inner.step(closure)

    p = lib.nn.Parameter(lib.ones(1))
    p.grad = lib.ones(1)
    around, calls = Around(lib.optim.SGD([p], lr=0.5)), []
    around.register_step_pre_hook(lambda *args: calls.append("before"))
    handle = around.register_step_post_hook(lambda *args: calls.append("after"))
    around.step()
    handle.remove()
    around.step()
    assert calls == ["before", "after", "before"] and p.item() == 0


@pytest.mark.parametrize("lib", LIBRARIES)
def test_functions_of_lists_know_their_operands_by_name(lib):
    def x():
        return [lib.tensor([1.0, 2.0]), lib.tensor([3.0])]

    y = [lib.tensor([2.0, 2.0]), lib.tensor([5.0])]
    results = (
        lib._foreach_norm(x(), ord=1),
        lib._foreach_norm(x(), 1, lib.float64),
        lib._foreach_add(x(), scalar=2),
        lib._foreach_add(x(), other=y, alpha=3),
        lib._foreach_mul_(x(), scalars=[1.0, 2.0]),
        lib._foreach_clamp_max(x(), scalar=2),
        lib._foreach_clamp_min(x(), other=y),
        lib._foreach_lerp(x(), tensors1=y, weight=0.5),
        lib._foreach_lerp(x(), y, weights=y),
        lib._foreach_addcdiv(x(), y, y, scalars=[1.0, 2.0]),
        lib._foreach_addcmul_(x(), y, y, lib.tensor([1.0, 2.0])),
        lib._foreach_addcmul(x(), tensor1=y, tensor2=y, value=2.0),
        lib._foreach_pow(2.0, x()),
        lib._foreach_pow(x(), exponent=2),
        lib._foreach_copy_(x(), src=y),
    )
    assert [[t.tolist() for t in result] for result in results] == [
        [3.0, 3.0],
        [3.0, 3.0],
        [[3.0, 4.0], [5.0]],
        [[7.0, 8.0], [18.0]],
        [[1.0, 2.0], [6.0]],
        [[1.0, 2.0], [2.0]],
        [[2.0, 2.0], [5.0]],
        [[1.5, 2.0], [4.0]],
        [[3.0, 2.0], [13.0]],
        [[2.0, 3.0], [5.0]],
        [[5.0, 6.0], [53.0]],
        [[9.0, 10.0], [53.0]],
        [[2.0, 4.0], [8.0]],
        [[1.0, 4.0], [9.0]],
        [[2.0, 2.0], [5.0]],
    ]
    assert results[1][0].dtype == lib.float64
