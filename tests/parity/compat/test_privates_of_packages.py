"""Private names of torch from which packages derive, or which they read."""

import importlib
import inspect
import types

import numpy as np
import pytest
import torch

import fxgrad.compat as fxc

LIBRARIES = [fxc, torch]


@pytest.fixture(params=LIBRARIES, ids=["ours", "torch"])
def T(request):
    return request.param


def test_optimizers_derive_their_step_from_the_groups_of_adam():
    def train(T):
        class Own(T.optim.Adam):
            def step(self, closure=None):
                for group in self.param_groups:
                    lists = [[] for _ in range(6)]
                    assert self._init_group(group, *lists) is False
                    params, grads, means, squares, _, steps = lists
                    with T.no_grad():
                        for p, g, m, v, t in zip(params, grads, means, squares, steps, strict=True):
                            t += 1
                            m.lerp_(g, 0.1)
                            v.mul_(0.9).addcmul_(g, g, value=0.1)
                            p.addcdiv_(m, v.sqrt() + group["eps"], value=-group["lr"])

        w, unused = (T.ones(3, requires_grad=True) for _ in range(2))
        optimizer = Own([w, unused], lr=0.1, amsgrad=True)
        for _ in range(3):
            optimizer.zero_grad()
            (w * T.arange(3.0)).pow(2).sum().backward()
            optimizer.step()
        return w.detach().numpy(), sorted(optimizer.state[w]), len(optimizer.state)

    ours, theirs = map(train, LIBRARIES)
    np.testing.assert_allclose(ours[0], theirs[0], 1e-6)
    assert ours[1:] == theirs[1:]


def test_modules_are_called_by_their_parts(T):
    layer = T.nn.Linear(2, 3)
    x = T.ones(2)
    called = layer._wrapped_call_impl(x), layer._call_impl(x), layer._slow_forward(x)
    assert all(y.tolist() == layer(x).tolist() for y in called)


def test_hooks_of_a_tensor_are_counted(T):
    leaf = T.ones(2, requires_grad=True)
    for x in (leaf, leaf * 2):
        assert not x._backward_hooks
        handle = x.register_hook(lambda g: g)
        assert len(x._backward_hooks) == 1
        handle.remove()
        assert len(x._backward_hooks) == 0
    assert T.ones(2)._backward_hooks is None


def test_loaders_have_the_sampler_of_their_indices(T):
    make = T.utils.data.DataLoader
    assert list(make([1, 2, 3], batch_size=2)._index_sampler) == [[0, 1], [2]]
    assert list(make([1, 2, 3], batch_size=None)._index_sampler) == [0, 1, 2]


def test_saved_arrays_are_mappings(T):
    with T.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = T.full((2, 3), 2.0, requires_grad=True)
        b = a.clone()
        out = (b**2).sum()
        sizes = [len(m) for m in (context.tid_to_weakhandle, context.original, context.cloned)]
        assert sizes == [1, 1, 0]
        b.sin_()
        sizes = [len(m) for m in (context.tid_to_weakhandle, context.original)]
        (copy,) = context.cloned.values()
        assert copy.tolist() == [[2.0] * 3] * 2
        out.backward()
        assert a.grad.tolist() == [[4.0] * 3] * 2
        del out
        assert len(context.cloned) == 0


def test_times_and_sizes_are_written_as_in_torch():
    def write(T):
        util = importlib.import_module(f"{T.__name__}.autograd.profiler_util")
        times = [util._format_time(t) for t in (0.5, 12, 1234.5, 2.5e6)]
        shares = [util._format_time_share(a, b) for a, b in ((3, 4), (0, 5))]
        return times, shares, [util._format_memory(n) for n in (3, 2048, -3 << 20, 5 << 30)]

    ours, theirs = map(write, LIBRARIES)
    assert ours == theirs


# Functions that choose one of two implementations: torch's own signature is (*args, **kwargs).
CHOOSING = {f"{name}_pool{d}d" for name in ("max", "adaptive_max", "fractional_max") for d in (1, 2, 3)}
ABSENT = {"assert_int_or_pair", "grouped_mm", "scaled_grouped_mm", "scaled_mm"}  # no functions of users
FUNCTIONS = [
    name
    for name, function in vars(torch.nn.functional).items()
    if type(function) is types.FunctionType
    and function.__module__ == "torch.nn.functional"
    and not name.startswith("_")
    and name not in ABSENT
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_parameters_of_torch(name):
    ours, theirs = (getattr(T.nn.functional, name) for T in LIBRARIES)
    expected = inspect.getfullargspec(theirs).args
    found = inspect.getfullargspec(ours).args
    assert found == expected or (name in CHOOSING and expected == [])
    assert ours.__name__ == theirs.__name__.lstrip("_")
    assert ours.__module__ in ("fxgrad.compat.nn.functional", "fxgrad.compat")
