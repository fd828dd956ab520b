"""Rows of tables."""

from tests.parity.compat.case import T, case

F = "nn.functional."
INDEX = T(values=[[0, 2, 2], [1, 0, 2]], dtype="int64")
FLAT = T(values=[0, 2, 2, 1, 0, 3], dtype="int64")
OFFSETS = T(values=[0, 2, 2, 5], dtype="int64")
TABLE = T(4, 3)
CASES = [
    case(F + "embedding", INDEX, TABLE),
    case(F + "embedding", T(values=2, dtype="int64"), TABLE),
    case(F + "embedding", INDEX, TABLE, padding_idx=2, forward=False),  # torch pads backwards only
    case(F + "embedding", INDEX, TABLE, padding_idx=-2, forward=False),
    case(
        F + "embedding", INDEX, TABLE, scale_grad_by_freq=True, double=False, forward=False
    ),  # of which torch has none
    case(F + "embedding", INDEX, T(4, 3, grad=False), max_norm=0.5, vmap=False),  # the table is not mapped
    case("embedding", TABLE, INDEX),
    *(
        case(
            F + "embedding_bag", INDEX, TABLE, mode=mode, padding_idx=padding, double=False
        )  # torch has none
        for mode in ("sum", "mean", "max")
        for padding in (None, 2)
    ),
    *(case(F + "embedding_bag", FLAT, TABLE, OFFSETS, mode=m, double=False) for m in ("sum", "mean", "max")),
    case(F + "embedding_bag", FLAT, TABLE, OFFSETS, mode="sum", per_sample_weights=T(6), double=False),
    case(
        F + "embedding_bag",
        FLAT,
        TABLE,
        T(values=[0, 2, 6], dtype="int64"),
        include_last_offset=True,
        double=False,
    ),
]
