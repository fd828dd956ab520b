"""torch's type promotion: dtypes of results over all pairs of dtypes, with and without axes, and of numbers."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import check_same, outcome

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
LATE = ["uint16", "uint32", "uint64"]
NUMBERS = [True, 3, 2.5, 1.5 - 2j]
FUNCTIONS = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "pow",
    "eq",
    "lt",
    "maximum",
    "atan2",
    "bitwise_and",
    "bitwise_left_shift",
    "logical_and",
    "hypot",
    "fmod",
    "copysign",
]
# There is no complex dtype of half precision: the next takes its place.
HALF = {"torch.complex32": "torch.complex64"}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def name(dtype) -> str:
    return HALF.get(str(dtype), str(dtype))


def one(library, dtype: str, axes: bool, value: float = 2):
    made = library.tensor([value] * 2 if axes else value, dtype=getattr(library, dtype))
    return made


def check_alike(function) -> None:
    """The same dtype, or an error of the same class, if that is not that there are few operations in complex32."""
    theirs, error = outcome(lambda: function(torch))
    ours, ours_error = outcome(lambda: function(fxt))
    if error is NotImplementedError and ours_error is None:
        with pytest.raises(NotImplementedError, match="ComplexHalf"):
            function(torch)
        return
    assert ours_error is error
    if error is None:
        assert name(ours.dtype if hasattr(ours, "dtype") else ours) == name(
            theirs.dtype if hasattr(theirs, "dtype") else theirs
        )


@pytest.mark.parametrize("first", DTYPES + LATE)
def test_promote_types(first):
    for second in DTYPES + LATE:
        check_alike(lambda t, second=second: t.promote_types(getattr(t, first), getattr(t, second)))
        assert fxt.can_cast(getattr(fxt, first), getattr(fxt, second)) == torch.can_cast(
            getattr(torch, first), getattr(torch, second)
        )


@pytest.mark.parametrize("first", DTYPES)
def test_result_type_of_all_pairs_and_ranks(first):
    for second in DTYPES:
        for axes in ((True, True), (True, False), (False, True), (False, False)):
            check_alike(
                lambda t, second=second, axes=axes: t.result_type(
                    one(t, first, axes[0]), one(t, second, axes[1])
                )
            )
    for number in NUMBERS:
        for axes in (True, False):
            check_alike(lambda t, number=number, axes=axes: t.result_type(one(t, first, axes), number))
            check_alike(lambda t, number=number, axes=axes: t.result_type(number, one(t, first, axes)))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("axes", [(True, True), (True, False), (False, True)], ids=str)
def test_dtypes_of_operations(function, axes):
    for first in DTYPES:
        for second in DTYPES:
            check_alike(
                lambda t, first=first, second=second: getattr(t, function)(
                    one(t, first, axes[0]), one(t, second, axes[1])
                )
            )


@pytest.mark.parametrize("function", ["add", "mul", "div", "floor_divide", "remainder", "pow", "eq"])
def test_dtypes_and_values_with_numbers(function):
    for dtype in DTYPES:
        for number in NUMBERS:
            for axes in (True, False):

                def call(t, dtype=dtype, number=number, axes=axes):
                    return getattr(t, function)(one(t, dtype, axes), number)

                check_alike(call)
                theirs, error = outcome(lambda call=call: call(torch))
                if error is None and theirs.dtype is not getattr(torch, "complex32", None):
                    check_same(call(fxt), theirs, 1e-9)


@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"])
def test_reflected_operators_with_numbers(symbol):
    function = getattr(operator, symbol)
    for dtype in ("uint8", "int64", "float32", "float64", "complex64"):
        for number in (3, 2.5):
            check_alike(lambda t, dtype=dtype, number=number: function(number, one(t, dtype, True)))
            check_alike(lambda t, dtype=dtype, number=number: function(one(t, dtype, True), number))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8])
def test_numbers_of_numpy_are_numbers(dtype):
    for other in ("int32", "float32", "float64"):
        check_alike(lambda t, other=other: one(t, other, True) * dtype(1))
        check_alike(lambda t, other=other: t.add(one(t, other, True), dtype(1)))


@pytest.mark.parametrize(
    "symbol", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ilshift"]
)
def test_operators_in_place_keep_the_dtype_or_refuse(symbol):
    function = getattr(operator, symbol)
    for first in ("bool", "uint8", "int64", "float32", "float64", "complex64"):
        for second in ("bool", "int32", "float64", "complex128"):
            check_alike(
                lambda t, first=first, second=second: function(one(t, first, True), one(t, second, True))
            )


def test_integers_wrap_as_torch_has_it():
    for t in (torch, fxt):
        x = t.tensor([100], dtype=t.int8)
        assert (x + 100).tolist() == [-56]
        assert (x * 3).tolist() == [44]
        assert (t.tensor([5], dtype=t.uint8) - 7).tolist() == [254]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_finfo(dtype):
    ours, theirs = (t.finfo(getattr(t, dtype)) for t in (fxt, torch))
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(ours, field) == pytest.approx(getattr(theirs, field), rel=1e-6)
    assert (ours.dtype, str(ours)) == (theirs.dtype, str(theirs))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_iinfo(dtype):
    ours, theirs = (t.iinfo(getattr(t, dtype)) for t in (fxt, torch))
    assert (ours.bits, ours.min, ours.max, str(ours)) == (theirs.bits, theirs.min, theirs.max, str(theirs))


def test_limits_of_the_wrong_kind():
    for call in (
        lambda t: t.finfo(t.int32),
        lambda t: t.iinfo(t.float32),
        lambda t: t.iinfo(t.bool),
        lambda t: t.set_default_dtype(t.int64),
        lambda t: t.set_default_dtype(3),
    ):
        messages = []
        for t in (torch, fxt):
            with pytest.raises(TypeError) as caught:
                call(t)
            messages.append(str(caught.value).splitlines()[0])
        assert messages[0] == messages[1]


def test_the_default_dtype_decides_for_numbers():
    try:
        for default in ("float64", "float16", "float32"):
            for t in (torch, fxt):
                t.set_default_dtype(getattr(t, default))
            for call in (
                lambda t: t.tensor(1.5),
                lambda t: t.tensor([1]) + 2.5,
                lambda t: t.tensor([1]) / 2,
                lambda t: t.sin(t.tensor([1])),
                lambda t: t.tensor([True]) * 1.5,
            ):
                check_alike(call)
            assert str(fxt.get_default_dtype()) == str(torch.get_default_dtype()) == f"torch.{default}"
    finally:
        for t in (torch, fxt):
            t.set_default_dtype(t.float32)


def test_predicates():
    for t in (torch, fxt):
        assert t.is_floating_point(t.tensor([1.0])) and not t.is_floating_point(t.tensor([1]))
        assert t.is_complex(t.tensor([1j])) and not t.tensor([1.0]).is_complex()
        assert t.tensor([1.0]).is_floating_point() and t.tensor([1]).is_signed()
        assert t.is_nonzero(t.tensor([2.0])) and not t.is_nonzero(t.tensor(0))


def test_booleans_stay_booleans_where_there_is_nothing_to_move():
    for library in (torch, fxt):
        assert library.roll(library.ones(0, 3, dtype=library.bool), 1).dtype is library.bool
