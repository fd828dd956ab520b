"""Recurrent layers, cells, and images of another size with antialiasing; packed sequences are in test_recurrent.py."""

from tests.parity.compat.case import T, case


def weights(gates, inputs=3, states=2, hidden=2, biases=True, projection=0):
    """The parameters of one layer and direction."""
    found = [T(gates * hidden, inputs), T(gates * hidden, states)]
    found += [T(gates * hidden), T(gates * hidden)] if biases else []
    return found + ([T(projection, hidden)] if projection else [])


ONE = (True, 1, 0.0, False, False, False)  # biases, layers, dropout, train, bidirectional, batch_first
X, H, C = T(3, 2, 3), T(1, 2, 2), T(1, 2, 2)
CASES = [
    case("rnn_tanh", X, H, weights(1), *ONE),
    case("rnn_relu", X, H, weights(1, biases=False), False, *ONE[1:]),
    case("gru", X, H, weights(3), *ONE),
    case("gru", T(2, 3, 3), T(2, 2, 2), [*weights(3), *weights(3)], True, 1, 0.0, False, True, True),
    case("lstm", X, [H, C], weights(4), *ONE),
    case("lstm", X, [T(1, 2, 1), C], weights(4, states=1, projection=1), *ONE),
    case("lstm", X, [T(2, 2, 2), T(2, 2, 2)], [*weights(4), *weights(4, inputs=2)], True, 2, *ONE[2:]),
    case("rnn_tanh_cell", T(2, 3), T(2, 2), *weights(1)),
    case("rnn_relu_cell", T(2, 3), T(2, 2), *weights(1, biases=False)),
    case("gru_cell", T(2, 3), T(2, 2), *weights(3)),
    case("lstm_cell", T(2, 3), [T(2, 2), T(2, 2)], *weights(4)),
]
INTERPOLATE = "nn.functional.interpolate"
IMAGE = T(1, 2, 5, 4)
CASES += [
    case(INTERPOLATE, IMAGE, size=(2, 3), mode="bilinear", antialias=True),
    case(INTERPOLATE, IMAGE, size=(7, 2), mode="bicubic", antialias=True, align_corners=True),
    case(INTERPOLATE, IMAGE, scale_factor=0.6, mode="lanczos", antialias=True),
    case(
        "nn.functional.linear_cross_entropy",
        T(2, 3),
        T(4, 2, 3),
        T(values=[[0, 3], [1, 2]], dtype="int64"),
        linear_bias=T(4, 2),
    ),
    case("conv_tbc", T(4, 2, 3), T(2, 3, 2), T(2), 1),
]
