"""Reductions."""

from tests.parity.compat.case import T, case

X = T(2, 3, 4)
ROWS = T(3, 4)
TIES = T(values=[[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]])
NAN = T(values=[[1.0, float("nan"), 3.0], [2.0, 2.5, 1.0]])
SUMS = ["sum", "nansum", "mean", "nanmean"]
EXTREMA = ["amax", "amin"]
SPREAD = ["var", "std", "var_mean", "std_mean"]
WHERE = [{}, {"dim": 1}, {"dim": -1, "keepdim": True}]

CASES = [
    *[case(name, X, **where) for name in (*SUMS, *EXTREMA) for where in (*WHERE, {"dim": (0, 2)})],
    *[case(name, T(3, 2, dtype="float32"), 0) for name in SUMS],
    *[case(name, T(), 0) for name in SUMS],
    *[case(name, T(3, dtype="complex128")) for name in ("sum", "mean", "prod")],
    *[
        case(name, T(3, dtype="int32"))
        for name in ("sum", "nansum", "prod", "amax", "count_nonzero", "all", "any")
    ],
    *[case(name, T(3, dtype="bool")) for name in ("sum", "prod", "count_nonzero", "all", "any", "amax")],
    *[case(name, T(3, dtype="uint8")) for name in ("sum", "all", "any")],
    *[case(name, T(0, 3)) for name in ("sum", "prod", "mean")],
    *[case(name, T(0, 3), 0) for name in ("sum", "nansum", "all", "any")],
    *[case(name, NAN) for name in ("nansum", "nanmean")],
    *[case(name, NAN, 1) for name in ("nansum", "nanmean")],
    case("sum", X, dtype="torch.float32"),
    case("sum", T(2, dtype="int32"), dtype="torch.int32"),
    case("mean", T(2, dtype="int32"), dtype="torch.float64"),
    *[case("prod", X, **where) for where in WHERE],
    case("prod", T(values=[[0.0, 2.0, 3.0], [0.0, 0.0, 1.0]]), 1),
    *[case(name, X, **where) for name in SPREAD for where in (*WHERE, {"dim": (0, 1)})],
    *[case(name, ROWS, 1, False) for name in SPREAD],
    *[case(name, ROWS, False) for name in SPREAD],
    *[case(name, ROWS, 0, correction=2, keepdim=True) for name in SPREAD],
    case("var", T(4, dtype="complex128")),
    case("std", T(values=[2.0, 2.0]), double=False),  # there is no derivative at 0
    *[case(name, TIES) for name in ("amax", "amin", "max", "min")],
    *[case(name, TIES, 1) for name in ("amax", "amin", "max", "min", "argmax", "argmin")],
    *[case(name, X, 1, keepdim=True) for name in ("max", "min", "argmax", "argmin")],
    *[case(name, NAN, 1) for name in ("max", "min", "argmax", "argmin")],
    case("amax", NAN, 1, backward=False),  # torch makes all gradients NaN that stand beside NaN
    *[case(name, X) for name in ("argmax", "argmin", "max", "min", "aminmax")],
    *[case(name, T()) for name in ("argmax", "max", "amin", "aminmax")],
    *[case(name, T(), 0) for name in ("argmax", "max", "amin", "all")],
    *[case(name, X, T(4)) for name in ("max", "min")],
    *[case(name, T(5, dtype="int64"), 0) for name in ("max", "min", "argmax", "amin")],
    case("aminmax", X, dim=1, keepdim=True),
    *[case(name, X, 1) for name in ("all", "any", "count_nonzero")],
    *[case(name, X, ()) for name in ("sum", "nansum", "amax", "count_nonzero", "all", "any")],
    *[case(name, T(2, 3, dtype="bool"), (0, 1), keepdim=True) for name in ("all", "any")],
    *[case("norm", X, p) for p in ("fro", 1, 2, 3, 0.5, float("inf"), -float("inf"))],
    *[case("norm", ROWS, p, 1, keepdim=True) for p in (1, 2, 2.5, float("inf"))],
    case("norm", ROWS, 0, 1),
    case("norm", T(3, dtype="complex128")),
    case("norm", T(values=[0.0, 0.0]), double=False),  # there is no derivative at 0
    case("norm", T(values=[2.0, -2.0, 1.0]), float("inf")),
    *[case("dist", ROWS, T(4), p) for p in (1, 2, 3, float("inf"))],
    case("renorm", T(3, 4, low=-3, high=3), 2, 0, 2.0),
    case(".renorm_", T(3, 4, low=-3, high=3), 1, 1, 2.0),
    case("logsumexp", X, 1),
    case("logsumexp", X, (0, -1), keepdim=True),
    case("logsumexp", T(values=[[-float("inf"), -float("inf")], [float("inf"), 1.0]], grad=False), 1),
    case("logsumexp", T(3, dtype="int64"), 0),
    case("special.logsumexp", X, 1),
]
