"""NumPy's methods and attributes on traced values: as on arrays, and differentiable."""

import copy
import pickle

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.versions import with_new_numpy
from tests.ways import agree, same

X = np.random.default_rng(0).uniform(0.5, 2.0, (3, 4))
CUBE = np.random.default_rng(1).uniform(0.5, 2.0, (2, 3, 4))

# Method or attribute → (array, what it gives for an array).
DIFFERENTIABLE = {
    "T": (X, lambda x: x.T),
    "mT": (CUBE, lambda x: x.mT),
    "real": (X, lambda x: x.real),
    "imag": (X, lambda x: x.imag),
    "flat": (X, lambda x: [entry for entry in x.flat][5]),
    "astype": (X, lambda x: x.astype("f8") * x.astype(int)),
    "reshape": (
        X,
        lambda x: (x.reshape(2, 6), x.reshape((4, -1)), x.reshape(-1), x.reshape(6, 2, order="F")),
    ),
    "ravel": (X, lambda x: (x.ravel(), x.ravel("F"))),
    "flatten": (X, lambda x: (x.flatten(), x.flatten("F"))),
    "transpose": (
        CUBE,
        lambda x: (x.transpose(), x.transpose(None), x.transpose(1, 2, 0), x.transpose((2, 0, 1))),
    ),
    "swapaxes": (CUBE, lambda x: x.swapaxes(0, -1)),
    "squeeze": (X[None, :, None], lambda x: (x.squeeze(), x.squeeze(0), x.squeeze(axis=(0, 2)))),
    "sum": (CUBE, lambda x: (x.sum(), x.sum(1), x.sum(axis=(0, 2), keepdims=True), x.sum(initial=2.0))),
    "mean": (CUBE, lambda x: (x.mean(), x.mean(1), x.mean(axis=-1, keepdims=True))),
    "prod": (X, lambda x: (x.prod(), x.prod(axis=0))),
    "max": (X, lambda x: (x.max(), x.max(1), x.max(axis=0, initial=1.0))),
    "min": (X, lambda x: (x.min(), x.min(1), x.min(axis=0, keepdims=True))),
    "var": (X, lambda x: (x.var(), x.var(0, ddof=1))),
    "std": (X, lambda x: (x.std(), x.std(axis=1, keepdims=True))),
    "any": (X, lambda x: ((x > 1).any(), (x > 1).any(axis=0))),
    "all": (X, lambda x: ((x > 1).all(), (x > 1).all(1, keepdims=True))),
    "argmax": (X, lambda x: (x.argmax(), x.argmax(axis=1))),
    "argmin": (X, lambda x: (x.argmin(), x.argmin(0))),
    "cumsum": (X, lambda x: (x.cumsum(), x.cumsum(axis=1))),
    "cumprod": (X, lambda x: (x.cumprod(), x.cumprod(axis=0))),
    "clip": (X, lambda x: (x.clip(1.0, 1.5), x.clip(min=1.0), x.clip(max=1.5))),
    "round": (X, lambda x: x.round() + x.round(1)),
    "conj": (X, lambda x: x.conj()),
    "conjugate": (X, lambda x: x.conjugate()),
    "conj of complex numbers": (X, lambda x: ((x * 1j).conj().imag, (x * (2 + 1j)).conjugate().imag)),
    "copy": (X, lambda x: x.copy()),
    "dot": (X, lambda x: (x.dot(np.arange(4.0)), x.dot(x.T))),
    "diagonal": (X, lambda x: (x.diagonal(), x.diagonal(1))),
    "trace": (X, lambda x: (x.trace(), x.trace(offset=1))),
    "take": (X, lambda x: (x.take([0, 7]), x.take([2, 0, 2], axis=1), x.take(9, mode="clip"))),
    "repeat": (X, lambda x: (x.repeat(2), x.repeat([1, 0, 2], axis=0))),
    "compress": (X, lambda x: x.compress([True, False, True], axis=0)),
    "__matmul__": (X, lambda x: (x @ x.T, x @ np.arange(4.0))),
    "__rmatmul__": (X, lambda x: (np.ones((2, 3)) @ x, np.arange(3.0) @ x)),
    "__round__": (X, lambda x: round(x[0, 0] * 1.0, 1)),
    "item assignment in place of +=": (X, lambda x: added(x, x)),
}


def added(x, y):
    x = x * 1.0
    x += y
    x -= 2 * y
    x *= y
    x /= y + 1
    x **= 2
    return x


@pytest.mark.parametrize("x, method", DIFFERENTIABLE.values(), ids=list(DIFFERENTIABLE))
def test_methods_are_differentiable(x, method):
    agree(method, x)


def test_in_place_operators_write_into_the_array():
    x = np.ones(2)

    def loss(x):
        before = x
        x += 1
        assert before is x
        return (before * x).sum()

    same(fx.grad(loss)(x), np.full(2, 4.0))
    same(x, np.ones(2))


def test_in_place_operators_give_the_name_of_a_number_another_value():
    def loss(x):
        before = x
        x += 1
        return before * x

    same(fx.grad(loss)(2.0), 5.0)


def seen(function, x):
    """What a function of an array sees under every transform that has values."""
    notes = []

    def noted(x):
        notes.append(function(x))
        return x.sum()

    fx.grad(noted)(x)
    fx.jvp(noted, (x,), (x,))
    fx.grad(lambda x: fx.jvp(noted, (x,), (x,))[1])(x)
    return notes


