"""Parametrized, normalized and fused weights, beside torch: values, gradients, states, errors."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in

LIBRARIES = (fxt, torch)


def fill(module, seed=0):
    """Give the parameters and buffers of a module numbers that are the same in both libraries."""
    rng = np.random.default_rng(seed)
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.is_floating_point():
            values = rng.standard_normal(tuple(tensor.shape)).astype("float32")
            tensor.data.copy_(as_tensor(tensor, values))
    return module


def as_tensor(like, values):
    return (torch if isinstance(like, torch.Tensor) else fxt).from_numpy(np.array(values))


def outcome(T, module, x, steps=3):
    """Outputs, gradients and states of some steps in training, and an output in evaluation."""
    found = []
    for _ in range(steps):
        module.zero_grad()
        y = module(x)
        (y**2).sum().backward()
        found.append(y.detach().numpy())
        found += [p.grad.numpy().copy() for p in module.parameters()]
        with T.no_grad():
            for p in module.parameters():
                p -= 0.01 * p.grad
    module.eval()
    found.append(module(x).detach().numpy())
    return list(module.state_dict()), found


def assert_same(make, shape, seed=0):
    """Assert that a module and its training give what torch's do."""
    results = []
    for T in LIBRARIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of the older forms
            module = make(T)
        x = T.from_numpy(np.random.default_rng(5).standard_normal(shape).astype("float32"))
        results.append((outcome(T, module, x), repr(module)))
    ((keys, ours), text), ((their_keys, theirs), their_text) = results
    assert (keys, text) == (their_keys, their_text)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


LAYERS = {
    "linear": (lambda T: T.nn.Linear(3, 4), (5, 3)),
    "wide": (lambda T: T.nn.Linear(4, 3), (5, 4)),
    "square": (lambda T: T.nn.Linear(3, 3), (5, 3)),
    "convolution": (lambda T: T.nn.Conv1d(2, 3, 2), (2, 2, 5)),
    "transposed": (lambda T: T.nn.ConvTranspose1d(2, 3, 2), (2, 2, 5)),
}


def copy_vectors(module):
    """Give the vectors of the power iteration numbers that are the same in both libraries."""
    for i, (name, buffer) in enumerate(module.named_buffers()):
        values = np.random.default_rng(i).standard_normal(tuple(buffer.shape)).astype("float32")
        if name.endswith(("u", "v")):
            buffer.copy_(as_tensor(buffer, values / np.linalg.norm(values)))
    return module


NORMS = {
    "weight norm": lambda T, layer: T.nn.utils.parametrizations.weight_norm(layer),
    "weight norm along 1": lambda T, layer: T.nn.utils.parametrizations.weight_norm(layer, dim=1),
    "weight norm of all": lambda T, layer: T.nn.utils.parametrizations.weight_norm(layer, dim=None),
    "older weight norm": lambda T, layer: T.nn.utils.weight_norm(layer),
    "older weight norm of all": lambda T, layer: T.nn.utils.weight_norm(layer, dim=None),
    "weight norm of the bias": lambda T, layer: T.nn.utils.parametrizations.weight_norm(layer, "bias"),
    "spectral norm": lambda T, layer: copy_vectors(T.nn.utils.parametrizations.spectral_norm(layer)),
    "spectral norm of the bias": lambda T, layer: T.nn.utils.parametrizations.spectral_norm(layer, "bias"),
    "older spectral norm": lambda T, layer: copy_vectors(
        T.nn.utils.spectral_norm(layer, n_power_iterations=2)
    ),
}


# A bias has no second dimension, in which a transposed convolution has its outputs.
NORMALIZED = [
    (layer, norm)
    for layer in LAYERS
    for norm in NORMS
    if (layer, norm) != ("transposed", "spectral norm of the bias")
]


