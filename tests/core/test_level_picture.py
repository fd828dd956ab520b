"""`fx.debug.levels`: what is open at a point of a program, and what values are made of there."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp

SVG = "{http://www.w3.org/2000/svg}"


def seen_in(transform, *args, **more):
    """The levels that a function sees under a transform, around its argument x."""
    seen = []

    def f(x):
        seen.append(fx.debug.levels(x=x, **more))
        return fnp.sum(fnp.sin(x))

    transform(f)(*args)
    return seen[0]


def rows(levels):
    """The lines of the table without places."""
    return [re.sub(r" at \S+", "", re.sub(r"  +", "  ", line)) for line in str(levels).splitlines()]


def test_outside_all_transforms_there_is_evaluation():
    assert rows(fx.debug.levels(x=np.ones(3), n=2.0)) == [
        "level 0  evaluation  x: ndarray f64[3],  n: float f64*[]"
    ]


def test_each_transform_is_a_level_and_the_innermost_comes_first():
    assert rows(seen_in(lambda f: fx.vmap(fx.grad(f)), np.ones((5, 3)))) == [
        "level 2  grad  x: ReverseTracer f64[3]",
        "level 1  vmap  x.primal: BatchTracer f64[3]",
        "level 0  evaluation  x.primal.value: ndarray f64[5,3]",
    ]


def test_a_value_may_have_parts_on_several_levels():
    def columns(f):
        return lambda x, vs: fx.vmap(lambda v: fx.jvp(fx.grad(f), (x,), (v,)))(vs)

    assert rows(seen_in(columns, np.ones(3), np.eye(3))) == [
        "level 3  grad  x: ReverseTracer f64[3]",
        "level 2  jvp  x.primal: JVPTracer f64[3]",
        "level 1  vmap  x.primal.tangent: BatchTracer f64[3]",
        "level 0  evaluation  x.primal.primal: ndarray f64[3],  x.primal.tangent.value: ndarray f64[3,3]",
    ]


def test_behind_variables_of_a_graph_there_is_nothing():
    assert rows(seen_in(fx.jit, np.ones(3))) == ["level 1  jit  x: GraphTracer f64[3]", "level 0  evaluation"]


def test_levels_that_only_look_on_are_not_counted():
    with fx.profile():
        assert rows(seen_in(fx.grad, np.ones(3))) == [
            "level 1  grad  x: ReverseTracer f64[3]",
            "level 0  evaluation  x.primal: ndarray f64[3]",
        ]


def test_places_are_the_users_lines():
    opened_at = seen_in.__code__.co_firstlineno + 8  # where it calls the transformed function
    assert f"grad at tests/core/test_level_picture.py:{opened_at} " in str(seen_in(fx.grad, np.ones(3)))


def test_tensors_are_their_values():
    seen = rows(seen_in(fx.grad, torch.ones(3)))
    assert "level 1  grad  x: ReverseTracer f32[3]" in seen
    assert seen[-1] == "level 0  evaluation  x.primal: ndarray f32[3]"


def test_values_of_closed_levels_are_refused():
    kept = []
    fx.grad(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(fx.EscapedTracerError, match="levels"):
        fx.debug.levels(x=kept[0])


def test_the_picture_has_a_band_for_each_level_and_a_box_for_each_value():
    shown = seen_in(lambda f: fx.vmap(fx.grad(f)), np.ones((5, 3)), w=np.ones(2))
    root = ElementTree.fromstring(shown._repr_svg_())
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert len(root.findall(f"{SVG}rect")) == 3 + 4 and len(root.findall(f"{SVG}path")) == 2
    assert {"level 2: grad", "level 0: evaluation", "x.primal.value", "ndarray f64[5,3]", "w"} <= set(texts)
