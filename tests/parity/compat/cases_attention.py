"""Attention."""

from tests.parity.compat.case import T, case

NAME = "nn.functional.scaled_dot_product_attention"
Q, K, V = T(2, 2, 3, 4), T(2, 2, 5, 4), T(2, 2, 5, 3)
SEEN = T(values=[[True, False, True, True, False], [False] * 5, [True] * 5], dtype="bool")
CASES = [
    case(NAME, Q, K, V),
    case(NAME, Q, K, V, scale=0.3),
    case(NAME, Q, K, V, T(3, 5)),
    case(NAME, Q, K, V, SEEN),
    case(NAME, Q, K, V, T(values=[[0.0, -1e30, 0.0, -1e30, 0.5], [-1e30] * 5, [0.0] * 5], grad=False)),
    case(NAME, Q, K, V, is_causal=True),
    case(NAME, T(3, 4), T(5, 4), T(5, 2)),
    case(NAME, T(1, 4, 3, 2), T(1, 2, 5, 2), T(1, 2, 5, 3), enable_gqa=True),
    case(NAME, T(2, 3, 4, dtype="float32"), T(2, 3, 4, dtype="float32"), T(2, 3, 4, dtype="float32")),
    case("nn.functional.scaled_dot_product_attention", T(2, 3, 4), T(2, 0, 4), T(2, 0, 5)),
    case("nn.functional.scaled_dot_product_attention", T(2, 3, 0), T(2, 4, 0), T(2, 4, 5)),
]
