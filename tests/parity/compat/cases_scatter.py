"""Entries written, or combined with others, at places of index Tensors."""

from tests.parity.compat.case import T, case


def places(values):
    """An index Tensor."""
    return T(values=values, dtype="int64")


UNIQUE = places([[0, 2], [1, 0]])
REPEATED = places([[0, 2, 0], [1, 1, 1]])

CASES = [
    case("scatter", T(3, 4), 1, UNIQUE, T(2, 2)),
    case(
        "scatter", T(3, 4), 0, UNIQUE, T(3, 3, grad=False)
    ),  # torch's derivative wants as many as there are places
    case("scatter", T(3, 4), 1, UNIQUE, 2.5),
    case("scatter", T(3, 4), 1, UNIQUE, value=-1),
    case("scatter", T(4, dtype="int64"), 0, places([1, 3]), T(2, dtype="int64")),
    case(
        "scatter", T(3, 4), 1, T(0, dtype="int64"), T(3, 4, grad=False), vmap=False
    ),  # torch's rule does not know it
    case("scatter", T(3, 4, grad=False), 1, REPEATED, T(2, 3, grad=False), reduce="add"),
    case("scatter", T(3, 4, grad=False), 1, REPEATED, 1.5, reduce="multiply"),
    case(".scatter_", T(3, 4), 1, UNIQUE, T(2, 2)),
    case(".scatter_", T(3, 4), 1, UNIQUE, 2.0),
    case("scatter_add", T(3, 4), 1, REPEATED, T(2, 3)),
    case("scatter_add", T(3, 4), 0, REPEATED, T(2, 4, grad=False)),
    case("scatter_add", T(), 0, places([0, 0]), T(2)),
    case(".scatter_add_", T(3, 4), 1, REPEATED, T(2, 3)),
    *(
        case("scatter_reduce", T(3, 4), 1, REPEATED, T(2, 3), reduce, include_self=include)
        for reduce in ("sum", "mean", "amax", "amin")
        for include in (True, False)
    ),
    # torch refuses the second derivative and forward mode of products.
    case("scatter_reduce", T(3, 4), 1, REPEATED, T(2, 3), "prod", double=False, forward=False),
    case(
        "scatter_reduce",
        T(3, 4),
        1,
        REPEATED,
        T(2, 3),
        "prod",
        include_self=False,
        double=False,
        forward=False,
    ),
    case("scatter_reduce", T(values=[3.0, 1.0]), 0, places([0, 0, 1]), T(values=[3.0, 3.0, 0.0]), "amax"),
    case("scatter_reduce", T(values=[3.0, 1.0]), 0, places([0, 0, 1]), T(values=[3.0, 3.0, 1.0]), "amin"),
    case("scatter_reduce", T(3, dtype="int64"), 0, places([0, 0, 1]), T(3, dtype="int64"), "mean"),
    case(
        "scatter_reduce",
        T(3, dtype="int64"),
        0,
        places([0, 0, 1]),
        T(3, dtype="int64"),
        "amax",
        include_self=False,
    ),
    case(".scatter_reduce_", T(3, 4), 1, REPEATED, T(2, 3), "amax"),
    case("index_add", T(3, 4), 0, places([2, 0, 2]), T(3, 4)),
    case("index_add", T(3, 4), 1, places([1, 1]), T(3, 2), alpha=-2.0),
    case("index_add", T(3, dtype="int64"), 0, places([1, 1]), T(2, dtype="int64")),
    case(".index_add_", T(3, 4), 0, places([2, 0]), T(2, 4)),
    case("index_copy", T(3, 4), 0, places([2, 0]), T(2, 4)),
    case("index_copy", T(3, 4), 1, places([1]), T(3, 1)),
    case(".index_copy_", T(3, 4), 0, places([2, 0]), T(2, 4)),
    case("index_fill", T(3, 4), 1, places([0, 2]), 2.5),
    case("index_fill", T(3, 4), 0, places([1]), T()),
    case(".index_fill_", T(3, 4), 1, places([0, 2]), -1.0),
    *(
        case("index_reduce", T(3, 4), 0, places([2, 0, 2]), T(3, 4), reduce, include_self=include)
        for reduce in ("mean", "amax", "amin")
        for include in (True, False)
    ),
    case("index_reduce", T(3, 4), 0, places([2, 0, 2]), T(3, 4), "prod", double=False, forward=False),
    case("index_put", T(3, 4), (places([0, 2]), places([1, 1])), T(2)),
    case("index_put", T(3, 4), (places([0, 2]),), T(4)),
    case("index_put", T(3, 4), (places([0, 0]),), T(2, 4), accumulate=True),
    case("index_put", T(3, 4, dtype="int64"), (places([2]),), T(dtype="int64")),
    case(".index_put_", T(3, 4), (places([0, 2]), places([1, 1])), T(2)),
    case("put", T(2, 3), places([0, 5]), T(2)),
    case("put", T(2, 3), places([0, 0]), T(2), accumulate=True),
    case(".put_", T(2, 3), places([0, 5]), T(2)),
    case("index_fill", T(3, 4), 0, T(values=[-1, 0], dtype="int64"), 2.5),
]
