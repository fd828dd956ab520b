"""`x.at[index]` and `at(x)[index]`: NumPy's assignments and `ufunc.at`, as functions."""

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.core.staging import stage
from fxgrad.numpy import at
from tests.ways import agree, same

X = np.random.default_rng(1).uniform(0.5, 2.0, (3, 4))
MASK = X > 1.2

# The last column: whether the index repeats an entry.
KEYS = {
    "integer": (1, False),
    "negative": ((-1, 2), False),
    "slice": (slice(None, None, 2), False),
    "backwards": ((slice(None), slice(None, None, -2)), False),
    "ellipsis": ((..., 1), False),
    "new axis": ((None, 0), False),
    "list": ([0, 2], False),
    "repeated": ([0, 0, 2, 0], True),
    "repeated by sign": ([2, -1, 0], True),
    "pairs": (([0, 1, 0], [1, 1, 1]), True),
    "open mesh": (([[0], [2]], [1, 3]), False),
    "apart": (([0, 1, 0], None, [1, 1, 1]), True),
    "mixed": ((slice(1, None), [3, 3, 0]), True),
    "beside an integer": ((1, [3, 3, 0]), True),
    "0-d array": (np.array(2), False),
    "mask": (MASK, False),
    "mask of rows": (np.array([True, False, True]), False),
    "boolean scalar": ((True, 1), False),
    "nothing": ([], False),
    "everything": (..., False),
}
UFUNCS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "min": np.minimum,
    "max": np.maximum,
}


def by_numpy(operation, x, key, values):
    y = np.array(x)
    if operation == "set":
        y[key] = values
    else:
        UFUNCS[operation].at(y, key, values)
    return y


def values_for(key):
    return np.random.default_rng(2).uniform(0.5, 2.0, X[key].shape)


@pytest.mark.parametrize("operation", ["set", *UFUNCS])
@pytest.mark.parametrize("key", [key for key, _ in KEYS.values()], ids=list(KEYS))
def test_updates_are_numpys(operation, key):
    values = values_for(key)
    same(getattr(at(X)[key], operation)(values), by_numpy(operation, X, key, values))
    agree(lambda x, v: getattr(at(x)[key], operation)(v), X, values)
    agree(lambda x: getattr(at(x)[key], operation)(1.5), X)


@pytest.mark.parametrize("key", [key for key, _ in KEYS.values()], ids=list(KEYS))
def test_get_and_apply(key):
    agree(lambda x: at(x)[key].get(), X)
    same(at(X)[key].get(), X[key])
    squared = np.array(X)
    np.square.at(squared, key)
    same(at(X)[key].apply(np.square), squared)
    agree(lambda x: at(x)[key].apply(lambda entries: entries * entries), X)


def test_a_plain_array_is_not_written_into():
    x = np.zeros(3)
    assert at(x)[1].set(5.0)[1] == 5.0
    assert x[1] == 0


@pytest.mark.parametrize("key, repeated", KEYS.values(), ids=list(KEYS))
def test_unique_indices_is_a_promise(key, repeated):
    if not repeated:
        values = values_for(key)
        same(
            at(X)[key].multiply(values, unique_indices=True, indices_are_sorted=True),
            by_numpy("multiply", X, key, values),
        )


@pytest.mark.parametrize("operation", ["set", *UFUNCS])
def test_indices_may_be_batched(operation):
    indices = np.array([[0, 1, 0], [2, 2, 2]])
    values = np.array([[2.0, 3.0, 1.5], [0.5, 0.25, 2.0]])
    x = np.array([1.0, 1.25, 1.5])
    batched = fx.vmap(lambda i, v: getattr(at(x)[i], operation)(v))(indices, values)
    same(batched, np.stack([by_numpy(operation, x, i, v) for i, v in zip(indices, values)]))


@pytest.mark.parametrize("operation", ["set", *UFUNCS])
def test_indices_may_be_staged(operation):
    x, values, indices = np.array([1.0, 1.25, 1.5]), np.array([2.0, 3.0, 1.5]), np.array([0, 1, 0])
    avals = [fx.Aval((3,), x.dtype), fx.Aval((3,), np.dtype(np.intp)), fx.Aval((3,), x.dtype)]
    graph = stage(lambda x, i, v: [getattr(at(x)[i], operation)(v)], avals)
    same(graph(x, indices, values)[0], by_numpy(operation, x, indices, values))


# -- out of bounds ---------------------------------------------------------------------------------------------------
OUTSIDE = {
    "integer": 7,
    "too negative": -4,
    "array": np.array([0, 3, -1, -4, 2]),
    "beside an integer": (5, np.array([0, 1])),
    "pairs": (np.array([0, 9]), np.array([-9, 1])),
    "apart": (np.array([0, 9]), None, np.array([1, 1])),
}


def bounded(key):
    """(the key clipped, where it was in bounds) for the axes of X, one of which must be indexed by arrays."""
    parts = key if isinstance(key, tuple) else (key,)
    clipped, valid, sizes = [], True, iter(X.shape)
    for part in parts:
        if part is not None:
            size = next(sizes)
            valid = valid & (-size <= np.asarray(part)) & (np.asarray(part) < size)
            part = np.clip(np.where(np.asarray(part) < 0, np.asarray(part) + size, part), 0, size - 1)
        clipped.append(part)
    return tuple(clipped), valid