@pytest.mark.parametrize(
    "question",
    [
        lambda x: x.tolist(),
        lambda x: x[0].item(),
        lambda x: x.item(1),
        lambda x: (x.itemsize, x.nbytes, x.size, x.ndim, x.shape, x.dtype, len(x)),
        lambda x: [position.tolist() for position in (x > 1).nonzero()],
        lambda x: (2.0 in x, 7.0 in x),
        lambda x: (f"{x[0]:.3f}", f"{x[1]:8.1e}", f"{x}", format(x)),
        lambda x: (
            [float(fx.stop_gradient(entry)) for entry in x] if hasattr(x, "interpreter") else x.tolist()
        ),
        lambda x: (int(x[1]), bool(x[1]), round(x[1])),
        lambda x: [True for smaller in [x[0] < x[1]] if smaller],
    ],
)
def test_values_are_as_on_arrays(question):
    x = np.array([1.0, 2.0, 3.5])
    assert seen(question, x) == [question(x)] * 3


def test_copies_are_arrays_of_their_own():
    def copies(x):
        found = [copy.copy(x), copy.deepcopy([x])[0], x.copy(), x.flatten(), np.copy(x), fnp.array(x)]
        x[:] = 7.0
        return [y.tolist() for y in found]

    assert seen(lambda x: copies(x.copy()), np.ones(2)) == [[[1.0, 1.0]] * 6] * 3


def test_printing():
    assert seen(lambda x: (repr(x), str(x[0])), np.array([1.0, 2.0])) == [
        ("Traced<f64[2]> of level 1: grad = [1. 2.]", "Traced<f64[]> of level 1: grad = 1.0"),
        ("Traced<f64[2]> of level 1: jvp = [1. 2.]", "Traced<f64[]> of level 1: jvp = 1.0"),
        ("Traced<f64[2]> of level 2: jvp = [1. 2.]", "Traced<f64[]> of level 2: jvp = 1.0"),
    ]
    notes = []
    fx.vmap(lambda x: notes.append((repr(x), f"{x:.2f}")))(np.ones((2, 3)))
    assert notes == [("Traced<f64[3]> of level 1: vmap", "f64[3]")]
    kept = []
    fx.grad(lambda x: (kept.append(x), x)[1])(1.0)
    assert repr(kept[0]) == "Traced<f64*[]> of grad, which has returned"


@pytest.mark.parametrize(
    "method, arguments, advice",
    [
        ("resize", ((2, 2),), r"fnp\.resize"),
        ("setfield", (0, "f8"), r"\.at\["),
        ("setflags", (), "can be written"),
        ("__delitem__", (0,), r"fnp\.delete"),
    ],
)
def test_writing_raises_with_advice(method, arguments, advice):
    with pytest.raises(
        fx.ImmutableError, match=rf"(?s)({method}|item assignment).*immutable.*try:.*{advice}"
    ):
        fx.grad(lambda x: getattr(x, method)(*arguments))(np.ones(3))


@pytest.mark.parametrize(
    "method",
    ["byteswap", "tobytes", "view", "dumps", "tofile", "getfield", "dump", "__dlpack__", "__dlpack_device__"],
)
def test_there_is_no_memory(method):
    with pytest.raises(fx.UnsupportedError, match="no memory of its own"):
        fx.grad(lambda x: getattr(x, method)("f8"))(np.ones(3))


def test_pickling_raises():
    with pytest.raises(fx.UnsupportedError, match="cannot be pickled"):
        fx.grad(lambda x: pickle.dumps(x))(1.0)


def test_a_cast_that_is_not_allowed():
    with pytest.raises(fx.DTypeError, match="cannot cast from float64 to int64 by the rule 'safe'"):
        fx.grad(lambda x: x.astype(int, casting="safe").sum())(np.ones(3))


@pytest.mark.parametrize(
    "question", [lambda x: x.item(), lambda x: x.tolist(), lambda x: round(x), lambda x: x.nonzero()]
)
def test_what_has_no_one_value_under_vmap(question):
    with pytest.raises((fx.ConcretizationError, fx.IndexingError)):
        fx.vmap(question)(np.ones(3))


# What arrays have and traced values do not: a view of memory.
ABSENT = {"ctypes", "data"}
ABSENT |= {
    "__array_finalize__",
    "__array_interface__",
    "__array_struct__",
    "__array_wrap__",
    "__class_getitem__",
    "__setstate__",
}
ABSENT |= {"__buffer__"} & set(dir(np.ndarray))  # from Python 3.12 on


@with_new_numpy
def test_every_public_attribute_of_arrays_is_there():
    in_place = {
        name for name in dir(np.ndarray) if name.startswith("__i") and f"__{name[3:]}" in dir(np.ndarray)
    }
    private = {name for name in dir(np.ndarray) if name[0] == "_" != name[1]}
    missing = set(dir(np.ndarray)) - set(dir(fx.Tracer)) - in_place - private
    assert missing == ABSENT


def kinds(base):
    """All classes below one."""
    return {base}.union(*map(kinds, base.__subclasses__()))


def test_no_kind_of_traced_value_hides_a_method():
    own = {"shape", "dtype", "ndim", "size"}
    hidden = {
        f"{k.__name__}.{n}"
        for k in kinds(fx.Tracer) - {fx.Tracer}
        for n in {*vars(k)} & {*dir(np.ndarray)} - own
    }
    assert {name for name in hidden if not name.rpartition(".")[2].startswith("__")} == set()
