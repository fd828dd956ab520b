"""make_fx: the operations of a function, as torch records them, and programs that compute the same again."""

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx as make_fx_of_torch

import fxgrad.compat as fxc
from fxgrad.compat.fx.experimental.proxy_tensor import make_fx

MAKERS = {fxc: make_fx, torch: make_fx_of_torch}


def net(T):
    T.manual_seed(0)
    return T.nn.Sequential(T.nn.Linear(3, 4), T.nn.ReLU(), T.nn.Linear(4, 2, bias=False), T.nn.Sigmoid())


def images(T):
    return T.nn.Sequential(T.nn.Conv2d(1, 2, 3, padding=1), T.nn.Tanh(), T.nn.Flatten(), T.nn.Linear(32, 3))


def stateless(T):
    module = net(T)
    return lambda x: T.func.functional_call(module, dict(module.named_parameters()), (x,))


# Functions, and the shape of their argument, whose operations are named as torch's.
SAME = {
    "net": (net, (5, 3)),
    "images": (images, (2, 1, 4, 4)),
    "stateless": (stateless, (5, 3)),
    "entries": (lambda T: lambda x: x.exp().sin() * x + x / 2 - x.neg(), (3,)),
    "matrices": (lambda T: lambda x: x @ x.t() + T.mm(x, x).relu(), (3, 3)),
    "views": (lambda T: lambda x: x.unsqueeze(1).expand(3, 2, 3).permute(2, 0, 1), (3, 3)),
    "batches": (lambda T: lambda x: T.bmm(x, x), (2, 3, 3)),
    "in place": (lambda T: lambda x: x.clone().add_(1).mul_(x), (3,)),
}
# Further ones, which compute the same again.
COMPUTED = {
    "loss": (lambda T: lambda x: T.nn.functional.cross_entropy(x, T.tensor([0, 2, 1])), (3, 3)),
    "reductions": (lambda T: lambda x: x.sum(0) + x.mean(1, keepdim=True).max() - x.std(), (3, 4)),
    "indices": (
        lambda T: lambda x: (x[1:, None], x[..., 0], x[T.tensor([1, 0])], x[:, T.tensor([0, 2])]),
        (3, 4),
    ),
    "joins": (lambda T: lambda x: T.cat([x, T.stack([x, x]).sum(0)], 1).chunk(2, 1)[1], (3, 4)),
    "rows": (lambda T: lambda x: T.nn.functional.layer_norm(T.softmax(x, 1), (4,)), (3, 4)),
    "einsum": (lambda T: lambda x: T.einsum("ij,kj->ik", x, x), (3, 4)),
    "casts": (lambda T: lambda x: x.to(T.float64) * 2, (3,)),
    "choices": (lambda T: lambda x: T.where(x > 0, x, -x).clamp(max=1.5), (3, 4)),
    "made": (lambda T: lambda x: x + T.ones(3) * T.arange(3) + T.zeros_like(x), (2, 3)),
    "sorted": (lambda T: lambda x: x.sort(dim=1, descending=True).values + x.topk(4, 1)[0], (3, 4)),
    "large linear": (lambda T: lambda x: T.nn.functional.linear(x, x[0], x[0, 0]), (2, 3, 3)),
    "conditions": (lambda T: lambda x: x * 2 if x.shape[0] > 1 else x, (3,)),
}


def trace(T, make, shape):
    x = T.linspace(-1, 2, int(np.prod(shape))).reshape(shape)
    return MAKERS[T](make(T))(x)


def operations(module):
    """The operations of a Graph, with the shapes and dtypes of their operands and results."""
    return [
        (
            str(n.target),
            [tuple(i.meta["val"].shape) for i in n.all_input_nodes],
            tuple(n.meta["val"].shape),
            str(n.meta["val"].dtype),
        )
        for n in module.graph.nodes
        if n.op == "call_function" and "detach" not in str(n.target)
    ]


@pytest.mark.parametrize("name", SAME)
def test_operations_are_named_as_those_of_torch(name):
    ours, theirs = (operations(trace(T, *SAME[name])) for T in (fxc, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", [*SAME, *COMPUTED])
def test_graphs_compute_the_function_of_other_arguments(name):
    make, shape = (SAME | COMPUTED)[name]
    function = make(fxc)
    module = make_fx(function)(fxc.linspace(-1, 2, int(np.prod(shape))).reshape(shape))
    module.graph.lint()
    x = fxc.linspace(2.5, -0.7, int(np.prod(shape))).reshape(shape)
    found, expected = module(x), function(x)
    for mine, other in (
        zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    ):
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), 1e-6)


def test_arguments_are_containers():
    def codes(T):
        module = net(T)
        make = MAKERS[T](lambda p, x: {"y": T.func.functional_call(module, p, (x,))})
        made = make(dict(module.named_parameters()), T.ones(5, 3))
        made.graph.eliminate_dead_code()
        made.recompile()
        return made.code, made(dict(module.named_parameters()), T.ones(5, 3))["y"].shape

    ours, theirs = codes(fxc), codes(torch)
    assert ours == theirs


def test_linear_layers_and_their_inputs_are_found():
    """What programs for curvature look for."""
    module = net(fxc)
    graph = make_fx(module)(fxc.ones(5, 3)).graph
    found = {}
    for node in graph.nodes:
        if node.target in (fxc.ops.aten.addmm.default, fxc.ops.aten.mm.default):
            x, transposed = node.args[-2:]
            found[transposed.args[0].target] = x.name
    assert found == {"_param_constant0": "arg0_1", "_param_constant2": "relu"}


@pytest.mark.parametrize(
    "function",
    [
        fxc.func.grad(lambda x: x.sin().sum()),
        lambda x: fxc.func.vmap(lambda y: y * 2)(x) + 1,
        lambda x: x[x > 0.5],
        lambda x: fxc.autograd.grad((x.requires_grad_() ** 2).sum(), x)[0] + 1,
    ],
)
def test_what_is_no_operation_is_refused(function):
    with pytest.raises(NotImplementedError, match="records operations"):
        make_fx(function)(fxc.ones(3))


def test_the_mode_is_one_of_torchs():
    with pytest.raises(ValueError, match="Unexpected tracing type: fast"):
        make_fx(lambda x: x, tracing_mode="fast")
