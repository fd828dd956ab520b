"""Several Tensors as one, and grids."""

from tests.parity.compat.case import T, case

PAIR = [T(2, 3), T(2, 3)]

CASES = [
    case("cat", [T(2, 3), T(1, 3)]),
    case("cat", [T(2, 3), T(2, 1), T(2, 0)], 1),
    case("cat", [T(2, 3), T(0)]),
    case("cat", [T(2, dtype="float32"), T(2)], -1),
    case("cat", [T(2, dtype="int64"), T(2, dtype="bool")]),
    case("concat", PAIR),
    case("concatenate", PAIR, 1),
    case("stack", PAIR),
    case("stack", PAIR, 1),
    case("stack", PAIR, dim=-1),
    case("stack", [T(), T()]),
    case("hstack", [T(2), T(3)]),
    case("hstack", [T(2, 1), T(2, 3)]),
    case("vstack", [T(3), T(2, 3)]),
    case("row_stack", [T(3), T(3)]),
    case("dstack", [T(3), T(3)]),
    case("dstack", [T(2, 3), T(2, 3)]),
    case("column_stack", [T(2), T(2, 3)]),
    case("block_diag", T(2, 3), T(2), T()),
    case("block_diag", T(1, 2, dtype="int64"), T(2, 1)),
    case("meshgrid", T(2), T(3), indexing="ij"),
    case("meshgrid", T(2), T(3), T(), indexing="xy"),
    case("cartesian_prod", T(2), T(3)),
    case("cartesian_prod", T(2)),
    case("combinations", T(4)),
    case("combinations", T(3), 2, True),
    case("combinations", T(4, dtype="int64"), 3),
    case("combinations", T(2), 3),
    case("cat", [T(2, 3), T(0)], 1),
]
