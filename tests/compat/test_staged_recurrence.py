"""Recurrent layers in compiled Graphs, where a loop and its pullback are equations, under other transforms."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch

LAYERS = {
    "LSTM": lambda: torch.nn.LSTM(3, 4, num_layers=2, dtype=torch.float64),
    "GRU": lambda: torch.nn.GRU(3, 4, bidirectional=True, dtype=torch.float64),
    "LSTM without biases": lambda: torch.nn.LSTM(3, 4, bias=False, dtype=torch.float64),
    "RNN": lambda: torch.nn.RNN(3, 4, dtype=torch.float64),
}


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape)


@pytest.fixture(params=LAYERS, ids=str)
def loss(request):
    """A function of the weights and the input of a layer, and the weights."""
    torch.manual_seed(0)
    layer = LAYERS[request.param]()
    weights = {k: v.detach() for k, v in layer.named_parameters()}

    def function(weights, x):
        y, last = torch.func.functional_call(layer, weights, (x,))
        return (y**2).sum() + sum(v.sum() for v in (last if isinstance(last, tuple) else (last,)))

    return function, weights


def assert_equal(got, want):
    for a, b in zip(fx.tree.leaves(got), fx.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-11)


PROGRAMS = {
    "gradients": lambda f, staged, w, x: staged(fx.grad(f, argnums=(0, 1)))(w, x),
    "values": lambda f, staged, w, x: staged(f)(w, x),
    "tangents": lambda f, staged, w, x: fx.jvp(staged(fx.grad(f)), (w, x), (w, x)),
    "second derivatives": lambda f, staged, w, x: fx.grad(
        lambda x: (staged(fx.grad(f, argnums=1))(w, x) ** 2).sum()
    )(x),
    "batches": lambda f, staged, w, x: fx.vmap(staged(fx.grad(lambda x: f(w, x))))(torch.stack([x, 2 * x])),
    "gradients of batches": lambda f, staged, w, x: staged(
        fx.grad(lambda w: fx.vmap(f, (None, 0))(w, torch.stack([x, 2 * x])).sum())
    )(w),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled_graphs_compute_what_python_does(loss, program):
    function, weights = loss
    x = torch.tensor(numbers(5, 2, 3))
    got, want = (PROGRAMS[program](function, staged, weights, x) for staged in (fx.jit, lambda f: f))
    assert_equal(got, want)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_training_step_is_two_loops(kind):
    layer = getattr(torch.nn, kind)(3, 4)
    weights = {k: v.detach() for k, v in layer.named_parameters()}
    step = fx.jit(fx.grad(lambda w, x: torch.func.functional_call(layer, w, (x,))[0].sum()))
    text = step.lower(weights, torch.ones(5, 2, 3)).as_text()
    assert f"{kind.lower()}_loop(" in text and f"{kind.lower()}_loop_back(" in text and "scan" not in text


def test_packed_sequences():
    layer = torch.nn.LSTM(3, 4, dtype=torch.float64)
    weights = {k: v.detach() for k, v in layer.named_parameters()}

    def loss(weights, x):
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, [5, 2])
        y, (h, _) = torch.func.functional_call(layer, weights, (packed,))
        return (y.data**2).sum() + h.sum()

    x = torch.tensor(numbers(5, 2, 3))
    step = fx.grad(loss, argnums=(0, 1))
    assert_equal(fx.jit(step)(weights, x), step(weights, x))
