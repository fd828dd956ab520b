"""Bessel functions, Airy's, and orthogonal polynomials; torch has no derivatives of these."""

from tests.parity.compat.case import T, case

# Above, torch's J and Y are right to eight digits, and to six from 5 on.
NEAR = T(values=[0.0, 0.1, 0.7, 1.0, 1.3, 2.5], grad=False)
BESSEL = [
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
    "airy_ai",
]
FAMILIES = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]
POINTS = T(values=[[-1.0, -0.5, 0.0], [0.3, 1.0, 2.5]], grad=False)
DEGREES = T(values=[0, 2, 5], dtype="int64")

CASES = [
    *[case(f"special.{name}", NEAR) for name in BESSEL],
    *[case(f"special.{name}", T(2, dtype="int64")) for name in BESSEL[:2]],
    *[case(f"special.{name}", T(values=[-2.0, -0.3], grad=False)) for name in BESSEL],
    case("special.airy_ai", T(values=[-60.0, -7.5, -1.0, 6.0, 50.0], grad=False)),
    *[case(f"special.{name}", POINTS, DEGREES) for name in FAMILIES],
    *[case(f"special.{name}", POINTS, 4) for name in FAMILIES],
    case("special.legendre_polynomial_p", POINTS, -1),
    case("special.legendre_polynomial_p", 0.5, DEGREES),
    case("special.legendre_polynomial_p", T(values=[0, 2], dtype="int64"), T(values=[2, 3], dtype="int32")),
]
