"""Tensors as values of Python and of other libraries, and in other dtypes: as torch has it."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in

LIBRARIES = (torch, fxt)

# Expressions whose results are equal as Python values.
VALUES = [
    "T.tensor(3).item()",
    "T.tensor([[2.5]]).item()",
    "T.tensor(1j).item()",
    "T.tensor(True).item()",
    "T.tensor(1.5, dtype=T.half).item()",
    "T.tensor(1.5, dtype=T.bfloat16).item()",
    "T.tensor([[1, 2], [3, 4]]).tolist()",
    "T.tensor(2.0).tolist()",
    "T.ones(2, dtype=T.bfloat16).tolist()",
    "T.zeros(0, 2).tolist()",
    "[type(v).__name__ for v in (T.tensor(3).item(), T.tensor(1.0).item(), T.tensor(True).item())]",
    "[x.tolist() for x in T.arange(4).view(2, 2)]",
    "len(T.zeros(3, 2))",
    "tuple(T.zeros(3, 2).size())",
    "T.zeros(3, 2).size(-1)",
    "T.zeros(3, 2).dim(), T.zeros(3, 2).ndim, T.zeros(3, 2).ndimension()",
    "T.zeros(3, 2).numel(), T.zeros(3, 2).nelement(), T.numel(T.zeros(3, 2)), T.Size([3, 2]).numel()",
    "T.zeros(3).element_size(), T.zeros(3).itemsize, T.zeros(3).nbytes",
    "T.zeros(3).is_floating_point(), T.is_complex(T.zeros(3)), T.zeros(3).int().is_signed()",
    "str(T.zeros(3).device), T.zeros(3).is_cpu, T.zeros(3).is_cuda, str(T.zeros(3).layout), T.zeros(3).is_sparse",
    "T.ones(2).type(), T.ones(2).int().type(), T.ones(2).cfloat().type(), T.ones(2).bool().type()",
    "[str(getattr(T.ones(2), n)().dtype) for n in 'float double half bfloat16 cfloat cdouble long int short'.split()]",
    "[str(getattr(T.ones(2), n)().dtype) for n in 'bool byte char'.split()]",
    "T.ones(2).get_device(), T.get_device(T.ones(2))",
    "str(T.ones(2).to(T.float64).dtype), str(T.ones(2).to(float).dtype), str(T.ones(2).to(T.ones(1).int()).dtype)",
    "str(T.ones(2).to('cpu', T.float64).dtype), str(T.ones(2).to(device='cpu', dtype=T.int8).dtype)",
    "str(T.ones(2).type(T.float64).dtype), str(T.ones(2).type('torch.IntTensor').dtype)",
    "str(T.ones(2).type_as(T.ones(1).double()).dtype), str(T.ones(2).type(T.DoubleTensor).dtype)",
    "T.tensor([1.7, -1.7]).to(T.int32).tolist()",
    "T.tensor([0.0, 2.0]).bool().tolist()",
    "T.ones(2, 3).T.to(memory_format=T.contiguous_format).stride()",
    "T.ones(1, 2, 3, 4).to(memory_format=T.channels_last).stride()",
    "np.asarray(T.ones(2)).dtype.name",
    "np.asarray(T.ones(2), dtype=float).dtype.name",
    "np.sum([T.tensor(1.0), T.tensor(2.0)]).item()",
    "type(np.sin(T.ones(2))).__name__",
    "np.sin(T.ones(2)).tolist()",
    "str(np.greater(T.ones(2), 0).dtype)",
    "str(np.add(np.ones(2), T.ones(2)).dtype)",
    "np.concatenate([T.ones(1), T.zeros(1)]).tolist()",
    "np.from_dlpack(T.ones(2)).tolist()",
    "T.ones(2).__dlpack_device__()[1]",
    "T.ones(2, requires_grad=True).numpy(force=True).tolist()",
    "T.Size([1, 2]) + (3,) == (1, 2, 3), T.Size([1, 2, 3])[1:] == (2, 3)",
    "isinstance(T.Size([1, 2])[1:], T.Size)",
]
ERRORS = [
    "T.ones(2).item()",
    "T.zeros(0).item()",
    "len(T.tensor(1))",
    "iter(T.tensor(1))",
    "T.ones(2, requires_grad=True).numpy()",
    "np.asarray(T.ones(2, requires_grad=True))",
    "T.ones(2, dtype=T.bfloat16).numpy()",
    "T.ones(2, requires_grad=True).__dlpack__()",
    "T.ones(2).size(3)",
    "T.ones(2).size('a')",
    "T.ones(2).type('foo')",
    "T.ones(2).to('cuda')",
    "copy.deepcopy(T.ones(2, requires_grad=True) * 2)",
]


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")
@pytest.mark.parametrize("code", VALUES)
def test_value(code):
    ours, theirs = (eval(code, {"T": T, "np": np}) for T in LIBRARIES[::-1])
    assert ours == theirs


@pytest.mark.parametrize("code", ERRORS)
def test_error(code):
    errors = {}
    for T in LIBRARIES:
        with pytest.raises(Exception) as caught:
            eval(code, {"T": T, "np": np, "copy": copy})
        errors[T] = caught.value
    assert isinstance(errors[fxt], built_in(errors[torch]))
    assert (
        str(errors[fxt]).split("\n")[0].split(".  ")[0] == str(errors[torch]).split("\n")[0].split(".  ")[0]
    )


def test_nothing_to_convert_returns_the_tensor():
    def run(T):
        x = T.ones(2)
        return [
            x.to(T.float32) is x,
            x.float() is x,
            x.cpu() is x,
            x.to("cpu") is x,
            x.to(x) is x,
            x.to(T.float32, copy=True) is x,
            x.to(T.float32, False, True) is x,
            x.double() is x,
            x.type_as(x) is x,
        ]

    assert run(fxt) == run(torch)


def test_conversions_are_differentiable():
    def run(T):
        x = T.ones(2, dtype=T.float64, requires_grad=True)
        y = x.float()
        (y * T.tensor([2.0, 3.0])).sum().backward()
        return y.grad_fn.name(), str(x.grad.dtype), x.grad.tolist()

    assert run(fxt) == run(torch)


def test_memory_is_shared():
    def run(T):
        x = T.zeros(3)
        x.numpy()[0] = 1
        np.from_dlpack(x)
        T.from_dlpack(x)[1] = 2
        np.asarray(x)[2] = 3
        return x.tolist()

    assert run(fxt) == run(torch)


def test_dlpack_between_the_libraries():
    array = np.arange(6.0).reshape(2, 3)
    there = torch.from_dlpack(fxt.from_numpy(array))
    back = fxt.from_dlpack(there)
    back[0, 0] = 7
    assert array[0, 0] == 7 and there[0, 0] == 7


def test_deepcopy():
    def run(T):
        x = T.arange(6.0).requires_grad_()
        x.grad = T.ones(6)
        a, b, g = copy.deepcopy((x, x.detach()[2:4], x.grad))
        with T.no_grad():
            b[0] = 100
        return (
            a.tolist(), b.tolist(), g.tolist(), a.requires_grad, b.requires_grad, a.grad is g,
            x.tolist(), copy.deepcopy(T.nn.Parameter(T.ones(1))).requires_grad, copy.copy(x).tolist(),
        )  # fmt: skip

    assert run(fxt) == run(torch)


@pytest.mark.filterwarnings("ignore:backward hook")
@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_a_leaf_have_gradients_of_their_own(duplicate):
    def run(T):
        x = T.tensor([1.0, 2.0], requires_grad=True)
        x.register_hook(lambda gradient: gradient * 2)
        (x * 2).sum().backward()
        made = duplicate(x)
        made.grad = None
        (made * 3).sum().backward()
        return x.grad.tolist(), made.grad.tolist()

    assert run(fxt) == run(torch)


def test_hooks_that_are_not_copied_are_warned_of():
    def run(T):
        def reports(*hooks):
            x = T.ones(1, requires_grad=True)
            for hook in hooks:
                x.register_hook(hook)
            x.register_post_accumulate_grad_hook(print)
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                copy.copy(x)
                copy.deepcopy(x)
                pickle.dumps(x)
            return [str(w.message) for w in found]

        @T.utils.hooks.unserializable_hook
        def marked(gradient):
            return gradient

        return reports(print), reports(marked), reports()

    assert run(fxt) == run(torch)


def test_a_copied_module_is_trained_by_itself():
    def run(T):
        first = T.nn.Linear(1, 1)
        first(T.ones(1)).sum().backward()
        second = copy.deepcopy(first)
        second(T.full((1,), 3.0)).sum().backward()
        return [p.grad.tolist() for m in (first, second) for p in m.parameters()]

    assert run(fxt) == run(torch)


def test_deepcopy_of_a_parameter_keeps_its_class_and_attributes():
    p = fxt.nn.Parameter(fxt.ones(2))
    p.mark = [1]
    made = copy.deepcopy(p)
    assert type(made) is fxt.nn.Parameter
    assert made.mark == [1] and made.mark is not p.mark


def test_deepcopy_of_memory_known_by_another_dtype():
    def run(T):
        p = T.nn.Parameter(T.tensor([1.0, 2.0]))
        p.data += 1  # the memory of `p.data` counts its own modifications
        bits = T.tensor([1.0, -2.0]).view(T.int32)
        return [(str(x.dtype), x.tolist()) for x in (copy.deepcopy(p), copy.deepcopy(bits))]

    assert run(fxt) == run(torch)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int64", "bool"])
def test_pickle(dtype):
    x = fxt.ones(2, 3).to(getattr(fxt, dtype) if dtype != "bool" else fxt.bool)
    made = pickle.loads(pickle.dumps(x))
    assert made.dtype is x.dtype
    assert made.tolist() == x.tolist()
    assert not made.requires_grad


def test_pickle_keeps_data_and_no_history():
    x = fxt.ones(2, requires_grad=True)
    y = pickle.loads(pickle.dumps(x * 2))
    assert y.is_leaf and y.requires_grad and y.tolist() == [2, 2]
    p = pickle.loads(pickle.dumps(fxt.nn.Parameter(fxt.ones(1))))
    assert type(p) is fxt.nn.Parameter and p.requires_grad
    assert pickle.loads(pickle.dumps(fxt.float32)) is fxt.float32
    assert pickle.loads(pickle.dumps(fxt.device("cuda:1"))) == fxt.device("cuda:1")


def test_values_inside_transforms():
    values = []

    def f(x):
        values.append((x * 2).sum().item())
        return x.sum()

    fxt.func.grad(f)(fxt.ones(3))
    assert values == [6.0]
    for ask in (lambda x: x.item(), lambda x: x.tolist()):
        with pytest.raises(RuntimeError, match=r"calling \.item"):
            fxt.func.vmap(ask)(fxt.ones(3))
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        fxt.func.vmap(lambda x: x.numpy())(fxt.ones(3))


def test_subclasses():
    def run(T):
        class Marked(T.Tensor):
            pass

        x = Marked([1.0, 2.0])
        return (
            type(x).__name__,
            x.tolist(),
            str(x.dtype),
            isinstance(x, T.Tensor),
            T.ones(2).as_subclass(Marked).tolist(),
        )

    assert run(fxt) == run(torch)
