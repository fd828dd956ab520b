"""What the docstrings of fxgrad.numpy say of NumPy and of derivatives is true: options that are refused, the page of
the namesake, the derivatives that are stated, and whether there are any."""

import inspect
import re
import warnings

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core import pytree
from fxgrad.core.primitive import REGISTRY
from fxgrad.numpy.documentation import (
    DIFFERENTIABLE,
    LINEAR,
    MANUALS,
    NO_DERIVATIVE,
    SHOWS,
    TAKES_OUT,
    ZERO_DERIVATIVE,
)
from fxgrad.numpy.ufunc_texts import TEXTS
from tests.numpy.test_namespace import CALLS, OPERANDS, function, names_in
from tests.together import together

if np.lib.NumpyVersion(np.__version__) < "2.3.0":
    pytest.skip("docstrings name the arguments that NumPy 2.3 has", allow_module_level=True)

SPACES = {
    "": (fnp, np),
    "linalg.": (fnp.linalg, np.linalg),
    "fft.": (fnp.fft, np.fft),
    "emath.": (fnp.emath, np.emath),
}
OURS = {
    prefix + name: getattr(ours, name)
    for prefix, (ours, _) in SPACES.items()
    for name in ours.__all__
    if callable(getattr(ours, name)) and getattr(ours, name).__module__.startswith("fxgrad")
}  # fmt: skip
OPTIONS = re.compile(r"the ufunc's (?:other )?options \((.*?)\) raise TypeError", re.IGNORECASE)
WITHOUT_NAMESAKE = {"at", "ndarray"}


def flat(text):
    return " ".join(text.split())


def namesake(name):
    """NumPy's object at a dotted path, or None in a version without it."""
    found = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


@together("name")
@pytest.mark.parametrize("name", sorted(OURS.keys() - WITHOUT_NAMESAKE))
def test_a_docstring_links_to_the_page_of_its_namesake(name):
    page = re.search(re.escape(MANUALS["numpy"]) + r"numpy\.([\w.]+)\.html", OURS[name].__doc__)
    assert page and (page[1] == name or namesake(page[1]) is namesake(name) or OURS[page[1]] is OURS[name])


@together("name")
@pytest.mark.parametrize("name", sorted(OURS.keys() - WITHOUT_NAMESAKE))
def test_the_arguments_that_a_docstring_shares_with_its_namesake_are_there(name):
    shared = re.search(r"are those of\s+`numpy\.[\w.]+\((.*?)\)`", flat(OURS[name].__doc__))
    theirs = namesake(name)
    if shared is None or theirs is None or isinstance(theirs, np.ufunc) or hasattr(OURS[name], "primitive"):
        return
    try:
        parameters = inspect.signature(theirs).parameters
    except ValueError:  # written in C without one
        return
    if not {"args", "kwargs"} & parameters.keys() and name != "linalg.matmul":  # which is `matmul`
        assert set(filter(None, shared[1].split(", "))) <= parameters.keys()


@together("name")
@pytest.mark.parametrize("name", sorted(n for n in OURS if OPTIONS.search(flat(OURS[n].__doc__))))
def test_options_of_ufuncs_that_are_said_to_be_refused_are_refused(name):
    said = OPTIONS.search(flat(OURS[name].__doc__))
    theirs = namesake(name.removeprefix("linalg."))
    if theirs is None:
        pytest.skip("this NumPy has no such function")
    operands = [np.ones((2, 2)).astype(int if "d" not in "".join(theirs.types) else float)] * theirs.nin
    traced = fx.make_graph if "Under transforms" in OURS[name].__doc__ else lambda f: f
    for option in re.findall(r"`(\w+)`", said[1]):
        with pytest.raises(TypeError, match=option):
            traced(lambda *args: OURS[name](*args, **{option: 1}))(*operands)  # noqa: B023


@together("name")
@pytest.mark.parametrize("name", sorted(n for n in OURS if hasattr(OURS[n], "reference")))
def test_a_docstring_says_whether_there_is_an_out_and_what_is_added(name):
    text, parameters = OURS[name].__doc__, inspect.signature(OURS[name]).parameters
    assert (TAKES_OUT.strip() in text) == ("out" in parameters or isinstance(OURS[name].reference, np.ufunc))
    added = re.search(r"Additions of this library: (.*)\.", text)
    for option in re.findall(r"`(\w+)`", added[1] if added else ""):
        assert option in parameters
        assert namesake(name) is None or option not in inspect.signature(namesake(name)).parameters


@together("name")
@pytest.mark.parametrize("name", sorted(n for n in OURS if "The result has " in OURS[n].__doc__))
def test_results_of_ufuncs_have_the_shapes_and_dtypes_that_are_said(name):
    said, ufunc = flat(OURS[name].__doc__), namesake(name)
    for kind in (np.int32, np.float32, np.complex64):
        operands = [np.ones((3, 1), kind), np.ones(2, kind)][: ufunc.nin]
        try:
            with np.errstate(all="ignore"):
                result = OURS[name](*operands)
        except TypeError:
            continue  # no numbers of this kind
        assert result.shape == np.broadcast_shapes(*(x.shape for x in operands))
        if "dtype bool" in said:
            assert result.dtype == bool
        elif "float64 of integers" in said:
            assert result.dtype == (np.float64 if kind is np.int32 else kind)
        elif "of complex numbers a real one" in said and kind is np.complex64:
            assert result.dtype == np.float32
        else:
            assert result.dtype == kind


