"""NumPy's main namespace is there: every public callable is a function of fxgrad.numpy that takes NumPy's parameters,
or stands in the one table of what is left out, with its reason."""

import inspect
import types

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.numpy.missing import INPLACE_FUNCTIONS, MISSING_NAMES
from tests.together import together
from tests.versions import with_new_numpy

# Names that only some platforms have: long double and its complex numbers by their size.
BY_SIZE = {"float96", "float128", "complex192", "complex256"}
CALLABLE = sorted(
    name
    for name in dir(np)
    if not name.startswith("_")
    and callable(getattr(np, name))
    and not isinstance(getattr(np, name), types.ModuleType)
    and name not in BY_SIZE
)
HERE = [name for name in CALLABLE if name in fnp.__all__]
# NumPy's options for functions that are primitives here: they belong to its ufuncs.
OF_UFUNCS = {
    "out",
    "where",
    "casting",
    "order",
    "dtype",
    "subok",
    "signature",
    "axes",
    "axis",
    "keepdims",
    "kwargs",
}
DEPRECATED = {"row_stack", "in1d", "trapz"}


@together("name")
@pytest.mark.parametrize("name", CALLABLE)
def test_every_function_is_here_or_left_out_for_a_reason(name):
    if name not in DEPRECATED:
        assert (name in fnp.__all__) != (name in MISSING_NAMES)


@together("name")
@pytest.mark.parametrize("name", sorted(MISSING_NAMES))
def test_what_is_left_out_says_why(name):
    reason, hint = MISSING_NAMES[name]
    assert hasattr(np, name) and not hasattr(fnp, name)
    with pytest.raises(fx.UnsupportedError, match=f"no {name}: ") as error:
        getattr(fnp, name)
    assert reason in str(error.value) and hint in str(error.value) and hint


def test_other_names_are_ordinary_mistakes():
    with pytest.raises(AttributeError, match="has no attribute 'sinus'") as error:
        _ = fnp.sinus
    assert not isinstance(error.value, fx.FxgradError)


def test_every_name_is_public():
    assert sorted(set(fnp.__all__)) == sorted(fnp.__all__)
    assert all(hasattr(fnp, name) for name in fnp.__all__)


def signature_of(function):
    try:
        return inspect.signature(function)
    except ValueError:  # written in C without one
        return None


@with_new_numpy
@together("name")
@pytest.mark.parametrize("name", HERE)
def test_the_parameters_are_numpys(name):
    ours, theirs = getattr(fnp, name), getattr(np, name)
    if ours is theirs or not callable(ours):
        return
    mine, reference = signature_of(ours), signature_of(theirs)
    if mine is None or reference is None:
        return
    kinds = {p.kind for p in mine.parameters.values()}
    if isinstance(theirs, np.ufunc) or hasattr(ours, "primitive"):
        operands = [n for n in reference.parameters if n not in OF_UFUNCS]
        assert len(mine.parameters) >= len(operands) or inspect.Parameter.VAR_POSITIONAL in kinds
        return
    for parameter in reference.parameters.values():
        if parameter.name == "kwargs":  # written out
            continue
        assert parameter.name in mine.parameters or inspect.Parameter.VAR_POSITIONAL in kinds, parameter
        if parameter.name in mine.parameters and mine.parameters[parameter.name].kind is not parameter.kind:
            assert mine.parameters[parameter.name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD


def test_constants():
    for name in ("e", "euler_gamma", "inf", "nan", "newaxis", "pi", "True_", "False_"):
        assert getattr(fnp, name) is getattr(np, name)


@together("name")
@pytest.mark.parametrize("name", sorted(INPLACE_FUNCTIONS))
def test_functions_that_write(name):
    arguments = {
        "copyto": (2.0,),
        "fill_diagonal": (0.0,),
        "place": (np.eye(2) > 0, [2.0]),
        "put": ([0], 2.0),
        "put_along_axis": (np.array([[0]]), 2.0, 1),
        "putmask": (np.eye(2) > 0, 2.0),
    }[name]
    x, expected = np.ones((2, 2)), np.ones((2, 2))
    getattr(np, name)(expected, *arguments)
    if name not in ("copyto", "putmask"):  # without JAX's option
        np.testing.assert_array_equal(getattr(fnp, name)(x, *arguments, inplace=False), expected)
        np.testing.assert_array_equal(x, 1)

    def write(x):
        assert getattr(fnp, name)(x, *arguments) is None
        return x

    np.testing.assert_array_equal(fx.jit(write)(x), expected)
    np.testing.assert_array_equal(fx.jit(lambda: write(fnp.ones((2, 2))))(), expected)
    np.testing.assert_array_equal(x, 1)
    np.testing.assert_array_equal(write(x), expected)
