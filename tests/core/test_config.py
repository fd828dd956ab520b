"""What programs written for JAX say in their first lines: switches, and names that are elsewhere."""

import importlib

import pytest

import fxgrad as fx
from fxgrad.missing import MISSING_NAMES


@pytest.fixture(autouse=True)
def switches(monkeypatch):
    monkeypatch.setattr(fx.config, "IGNORED", dict(fx.config.IGNORED))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax_enable_x64", True),
        ("jax_debug_nans", False),
        ("jax_platforms", "cpu"),
        ("jax_platform_name", None),
    ],
)
def test_a_switch_can_be_set_to_what_is_so_anyway(name, value):
    fx.config.update(name, value)
    assert getattr(fx.config, name) == fx.config.read(name)


@pytest.mark.parametrize("name", sorted(fx.config.FIXED))
def test_another_value_raises_and_says_what_to_write(name):
    value = {"standard": "strict", "allow": "raise", "cpu": "gpu", 1: 2}.get(fx.config.FIXED[name][0])
    with pytest.raises(fx.UnsupportedError, match=name) as error:
        fx.config.update(name, not fx.config.FIXED[name][0] if value is None else value)
    assert error.value.hint


def test_a_switch_without_a_meaning_is_what_it_was_set_to():
    assert fx.config.jax_log_compiles is None
    fx.config.update("jax_log_compiles", True)
    assert fx.config.jax_log_compiles is True


def test_an_unknown_switch_raises():
    for call in (lambda: fx.config.update("jax_enable_x46", True), lambda: fx.config.read("jax_enable_x46")):
        with pytest.raises(fx.StructureError, match="jax_enable_x46"):
            call()
    assert not hasattr(fx.config, "jax_enable_x46")


@pytest.mark.parametrize("name", sorted(MISSING_NAMES))
def test_a_name_of_other_libraries_says_what_to_write(name):
    assert not hasattr(fx, name)
    with pytest.raises(fx.MissingNameError, match=f"fxgrad has no {name}: ") as error:
        getattr(fx, name)
    assert error.value.hint


def test_any_other_name_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="module 'fxgrad' has no attribute 'gard'") as error:
        _ = fx.gard
    assert type(error.value) is AttributeError


@pytest.mark.parametrize(
    ("module", "name", "same"),
    [
        ("flatten_util", "ravel_pytree", lambda: fx.tree.ravel_pytree),
        ("ad_checkpoint", "checkpoint_name", lambda: fx.checkpoint_name),
        ("ad_checkpoint", "print_saved_residuals", lambda: fx.print_saved_residuals),
        ("experimental.ode", "odeint", lambda: fx.scipy.integrate.odeint),
    ],
)
def test_modules_of_jaxs_name_have_what_stands_elsewhere(module, name, same):
    assert getattr(importlib.import_module(f"fxgrad.{module}"), name) is same()
