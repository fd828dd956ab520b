"""Order along a dimension."""

from tests.parity.compat.case import T, case

X = T(3, 5)
NAN = T(values=[[1.0, float("nan"), 3.0, 2.0], [4.0, 2.0, 1.0, 3.0]])
TIES = T(values=[[3, 1, 3, 2, 1, 1], [2, 2, 3, 3, 1, 0]], dtype="int64")
SORTED = T(values=[0.1, 0.3, 0.5, 0.7], grad=False)
VMAP_UNKNOWN = {"vmap": False}  # a shape that depends on data

CASES = [
    *[case(name, X, dim) for name in ("sort", "argsort") for dim in (0, -1)],
    *[case(name, X, descending=True) for name in ("sort", "argsort")],
    *[
        case(name, TIES, stable=True, descending=down)
        for name in ("sort", "argsort")
        for down in (False, True)
    ],
    *[case(name, NAN, descending=down) for name in ("sort", "argsort") for down in (False, True)],
    *[case(name, T()) for name in ("sort", "argsort", "msort")],
    case("sort", T(4, dtype="float32")),
    case("sort", T(5, dtype="bool"), stable=True),
    case("msort", X),
    case("topk", X, 2),
    case("topk", X, 2, 0, False),
    case("topk", X, 0),
    case("topk", T(), 1),
    case("kthvalue", X, 2),
    case("kthvalue", X, 3, 0, True),
    case("kthvalue", T(), 1),
    *[case(name, X, 1) for name in ("median", "nanmedian", "mode")],
    *[case(name, T(3, 4), 0, keepdim=True) for name in ("median", "nanmedian")],
    *[case(name, X) for name in ("median", "nanmedian")],
    *[case(name, NAN, 1) for name in ("median", "nanmedian")],
    *[case(name, T(values=[1.0, 2.0, 2.0, 3.0])) for name in ("median", "nanmedian")],
    case("nanmedian", T(values=[float("nan"), 2.0, 1.0])),
    case(
        "median", T(values=[float("nan"), 2.0, 1.0]), forward=False
    ),  # torch: NaN, though a gradient in backward
    case("median", T(5, dtype="int64", low=0, high=99), 0),
    case("mode", TIES, 1),
    case("mode", TIES, 1, keepdim=True),
    *[case(name, X, 0.3) for name in ("quantile", "nanquantile")],
    *[case(name, X, 0.3, 1, keepdim=True) for name in ("quantile", "nanquantile")],
    *[case(name, X, T(values=[0.0, 0.4, 1.0], grad=False), 0) for name in ("quantile", "nanquantile")],
    *[case(name, NAN, T(values=[0.25, 0.5], grad=False), 1) for name in ("quantile", "nanquantile")],
    *[case("quantile", X, 0.35, 1, interpolation=how) for how in ("lower", "higher", "midpoint", "nearest")],
    case("searchsorted", SORTED, T(2, 3, low=0)),
    case("searchsorted", SORTED, T(values=[0.1, 0.3, 0.6]), right=True),
    case(
        "searchsorted", T(values=[[1, 3, 5], [2, 4, 6]], dtype="int64"), T(2, 2, dtype="int64"), side="right"
    ),
    case("searchsorted", SORTED, 0.4, out_int32=True),
    case("bucketize", T(2, 3, low=0), SORTED),
    case("bucketize", T(values=[0.1, 0.3]), SORTED, right=True),
    case("unique", TIES, **VMAP_UNKNOWN),
    case("unique", TIES, return_inverse=True, return_counts=True, **VMAP_UNKNOWN),
    case("unique", T(values=[[1, 2], [1, 2], [0, 1]], dtype="int64"), dim=0, **VMAP_UNKNOWN),
    case("unique_consecutive", TIES, return_inverse=True, return_counts=True, **VMAP_UNKNOWN),
    case("unique_consecutive", T(values=[[1, 2], [1, 2], [0, 1]], dtype="int64"), dim=0, **VMAP_UNKNOWN),
    case("unique_consecutive", T(values=1.5, grad=False), return_counts=True, **VMAP_UNKNOWN),
    case("bincount", T(6, dtype="int64"), **VMAP_UNKNOWN),
    case("bincount", T(6, dtype="int64"), T(6, grad=False), minlength=8, **VMAP_UNKNOWN),
    case("histc", T(20, grad=False), 5, **VMAP_UNKNOWN),
    case("histc", T(20, grad=False), 4, -0.5, 0.5, **VMAP_UNKNOWN),
    case("histc", T(6), 3, -1, 1, **VMAP_UNKNOWN),
]
