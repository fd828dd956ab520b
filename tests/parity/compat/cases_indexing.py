"""Entries chosen by index Tensors. For `x[...]` see test_indexing.py."""

from tests.parity.compat.case import T, case


def places(values):
    """An index Tensor."""
    return T(values=values, dtype="int64")


CASES = [
    case("gather", T(3, 4), 1, places([[0, 3], [2, 2], [1, 0]])),
    case("gather", T(3, 4), 0, places([[0, 2], [1, 1]])),
    case("gather", T(3), -1, places([2, 2, 0, 1])),
    case("gather", T(), 0, places(0)),
    case("gather", T(3, dtype="bool"), 0, places([0, 2])),
    case("gather", T(3, 4), 1, T(0, dtype="int64"), vmap=False),  # torch's rule does not know it
    case("index_select", T(3, 4), 0, places([2, 0, 2])),
    case("index_select", T(3, 4), 1, places(1)),
    case("index_select", T(3, dtype="int64"), 0, places([0])),
    case("take", T(2, 3), places([[0, 5], [-1, 2]])),
    case("take_along_dim", T(3, 4), places([[0, 3], [2, 2], [1, 0]]), 1),
    case("take_along_dim", T(3, 4), places([[1, 0]]), 1),
    case("take_along_dim", T(3, 4), places([1, 11])),
    case("take_along_dim", T(3, 4), places([[-1, 0]]), 1),
    case("take_along_dim", T(1, 4), places([[-4], [3]]), -1),
    case("nonzero", T(2, 3, dtype="int64"), vmap=False),  # sizes depend on values
    case("nonzero", T(2, 3, dtype="bool"), as_tuple=True, vmap=False),  # sizes depend on values
    case("nonzero", T(values=1.0), vmap=False),  # sizes depend on values
    case("argwhere", T(2, 3, dtype="int64"), vmap=False),  # sizes depend on values
    case(
        "nonzero_static", T(values=[[1.0, 0.0], [0.0, 2.0]], grad=False), size=3, vmap=False
    ),  # nor has torch
    case("nonzero_static", T(values=[1, 2, 3], dtype="int64"), size=2, fill_value=7, vmap=False),
]
