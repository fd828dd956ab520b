"""Spectra of frames, windows, slopes, histograms of points, and segments."""

from tests.parity.compat.case import T, case

Z = "complex128"
WINDOW = T(8, low=0.5, high=1.0)
SPECTRA = T(5, 6, dtype=Z)
WINDOWS = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
    "general_hamming",
]

CASES = [
    case("stft", T(20), 8, window=WINDOW, return_complex=True),
    case("stft", T(2, 20), 8, 3, 6, T(6), normalized=True, return_complex=False),
    case("stft", T(20, dtype=Z), 8, window=WINDOW, center=False),
    case(
        "stft", T(20), 8, win_length=4, window=T(4), center=False, align_to_window=True, return_complex=True
    ),
    case("stft", T(20), 8, window=WINDOW, onesided=False, pad_mode="constant", return_complex=True),
    case("istft", SPECTRA, 8, window=WINDOW),
    case("istft", T(2, 5, 6, dtype=Z), 8, 3, window=WINDOW, normalized=True, length=14),
    case("istft", SPECTRA, 8, window=WINDOW, length=24),
    case("istft", T(8, 6, dtype=Z), 8, window=WINDOW, center=True, return_complex=True),
    case("istft", T(8, 6, dtype=Z), 8, window=WINDOW),
    *[case(f"signal.windows.{name}", 6, dtype="torch.float64") for name in WINDOWS],
    *[case(f"signal.windows.{name}", 5, sym=False) for name in WINDOWS],
    case("signal.windows.general_cosine", 7, a=[0.3, 0.4, 0.3], dtype="torch.float64"),
    case("signal.windows.exponential", 7, center=2.0, tau=2.0, sym=False, dtype="torch.float64"),
    case("signal.windows.kaiser", 7, beta=3.0, dtype="torch.float64"),
    case("signal.windows.gaussian", 1),
    case("signal.windows.hann", 0),
    case("gradient", T(3, 4)),
    case("gradient", T(3, 4), spacing=2.0, dim=1, edge_order=2),
    case("gradient", T(3, 4), spacing=(0.5, 2)),
    case("gradient", T(3, 4), spacing=(T(values=[0.0, 1.0, 3.0]),), dim=0),
    case("gradient", T(3, 4, dtype="int64")),
    case("gradient", T(3), spacing=None),
    case("histogramdd", T(5, 2, grad=False), [2, 3], vmap=False),
    case(
        "histogramdd",
        T(5, 2, grad=False),
        2,
        range=[-1.0, 1.0, -0.5, 0.5],
        weight=T(5, grad=False),
        density=True,
        vmap=False,
    ),
    # torch has no second derivatives of these; where lengths differ, so do numbers of segments.
    *[
        case(
            "segment_reduce",
            x,
            reduce,
            lengths=T(values=lengths, dtype="int64"),
            axis=0,
            double=False,
            vmap=False,
        )
        for reduce in ("sum", "mean", "max", "min", "prod")
        for x, lengths in ((T(4, 2), [1, 3]), (T(4, grad=False), [1, 0, 3]))
    ],
    case(
        "segment_reduce",
        T(2, 4),
        "sum",
        lengths=T(values=[[1, 3], [2, 2]], dtype="int64"),
        axis=1,
        double=False,
        vmap=False,
    ),
    case(
        "segment_reduce",
        T(4),
        "mean",
        offsets=T(values=[0, 3, 4], dtype="int64"),
        initial=2.0,
        double=False,
        vmap=False,
    ),
    case("fake_quantize_per_tensor_affine", T(3, 4, dtype="float32"), 0.1, 1, -4, 5, forward=False),
    case(
        "fake_quantize_per_channel_affine",
        T(3, 4, dtype="float32"),
        T(3, dtype="float32", low=0.1, high=0.3, grad=False),
        T(values=[0, 1, -1], dtype="int32"),
        0,
        -4,
        5,
        forward=False,
    ),
]
