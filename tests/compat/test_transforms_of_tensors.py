"""Transforms of the library itself on functions of Tensors: arguments are Tensors to the function, mapped or not."""

import itertools

import pytest

import fxgrad as fx
import fxgrad.compat as torch
from fxgrad.compat.func import functional_call

MODEL = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
PARAMETERS = {name: p.detach() for name, p in MODEL.named_parameters()}
X = torch.arange(6.0).reshape(2, 3) / 5


def loss(parameters, x):
    assert all(isinstance(v, torch.Tensor) for v in [*parameters.values(), x])
    return functional_call(MODEL, parameters, (x,)).sum()


TRANSFORMS = {"jit": fx.jit, "grad": fx.grad, "value_and_grad": fx.value_and_grad, "remat": fx.checkpoint}


def chains():
    for count in (0, 1, 2, 3):
        for names in itertools.product(TRANSFORMS, repeat=count):
            if sum("grad" in name for name in names) <= 1:
                yield names


@pytest.mark.parametrize("names", [*chains()], ids=" of ".join)
def test_unmapped_tensors_are_tensors_to_the_function(names):
    function = loss
    for name in reversed(names):
        function = TRANSFORMS[name](function)
    mapped = fx.vmap(function, (None, 0))(PARAMETERS, X)
    single = [function(PARAMETERS, x) for x in X]
    for together, *apart in zip(fx.tree.leaves(mapped), *map(fx.tree.leaves, single)):
        torch.testing.assert_close(torch.as_tensor(together), torch.stack([*map(torch.as_tensor, apart)]))


@pytest.mark.parametrize("write", ["add_", "setitem"])
def test_what_a_function_writes_into_unmapped_tensors_stays_there(write):
    def total(w, x):
        if write == "add_":
            w.add_(x)
        else:
            w[0] = x[0]
        return w.sum()

    w = torch.ones(3)
    sums = fx.vmap(total, (None, 0))(w, X)
    expected = X.sum(1) + 3 if write == "add_" else X[:, 0] + 2
    torch.testing.assert_close(sums, expected)
    assert w.tolist() == [1.0, 1.0, 1.0]
