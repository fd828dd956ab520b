"""A misspelt name or keyword is answered by the one that is meant, and completion lists public names only."""

import inspect
import random
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from enum import Enum

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.advice import explain_arguments
from tests.versions import with_new_numpy

HIDDEN = {"compat", "ops"}  # torch's names are torch's; of the primitives only `jax.ops` is shown


def public_modules(module=fx) -> Iterator[types.ModuleType]:
    """A module, and those that it lists."""
    yield module
    for name in getattr(module, "__all__", dir(module)):
        part = getattr(module, name, None)
        if isinstance(part, types.ModuleType) and part.__name__.startswith("fxgrad") and name not in HIDDEN:
            yield from public_modules(part)


MODULES = {m.__name__: m for m in public_modules()}
# Parts of the library that the errors of its boundaries need.
BELOW_ERRORS = ("fxgrad.core.pytree", "fxgrad.core.source_info")


def is_made_by_users(found: object) -> bool:
    """Whether users call it, a function or a class: errors, enumerations and states come from the library."""
    if not isinstance(found, type):
        return inspect.isfunction(found)
    return not issubclass(found, BaseException | Enum | tuple)


FUNCTIONS = {
    f"{name}.{key}": function
    for name, module in MODULES.items()
    if name != "fxgrad.scipy.special"  # whose ufuncs take operands by position
    for key in getattr(module, "__all__", ())
    if is_made_by_users(function := getattr(module, key))
    and function.__module__.partition(".")[0] == "fxgrad"
    and not function.__module__.startswith(BELOW_ERRORS)
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_lists_its_public_names(name):
    module = MODULES[name]
    listed = {n for n in dir(module) if not n.startswith("__")}
    assert listed == {n for n in getattr(module, "__all__", listed) if not n.startswith("__")}
    assert not {n for n in listed if n.startswith("_") or n in ("Any", "annotations", "np", "TYPE_CHECKING")}


@pytest.mark.parametrize("name", MODULES)
def test_a_misspelt_name_is_answered_by_the_nearest(name):
    module = MODULES[name]
    for public in [n for n in dir(module) if not n.startswith("__") and len(n) > 4][:20]:
        wrong = public[:2] + public[3:]
        if wrong in dir(module):
            continue
        with pytest.raises(AttributeError, match=r"Did you mean: '\w+'\?") as caught:
            getattr(module, wrong)
        assert str(caught.value).count("Did you mean") == 1


def unanswered(function) -> bool:
    """Whether a keyword with a letter too many is refused without saying which is meant."""
    parameters = inspect.signature(function).parameters.values()
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY or p.kind is p.POSITIONAL_OR_KEYWORD]
    if not named or len(named[-1]) < 3 or any(p.kind is p.VAR_KEYWORD for p in parameters):
        return False
    try:
        function(**{named[-1] + "x": 0})
    except (TypeError, ValueError) as error:
        text = str(error).replace("Did you mean:", "Did you mean")  # as Python 3.13 says it by itself
        return "unexpected keyword" in text and f"Did you mean '{named[-1]}'?" not in text
    return False


UNANSWERED = {
    # They take no keyword; of another Python itself, from 3.13 on, suggests a longer name that is as near.
    "fxgrad.numpy.unique_values", "fxgrad.numpy.cross",
    # One more call would be a good part of what they cost: docs/decisions.md.
    "fxgrad.opened", "fxgrad.numpy.isscalar", "fxgrad.numpy.size", "fxgrad.numpy.where", "fxgrad.tree.is_tree_node",
    "fxgrad.tree_util.is_tree_node",
    # The library makes these.
    "fxgrad.Aval", "fxgrad.Coloring", "fxgrad.Graph", "fxgrad.Interpreter",
    "fxgrad.custom_derivatives.CustomVJPPrimal", "fxgrad.custom_derivatives.SymbolicZero",
    "fxgrad.custom_derivatives.custom_vjp_primal_tree_values", "fxgrad.custom_derivatives.zero_from_primal",
}  # fmt: skip


