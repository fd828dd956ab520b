"""Convolutions, transposed ones, and their windows."""

from tests.parity.compat.case import T, case

F = "nn.functional."
CASES = [
    case(F + "conv1d", T(2, 3, 7), T(4, 3, 3)),
    case(F + "conv1d", T(2, 4, 7), T(6, 2, 3), T(6), stride=2, padding=1, dilation=2, groups=2),
    case(F + "conv1d", T(1, 7), T(4, 1, 3), T(4), padding="same"),
    case(F + "conv1d", T(2, 3, 7), T(4, 3, 4), padding="same", dilation=2),
    case(F + "conv1d", T(2, 3, 7), T(4, 3, 7), padding="valid"),
    case(F + "conv1d", T(2, 3, 5, dtype="complex128"), T(2, 3, 2, dtype="complex128")),
    case(F + "conv2d", T(2, 3, 6, 5), T(4, 3, 3, 2), T(4)),
    case(F + "conv2d", T(2, 3, 5, 5, dtype="float32"), T(2, 3, 3, 3, dtype="float32"), padding=1),
    case(F + "conv2d", T(2, 2, 6, 7), T(4, 1, 3, 3), stride=(2, 3), padding=(1, 0), groups=2),
    case(F + "conv2d", T(1, 2, 7, 7), T(2, 2, 3, 2), dilation=(2, 1), stride=2, padding=2),
    case(F + "conv2d", T(1, 2, 3), T(2, 1, 1, 1), T(2)),
    case(F + "conv3d", T(1, 2, 4, 3, 5), T(2, 2, 2, 2, 3), T(2), padding=(1, 0, 1), stride=(2, 1, 1)),
    case(F + "conv_transpose1d", T(2, 3, 5), T(3, 2, 3), T(2)),
    case(F + "conv_transpose1d", T(3, 5), T(3, 2, 3), stride=2, padding=1, output_padding=1),
    case(F + "conv_transpose1d", T(2, 4, 4), T(4, 3, 3), groups=2, dilation=2, stride=3, padding=3),
    case(F + "conv_transpose2d", T(2, 3, 4, 3), T(3, 2, 3, 2), T(2), stride=(2, 1), padding=(1, 0)),
    case(F + "conv_transpose2d", T(1, 2, 3, 3), T(2, 2, 2, 2), stride=3, output_padding=(2, 1)),
    case(F + "conv_transpose3d", T(1, 2, 2, 3, 2), T(2, 1, 2, 2, 2), T(1), stride=2),
    case("conv1d", T(2, 3, 7), T(4, 3, 3), None, 2, 1),
    case("conv2d", T(2, 3, 5, 5), T(2, 3, 2, 2)),
    case("conv_transpose2d", T(2, 3, 3, 3), T(3, 2, 2, 2)),
    case(F + "unfold", T(2, 3, 5, 4), 2),
    case(F + "unfold", T(2, 2, 6, 7), (2, 3), dilation=(2, 1), padding=1, stride=(2, 1)),
    case(F + "unfold", T(2, 5, 4), (3, 2), stride=2),
    case(F + "fold", T(2, 12, 12), (5, 4), 2),
    case(F + "fold", T(1, 12, 20), (6, 5), (2, 3), padding=1, stride=(2, 1), dilation=(1, 1)),
]
