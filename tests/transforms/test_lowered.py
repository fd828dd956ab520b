"""`fx.jit(f).lower(*args)`: what the compiler makes of a function, to look at and to call."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.graph import Graph

X = np.arange(3.0)


def loss(w, x):
    return fnp.sum(fnp.maximum(w["a"] * x, 0) ** 2)


def test_every_pass_is_shown():
    lowered = fx.jit(fx.grad(loss)).lower({"a": X}, X)
    assert next(iter(lowered.passes)) == "staged" and {"constants", "algebra", "common"} < set(lowered.passes)
    assert all(type(graph) is Graph for graph in lowered.passes.values())
    counts = [len(graph.equations) for graph in lowered.passes.values()]
    assert counts[-1] < counts[0]
    assert lowered.as_text() == repr(list(lowered.passes.values())[-1])
    text = repr(lowered)
    assert text.startswith(f"loss, {counts[0]} equations as staged") and lowered.as_text() in text
    assert "def compiled(" in lowered.source


def test_the_compiled_function_is_the_function():
    lowered = fx.jit(fx.grad(loss)).lower({"a": X}, x=X)
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled({"a": X + 1}, x=X)["a"], fx.grad(loss)({"a": X + 1}, X)["a"])
    assert repr(compiled) == compiled.as_text() == lowered.as_text() and compiled.source == lowered.source
    tangents = fx.jvp(lambda w: compiled(w, x=X), ({"a": X},), ({"a": X},))[1]
    np.testing.assert_allclose(tangents["a"], 2 * X**3)


def test_shapes_stand_for_arrays_and_nothing_runs():
    seen = []

    def f(x, n):
        fx.debug.callback(lambda v: seen.append(v), x)
        return x**n

    lowered = fx.jit(f, static_argnums=1).lower(fx.ShapeDtypeStruct((3,), "f4"), 2)
    assert seen == [] and next(iter(lowered.passes.values())).in_avals[0].dtype == "f4"
    assert lowered.compile()(X.astype("f4")).dtype == "f4" and len(seen) == 1


def test_arguments_of_another_kind_are_refused():
    compiled = fx.jit(loss).lower({"a": X}, X).compile()
    with pytest.raises(ValueError, match="argument"):
        compiled({"a": X}, np.ones(4))
    with pytest.raises(TypeError, match=r"argument .* is f32\[3\], it is compiled for f64\[3\]"):
        compiled({"a": X.astype("f4")}, X)
    with pytest.raises(TypeError, match="structure"):
        compiled([X], X)
    with pytest.raises(TypeError, match="argument"):
        compiled({"a": "text"}, X)
