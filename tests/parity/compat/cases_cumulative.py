"""Running reductions, differences and integrals."""

from tests.parity.compat.case import T, case

X = T(2, 4)
TIES = T(values=[1.0, 3.0, 3.0, 2.0, 4.0])
NAN = T(values=[1.0, float("nan"), 3.0, float("nan")], grad=False)

CASES = [
    *[
        case(name, X, dim)
        for name in ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin")
        for dim in (0, -1)
    ],
    *[case(name, T(), 0) for name in ("cumsum", "cumprod", "logcumsumexp", "cummax")],
    *[case(name, T(0, 2), 1) for name in ("cumsum", "cumprod")],
    *[case(name, T(4, dtype="int32"), 0) for name in ("cumsum", "cumprod", "cummax", "cummin")],
    *[case(name, T(3, dtype="float32"), 0) for name in ("cumsum", "cumprod", "cummin")],
    *[case(name, T(3, dtype="complex128"), 0) for name in ("cumsum", "cumprod")],
    *[case(f".{name}_", X, 1) for name in ("cumsum", "cumprod")],
    *[case(name, TIES, 0) for name in ("cummax", "cummin")],
    *[case(name, NAN, 0) for name in ("cummax", "cummin")],
    case("cumsum", T(3, dtype="int32"), 0, dtype="torch.float64"),
    case("cumprod", T(values=[[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]), 1),
    case("logcumsumexp", T(values=[-1000.0, 0.0, 1000.0]), 0, double=False, forward=False),  # torch: NaN, 0
    *[case("diff", T(3, 5), n) for n in (0, 1, 2)],
    case("diff", T(3, 5), dim=0, prepend=T(1, 5), append=T(2, 5)),
    case("diff", T(3), 0, prepend=T(1)),
    case("diff", T(5, dtype="bool")),
    case("diff", T(5, dtype="int64"), 2),
    case("trapezoid", X),
    case("trapezoid", X, dx=0.5, dim=0),
    case("trapezoid", X, T(4)),
    case("trapz", X, T(2, 4)),
    case("cumulative_trapezoid", X),
    case("cumulative_trapezoid", X, T(2, 4), dim=1),
    case("cumulative_trapezoid", X, dx=2.0, dim=-1),
    case("logcumsumexp", T(2, 5, dtype="complex128"), 1),
    case("logcumsumexp", T(dtype="complex128"), 0),
    case("trapezoid", T(2, 3, dtype="int32"), T(3, dtype="int32")),
    case("cumulative_trapezoid", T(2, 3, dtype="int64")),
    case("cumsum", T(3, dtype="int32"), 0, dtype="torch.int32"),
    case("cumprod", T(3, dtype="int16"), 0, dtype="torch.int16"),
]
