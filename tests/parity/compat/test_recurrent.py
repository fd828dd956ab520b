"""Recurrent networks and packed sequences against torch: all options, forms of input and orders of derivatives."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import as_numpy, flat
from tests.parity.compat.test_creation import built_in
from tests.parity.compat.test_modules import LIBRARIES, both

pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections:UserWarning")
# Every option with every network, and every pair of options with one of them.
NETWORKS = [
    "RNN(3, 4, num_layers=2, bidirectional=True)",
    "RNN(3, 4, 1, 'relu', bias=False, batch_first=True)",
    "GRU(3, 4, num_layers=2, batch_first=True)",
    "GRU(3, 4, bias=False, bidirectional=True)",
    "LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)",
    "LSTM(3, 4, num_layers=2, bias=False, proj_size=2)",
    "LSTM(3, 4, bidirectional=True, proj_size=2)",
]
FORMS = ("plain", "state", "single", "packed", "packed state")


def run(T, network, form):
    """Results, and derivatives of first and second order in inputs, states and parameters: those of first order with a
    graph and without."""
    rng = np.random.default_rng(0)
    leaves = []

    def leaf(*shape):
        leaves.append(T.from_numpy(rng.standard_normal(shape)).requires_grad_())
        return leaves[-1]

    batch = () if form == "single" else (2,)
    input = leaf(*batch, 5, 3) if network.batch_first and batch else leaf(5, *batch, 3)
    arguments = [input]
    if "packed" in form:
        pack = T.nn.utils.rnn.pack_padded_sequence
        arguments = [pack(input, T.tensor([3, 5]), network.batch_first, enforce_sorted=False)]
    if "state" in form:
        rows = network.num_layers * (1 + network.bidirectional)
        h = leaf(rows, *batch, network.proj_size or network.hidden_size)
        arguments.append((h, leaf(rows, *batch, network.hidden_size)) if network.mode == "LSTM" else h)
    output, state = network(*arguments)
    if "packed" in form:
        output, lengths = T.nn.utils.rnn.pad_packed_sequence(output, network.batch_first)
        assert lengths.tolist() == [3, 5]
    results = [output, *flat(state)]
    leaves += network.parameters()
    parts = [(y * y.sin()).sum() for y in results]
    plain = [g for total in (parts[0], sum(parts)) for g in T.autograd.grad(total, leaves, retain_graph=True)]
    first = T.autograd.grad(sum(parts), leaves, create_graph=True)
    second = T.autograd.grad(sum((g * g).sum() for g in first), leaves)
    return [*results, *plain, *first, *second]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", NETWORKS)
def test_results_and_derivatives(code, form):
    ours, theirs = both(code)
    found, expected = run(fxt, ours, form), run(torch, theirs, form)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(as_numpy(a), as_numpy(b), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("code", [NETWORKS[0], NETWORKS[3], NETWORKS[5]])
def test_gradients_of_each_sample(code):
    ours, theirs = both(code)
    samples = np.random.default_rng(0).standard_normal((2, 4, 3, 3))

    def loss(parameters, x):
        return (fxt.func.functional_call(ours, parameters, (x,))[0] ** 2).sum()

    parameters = {name: p.detach() for name, p in ours.named_parameters()}
    found = fxt.func.vmap(fxt.func.grad(loss), (None, 0))(parameters, fxt.from_numpy(samples))
    for i, sample in enumerate(samples):
        total = (theirs(torch.from_numpy(sample))[0] ** 2).sum()
        expected = torch.autograd.grad(total, list(theirs.parameters()))
        for a, b in zip(found.values(), expected, strict=True):
            np.testing.assert_allclose(as_numpy(a[i]), as_numpy(b), rtol=1e-8, atol=1e-10)


def test_short_precisions_and_zero_sizes():
    for dtype, tol in (("float32", 1e-5), ("bfloat16", 2e-2), ("float16", 2e-3)):
        ours, theirs = both("LSTM(3, 4)", double=False)
        results = []
        for T, network in ((torch, theirs), (fxt, ours)):
            x = T.from_numpy(np.linspace(-1, 1, 30, dtype="f4").reshape(5, 2, 3)).to(getattr(T, dtype))
            results.append(network.to(getattr(T, dtype))(x)[0])
        assert str(results[1].dtype) == str(results[0].dtype)
        np.testing.assert_allclose(as_numpy(results[1]), as_numpy(results[0]), rtol=tol, atol=tol)
    for T in LIBRARIES:
        states, (h, _) = T.nn.LSTM(3, 4)(T.zeros(5, 0, 3))
        assert (tuple(states.shape), tuple(h.shape)) == ((5, 0, 4), (1, 0, 4))


def test_dropout_is_between_layers_in_training():
    network = fxt.nn.LSTM(3, 50, 2, dropout=1.0)
    x = fxt.ones(4, 2, 3)
    dropped, kept = network(x)[0], network.eval()(x)[0]
    network.weight_ih_l1.data.zero_()
    assert fxt.equal(network(x)[0], dropped) and not fxt.equal(kept, dropped)


def test_attributes_that_programs_touch():
    def run(T):
        network = T.nn.LSTM(2, 3, 2, bidirectional=True, proj_size=1)
        network.flatten_parameters()
        cell = T.nn.RNNCell(2, 3, bias=False, nonlinearity="relu")
        again = copy.deepcopy(network)
        x = T.ones(2, 1, 2)
        return (
            [name for name, _ in network.named_parameters()],
            network.all_weights[1][0] is network.weight_ih_l0_reverse,
            [len(names) for names in network._all_weights],
            network._flat_weights_names == [name for name, _ in network.named_parameters()],
            isinstance(network, T.nn.RNNBase),
            isinstance(cell, T.nn.RNNCellBase),
            repr(network) + repr(cell),
            T.equal(again(x)[0], network(x)[0]),
            network.mode,
        )

    assert run(fxt) == run(torch)


PACKED = [
    "R.pack_sequence([a, b])",
    "R.pack_sequence([b, a], enforce_sorted=False)",
    "R.pack_padded_sequence(R.pad_sequence([a, b], True, -1.0), [3, 2], True)",
    "R.pad_packed_sequence(R.pack_sequence([b, a], enforce_sorted=False), True, 7, total_length=5)",
    "R.pad_sequence([b, a], padding_value=2.0, padding_side='left')",
    "R.unpad_sequence(R.pad_sequence([a, b]), T.tensor([3, 2]))",
    "R.unpack_sequence(R.pack_sequence([b, a], enforce_sorted=False))",
    "R.pack_sequence([a, b]).to(T.float64)",
    "R.pack_sequence([a, b]).long().half().is_cuda",
    "R.invert_permutation(T.tensor([2, 0, 1])), R.invert_permutation(None)",
    "R.PackedSequence((a, T.tensor([2, 1])))",
]


@pytest.mark.parametrize("code", PACKED)
def test_packed_sequences(code):
    texts = []
    for T in LIBRARIES:
        names = {
            "T": T,
            "R": T.nn.utils.rnn,
            "a": T.arange(6.0).view(3, 2),
            "b": T.arange(4.0).view(2, 2) + 9,
        }
        texts.append(repr(eval(code, names)))
    assert texts[1] == texts[0]


MISUSE = [
    "T.nn.LSTM(0, 2)",
    "T.nn.LSTM(2, 2, num_layers=0)",
    "T.nn.LSTM(2, 2, proj_size=2)",
    "T.nn.LSTM(2, 2, dropout=2)",
    "T.nn.LSTM(2, 2.0)",
    "T.nn.LSTM(2, 2, bias=1)",
    "T.nn.GRU(2, 2, proj_size=1)",
    "T.nn.RNN(2, 2, nonlinearity='sine')",
    "T.nn.RNN(2, 3)(T.ones(1, 1, 3))",
    "T.nn.RNN(2, 3)(T.ones(3))",
    "T.nn.RNN(2, 3)(T.ones(1, 1, 2).double())",
    "T.nn.RNN(2, 3)(T.ones(0, 1, 2))",
    "T.nn.RNN(2, 3)(T.ones(1, 1, 2), T.ones(1, 2, 3))",
    "T.nn.RNN(2, 3)(T.ones(1, 1, 2), T.ones(1, 3))",
    "T.nn.LSTM(2, 3)(T.ones(1, 2), (T.ones(1, 1, 3), T.ones(1, 1, 3)))",
    "T.nn.LSTM(2, 3)(T.ones(1, 1, 2), (T.ones(1, 1, 3), T.ones(1, 1, 4)))",
    "T.nn.LSTMCell(2, 3)(T.ones(1, 1, 2))",
    "T.nn.GRUCell(2, 3)(T.ones(1, 2), T.ones(1, 1, 3))",
    "T.nn.GRUCell(2, 3)(T.ones(1, 3))",
    "T.nn.RNNCell(2, 3)(T.ones(1, 2), T.ones(2, 3))",
    "R.pack_padded_sequence(T.ones(3, 2), [2, 3])",
    "R.pack_padded_sequence(T.ones(3, 2), [2])",
    "R.pack_padded_sequence(T.ones(3, 2), [2, 0])",
    "R.pad_packed_sequence(R.pack_sequence([T.ones(2)]), total_length=1)",
    "R.pad_sequence([])",
    "R.pad_sequence([T.ones(1)], padding_side='top')",
    "R.pad_sequence(3)",
]


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    errors = []
    for T in (fxt, torch):
        with pytest.raises(Exception) as caught:
            eval(code, {"T": T, "R": T.nn.utils.rnn})
        errors.append(caught.value)
    assert isinstance(errors[0], built_in(errors[1]))
    assert str(errors[0]).partition("\n  at:")[0] == str(errors[1])


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_dropout_between_layers_draws_for_the_packed_rows_only(kind):
    def run(T):
        T.manual_seed(0)
        x = T.randn(5, 4, 6, dtype=T.float64)
        layers = getattr(T.nn, kind)(6, 3, num_layers=3, bidirectional=True, dropout=0.5).double()
        packed = T.nn.utils.rnn.pack_padded_sequence(x, T.tensor([5, 2, 4, 1]), enforce_sorted=False)
        return layers(packed)[0].data.tolist(), T.rand(2).tolist()

    (ours, drawn_after), (theirs, drawn_after_theirs) = run(fxt), run(torch)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert drawn_after == drawn_after_theirs
