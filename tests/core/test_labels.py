"""Series, DataFrames and DataArrays: functions get the values, and what has the structure of an argument its labels."""

import os
import subprocess
import sys

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import optim
from fxgrad.core.errors import DTypeError, StructureError

X = np.array([[0.5, 1.5, 2.5], [0.1, 0.2, 0.3]])


def series():
    return pytest.importorskip("pandas").Series(X[0], index=["c", "a", "b"], name="w")


def frame():
    return pytest.importorskip("pandas").DataFrame(X, index=["r", "s"], columns=["c", "a", "b"])


def data_array():
    xarray = pytest.importorskip("xarray")
    time = ("t", [1.0, 2.0], {"unit": "s"})
    return xarray.DataArray(X, dims=("t", "x"), coords={"t": time}, name="n", attrs={"unit": "m"})


MAKERS = pytest.mark.parametrize("make", [series, frame, data_array])


def loss(x):
    return fnp.sum(fnp.sin(x) * x)


def slope(x):
    return np.cos(x) * x + np.sin(x)


def assert_labelled(found, like, values):
    """`found` is what `like` is, with its labels and these values."""
    assert type(found) is type(like)
    assert found.equals(
        like.copy(data=values) if hasattr(like, "dims") else type(like)(values, **labels(like))
    )
    assert getattr(found, "attrs", {}) == getattr(like, "attrs", {})


def labels(like):
    return {"index": like.index} | ({"columns": like.columns} if like.ndim == 2 else {"name": like.name})


GRADIENTS = {
    "grad": lambda x: fx.grad(loss)(x),
    "value_and_grad": lambda x: fx.value_and_grad(loss)(x)[1],
    "vjp": lambda x: fx.vjp(loss, x)[1](1.0)[0],
    "of a part": lambda x: fx.grad(lambda p: loss(p["w"][0]))({"w": [x]})["w"][0],
    "by its name": lambda x: fx.grad(lambda b, a: loss(a), argnums=1)(1.0, x),
    "checkpoint": lambda x: fx.grad(fx.checkpoint(loss))(x),
    "of a jitted function": lambda x: fx.grad(fx.jit(loss))(x),
}


@MAKERS
@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_has_the_labels_of_its_argument(make, name):
    x = make()
    assert_labelled(GRADIENTS[name](x), x, slope(x.to_numpy()))


@MAKERS
def test_functions_get_the_values(make):
    x = make()
    seen = []
    fx.grad(lambda y: (seen.append(y), loss(y))[1])(x)
    assert isinstance(seen[0], fx.Array)
    assert seen[0].shape == x.shape
    for transform in (fx.jit, fx.vmap):
        y = transform(fnp.sin)(x)
        assert type(y) is np.ndarray
        np.testing.assert_allclose(y, np.sin(x.to_numpy()), rtol=1e-15)  # machine code or not
    hessian = fx.hessian(loss)(x)
    assert type(hessian) is np.ndarray
    np.testing.assert_allclose(hessian, fx.hessian(loss)(x.to_numpy()))


@MAKERS
def test_entrywise_functions_of_plain_values_keep_labels(make):
    x = make()
    for function in (fnp.sin, lambda x: fnp.add(x, 1.0), lambda x: fnp.hypot(x, X[0])):
        assert_labelled(function(x), x, function(x.to_numpy()))
    assert float(fx.grad(lambda s: fnp.sum(s * x))(1.0)) == pytest.approx(x.to_numpy().sum())


@MAKERS
def test_trees_have_labels_in_their_structure(make):
    x = make()
    assert_labelled(fx.tree.map(lambda a, b: a + 2 * b, x, x), x, 3 * x.to_numpy())
    optimizer = optim.adam(0.1)
    state = optimizer.init(x)
    updates, state = optimizer.update(fx.grad(loss)(x), state, x)
    step = optim.apply_updates(x, updates)
    assert_labelled(step, x, optim.apply_updates(x.to_numpy(), updates.to_numpy()))


def test_labels_that_differ_are_not_aligned():
    x = series()
    with pytest.raises(StructureError, match="different labels"):
        fnp.add(x, x[::-1])
    with pytest.raises(StructureError, match=r"index=\['c', 'a', 'b'\]"):
        fx.tree.map(lambda a, b: a + b, x, x[::-1])
    np.testing.assert_array_equal(fx.vjp(lambda y: fnp.add(y, x), x[::-1])[0], X[0] + X[0][::-1])


def test_jitted_functions_do_not_keep_labels_of_other_calls():
    step = fx.jit(lambda x: x * 2.0)
    for x in (series(), series() + 1, series()[::-1], frame()):
        np.testing.assert_array_equal(step(x), 2 * x.to_numpy())
    gradient = fx.grad(fx.jit(loss))
    for x in (series(), series()[::-1], series()[:2]):
        assert_labelled(gradient(x), x, slope(x.to_numpy()))


def test_what_has_no_numbers_is_refused():
    x = frame()
    x["text"] = "a"
    with pytest.raises(DTypeError, match="object"):
        fx.grad(loss)(x)


def test_a_library_that_is_imported_later_is_known():
    """Whoever imports it, before the first transform or between two."""
    series()
    program = """
import importlib.util, sys, numpy as np, fxgrad as fx, fxgrad.numpy as fnp
call = {call}
assert importlib.util.find_spec("pandas") and "pandas" not in sys.modules  # who only asks whether it is there
import pandas
x = pandas.Series([1.0, 2.0], index=["a", "b"])
print(list(getattr(call(x), "index", [])), sys.modules.get("xarray"), len(fx.tree.leaves({{"w": x}})[0].shape))
"""
    calls = {
        "fx.grad(fnp.sum)": "['a', 'b']",
        "lambda x: fx.value_and_grad(fnp.sum)(x)[1]": "['a', 'b']",
        "lambda x: fx.vjp(fnp.sum, x)[1](1.0)[0]": "['a', 'b']",
        "lambda x: fx.optim.adam(0.1).init(x)[0].mu": "['a', 'b']",
        "fx.jit(fnp.sin)": "[]",
    }
    for call, told in calls.items():
        run = subprocess.run(
            [sys.executable, "-c", program.format(call=call)], capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == f"{told} None 1"


def test_an_import_that_fails_may_be_tried_again(tmp_path):
    (tmp_path / "pandas.py").write_text(
        "import os\nif 'READY' not in os.environ: raise ImportError('not yet')\nclass Series: ..."
    )
    program = """
import os, sys
import fxgrad as fx
try:
    import pandas
except ImportError as error:
    print(error)
os.environ["READY"] = "1"
import pandas
print(fx.tree.is_tree_node(pandas.Series), pandas.__spec__.name)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )  # fmt: skip
    assert run.stdout.split("\n")[:2] == ["not yet", "True pandas"]
