"""What a Tensor says of its gradient, and how it becomes a leaf, against torch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()


def leaf(torch, *shape):
    return torch.ones(*shape, requires_grad=True)


def values(torch, *entries):
    return torch.tensor(entries, requires_grad=True)


# -- .grad, .requires_grad, .data -------------------------------------------------------------------------------------


@scenario
def leaves_and_others(torch):
    x = leaf(torch, 2)
    y = x * 2
    c = torch.ones(2)
    described = [
        (t.is_leaf, t.requires_grad, t.grad_fn is None, t.output_nr, t.retains_grad) for t in (x, y, c)
    ]
    return described, [p.output_nr for p in x.unbind(0)]


@scenario
def a_gradient_is_set_and_deleted(torch):
    x = leaf(torch, 2)
    x.grad = g = torch.ones(2)
    same = x.grad is g
    x.sum().backward()
    after = x.grad is g, x.grad.tolist()
    del x.grad
    return same, after, x.grad


@scenario
def a_constant_has_the_gradient_that_it_is_given(torch):
    x = torch.ones(1)
    x.grad = torch.ones(1)
    y = leaf(torch, 1) * 2
    y.grad = torch.ones(1)
    return x.grad, y.grad


@scenario
def a_gradient_of_wrong_size(torch):
    leaf(torch, 1).grad = torch.ones(2)


@scenario
def a_gradient_of_wrong_type(torch):
    leaf(torch, 1).grad = 1.0


@scenario
def its_own_gradient(torch):
    x = leaf(torch, 1)
    x.grad = x


@scenario
def requires_grad_of_a_leaf(torch):
    x = torch.ones(2)
    same = x.requires_grad_() is x
    y = x * 2
    x.requires_grad = False
    z = x * 2
    return same, x.requires_grad, y.requires_grad, z.requires_grad, x.requires_grad_(True).requires_grad


@scenario
def requires_grad_of_integers(torch):
    torch.ones(1, dtype=torch.int64).requires_grad_()


@scenario
def requires_grad_of_what_is_computed(torch):
    y = leaf(torch, 1) * 2
    y.requires_grad = True
    y.requires_grad = False


@scenario
def requires_grad_is_a_bool(torch):
    leaf(torch, 1).requires_grad = 1


@scenario
def detached(torch):
    x = values(torch, 1.0, 2.0)
    y = x * 2
    d = y.detach()
    d.mul_(5)
    return y, d, d.is_leaf, d._is_view(), d.data_ptr() == y.data_ptr()


@scenario
def detached_in_place(torch):
    x = values(torch, 1.0, 2.0)
    y = x * 2
    z = y.exp()
    same = y.detach_() is y
    x.detach_()
    return same, y, y.grad_fn, y.is_leaf, z.requires_grad, x.requires_grad


@scenario
def another_memory_is_another_leaf(torch):
    x = values(torch, 1.0, 2.0, 3.0)
    before = (x * 2).sum()
    with torch.no_grad():
        x.set_(torch.zeros(2))
    after = (x * 3).sum()
    unused = torch.autograd.grad(before, x, allow_unused=True, retain_graph=True)
    return unused, torch.autograd.grad(after, x), x.is_leaf, x.requires_grad, x._version


@scenario
def a_gradient_of_another_shape_is_not_added(torch):
    x = values(torch, 1.0, 2.0, 3.0)
    before = (x * 2).sum()
    with torch.no_grad():
        x.set_(torch.zeros(2))
    (x * 3).sum().backward()
    before.backward()


@scenario
def strides_without_entries(torch):
    x = torch.ones(3)
    return x.as_strided((0,), (1,), 7), x.as_strided((2, 0), (1, 1), 20)


@scenario
def strides_before_the_memory(torch):
    return torch.ones(3).as_strided((1,), (1,), -1)


@scenario
def data_is_not_tracked(torch):
    x = values(torch, 1.0, 2.0)
    y = x.exp()
    y.data.mul_(2)
    versions = y._version, y.data._version
    y.sum().backward()
    return x.grad, y, versions


@scenario
def data_is_set(torch):
    x = values(torch, 1.0, 2.0)
    y = x * x
    x.data = torch.tensor([5.0, 6.0])
    return x, x.is_leaf, x.requires_grad, y, (x * x).sum().backward(), x.grad


@scenario
def data_is_no_tensor(torch):
    leaf(torch, 1).data = 3


@scenario
def data_of_integers(torch):
    leaf(torch, 1).data = torch.ones(2, dtype=torch.int64)


@scenario
def a_parameter_is_updated_by_its_data(torch):
    w = values(torch, 1.0, -2.0)
    for _ in range(3):
        loss = ((w * 3 - 1) ** 2).sum()
        loss.backward()
        w.data -= 0.01 * w.grad.data
        w.grad.data.zero_()
    return w, w.grad


# -- Variable -------------------------------------------------------------------------------------------------------


@scenario
def variables(torch):
    x = torch.ones(2)
    v = torch.autograd.Variable(x, requires_grad=True)
    y = v * 2
    other = torch.autograd.Variable(y)
    is_variable = [isinstance(t, torch.autograd.Variable) for t in (x, v, 3)]
    return v, v is x, v.data_ptr() == x.data_ptr(), other, other.is_leaf, type(v) is torch.Tensor, is_variable


@scenario
def volatile_variables(torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        v = torch.autograd.Variable(torch.ones(2), volatile=True)
    return v, [(w.category.__name__, str(w.message)) for w in caught]


@scenario
def a_variable_of_a_number(torch):
    torch.autograd.Variable(3)


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


def test_variable_still_makes_tensors():
    with pytest.warns(UserWarning, match="deprecated"):
        x = fxt.autograd.variable([1.0, 2.0], requires_grad=True)
    assert x.requires_grad
    np.testing.assert_array_equal(x.detach().numpy(), [1.0, 2.0])


@pytest.mark.parametrize("library", [torch, fxt], ids=["torch", "fxgrad"])
def test_the_gradient_of_what_is_no_leaf_warns(library):
    y = leaf(library, 1) * 2
    with pytest.warns(
        UserWarning, match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"
    ):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None


@pytest.mark.parametrize("library", [torch, fxt], ids=["torch", "fxgrad"])
def test_a_gradient_of_another_dtype_is_refused(library):
    x = leaf(library, 1)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype"):
        x.grad = library.ones(1, dtype=library.float64)