def derivatives_of(name):
    """What a docstring states of derivatives: [(the position of the operand, an expression)]."""
    text, names = OURS[name].__doc__, list(inspect.signature(OURS[name]).parameters)
    several = re.search(r"Derivatives: (.*?)\n\n", text, re.DOTALL)
    if several:
        return [(names.index(by), said) for said, by in re.findall(r"`([^`]+)` by (\w+)", several[1])]
    one = re.search(r"Derivative: `([^`]+)`( by (\w+))?", text)
    return [(names.index(one[3] or names[0]), one[1])] if one else []


@together("name")
@pytest.mark.parametrize("name", sorted(n for n in OURS if derivatives_of(n)))
def test_stated_derivatives_are_those_of_the_rules(name):
    operands = [
        np.array([0.3, 0.7, 0.9]),
        np.array([2, 0, -1]) if name == "ldexp" else np.array([0.8, 0.4, 0.9]),
    ]
    if name in ("arccosh", "acosh"):
        operands[0] = operands[0] + 1
    names = [n for n in inspect.signature(OURS[name]).parameters if n not in ("out", "where", "dtype")]
    space = {**{n: getattr(fnp, n) for n in fnp.__all__}, **dict(zip(names, operands))}
    for i, expression in derivatives_of(name):

        def along(x, i=i):
            return OURS[name](*operands[:i], x, *operands[i + 1 : len(names)])

        _, tangent = fx.jvp(along, (operands[i],), (np.ones(3),))
        np.testing.assert_allclose(tangent, eval(expression, space) * np.ones(3), rtol=1e-12)


@together("name")
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_primitive_states_derivatives_where_it_has_rules(name):
    partials = REGISTRY[name].partials
    text = getattr(fnp, name).__doc__
    assert (any(partials) or name == "nextafter") == ("Derivative" in text)
    assert any(partials) == (
        ZERO_DERIVATIVE.strip() not in text and NO_DERIVATIVE.strip() not in text and name != "nextafter"
    )


SAID = {
    "lin": LINEAR.strip(),
    "differentiable": DIFFERENTIABLE.strip(),
    "zero": ZERO_DERIVATIVE.strip(),
    "none": NO_DERIVATIVE.strip(),
}
# What is linear in other operands than those that a call of the table varies, or with values that do not move.
AFFINE = ("prepend", "append=", "initial=", "polysub(v, 2)", "stack([s, 2.0])", "argsort")


def name_of(call):
    return re.match(r"[\w.]+", call)[0]


@together("call")
@pytest.mark.parametrize("call", [c for c in CALLS if name_of(c) in OURS])
def test_a_docstring_says_how_the_function_differentiates(call):
    said = flat(OURS[name_of(call)].__doc__)
    run, names = function(call, fnp)
    points = [OPERANDS[n] for n in names]
    rng = np.random.default_rng(3)
    directions = [rng.normal(size=np.shape(p))[()] for p in points]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        y, tangent = fx.jvp(run, tuple(points), tuple(directions))
    moving = [
        (v, t)
        for v, t in zip(map(np.asarray, pytree.leaves(y)), pytree.leaves(tangent))
        if v.dtype.kind in "fc"
    ]
    if SAID["none"] in said:
        assert not moving
    if SAID["zero"] in said:
        assert not any(np.any(t) for _, t in moving)
    if SAID["lin"] in said and moving and not any(word in call for word in AFFINE):
        zero = fx.jvp(run, tuple(points), tuple(0 * p for p in points))[1]
        assert not any(np.any(t) for t in pytree.leaves(zero) if np.asarray(t).dtype.kind in "fc")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = pytree.leaves(run(*directions))
        for (_, t), expected in zip(moving, [v for v in image if np.asarray(v).dtype.kind in "fc"]):
            np.testing.assert_allclose(t, expected, rtol=1e-6, atol=1e-9)


def test_what_is_said_to_be_differentiable_has_a_derivative_in_some_call():
    moves, rng = set(), np.random.default_rng(3)
    claims = {n for n in OURS if SAID["differentiable"] in flat(OURS[n].__doc__)}
    for call in CALLS:
        name = name_of(call)
        if name in claims - moves:
            run, names = function(call, fnp)
            points = tuple(OPERANDS[n] for n in names)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                _, tangent = fx.jvp(run, points, tuple(rng.normal(size=np.shape(p))[()] for p in points))
            if any(np.any(t) for t in pytree.leaves(tangent) if np.asarray(t).dtype.kind in "fc"):
                moves.add(name)
    asked = {name_of(call) for call in CALLS if names_in(call)}
    assert claims & asked == moves & asked


def test_a_view_is_announced_only_where_numpy_makes_one():
    assert SHOWS.strip() in fnp.reshape.__doc__ and SHOWS.strip() in fnp.diagonal.__doc__
    assert SHOWS.strip() not in fnp.concatenate.__doc__ + fnp.sum.__doc__
