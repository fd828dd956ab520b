"""A misspelt name or keyword is answered by the one that is meant, and completion lists public names only."""

import inspect
import types
from collections.abc import Iterator

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.advice import suggest_keyword

HIDDEN = {"compat", "ops"}  # torch's names are torch's; of the primitives only `jax.ops` is shown


def public_modules(module=fx) -> Iterator[types.ModuleType]:
    """A module, and those that it lists."""
    yield module
    for name in getattr(module, "__all__", dir(module)):
        part = getattr(module, name, None)
        if isinstance(part, types.ModuleType) and part.__name__.startswith("fxgrad") and name not in HIDDEN:
            yield from public_modules(part)


MODULES = {m.__name__: m for m in public_modules()}
# Python's functions that take operands by position, and what is wrapped for objects of other libraries.
FUNCTIONS = {
    f"{name}.{key}": function
    for name, module in MODULES.items()
    for key in getattr(module, "__all__", ())
    if inspect.isfunction(function := getattr(module, key))
    and hasattr(function, "__wrapped__")
    and name not in ("fxgrad.scipy.special", "fxgrad.tree", "fxgrad.tree_util")
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


# One takes no keyword; of another Python itself, from 3.13 on, suggests a longer name that is as near.
UNANSWERED = {"fxgrad.numpy.unique_values", "fxgrad.numpy.cross"}


def test_a_misspelt_keyword_is_answered_by_the_nearest():
    assert len(FUNCTIONS) > 600
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
    suggest_keyword(error, fx.vmap)
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


def test_numbers_of_numpy_generator_are_told_to_be_frozen():
    def noisy(x):
        return x + np.random.normal()

    jitted = fx.jit(noisy)
    with pytest.warns(UserWarning, match="np.random was called while noisy was staged") as caught:
        first = jitted(0.0)
    assert len(caught) == 1 and jitted(0.0) == first


def test_scipy_is_told_to_have_been_given_traced_values():
    stats = pytest.importorskip("scipy.stats")
    with pytest.raises(TypeError) as caught:
        fx.grad(stats.norm.logpdf)(1.0)
    assert "fxgrad.scipy" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("name", ["segment_max", "segment_min", "segment_prod", "segment_sum"])
def test_jax_ops(name):
    assert getattr(fx.ops, name) is getattr(fx.lax, name)
