"""Padding."""

from tests.parity.compat.case import T, case

F = "nn.functional."
LINE, IMAGE, VOLUME = T(2, 3, 5), T(1, 2, 4, 5), T(1, 1, 3, 4, 3)
CASES = [
    case(F + "pad", T(3), (1, 2)),
    case(F + "pad", IMAGE, (1, 0, 2, 3), value=1.5),
    case(F + "pad", IMAGE, (-1, 2, 0, -2)),
    case(F + "pad", IMAGE, (1, 1, 0, 0, 2, 0), "constant", -1.0),
    case(F + "pad", T(3, dtype="int64"), (1, 2), value=7),
    case("constant_pad_nd", T(3), (1, 1), 2.0),
    *(
        case(F + "pad", x, widths, mode)
        for mode in ("reflect", "replicate", "circular")
        for x, widths in (
            (LINE, (2, 1)),
            (T(3, 5), (0, 3)),
            (IMAGE, (1, 2, 2, 0)),
            (VOLUME, (1, 1, 2, 1, 0, 2)),
        )
    ),
    case(F + "pad", LINE, (-1, 2), "replicate"),
    case(F + "pad", LINE, (-1, 2), "reflect"),
    case(F + "pad", LINE, (-1, 2), "circular"),
    case(F + "pad", LINE, (3, -1), "circular"),
    case(F + "pad", IMAGE, (-2, -1, 2, -1), "circular"),
    case(F + "pad", T(3), (1, 2), value=-0.0),
]