@pytest.mark.parametrize(("layer", "norm"), NORMALIZED)
def test_normalized_weights(layer, norm):
    make, shape = LAYERS[layer]
    assert_same(lambda T: NORMS[norm](T, fill(make(T))), shape)


@pytest.mark.parametrize("trivialized", [True, False])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("layer", ["linear", "wide", "square"])
def test_orthogonal_weights(layer, kind, trivialized):
    make, shape = LAYERS[layer]

    def parametrize(T):
        module = fill(make(T))
        if not trivialized:  # a start that every map reaches by itself
            rows, columns = module.weight.shape
            module.weight.data.copy_(T.eye(rows, columns))
        orthogonal = T.nn.utils.parametrizations.orthogonal
        module = orthogonal(module, orthogonal_map=kind, use_trivialization=trivialized)
        values = np.random.default_rng(3).standard_normal(tuple(module.weight.shape)).astype("float32")
        original = module.parametrizations.weight.original
        np.fill_diagonal(values, 0.0)  # the diagonal is of signs
        original.data.copy_(T.from_numpy(0.1 * values) + T.eye(*original.shape))
        base = getattr(module.parametrizations.weight[0], "base", None)
        if base is not None:  # its last columns are random
            n = len(base)
            turn = np.linalg.qr(np.random.default_rng(4).standard_normal((n, n)))[0].astype("float32")
            base.copy_(T.from_numpy(turn))
        return module

    assert_same(parametrize, shape)


def test_orthogonal_weights_are_orthogonal_and_assigned():
    layer = fxt.nn.utils.parametrizations.orthogonal(fxt.nn.Linear(3, 5))
    weight = layer.weight.detach()
    np.testing.assert_allclose((weight.T @ weight).numpy(), np.eye(3), atol=1e-5)
    target = fxt.from_numpy(
        np.linalg.qr(np.random.default_rng(0).standard_normal((5, 3)))[0].astype("float32")
    )
    layer.weight = target
    np.testing.assert_allclose(abs(layer.weight.detach().numpy()), abs(target.numpy()), atol=1e-5)
    square = fxt.nn.utils.parametrizations.orthogonal(fxt.nn.Linear(3, 3))
    start = fxt.from_numpy(
        np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0].astype("float32")
    )
    square.weight = start
    np.testing.assert_allclose(square.weight.detach().numpy(), start.numpy(), atol=1e-5)
    plain = fxt.nn.utils.parametrizations.orthogonal(fxt.nn.Linear(3, 5), use_trivialization=False)
    plain.weight = target
    np.testing.assert_allclose(abs(plain.weight.detach().numpy()), abs(target.numpy()), atol=1e-5)


def classes(T):
    """Parametrizations of one's own."""

    class Symmetric(T.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).T

        def right_inverse(self, x):
            return x.triu()

    class Double(T.nn.Module):
        def forward(self, x):
            return 2 * x

    class Sum(T.nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, x):
            return x / 4, 3 * x / 4

    class Number(T.nn.Module):
        def forward(self, x):
            return 3

    class Convert(T.nn.Module):
        def forward(self, x):
            return x.double()

    class Backward(Double):
        def right_inverse(self, x):
            return 3

    return {c.__name__: c for c in (Symmetric, Double, Sum, Number, Convert, Backward)}


