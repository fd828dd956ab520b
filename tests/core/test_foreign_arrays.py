"""What is no array of NumPy's own: it is read as the array of its entries where it is nothing more than that, and
refused by name where it is. Nothing hangs, and nothing takes another library's attribute for ours."""

import array
import collections
import ctypes
import dataclasses
import decimal
import fractions

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.core.errors import DTypeError
from tests.together import together

X = np.array([0.5, 1.5, 2.5])
ONES = np.ones(3)
SCALAR = np.array(0.5)


# -- stand-ins ------------------------------------------
class Named(np.ndarray):
    """A subclass that remembers something, and computes as an array."""

    def __array_finalize__(self, parent):
        self.name = getattr(parent, "name", "")


class Doubling(np.ndarray):
    """A subclass that computes in its own way."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return 2 * getattr(ufunc, method)(*map(np.asarray, inputs), **kwargs)


class Holder:
    """Gives its entries, and can do nothing itself."""

    def __init__(self, entries):
        self.entries = entries

    def __array__(self, dtype=None, copy=None):
        return np.array(self.entries, dtype)


class Interface:
    def __init__(self, entries):
        self.__array_interface__ = entries.__array_interface__
        self.entries = entries


class Library(Holder):
    """An array of another library: its attributes have the names of ours, and mean other things."""

    aval = weak = value = interpreter = primal = node = "theirs"

    shape = property(lambda self: self.entries.shape)
    dtype = property(lambda self: f"library.{self.entries.dtype}")

    def __dlpack__(self, **options):
        return self.entries.__dlpack__(**options)

    def __dlpack_device__(self):
        return 1, 0

    def __mul__(self, other):
        raise AssertionError("the library's own product")

    __add__ = __rmul__ = __radd__ = __mul__


class Immutable(Library):
    """An array of a library of the Array API standard into which nothing can be written."""

    def __array_namespace__(self, api_version=None):
        return Namespace


class Namespace:
    @staticmethod
    def zeros(shape):
        return Immutable(np.zeros(shape))


class Labelled(Holder):
    """Entries with labels, by which its operators align them."""

    index = ("c", "b", "a")
    shape, dtype = (3,), X.dtype

    def __getitem__(self, label):
        return self.entries[self.index.index(label)]

    def __len__(self):
        return 3

    def __mul__(self, other):
        return self

    __add__ = __rmul__ = __radd__ = __mul__


TAKEN = {
    "memory map": X.view(np.memmap),
    "memory map without axes": SCALAR.view(np.memmap),
    "subclass": X.view(Named),
    "subclass without axes": SCALAR.view(Named),
    "record view of numbers": X.view(np.recarray),
    "object with __array__": Holder(X),
    "object with __array__, without axes": Holder(SCALAR),
    "object with __array_interface__": Interface(X),
    "memoryview": memoryview(X),
    "array of ctypes": (ctypes.c_double * 3)(*X),
    "array of another library": Library(X),
    "array of another library, without axes": Library(SCALAR),
    "immutable array of another library": Immutable(X),
}
RECORDS = np.zeros(3, [("a", float), ("b", int)])
REFUSED = {
    "masked": np.ma.array(X, mask=[1, 0, 1]),
    "masked without a mask": np.ma.array(X),
    "masked without axes": np.ma.masked,
    "masked view": X.view(np.ma.MaskedArray),
    "matrix": X[None].view(np.matrix),
    "subclass with own ufuncs": X.view(Doubling),
    "records": RECORDS,
    "record array": RECORDS.view(np.recarray),
    "record": RECORDS[0],
    "labelled": Labelled(X),
    "objects": X.astype(object),
    "object": np.array(0.5, object),
    "strings": np.array(["a", "b", "c"]),
    "strings of any length": np.array(["a", "b", "c"], np.dtypes.StringDType()),
    "bytes": np.array([b"a", b"b", b"c"]),
    "dates": np.array(["2020-01-01"] * 3, "M8[D]"),
    "date": np.datetime64("2020-01-01"),
    "durations": np.array([1, 2, 3], "m8[s]"),
    "other byte order": X.astype(X.dtype.newbyteorder()),
    "text": "abc",
    "Python's bytes": b"abc",
    "decimal": decimal.Decimal("0.5"),
    "fraction": fractions.Fraction(1, 2),
    "array.array": array.array("d", X),
    "set": {0.5},
    "holder of objects": Holder(X.astype(object)),
}
# Plain arrays that NumPy's kernels take as numbers where they are operands.
NUMBERS = {"object", "other byte order"}


def f(x):
    return fnp.sum(fnp.sin(x) * x)


def product(x):
    return x * x


custom_jvp = fx.custom_jvp(product)
custom_jvp.defjvps(lambda t, y, x: 2 * x * t)
custom_vjp = fx.custom_vjp(product)
custom_vjp.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))


def answering(v):
    """A function whose backward rule gives v as the cotangent."""
    answer = fx.custom_vjp(lambda x: fnp.sum(x))
    answer.defvjp(lambda x: (fnp.sum(x), None), lambda _, ct: (v,))
    return answer


def like(v):
    return np.ones(np.shape(entries_of(v)))


def entries_of(v):
    if isinstance(v, torch.Tensor):
        return v.detach().numpy()
    return v.entries if isinstance(v, Interface) else np.asarray(v)


# As an argument of a transform, a tangent, a cotangent, a carry, or a result.
ARGUMENTS = {
    "grad": lambda v: fx.grad(f)(v),
    "grad of NumPy's functions": lambda v: fx.grad(lambda x: np.sum(np.sin(x) * x))(v),
    "grad, in a dict": lambda v: fx.grad(lambda p: f(p["a"]))({"a": v}),
    "grad by position": lambda v: fx.grad(lambda x, y: f(x) * f(y), (0, 1))(v, v),
    "value_and_grad": lambda v: fx.value_and_grad(f)(v),
    "vjp": lambda v: fx.vjp(product, v)[1](like(v)),
    "value of vjp": lambda v: fx.vjp(lambda x: x, v)[0],
    "cotangent": lambda v: fx.vjp(product, like(v))[1](v),
    "result of vjp": lambda v: fx.vjp(lambda x: (x, v), 1.0)[0],
    "jvp": lambda v: fx.jvp(f, (v,), (like(v),)),
    "tangent": lambda v: fx.jvp(f, (like(v),), (v,)),
    "result of jvp": lambda v: fx.jvp(lambda x: (x, v), (1.0,), (1.0,))[0],
    "linearize": lambda v: fx.linearize(f, v)[1](like(v)),
    "linearized": lambda v: fx.linearize(f, like(v))[1](v),
    "vmap": lambda v: fx.vmap(product, None, axis_size=2)(v),
    "result of vmap": lambda v: fx.vmap(lambda x: v)(np.ones(2)),
    "jacfwd": lambda v: fx.jacfwd(fnp.sin)(v),
    "jacrev": lambda v: fx.jacrev(fnp.sin)(v),
    "hessian": lambda v: fx.hessian(f)(v),
    "hvp": lambda v: fx.hvp(f, (v,), (like(v),)),
    "jit": lambda v: fx.jit(product)(v),
    "identity under jit": lambda v: fx.jit(lambda x: x)(v),
    "jit of grad": lambda v: fx.jit(fx.grad(f))(v),
    "result of jit": lambda v: fx.jit(lambda x: (x, v))(1.0),
    "make_graph": lambda v: fx.make_graph(f)(v)(entries_of(v)),
    "eval_shape": lambda v: fx.eval_shape(f, v),
    "checkpoint": lambda v: fx.checkpoint(f)(v),
    "grad of checkpoint": lambda v: fx.grad(fx.checkpoint(f))(v),
    "custom_jvp": lambda v: custom_jvp(v),
    "custom_vjp": lambda v: custom_vjp(v),
    "custom": lambda v: fx.custom(product)(v),
    "result of a backward rule": lambda v: fx.grad(answering(v))(like(v)),
    "scan": lambda v: lax.scan(lambda c, x: (2 * c, x), v, np.ones(2)),
    "cond": lambda v: lax.cond(True, product, lambda x: x, v),
    "result of cond": lambda v: lax.cond(True, lambda x: v, lambda x: v, 1.0),
    "while_loop": lambda v: lax.while_loop(lambda c: c[1] < 2, lambda c: (2 * c[0], c[1] + 1), (v, 0)),
    "fori_loop": lambda v: lax.fori_loop(0, 2, lambda i, c: 2 * c, v),
    "result of pure_callback": lambda v: fx.jit(
        lambda x: fx.pure_callback(lambda _: v, fx.ShapeDtypeStruct(entries_of(v).shape, entries_of(v).dtype), x)
    )(1.0),
}  # fmt: skip
# As an operand beside a traced value.
OPERANDS = {
    "closed over by grad": lambda v: fx.grad(lambda x: fnp.sum(fnp.multiply(x, v)))(0.5),
    "on the left": lambda v: fx.grad(lambda x: fnp.sum(fnp.multiply(v, x)))(0.5),
    "closed over by jvp": lambda v: fx.jvp(lambda x: fnp.add(x, v), (0.5,), (1.0,)),
    "closed over by vmap": lambda v: fx.vmap(lambda x: fnp.add(x, v))(np.ones(2)),
    "closed over by jit": lambda v: fx.jit(lambda x: fnp.add(x, v))(0.5),
    "closed over by scan": lambda v: lax.scan(lambda c, x: (c + 1.0, fnp.add(x, v)), 0.0, np.ones(2)),
    "not differentiated": lambda v: fx.grad(lambda x, y: fnp.sum(fnp.multiply(x, y)))(0.5, v),
    "a choice": lambda v: fx.grad(lambda x: fnp.sum(fnp.where(x > 0, x, v)))(0.5),
    "an update": lambda v: fx.grad(lambda x: fnp.sum(fnp.at(x)[...].add(v)))(like(v)),
    "in a list": lambda v: fx.grad(lambda x: fnp.sum(fnp.multiply(x, [v, v])))(0.5),
    "in a list beside a tracer": lambda v: fx.grad(lambda x: fnp.sum(fnp.stack([x, v])))(like(v)),
    "in a nested list": lambda v: fx.jit(lambda x: fnp.add(x, [[v], [v]]))(0.5),
}  # fmt: skip
EVERYWHERE = ARGUMENTS | OPERANDS


def equal(actual, expected):
    """Leaf by leaf the same, in types that are NumPy's or Python's own."""
    for a, b in zip(*map(fx.tree.leaves, (actual, expected)), strict=True):
        if isinstance(b, fx.ShapeDtypeStruct):
            assert a == b
            continue
        assert type(a) is type(b) and not isinstance(a, Holder)
        np.testing.assert_array_equal(a, b)


@together("value")
@pytest.mark.parametrize("value", TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("use", EVERYWHERE.values(), ids=EVERYWHERE)
def test_what_is_an_array_and_nothing_more_is_read(use, value):
    equal(use(value), use(entries_of(value)))


@pytest.mark.parametrize("use", EVERYWHERE)
def test_what_is_more_than_an_array_of_numbers_is_refused(use):
    for name, value in REFUSED.items():
        if use in OPERANDS and name in NUMBERS:
            continue
        if use == "vmap" and isinstance(value, str | bytes | set):  # which are handed on
            continue
        with pytest.raises(DTypeError):
            EVERYWHERE[use](value)
            pytest.fail(f"{name} is taken")


@pytest.mark.parametrize("use", ARGUMENTS)
def test_an_error_names_the_argument_and_what_to_write(use):
    masked = {"masked arrays": REFUSED["masked"], "masked views": REFUSED["masked view"]}
    for value in masked.values():
        with pytest.raises(
            DTypeError, match=r"is a masked array, whose mask would be lost[\s\S]*x\.filled\(0\)"
        ):
            ARGUMENTS[use](value)
    with pytest.raises(DTypeError, match=r"is a numpy\.matrix, whose operations .*[\s\S]*np\.asarray\(x\)"):
        ARGUMENTS[use](REFUSED["matrix"])


def test_places_are_named():
    masked = REFUSED["masked"]
    with pytest.raises(DTypeError, match=r"grad: the argument args\[1\]\['w'\] is a masked array"):
        fx.grad(lambda x, p: x, argnums=(0, 1))(1.0, {"w": masked})
    with pytest.raises(DTypeError, match=r"jit: the argument kwargs\['w'\] is a masked array"):
        fx.jit(lambda w: w)(w=masked)
    with pytest.raises(DTypeError, match="jit: a result is a masked array"):
        fx.jit(lambda x: masked)(1.0)
    with pytest.raises(
        DTypeError, match=r"pure_callback: <lambda>: the result \(declared: f64\[3\]\) is a masked array"
    ):
        fx.pure_callback(lambda: masked, fx.ShapeDtypeStruct((3,), float))
    with pytest.raises(DTypeError, match=r"jvp: the tangent \[0\] is a numpy\.matrix"):
        fx.jvp(f, (np.ones((1, 3)),), (REFUSED["matrix"],))


def test_nothing_is_left_behind_by_what_was_refused():
    square = fx.jit(product)
    for value in REFUSED.values():
        with pytest.raises(DTypeError):
            square(value)
        with pytest.raises(DTypeError):
            fx.grad(f)(value)
    np.testing.assert_array_equal(square(X), X * X)
    np.testing.assert_allclose(fx.grad(f)(X), np.cos(X) * X + np.sin(X))


def test_on_plain_arguments_a_mask_counts_or_is_refused():
    masked = REFUSED["masked"]
    assert fnp.sum(masked) == np.sum(masked) == 1.5  # NumPy's own
    assert type(fnp.concatenate([masked, masked])) is np.ma.MaskedArray
    for function in (fnp.sin, lax.erf, lambda x: fnp.multiply(x, 2)):
        with pytest.raises(DTypeError, match="an operand is a masked array"):
            function(masked)


def test_a_memory_map_of_a_file(tmp_path):
    X.tofile(tmp_path / "x")
    mapped = np.memmap(tmp_path / "x", X.dtype, "r")
    gradient = fx.grad(f)(mapped)
    assert type(gradient) is np.ndarray and gradient.flags.writeable
    equal(gradient, fx.grad(f)(X))
    identical = fx.jit(lambda x: x)(mapped)
    assert type(identical) is np.ndarray and not np.shares_memory(identical, mapped)


def test_a_deque_of_numbers_is_no_array():
    with pytest.raises(DTypeError, match=r"collections\.deque, not an array or a number"):
        fx.grad(lambda x: fnp.sum(fnp.multiply(x, collections.deque([1.0]))))(1.0)


def test_who_gives_a_dataclass_that_is_no_pytree_is_told_how_to_make_it_one():
    @dataclasses.dataclass
    class Layer:
        weights: np.ndarray

    with pytest.raises(
        DTypeError, match=r"Layer, not an array or a number\n(?s:.*)fx\.tree\.register_dataclass"
    ):
        fx.grad(lambda layer: fnp.sum(layer.weights))(Layer(X))
    fx.tree.register_dataclass(Layer)
    assert fx.grad(lambda layer: fnp.sum(layer.weights))(Layer(X)).weights.tolist() == [1, 1, 1]


# -- Tensors ------------------------------------------
@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("use", EVERYWHERE.values(), ids=EVERYWHERE)
def test_tensors_are_taken_for_their_values(use, history):
    """What comes back are Tensors, which have a history if they had one: see tests/compat/test_functional_api.py."""
    found, expected = use(torch.tensor(X, requires_grad=history)), use(X)
    for a, b in zip(*map(fx.tree.leaves, (found, expected)), strict=True):
        if isinstance(b, fx.ShapeDtypeStruct):
            assert a == b
        else:
            np.testing.assert_array_equal(a.detach().numpy() if isinstance(a, torch.Tensor) else a, b)


ENTRIES = {"tensor": torch.tensor, "as_tensor": torch.as_tensor, "new_tensor": torch.ones(1).new_tensor}
READ = {
    **{name: v for name, v in TAKEN.items() if hasattr(v, "__array__")},
    **{
        name: REFUSED[name]
        for name in (
            "masked",
            "masked without a mask",
            "masked without axes",
            "masked view",
            "matrix",
            "labelled",
            "subclass with own ufuncs",
        )
    },
}


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@together("value")
@pytest.mark.parametrize("value", READ.values(), ids=READ)
@pytest.mark.parametrize("make", ENTRIES)
def test_a_tensor_is_made_of_the_entries(make, value):
    """A conversion that the user asks for: what `np.asarray` gives, of subclasses and of other libraries."""
    made, entries = ENTRIES[make](value), np.asarray(value)
    assert made.dtype is (torch.float32 if make == "new_tensor" else torch.float64)
    np.testing.assert_array_equal(made.numpy(), entries.astype(made.numpy().dtype))
    rows = torch.tensor([value, value])
    assert rows.shape == (2, *entries.shape) and rows.dtype is torch.float64
    np.testing.assert_array_equal(rows.numpy(), [entries, entries])


@pytest.mark.parametrize("name", [n for n in REFUSED if n not in READ and n != "array.array"])
@pytest.mark.parametrize("make", ENTRIES)
def test_no_tensor_is_made_of_what_is_no_number(make, name):
    single = name in ("objects", "holder of objects", "other byte order")  # numbers, one by one
    for data in (REFUSED[name],) if single else (REFUSED[name], [REFUSED[name]] * 2):
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            ENTRIES[make](data)
        assert isinstance(caught.value, fx.FxgradError), caught.value


BESIDE = {
    "torch.mul": lambda v: torch.mul(torch.ones(3), v),
    "T * v": lambda v: torch.ones(3) * v,
    "T == v": lambda v: torch.eq(torch.ones(3), v),
    "torch.where": lambda v: torch.where(torch.ones(3) > 0, torch.ones(3), v),
    "torch.sin": lambda v: torch.sin(v),
    "torch.full": lambda v: torch.full((2,), v),
    "T[0] = v": lambda v: torch.ones(3).__setitem__(0, v),
    "T.fill_": lambda v: torch.ones(3).fill_(v),
}


@pytest.mark.parametrize("use", BESIDE)
def test_what_is_no_array_of_numbers_is_no_operand_of_tensors(use):
    for name, value in REFUSED.items():
        if use == "T * v" and not isinstance(value, np.ndarray | np.generic):
            continue  # the operator is left to the other operand
        if name in ("masked without axes", "fraction", "decimal") and use in (
            "T[0] = v",
            "T.fill_",
            "torch.full",
        ):
            continue  # numbers
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            BESIDE[use](value)
            pytest.fail(f"{name} is taken")
        assert isinstance(caught.value, fx.FxgradError), caught.value


@pytest.mark.parametrize("name", ["memory map", "subclass", "record view of numbers"])
def test_subclasses_that_are_arrays_are_operands_of_tensors(name):
    for use in ("torch.mul", "T * v", "T == v", "torch.where", "torch.sin"):
        equal(BESIDE[use](TAKEN[name]).numpy(), BESIDE[use](X).numpy())