@with_new_numpy
def test_a_misspelt_keyword_is_answered_by_the_nearest():
    assert len(FUNCTIONS) > 700
    assert {n for n, function in FUNCTIONS.items() if unanswered(function)} <= UNANSWERED


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: fx.vmap(np.sin, in_axis=0), "in_axes"),
        (lambda: fx.grad(np.sin, argnum=0), "argnums"),
        (lambda: fx.optim.adam(learning_rat=1e-3), "learning_rate"),
        (lambda: fnp.sum(np.ones(2), axes=0), "axis"),
    ],
)
def test_daily_keywords(call, meant):
    with pytest.raises(TypeError, match=f"Did you mean:? '{meant}'"):
        call()


def test_errors_of_the_users_own_functions_stay_as_they_are():
    error = TypeError("loss() got an unexpected keyword argument 'in_axis'")
    explain_arguments(error, fx.vmap)
    assert "Did you mean" not in str(error)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fx.jit(lambda x: f"{float(x)}")(1.0), "fx.debug.print"),
        (lambda: fx.jit(lambda n: [0 for _ in range(n)])(3), "fx.lax.fori_loop"),
        (lambda: fx.grad(np.sin) + 1, r"fx.grad\(f\)\(x\)"),
        (lambda: 2 * fx.grad(np.sin), r"fx.grad\(f\)\(x\)"),
    ],
)
def test_hints_go_by_the_line(call, words):
    with pytest.raises(fx.FxgradError, match=words):
        call()


@pytest.mark.parametrize("control", [None, "follow"])
@pytest.mark.parametrize(
    "module, draw", [("np.random", lambda: np.random.normal()), ("random", random.random)]
)
def test_numbers_of_global_generators_are_told_to_be_frozen(module, draw, control):
    def noisy(x):
        return x + draw()

    jitted = fx.jit(noisy, control=control)
    with pytest.warns(UserWarning, match=f"^{module} was called while noisy was staged") as caught:
        first = jitted(0.0)
    assert len(caught) == 1 and jitted(0.0) == first


def test_numbers_of_a_generator_that_is_loaded_meanwhile_are_told_to_be_frozen():
    program = "import numpy as np, fxgrad as fx; fx.jit(lambda x: x + np.random.normal())(0.0)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "np.random was called while f was staged" in done.stderr


def test_scipy_is_told_to_have_been_given_traced_values():
    stats = pytest.importorskip("scipy.stats")
    with pytest.raises(TypeError) as caught:
        fx.grad(stats.norm.logpdf)(1.0)
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert "fx.scipy.stats.norm.logpdf, which takes traced values" in told


@pytest.mark.parametrize("name", ["segment_max", "segment_min", "segment_prod", "segment_sum"])
def test_jax_ops(name):
    assert getattr(fx.ops, name) is getattr(fx.lax, name)


@pytest.mark.parametrize(
    "call, called_as",
    [
        (lambda: fx.lax.fori_loop(0, 3, lambda c: c, 0.0), r"fori_loop calls body_fun\(i, carry\)"),
        (lambda: fx.lax.scan(lambda c: c, 0.0, np.arange(3.0)), r"scan calls f\(carry, x\)"),
        (
            lambda: fx.scipy.integrate.odeint(lambda y: -y, np.ones(1), np.array([0.0, 1.0])),
            r"odeint calls func\(y, t, \*args\)",
        ),
    ],
)
def test_the_error_of_a_function_with_other_parameters_says_how_it_is_called(call, called_as):
    with pytest.raises(TypeError, match=called_as):
        call()


def takes_function(name) -> bool:
    """Whether the first argument of a callable is a function to transform or to evaluate."""
    parameters = [*inspect.signature(FUNCTIONS[name]).parameters.values()]
    return bool(parameters) and parameters[0].name in ("f", "fun", "func")


