"""Complex numbers made of parts, and conjugated."""

from tests.parity.compat.case import T, case

Z = "complex128"
CORNERS = [0.0, 1.0, -1.0, 1j, -1j, 3 + 4j, -3 - 4j]

CASES = [
    case("complex", T(2, 3), T(2, 3)),
    case("complex", T(2, 3), T(3)),
    case("complex", T(3, dtype="float32"), T(3, dtype="float32")),
    case("polar", T(2, 3, low=0.1), T(2, 3)),
    case("polar", T(2, 3), T(3)),
    case("conj", T(2, 3, dtype=Z)),
    case(".conj", T(2, 3, dtype=Z)),
    case("conj_physical", T(2, 3, dtype=Z)),
    case("conj_physical", T(2, 3)),
    case(".conj_physical_", T(2, 3, dtype=Z)),
    case("resolve_conj", T(2, 3)),
    case("resolve_neg", T(2, 3)),
    case("angle", T(2, 3, dtype=Z)),
    case("angle", T(2, 3)),
    case("angle", T(3, dtype="int64", low=-2, high=2)),
    case("angle", T(dtype=Z, values=CORNERS), double=False),
]