def test_parametrizations_of_ones_own():
    def run(T):
        own, P = classes(T), T.nn.utils.parametrize
        module = fill(T.nn.Linear(3, 3))
        said = [P.register_parametrization(module, "weight", own["Symmetric"]()) is module]
        P.register_parametrization(module, "weight", own["Double"]())
        P.register_parametrization(module, "bias", own["Sum"]())
        said += [repr(module), list(module.state_dict()), [name for name, _ in module.named_modules()]]
        said += [P.is_parametrized(module), P.is_parametrized(module, "bias"), P.is_parametrized(T.nn.ReLU())]
        said += [
            P.type_before_parametrizations(module).__name__,
            type(module).__name__,
            type(module.weight).__name__,
        ]
        module.bias = T.ones(3)
        said += [module.parametrizations.bias.original1.tolist(), module.bias.tolist()]
        with pytest.raises(RuntimeError, match="parametrization Double does not implement right_inverse"):
            module.weight = T.ones(3, 3)
        with P.cached():
            said += [module.weight is module.weight]
            with P.cached():
                inside = module.weight
            said += [inside is module.weight]
        said += [module.weight is module.weight]
        twin = module.state_dict()
        other = P.transfer_parametrizations_and_params(module, T.nn.Linear(3, 3), "weight")
        said += [list(other.state_dict()), bool((other.weight == module.weight).all())]
        with pytest.raises(RuntimeError, match="only supported through state_dict"):
            pickle.dumps(module)
        with pytest.raises(ValueError, match="Cannot leave unparametrized"):
            P.remove_parametrizations(module, "bias", leave_parametrized=False)
        P.remove_parametrizations(module, "bias")
        P.remove_parametrizations(module, "weight", leave_parametrized=False)
        said += [repr(module), list(module.state_dict()), type(module).__name__, type(module.weight).__name__]
        norm = P.register_parametrization(T.nn.BatchNorm1d(2), "running_mean", own["Double"]())
        said += [list(norm.state_dict()), norm.running_mean.requires_grad]
        loaded = P.register_parametrization(T.nn.Linear(3, 3), "bias", own["Sum"]())
        said += [str(loaded.load_state_dict(twin, strict=False).missing_keys)]
        return said

    assert run(fxt) == run(torch)


def test_a_copy_keeps_its_parametrizations():
    P = fxt.nn.utils.parametrize
    module = P.register_parametrization(fxt.nn.Linear(2, 2), "weight", classes(fxt)["Double"]())
    twin = copy.deepcopy(module)
    P.remove_parametrizations(module, "weight")
    assert P.is_parametrized(twin) and twin.weight.tolist() == module.weight.tolist()


MISUSE = [
    "P.register_parametrization(m, 'foo', own['Double']())",
    "P.register_parametrization(m, 'weight', T.nn.Linear(3, 2))",
    "P.register_parametrization(m, 'weight', own['Number']())",
    "P.register_parametrization(m, 'weight', own['Convert']())",
    "P.register_parametrization(m, 'weight', own['Backward']())",
    "P.remove_parametrizations(m, 'weight')",
    "P.ParametrizationList([], m.weight)",
    "S.spectral_norm(m, n_power_iterations=0)",
    "S.spectral_norm(m, dim=5)",
    "S.spectral_norm(m, 'foo')",
    "S.orthogonal(m, 'foo')",
    "S.orthogonal(m, 'bias')",
    "S.orthogonal(m, orthogonal_map='x')",
    "S.weight_norm(m, 'foo')",
    "U.remove_spectral_norm(m)",
    "U.remove_weight_norm(m)",
    "U.weight_norm(U.weight_norm(m))",
    "U.spectral_norm(U.spectral_norm(m))",
    "U.fuse_linear_bn_eval(m, T.nn.BatchNorm1d(3))",
    "U.fuse_linear_bn_eval(m.eval(), T.nn.BatchNorm1d(7).eval())",
    "U.skip_init(int)",
    "U.skip_init(T.nn.ReLU)",
]


