"""The loops of gated recurrent layers as machine code, against the same loops by NumPy."""

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.kernels.native import engine, gated

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")


def run(layer, size, width, dtype, lengths, reads):
    """The results and gradients of a layer in both directions; of the results only those at `reads` are used."""
    torch.manual_seed(0)
    layer = getattr(torch.nn, layer)(width, size, bidirectional=True, dtype=dtype)
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.standard_normal((6, len(lengths), width)), dtype=dtype, requires_grad=True)
    given = torch.nn.utils.rnn.pack_padded_sequence(x, lengths) if min(lengths) < 6 else x
    y, last = layer(given)
    y = y if isinstance(y, torch.Tensor) else y.data
    results = [y, *(last if isinstance(last, tuple) else (last,))]
    sum((v * v).sum() for v in [results[i] for i in reads if i < len(results)]).backward()
    return [v.detach().numpy() for v in results] + [v.grad.numpy() for v in (x, *layer.parameters())]


@pytest.mark.parametrize("layer", ["LSTM", "GRU"])
@pytest.mark.parametrize(
    ("size", "width", "dtype", "lengths", "reads"),
    [
        (1, 2, torch.float64, [6], (0, 1, 2)),
        (5, 3, torch.float32, [6, 6, 6], (0,)),
        (16, 4, torch.float32, [6, 4, 4, 2, 1], (0, 1)),
        (19, 4, torch.float64, [6, 5, 1], (1, 2)),
        (gated.RECURRENT_STATE + 3, 2, torch.float32, [6, 3], (0, 1, 2)),
    ],
)
def test_values_and_gradients(layer, size, width, dtype, lengths, reads, monkeypatch):
    found = {}
    for mode in ("never", "always"):
        monkeypatch.setattr(engine, "mode", lambda mode=mode: mode)
        found[mode] = run(layer, size, width, dtype, lengths, reads)
    eps = 1e-5 if dtype is torch.float32 else 1e-13
    for got, want in zip(found["always"], found["never"], strict=True):
        np.testing.assert_allclose(got, want, rtol=eps, atol=30 * eps)


@pytest.mark.parametrize("layer", ["LSTM", "GRU"])
def test_gates_that_are_saturated_or_not_numbers(layer, monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    layer = getattr(torch.nn, layer)(1, 3)
    for x in (1e30, -1e30, float("inf"), float("nan")):
        y, _ = layer(torch.full((4, 1, 1), x))
        assert torch.isnan(y).any().item() == (x != x)
