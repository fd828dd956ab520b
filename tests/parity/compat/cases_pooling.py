"""Pooling."""

from tests.parity.compat.case import T, case

F = "nn.functional."
LINE, IMAGE, VOLUME = T(2, 3, 9), T(2, 3, 6, 7), T(1, 2, 4, 5, 4)
CASES = [
    case(F + "avg_pool1d", LINE, 3),
    case(F + "avg_pool1d", LINE, 3, 2, 1, True, False),
    case("avg_pool1d", T(3, 9), 4, 3),
    case(F + "avg_pool2d", IMAGE, 2),
    case(F + "avg_pool2d", IMAGE, (3, 2), (2, 1), (1, 1), ceil_mode=True),
    case(F + "avg_pool2d", IMAGE, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    case(F + "avg_pool2d", IMAGE, 2, divisor_override=3),
    case(F + "avg_pool2d", T(3, 6, 6), 5, stride=4),
    case(F + "avg_pool3d", VOLUME, 2, (1, 2, 1), 1),
    *(case(F + "adaptive_avg_pool1d", LINE, n) for n in (1, 3, 4)),
    case("adaptive_avg_pool1d", T(3, 9), 2),
    case(F + "adaptive_avg_pool2d", IMAGE, (4, None)),
    case(F + "adaptive_avg_pool2d", T(3, 6, 7), 1),
    case(F + "adaptive_avg_pool3d", VOLUME, (2, 3, 3)),
    case(F + "lp_pool1d", LINE, 2.0, 3),
    case(F + "lp_pool2d", T(2, 3, 6, 7, low=0.1), 3.0, 2, stride=1),
    case(F + "max_pool1d", LINE, 3),
    case(F + "max_pool1d", LINE, 3, 2, 1, 2, return_indices=True),
    case("max_pool1d", T(3, 9), 2),
    case(F + "max_pool2d", IMAGE, 2),
    case(F + "max_pool2d", IMAGE, (3, 2), (2, 1), 1, ceil_mode=True, return_indices=True),
    case(F + "max_pool2d", IMAGE, 2, dilation=(2, 3), stride=1),
    case(F + "max_pool2d", T(values=[[[1.0, 1.0], [1.0, 1.0]]]), 2, return_indices=True),
    case(F + "max_pool2d", T(values=[[[1.0, float("nan"), 3.0, -float("inf")]]], grad=False), (1, 2)),
    case(F + "max_pool3d", VOLUME, 2, return_indices=True),
    case("max_pool2d", IMAGE, 3),
    *(case(F + "adaptive_max_pool1d", LINE, n, return_indices=True) for n in (1, 3, 4)),
    case("adaptive_max_pool1d", LINE, 2),
    case(F + "adaptive_max_pool2d", IMAGE, (4, None)),
    case(F + "adaptive_max_pool3d", VOLUME, (2, 3, 3), return_indices=True),
    case(F + "max_unpool1d", T(1, 2), T(values=[[1, 2]], dtype="int64"), 2),
    case(F + "max_unpool2d", T(1, 1, 2), T(values=[[[0, 7]]], dtype="int64"), 2),
    case(F + "max_unpool2d", T(1, 1, 2), T(values=[[[0, 7]]], dtype="int64"), 2, output_size=(3, 4)),
    case(F + "max_unpool3d", T(1, 1, 1, 2), T(values=[[[[0, 15]]]], dtype="int64"), 2),
]
