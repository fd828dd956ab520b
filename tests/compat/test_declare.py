"""From the declaration of an operation to the function that users call: its parameters, and how it runs."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad import ops
from fxgrad.compat._declare.entry import inplace_method
from fxgrad.compat._declare.operation import OPERATIONS, operation


def scale_arguments(input, *factors, power: int = 1, shift=0.0):
    """The product of the factors is static."""
    return (input,), {"factor": np.prod(factors).item() ** power, "shift": shift}


@operation("input", spaces="", arguments=scale_arguments)
def scaled(input, factor, shift):
    """input · factor + shift"""
    return ops.add(ops.multiply(input, factor), shift)


@operation("input", spaces="", out=False, results=lambda y, *others: y)
def first_of_two(input):
    return [ops.sin(input), ops.cos(input)]


scaled_ = inplace_method(scaled)
del OPERATIONS["scaled"], OPERATIONS["first_of_two"]  # no part of torch


def test_arguments_are_those_of_the_hook():
    assert str(inspect.signature(scaled)) == "(input, *factors, power=1, shift=0.0, out=None)"
    assert (scaled.__name__, scaled.__doc__.declared) == ("scaled", "input · factor + shift")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = scaled(x, 2, 3, power=2, shift=1.0)
    y.sum().backward()
    assert y.tolist() == [37.0, 73.0]
    assert x.grad.tolist() == [36.0, 36.0]
    assert repr(y.grad_fn).startswith("<ScaledBackward0")
    assert torch.vmap(lambda row: scaled(row, 2))(x.detach()).tolist() == [2.0, 4.0]


def test_an_error_of_numpys_linear_algebra_becomes_torchs():
    with pytest.raises(torch.linalg.LinAlgError, match="linalg_matrix_power: Singular matrix"):
        torch.linalg.matrix_power(torch.zeros(2, 2), -1)


def test_a_hook_serves_out_and_in_place_as_well():
    x = torch.tensor([1.0, 2.0])
    out = torch.empty(2)
    assert scaled(x, 2, out=out) is out
    assert out.tolist() == [2.0, 4.0]
    memory = x.data_ptr()
    assert scaled_(x, 3, shift=1.0) is x
    assert (x.tolist(), x.data_ptr(), x._version) == ([4.0, 7.0], memory, 1)


def test_results_may_be_any_function_of_them():
    x = torch.tensor([0.5], requires_grad=True)
    y = first_of_two(x)
    y.backward()
    np.testing.assert_allclose(y.detach().numpy(), np.sin([0.5]), rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), np.cos([0.5]), rtol=1e-6)


def test_numpy_names_stand_for_required_parameters():
    x, index = torch.arange(6.0).view(2, 3), torch.tensor([1])
    assert torch.index_select(x, axis=0, index=index).tolist() == [[3.0, 4.0, 5.0]]
    assert x.clone().cumsum_(axis=1).tolist() == [[0.0, 1.0, 3.0], [3.0, 7.0, 12.0]]
    assert str(inspect.signature(torch.cumsum)) == "(input, dim, *, dtype=None, out=None)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: torch.cumsum(x), "cumsum() missing 1 required positional argument: 'dim'"),
        (lambda x: x.gather(), "gather() missing 2 required positional arguments: 'dim' and 'index'"),
        (lambda x: torch.sum(x, 0, axis=1), "sum() got multiple values for argument 'dim'"),
        (lambda x: torch.sum(x, along=1), "sum() got an unexpected keyword argument 'along'"),
    ],
)
def test_wrong_arguments_are_refused_in_pythons_words(call, message):
    with pytest.raises(TypeError) as caught:
        call(torch.ones(2, 2))
    assert str(caught.value) == message


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex64"])
def test_what_is_not_recorded_is_computed_in_the_memory(dtype):
    x = torch.ones(3, dtype=getattr(torch, dtype))
    view, memory = x[1:], x.data_ptr()
    for step in (2, 3):  # params that differ every time
        x.add_(torch.ones_like(x), alpha=step).mul_(2)
    assert (x.tolist(), view.tolist(), x.data_ptr()) == ([18] * 3, [18] * 2, memory)
    assert x._version == 4


def test_a_result_that_does_not_fit_leaves_the_memory_alone():
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.add_(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.ones(3, dtype=torch.int64).add_(x)
    assert (x.tolist(), x._version) == ([1.0] * 3, 0)
    x.add_(torch.ones(3, dtype=torch.float64))
    assert (x.tolist(), x.dtype) == ([2.0] * 3, torch.float32)
