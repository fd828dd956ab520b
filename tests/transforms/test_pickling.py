"""Functions and what transforms make of them go to other processes."""

import concurrent.futures
import copy
import inspect
import multiprocessing
import pickle

import cloudpickle
import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

NAMESPACES = [
    fx, fx.numpy, fx.numpy.linalg, fx.numpy.fft, fx.lax, fx.nn, fx.random, fx.tree, fx.optim, fx.debug, fx.testing,
    fx.checkpoint_policies,
]  # fmt: skip


def loss(w, x):
    return fnp.sum(fnp.sin(w * x) ** 2)


loss.unit = "nats"


@fx.grad
def slope(x):
    return x**3


@fx.jit
def cube(x):
    return x**3


W, X = np.arange(3.0), np.linspace(0.0, 1.0, 12).reshape(4, 3)
DERIVED = [
    fx.grad(loss),
    fx.value_and_grad(loss, argnums=(0, 1)),
    fx.vmap(fx.grad(loss), in_axes=(None, 0)),
    fx.jit(fx.vmap(fx.grad(loss), in_axes=(None, 0))),
    fx.jacfwd(loss, 1),
    fx.jacrev(fx.grad(loss)),
    fx.hessian(loss),
    fx.hessian(loss, check=True),
    fx.checkpoint(loss, policy=fx.checkpoint_policies.dots_saveable),
    fx.jit(loss, static_argnums=()),
    fx.vmap(fx.jit(loss), (None, 0)),
]


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda m: m.__name__)
def test_public_functions_pickle_by_name(namespace):
    for name in namespace.__all__:
        value = getattr(namespace, name)
        if callable(value) and getattr(value, "__module__", "").startswith("fxgrad"):
            assert pickle.loads(pickle.dumps(value)) is value, name


@pytest.mark.parametrize("library", [pickle, cloudpickle], ids=lambda m: m.__name__)
@pytest.mark.parametrize("function", DERIVED, ids=repr)
def test_derived_functions_pickle(function, library):
    again = library.loads(library.dumps(function))
    arguments = (W, X) if "vmap" in repr(function) else (W, X[1])
    for one, other in zip(fx.tree.leaves(function(*arguments)), fx.tree.leaves(again(*arguments))):
        np.testing.assert_array_equal(one, other)
    assert repr(again) == repr(function)
    assert inspect.signature(again) == inspect.signature(loss)
    assert again.unit == "nats"


def test_decorated_functions_pickle_by_name():
    assert pickle.loads(pickle.dumps(slope)) is slope
    assert pickle.loads(pickle.dumps(cube)) is cube


def test_closures_pickle_with_cloudpickle():
    scale = 2.5
    function = fx.jit(fx.vmap(fx.grad(lambda x: fnp.sin(scale * x))))
    again = pickle.loads(cloudpickle.dumps(function))
    np.testing.assert_array_equal(again(W), function(W))


def test_derived_functions_go_to_another_process():
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, spawn) as pool:
        result = pool.submit(fx.vmap(fx.grad(loss), in_axes=(None, 0)), W, X).result(timeout=120)
    np.testing.assert_array_equal(result, fx.vmap(fx.grad(loss), in_axes=(None, 0))(W, X))


def test_derived_functions_are_copied_as_functions_are():
    function = fx.grad(loss)
    assert copy.copy(function) is function and copy.deepcopy([function])[0] is function


def test_derived_functions_are_methods_of_a_class():
    class Model:
        power = 3
        slope = fx.grad(lambda self, x: x**self.power, argnums=1)

    assert Model().slope(2.0) == 12.0
    assert isinstance(inspect.getattr_static(Model, "slope"), type(fx.grad(loss)))


def test_a_derived_function_names_what_it_is_made_of():
    assert repr(fx.jit(fx.vmap(fx.grad(loss)))) == "<fx.jit of fx.vmap of fx.grad of loss>"
    assert fx.grad(loss).__name__ == "loss" and fx.grad(loss).__wrapped__ is loss


def test_a_derived_function_has_the_attributes_of_the_users_function_only():
    assert fx.grad(fx.jit(loss)).unit == "nats"
    assert not hasattr(fx.grad(fx.jit(loss)), "lower") and not hasattr(fx.vmap(fx.custom_jvp(loss)), "defjvp")


def test_dir_shows_public_names_once():
    for namespace in (fx, fx.numpy, fx.numpy.linalg, fx.lax, fx.nn, fx.optim):
        names = [name for name in dir(namespace) if not name.startswith("__")]
        assert sorted(set(names)) == names
        assert set(names) == {name for name in namespace.__all__ if not name.startswith("__")}