def required_by(function) -> list[str]:
    """The names of the parameters without which a callable cannot be called."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]


def returns_function(name) -> bool:
    """Whether a callable gives a function of the arguments that are meant."""
    signature = inspect.signature(FUNCTIONS[name])
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    returned = f"{signature.return_annotation} "
    return not takes_any and returned.startswith(("Callable", "Any ")) and ".scipy" not in name


OF_FUNCTIONS = [name for name in FUNCTIONS if takes_function(name) and name != "fxgrad.numpy.frompyfunc"]
AT_ONCE = [name for name in OF_FUNCTIONS if len(required_by(FUNCTIONS[name])) > 1]
CURRIED = ["fxgrad.jit", *[n for n in OF_FUNCTIONS if n not in AT_ONCE and returns_function(n)]]


def told_by(call, *args) -> str:
    """The error of a call."""
    with pytest.raises((TypeError, ValueError)) as caught:
        call(*args)
    return str(caught.value)


@pytest.mark.parametrize(
    "name", [n for n in CURRIED if not n.endswith("shard_map")]
)  # its second is the mesh
def test_a_transform_that_is_given_arguments_says_what_takes_them(name):
    x = np.ones(3)
    assert re.search(r"\w\((fun|f)\)\(", told_by(FUNCTIONS[name], np.sin, x))
    assert re.search(r"\w\((fun|f)\)\(", told_by(FUNCTIONS[name], np.sin, x, x))


# SciPy warns of arrays of objects, which the function that is given for an array becomes, before it misses the others.
@pytest.mark.filterwarnings("ignore:.*dtype=object:DeprecationWarning")
@pytest.mark.parametrize("name", AT_ONCE)
def test_a_function_that_is_not_given_its_arguments_says_that_it_takes_them_at_once(name):
    function = FUNCTIONS[name]
    assert f"{function.__name__}({', '.join(required_by(function))})" in told_by(function, np.sin)


@pytest.mark.parametrize(
    "name", ["vjp", "linearize", "linear_transpose", "closure_convert", "eval_shape", "saved_residuals"]
)
def test_a_function_of_any_arguments_says_that_it_takes_them_at_once(name):
    told = told_by(getattr(fx, name), lambda x: x)
    assert re.search(rf"{name} calls fun\(\*\w+\), of {name}\(fun, \*", told)


def test_errors_of_calls_inside_a_users_function_are_left_alone():
    def two(a, b):
        return a

    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'b'$"):
        fx.lax.fori_loop(0, 3, lambda i, c: two(c), 0.0)


def test_what_is_no_dtype_is_named():
    with pytest.raises(TypeError, match="uniform: 1 is no dtype; the arguments are key, shape, dtype"):
        fx.random.uniform(fx.random.key(0), 0, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda key: fx.random.normal(key, 3, 4),
        lambda key: fx.random.normal(key, 3, 4, 5),
        lambda key: fx.random.gumbel(key, 3, 4),
        lambda key: fx.random.bits(key, 3, 4),
        lambda key: fx.random.rademacher(key, 3, 4),
        lambda key: fx.nn.initializers.normal()(key, 3, 4),
        lambda key: fx.nn.initializers.zeros(key, 3, 4),
        lambda key: fx.lax.full(3, 4, 5),
    ],
)
def test_a_shape_given_number_by_number_is_answered(call):
    with pytest.raises(TypeError) as told:
        call(fx.random.key(0))
    assert str(told.value).count("a shape of several numbers is one argument") == 1
    assert re.search(r"\w+\(…, shape=\(m, n\)\)", str(told.value))


@with_new_numpy
@pytest.mark.parametrize("make", [fnp.zeros, fnp.ones, fnp.empty], ids=lambda make: make.__name__)
def test_a_shape_of_numpys_functions_given_number_by_number_is_answered(make):
    with pytest.raises(TypeError, match="a shape of several numbers is one argument"):
        make(3, 4)


def test_errors_of_other_positions_stay_as_they_are():
    with pytest.raises(TypeError, match=r"positional arguments but 3 were given$"):
        fnp.tile(np.ones(2), 3, 4)
