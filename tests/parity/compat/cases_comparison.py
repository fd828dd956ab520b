"""Comparisons, logic, bits, and choices by masks."""

from tests.parity.compat.case import T, case

ORDER = ["eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGIC = ["logical_and", "logical_or", "logical_xor"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
SHIFTS = ["bitwise_left_shift", "bitwise_right_shift"]
VALUES = T(values=[1.0, 2.0, float("nan"), 3.0]), T(values=[1.0, 3.0, float("nan"), 2.0])
MASK = T(2, 3, dtype="bool")

CASES = [
    *[case(name, *VALUES) for name in ORDER],
    *[case(name, T(2, 3, dtype="int64"), T(3, dtype="float32", grad=False)) for name in ORDER],
    *[case(name, T(3, dtype="int64"), 2) for name in ORDER],
    *[case(f".{name}_", T(3, grad=False), 0.1) for name in ORDER],
    case("eq", T(2, dtype="complex128"), T(2, dtype="complex128")),
    *[case(name, T(2, 3, dtype="int64"), T(3, dtype="float32", grad=False)) for name in LOGIC],
    *[case(f".{name}_", T(3, dtype="int64"), T(3, dtype="int64")) for name in LOGIC],
    case("logical_not", T(4, dtype="int64")),
    case(".logical_not_", T(4, dtype="bool")),
    *[case(name, T(2, 3, dtype="int64"), T(3, dtype="int32")) for name in (*BITS, *SHIFTS)],
    *[case(name, T(2, 3, dtype="bool"), T(3, dtype="bool")) for name in BITS],
    *[case(name, T(3, dtype="uint8"), 2) for name in (*BITS, *SHIFTS)],
    *[case(name, 5, T(3, dtype="int64")) for name in (*BITS, *SHIFTS)],
    *[case(f".{name}_", T(3, dtype="int64"), 3) for name in (*BITS, *SHIFTS)],
    case("bitwise_not", T(3, dtype="int16")),
    case("bitwise_not", T(3, dtype="bool")),
    case("isclose", *VALUES, equal_nan=True),
    case("isclose", T(3), T(3), rtol=0.5, atol=0.1),
    case("isclose", T(5, dtype="int64"), T(5, dtype="int64"), atol=1.0),
    case("isin", T(2, 3, dtype="int64"), T(2, dtype="int64"), vmap=False),  # torch has no batching rule
    case(
        "isin", T(values=[1.0, 2.0], grad=False), T(values=[2.0, 3.0], grad=False), invert=True, vmap=False
    ),  # as above
    case("where", MASK, T(2, 3), T(3)),
    case("where", MASK, T(2, 3), 1.5),
    case("where", MASK, 2, T(dtype="int32")),
    case("where", MASK, 1, 2.0),
    case("where", T(3, dtype="bool"), T(2, 1, dtype="float32"), T(3)),
    case(".where", T(2, 3), MASK, T(3)),
    case("masked_fill", T(2, 3), T(3, dtype="bool"), 2.0),
    case("masked_fill", T(2, 3), MASK, T()),
    case("masked_fill", T(3), MASK, -1),
    case("masked_fill", T(2, 3, dtype="int64"), MASK, 7),
    case(".masked_fill_", T(2, 3), T(3, dtype="bool"), 2.0),
    case(
        "masked_select", T(2, 3), T(values=[[True, False, True]] * 2, dtype="bool"), vmap=False
    ),  # a shape that depends on data
    case("masked_select", T(2, 1), T(values=[True, False, True], dtype="bool"), vmap=False),  # as above
    case("masked_scatter", T(2, 3), T(3, dtype="bool"), T(6)),
    case(".masked_scatter_", T(2, 3), MASK, T(6)),
]
