"""Covariances and histograms."""

from tests.parity.compat.case import T, case

TABLE = T(3, 5)
TIMES = T(values=[1, 2, 1, 0, 3], dtype="int64")
WEIGHTS = T(5, low=0.2, high=1.0, grad=False)

CASES = [
    case("cov", TABLE),
    case("cov", TABLE, correction=0),
    case("cov", TABLE, fweights=TIMES),
    case("cov", TABLE, aweights=WEIGHTS),
    case("cov", TABLE, fweights=TIMES, aweights=WEIGHTS),
    case("cov", T(4)),
    case("cov", T(2, 3, dtype="complex128")),
    case("cov", T(2, 3, dtype="int64")),
    case("corrcoef", TABLE),
    case("corrcoef", T(4)),
    case("corrcoef", T(2, 3, dtype="complex128")),
    # torch has no rule for a batch of histograms
    case("histogram", T(20, grad=False), 4, vmap=False),
    case("histogram", T(20, grad=False), 3, range=(-0.5, 0.5), vmap=False),
    case("histogram", T(20, grad=False), 3, density=True, vmap=False),
    case(
        "histogram", T(5, grad=False), T(values=[-1.0, 0.0, 0.3, 1.0], grad=False), weight=WEIGHTS, vmap=False
    ),
]