@pytest.mark.parametrize("key", OUTSIDE.values(), ids=list(OUTSIDE))
def test_out_of_bounds(key):
    key_inside, valid = bounded(key)
    with pytest.raises(IndexError):
        at(X)[key].get()
    with pytest.raises(IndexError):
        at(X)[key].set(0.0)
    inside = X[key_inside]
    same(at(X)[key].get(mode="clip"), inside)
    same(at(X)[key].add(1.0, mode="clip"), by_numpy("add", X, key_inside, 1.0))
    shaped = np.reshape(valid, np.shape(valid) + (1,) * (inside.ndim - np.ndim(valid)))
    for fill in ("fill", "drop"):
        same(at(X)[key].get(mode=fill, fill_value=-7.0), np.where(shaped, inside, -7.0))
        same(at(X)[key].get(mode=fill), np.where(shaped, inside, np.nan))
        agree(lambda x, fill=fill: at(x)[key].get(mode=fill, fill_value=1.0), X)
    values = np.random.default_rng(3).uniform(0.5, 2.0, inside.shape)
    flat_values, where = values.ravel(), np.broadcast_to(shaped, inside.shape).ravel()
    positions = np.arange(X.size).reshape(X.shape)[key_inside].ravel()[where]
    for operation in ("set", *UFUNCS):
        expected = by_numpy(operation, X.ravel(), positions, flat_values[where]).reshape(X.shape)
        same(getattr(at(X)[key], operation)(values, mode="drop"), expected)
        agree(lambda x, v, o=operation: getattr(at(x)[key], o)(v, mode="drop"), X, values)


def test_a_dropped_update_leaves_no_trace_at_the_nearest_entry():
    x = np.zeros(3)
    same(at(x)[[2, 5]].set([1.0, 2.0], mode="drop"), np.array([0.0, 0.0, 1.0]))
    indices = np.array([[2, 5], [9, 0]])
    same(
        fx.vmap(lambda i: at(x)[i].set(np.array([1.0, 2.0]), mode="drop"))(indices),
        np.array([[0, 0, 1.0], [2, 0, 0]]),
    )


@pytest.mark.parametrize(
    "dtype, value",
    [("f4", np.nan), ("c8", np.nan), ("i2", -(2**15)), ("u2", 2**16 - 1), ("?", True)],
)
def test_what_is_missing(dtype, value):
    got = at(np.zeros(2, dtype))[5].get(mode="fill")
    same(got, np.asarray(value).astype(dtype)[()])


# -- dtypes and errors -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["f2", "f4", "c8", "i1", "u1"])
@pytest.mark.parametrize("operation", ["set", "add", "multiply", "max"])
def test_the_dtype_of_x_stays(dtype, operation):
    x = np.ones(3, dtype)
    for value in (2, np.full(2, 2, dtype)):
        y = getattr(at(x)[[0, 2]], operation)(value)
        same(y, by_numpy(operation, x, [0, 2], value))
    if dtype in ("f4", "c8"):
        same(
            getattr(at(x)[[0, 0]], operation)(np.array([2.0, 3.0])),
            by_numpy(operation, x, [0, 0], np.array([2.0, 3.0])),
        )


@pytest.mark.parametrize("operation", ["set", "add", "multiply", "min"])
@pytest.mark.parametrize(
    "dtype, value", [("f8", 1j), ("i8", 2.5), ("i8", np.float32(2)), ("?", 1), ("f8", np.ones(1, "c8"))]
)
def test_a_cast_of_another_kind_is_an_error(dtype, value, operation):
    with pytest.raises(fx.DTypeError, match="does not fit into x"):
        getattr(at(np.ones(3, dtype))[[0]], operation)(value)


def test_a_number_too_large_is_an_error():
    with pytest.raises(OverflowError):
        at(np.ones(3, np.uint8))[0].set(300)


def test_values_broadcast_to_the_entries():
    same(at(X)[:, 1].set(np.ones((1, 1, 3))), by_numpy("set", X, np.s_[:, 1], np.ones((1, 1, 3))))
    with pytest.raises(fx.ShapeError, match=r"values of shape \(2,\) do not broadcast to \(3,\)"):
        at(X)[:, 1].add(np.ones(2))


def test_what_stands_for_missing_entries_must_fit():
    with pytest.raises(fx.DTypeError, match="does not fit into x"):
        at(np.zeros(2, int))[5].get(mode="fill", fill_value=2.5)


def test_small_index_dtypes_do_not_overflow():
    x = np.arange(300.0)
    for dtype in ("u1", "i1"):
        same(at(x)[np.array([3, 7], dtype)].get(mode="clip"), x[[3, 7]])


def test_errors_name_what_to_write():
    with pytest.raises(fx.UnsupportedError, match="one of None, 'promise_in_bounds'"):
        at(X)[0].set(1.0, mode="wrap")
    with pytest.raises(fx.IndexingError, match="out of bounds"):
        fx.grad(lambda x: x.at[7].set(1.0)[0, 0])(X)
    with pytest.raises(fx.IndexingError, match="too many indices"):
        at(X)[0, 0, 0].set(1.0, mode="drop")


def test_zero_where_replaced():
    same(fx.grad(lambda x: (x.at[0].set(0.0) ** 2).sum())(X), np.concatenate([np.zeros((1, 4)), 2 * X[1:]]))


def test_mul_is_multiply():
    same(at(X)[0].mul(3.0), at(X)[0].multiply(3.0))
