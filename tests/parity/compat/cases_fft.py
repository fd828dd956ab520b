"""Fourier transforms."""

from tests.parity.compat.case import T, case

Z = "complex128"
NORMS = (None, "ortho", "forward")
REAL, COMPLEX = T(3, 4), T(3, 4, dtype=Z)

CASES = [
    *[
        case(f"fft.{name}", x, norm=norm)
        for name in ("fft", "ifft")
        for x in (REAL, COMPLEX)
        for norm in NORMS
    ],
    *[case(f"fft.{name}", REAL, norm=norm) for name in ("rfft", "ihfft") for norm in NORMS],
    *[case(f"fft.{name}", COMPLEX, norm=norm) for name in ("irfft", "hfft") for norm in NORMS],
    *[case(f"fft.{name}", COMPLEX, n) for name in ("fft", "ifft", "irfft", "hfft") for n in (3, 6)],
    *[case(f"fft.{name}", REAL, n, 0) for name in ("rfft", "ihfft") for n in (2, 5)],
    *[case(f"fft.{name}", COMPLEX, dim=0) for name in ("fft", "ifft", "irfft", "hfft")],
    *[case(f"fft.{name}", REAL) for name in ("irfft", "hfft", "irfft2", "hfftn")],
    *[case(f"fft.{name}", T(4, dtype="int64")) for name in ("fft", "rfft", "irfft", "ihfft")],
    *[case(f"fft.{name}", T(4, dtype="float32")) for name in ("fft", "rfft", "irfft")],
    *[case(f"fft.{name}", COMPLEX) for name in ("fft2", "ifft2", "irfft2", "hfft2")],
    *[case(f"fft.{name}", REAL) for name in ("rfft2", "ihfft2")],
    *[case(f"fft.{name}", T(2, 3, 4, dtype=Z)) for name in ("fftn", "ifftn", "irfftn", "hfftn")],
    *[case(f"fft.{name}", T(2, 3, 4)) for name in ("rfftn", "ihfftn")],
    case("fft.fftn", T(2, 3, 4), (3, -1)),
    case("fft.ifftn", T(2, 3), dim=()),
    case("fft.fft2", COMPLEX, dim=()),
    case("fft.fftn", COMPLEX, s=(2, 5), dim=(1, 0), norm="ortho"),
    case("fft.rfftn", REAL, (4, 3), dim=(0, 1)),
    case("fft.irfftn", COMPLEX, (2, -1), norm="forward"),
    case("fft.irfftn", COMPLEX, (5,), (0,)),
    case("fft.fft2", T(2, 3, 4, dtype=Z), dim=(0, 2)),
    case("fft.fftshift", T(4, 3)),
    case("fft.fftshift", COMPLEX, 1),
    case("fft.ifftshift", T(4, 3)),
    case("fft.ifftshift", T(3, 4), dim=(0,)),
    case("fft.fftfreq", 5),
    case("fft.fftfreq", 4, 0.5, dtype="torch.float64"),
    case("fft.rfftfreq", 5),
    case("fft.rfftfreq", 4, d=0.5),
]
