"""Making Tensors: the same code under torch and fxgrad.compat gives the same values, dtypes and errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import as_numpy

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# Expressions in terms of T, the library.
VALUES = [
    "T.tensor(3)",
    "T.tensor(True)",
    "T.tensor([1, 2.5])",
    "T.tensor([[1, 2], [3, 4]], dtype=T.uint8)",
    "T.tensor([1 + 2j, 3])",
    "T.tensor([])",
    "T.tensor([[], []])",
    "T.tensor([True, 2])",
    "T.tensor(range(3))",
    "T.tensor((1, (2)))",
    "T.tensor([T.tensor(1.0, dtype=T.float64), 2])",
    "T.tensor([T.tensor(1, dtype=T.int8), 2.5])",
    "T.tensor([T.ones(1)])",
    "T.tensor([np.float64(1)])",
    "T.tensor([np.float32(1), 2.0])",
    "T.tensor([np.ones(2), np.zeros(2)])",
    "T.tensor(np.arange(3, dtype=np.int16))",
    "T.tensor([-1], dtype=T.uint8)",
    "T.tensor([1.7], dtype=T.int64)",
    "T.tensor([1e300])",
    "T.tensor([1e300], dtype=T.half)",
    "T.tensor([1.1], dtype=T.bfloat16)",
    "T.tensor(T.ones(2, dtype=T.float64))",
    "T.tensor([1.0], requires_grad=True)",
    "T.scalar_tensor(3)",
    "T.as_tensor([1, 2])",
    "T.as_tensor(np.ones(2), dtype=T.float32)",
    "T.as_tensor(T.ones(2), dtype=T.int32)",
    "T.asarray([1.5, 2])",
    "T.asarray(np.ones(2), copy=True)",
    "T.asarray(bytearray(8), dtype=T.int32)",
    "T.asarray(np.ones(2), requires_grad=True)",
    "T.from_dlpack(np.arange(3.0))",
    "T.frombuffer(bytearray(range(16)), dtype=T.int32, count=2, offset=4)",
    "T.frombuffer(bytearray(8), dtype=T.float64, requires_grad=True)",
    "T.zeros(2, 3)",
    "T.zeros((2, 3))",
    "T.zeros(size=(2, 3))",
    "T.zeros([])",
    "T.zeros(0, 3)",
    "T.zeros(2, dtype=float)",
    "T.zeros(T.Size([2, 1]))",
    "T.ones(2, dtype=T.bool)",
    "T.ones(2, out=T.empty(0))",
    "T.ones(2, requires_grad=True)",
    "T.full((2,), 1)",
    "T.full((2,), True)",
    "T.full((2,), 1j)",
    "T.full((2,), 1.5, dtype=T.int32)",
    "T.full((), T.tensor(2.0))",
    "T.zeros_like(T.ones(2, 3, dtype=T.int32))",
    "T.ones_like(T.ones(2), dtype=T.float64)",
    "T.full_like(T.ones(2, dtype=T.int64), 3)",
    "T.arange(5)",
    "T.arange(5.0)",
    "T.arange(1, 2.5, 0.5)",
    "T.arange(5, 0, -2)",
    "T.arange(0, 1, 0.1)",
    "T.arange(T.tensor(3))",
    "T.arange(start=1, end=4)",
    "T.arange(3, dtype=T.float64)",
    "T.arange(0.5, 4, dtype=T.int64)",
    "T.range(1, 4)",
    "T.linspace(0, 1, 5)",
    "T.linspace(0, 10, 4, dtype=T.int64)",
    "T.linspace(3, -2, 7, dtype=T.float64)",
    "T.linspace(T.tensor(0.0), T.tensor(1.0), 3)",
    "T.linspace(0, 1j, 3)",
    "T.linspace(0, 1, 1)",
    "T.linspace(-2, 2, 7).sign()",  # that of rounding, in the middle
    "T.linspace(-1, 1, 21, dtype=T.float64).sign()",
    "T.logspace(0, 2, 3)",
    "T.logspace(0, 3, 4, base=2)",
    "T.eye(3)",
    "T.eye(2, 3, dtype=T.int8)",
    "T.ones(2).new_tensor([1, 2])",
    "T.ones(2, dtype=T.int64).new_full((2,), 3)",
    "T.ones(2).int().new_zeros(3)",
    "T.ones(2).double().new_ones((2, 1))",
    "T.ones(2).new_empty(0)",
    "T.Tensor([1, 2])",
    "T.Tensor([[1, 2], [3, 4]])",
    "T.Tensor(np.ones(2))",
    "T.Tensor((2, 3))",
    "T.Tensor()",
    "T.Tensor(T.ones(2, dtype=T.float64))",
    "T.IntTensor([1.5])",
    "T.DoubleTensor([1, 2])",
    "T.BoolTensor([True])",
    "T.ones(2).new([3])",
]
SHAPES = [
    "T.empty(2, 3)",
    "T.empty(2, 3, dtype=T.cfloat)",
    "T.empty((2, 4, 3, 5), memory_format=T.channels_last)",
    "T.empty_like(T.ones(4, 3).t())",
    "T.zeros_like(T.ones(2, 4, 3, 5).contiguous(memory_format=T.channels_last))",
    "T.zeros_like(T.ones(2, 3).t(), memory_format=T.contiguous_format)",
    "T.empty_strided((2, 3), (1, 2))",
    "T.ones(2).new_empty_strided((2, 3), (4, 1))",
    "T.Tensor(2, 3)",
    "T.Tensor(T.Size([2, 3]))",
    "T.Tensor(5)",
    "T.rand(2, 3)",
    "T.randn((2, 3), dtype=T.float64)",
    "T.randint(3, (2,))",
    "T.randint(1, 3, (2,), dtype=T.int8)",
    "T.randperm(4)",
    "T.rand_like(T.ones(2, dtype=T.half))",
    "T.randn_like(T.ones(2, 3))",
    "T.randint_like(T.ones(2), 3)",
]
# Expressions that fail; where the wording is torch's it begins alike.
ERRORS = [
    ("T.tensor([T.ones(2), T.zeros(2)])", True),
    ("T.tensor([[1, 2], [3]])", True),
    ("T.tensor([[1, 2], 3])", True),
    ("T.tensor('a')", True),
    ("T.tensor(['a'])", True),
    ("T.tensor(None)", True),
    ("T.tensor([None])", True),
    ("T.tensor({1: 2})", True),
    ("T.tensor([2**70])", True),
    ("T.tensor(300, dtype=T.uint8)", True),
    ("T.tensor(float('inf'), dtype=T.int32)", True),
    ("T.tensor(1 + 2j, dtype=T.float32)", True),
    ("T.tensor([1], requires_grad=True)", True),
    ("T.from_numpy([1])", True),
    ("T.from_numpy(np.ones(3)[::-1])", True),
    ("T.from_numpy(np.array(['a']))", True),
    ("T.from_numpy(np.array([1.0], dtype='>f8'))", True),
    ("T.asarray([1, 2], copy=False)", True),
    ("T.zeros(-1)", False),
    ("T.zeros(2.5)", True),
    ("T.zeros()", True),
    ("T.zeros(2, dtype='float32')", True),
    ("T.zeros(2, foo=1)", False),
    ("T.zeros(2, device='foo')", False),
    ("T.zeros(2, device='cuda')", True),
    ("T.zeros_like(3)", True),
    ("T.full(2, 1.0)", True),
    ("T.full((2,), T.ones(2))", True),
    ("T.arange(1, 0)", True),
    ("T.arange(0, 1, 0)", True),
    ("T.linspace(0, 1, -1)", True),
    ("T.eye(-1)", True),
    ("T.Tensor(2.5)", True),
    ("T.Tensor('a')", True),
    ("T.randint(5, 2, (3,))", True),
    ("T.randint(0, 300, (3,), dtype=T.uint8)", False),
    ("T.rand(2, dtype=T.int64)", True),
    ("T.randn(2, dtype=T.int64)", True),
    ("T.device('cuda:x')", True),
    ("T.device('foo')", False),
    ("T.set_default_dtype(T.int32)", True),
    ("T.set_default_dtype('x')", True),
]


def evaluated(code: str, library):
    return eval(code, {"T": library, "np": np})


def built_in(error: Exception) -> type:
    """The class by which an error is caught."""
    return next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")


@pytest.mark.parametrize("code", VALUES)
def test_value(code):
    ours, theirs = evaluated(code, fxt), evaluated(code, torch)
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.requires_grad == theirs.requires_grad
    np.testing.assert_allclose(as_numpy(ours), as_numpy(theirs), rtol=1e-6)


@pytest.mark.parametrize("code", SHAPES)
def test_shape_dtype_and_strides(code):
    ours, theirs = evaluated(code, fxt), evaluated(code, torch)
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert tuple(ours.stride()) == tuple(theirs.stride())


@pytest.mark.parametrize(("code", "worded"), ERRORS)
def test_error(code, worded):
    errors = {}
    for library in (torch, fxt):
        with pytest.raises((RuntimeError, TypeError, ValueError, IndexError, AssertionError)) as caught:
            evaluated(code, library)
        errors[library] = caught.value
    assert isinstance(errors[fxt], built_in(errors[torch]))
    if worded:
        assert str(errors[fxt]).split("\n")[0].strip() == str(errors[torch]).split("\n")[0].strip()


def test_memory_is_shared_or_not():
    def run(T):
        array = np.zeros(3)
        shares = [
            T.from_numpy(array),
            T.as_tensor(array),
            T.asarray(array),
            T.tensor(array),
            T.as_tensor(array, dtype=T.float32),
            T.asarray(array, copy=True),
            T.from_dlpack(array),
        ]
        array[0] = 1
        shares[0][1] = 2
        return [s.tolist() for s in shares], array.tolist()

    assert run(fxt) == run(torch)


def test_a_tensor_of_a_tensor_warns():
    for T in (torch, fxt):
        with pytest.warns(UserWarning, match="To copy construct from a tensor"):
            T.tensor(T.ones(2))


def test_a_read_only_array_warns():
    array = np.zeros(2)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        fxt.from_numpy(array)


def test_default_dtype():
    def run(T):
        T.set_default_dtype(T.float64)
        try:
            made = [
                T.tensor(1.0),
                T.tensor(1j),
                T.zeros(1),
                T.arange(1.0),
                T.full((1,), 1.0),
                T.rand(1),
                T.eye(1),
            ]
        finally:
            T.set_default_dtype(T.float32)
        return [str(m.dtype) for m in made]

    assert run(fxt) == run(torch)


def test_devices():
    def run(T):
        found = [
            T.device("cpu"),
            T.device("cuda:1"),
            T.device("cuda", 1),
            T.device(T.device("cpu")),
            T.device("cuda"),
        ]
        with T.device("cpu"):
            made = T.zeros(2)
        T.set_default_device("cpu")
        T.set_default_device(None)
        return (
            [repr(d) for d in found],
            [str(d) for d in found],
            str(made.device),
            found[1] == found[2],
            made.is_cuda,
        )

    assert run(fxt) == run(torch)
    assert not fxt.cuda.is_available()
    assert fxt.get_default_device() == fxt.device("cpu")


def test_types_know_their_tensors():
    def run(T):
        x = T.ones(2)
        return (
            [isinstance(x, kind) for kind in (T.Tensor, T.FloatTensor, T.DoubleTensor)],
            T.is_tensor(x),
            T.is_tensor(3),
        )

    assert run(fxt) == run(torch)


def test_inside_inference_mode():
    with fxt.inference_mode():
        assert fxt.zeros(2).is_inference()
    assert not fxt.zeros(2).is_inference()


def test_traced_entries():
    x = fxt.arange(3.0)
    made = fxt.func.vmap(lambda v: fxt.tensor([[v, 2.0]]) + fxt.full((1, 2), v))(x)
    assert made.tolist() == [[[2 * v, v + 2]] for v in (0.0, 1.0, 2.0)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_spaces_are_rounded_as_torch_rounds_them(dtype):
    generator = np.random.default_rng(0)
    for _ in range(50):
        ends, steps = (3 * generator.normal(size=2)).tolist(), int(generator.integers(2, 200))
        ours, theirs = (T.linspace(*ends, steps, dtype=getattr(T, dtype)).tolist() for T in (fxt, torch))
        assert ours == theirs


@pytest.mark.parametrize("name", ["ones", "rand", "full", "arange", "eye", "zeros_like", "tril_indices"])
def test_unknown_options_are_refused_in_the_name_of_the_function(name):
    arguments = {"full": ((2,), 1.0), "zeros_like": (fxt.ones(2),), "tril_indices": (2, 2)}.get(name, (2,))
    with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'names'"):
        getattr(fxt, name)(*arguments, names=("a",))