@pytest.mark.parametrize("code", MISUSE)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_misuse(code):
    errors = []
    for T in LIBRARIES:
        U = T.nn.utils
        names = {"T": T, "U": U, "P": U.parametrize, "S": U.parametrizations}
        with pytest.raises(Exception) as caught:
            eval(code, names | {"m": T.nn.Linear(3, 3), "own": classes(T)})
        errors.append(caught.value)
    assert isinstance(errors[0], built_in(errors[1]))
    assert str(errors[0]).split("\n")[0] == str(errors[1]).split("\n")[0]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_norms_that_are_removed_and_states_of_the_older_form():
    def run(T):
        U = T.nn.utils
        said = []
        for add, remove in ((U.weight_norm, U.remove_weight_norm), (U.spectral_norm, U.remove_spectral_norm)):
            module = add(fill(T.nn.Linear(3, 2)))
            before = module.weight.detach().clone()
            remove(module)
            said += [list(module.state_dict()), type(module.weight).__name__]
            if add is U.weight_norm:
                said += [np.allclose(module.weight.detach().numpy(), before.numpy(), rtol=1e-6)]
        old, new = U.weight_norm(fill(T.nn.Linear(3, 2))), U.parametrizations.weight_norm(T.nn.Linear(3, 2))
        said += [
            str(new.load_state_dict(old.state_dict())),
            np.allclose(new(T.ones(3)).detach(), old(T.ones(3)).detach()),
        ]
        return said

    assert run(fxt) == run(torch)


def test_fused_layers():
    def run(T):
        U, found = T.nn.utils, []
        pairs = [
            (T.nn.Conv2d(2, 3, 2), T.nn.BatchNorm2d(3), (2, 2, 4, 4), {}),
            (T.nn.Conv1d(2, 3, 2, bias=False), T.nn.BatchNorm1d(3, affine=False), (2, 2, 4), {}),
            (T.nn.ConvTranspose1d(2, 3, 2), T.nn.BatchNorm1d(3), (2, 2, 4), {"transpose": True}),
            (T.nn.Linear(2, 3), T.nn.BatchNorm1d(3), (4, 2), None),
        ]
        for layer, norm, shape, options in pairs:
            fill(layer), fill(norm, seed=1)
            norm.running_var.abs_()
            layer.eval(), norm.eval()
            fused = (
                U.fuse_linear_bn_eval(layer, norm)
                if options is None
                else U.fuse_conv_bn_eval(layer, norm, **options)
            )
            x = T.from_numpy(np.random.default_rng(5).standard_normal(shape).astype("float32"))
            np.testing.assert_allclose(fused(x).detach(), norm(layer(x)).detach(), rtol=1e-4, atol=1e-5)
            found.append(fused(x).detach().numpy())
        return found

    for ours, theirs in zip(run(fxt), run(torch)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_modules_without_initial_values():
    fxt.manual_seed(0)
    expected = fxt.rand(3).tolist()
    fxt.manual_seed(0)
    layer = fxt.nn.utils.skip_init(fxt.nn.Linear, 3, 4, bias=False)
    assert layer.weight.shape == (4, 3) and layer.bias is None and layer.weight.requires_grad
    assert fxt.rand(3).tolist() == expected


def test_older_names_warn():
    for T in LIBRARIES:
        p = T.ones(2, requires_grad=True)
        p.grad = T.ones(2)
        with pytest.warns(FutureWarning, match="clip_grad_norm` is now deprecated"):
            T.nn.utils.clip_grad_norm([p], 1.0)
        with pytest.warns(FutureWarning, match="weight_norm` is deprecated in favor of"):
            T.nn.utils.weight_norm(T.nn.Linear(1, 1))
        with pytest.warns(FutureWarning, match="is deprecated as of PyTorch 2.0"):
            found = T.nn.utils.stateless.functional_call(
                T.nn.Linear(2, 1, bias=False), {"weight": T.ones(1, 2)}, T.ones(2)
            )
        assert found.tolist() == [2.0]


def test_weights_in_another_order():
    def run(T):
        model = T.nn.Sequential(T.nn.Conv2d(2, 3, 2), T.nn.ConvTranspose3d(2, 3, 2), T.nn.Linear(2, 2))
        U = T.nn.utils
        U.convert_conv2d_weight_memory_format(model, T.channels_last)
        U.convert_conv3d_weight_memory_format(model, T.channels_last_3d)
        return [p.stride() for p in model.parameters()]

    assert run(fxt) == run(torch)
