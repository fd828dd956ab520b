"""What a primitive says of itself besides its rules: the traits that interpreters heed."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.compat.autograd import custom  # noqa: F401 (which declares one)
from fxgrad.core.graph import iter_subgraphs
from fxgrad.core.primitive import REGISTRY, HigherOrder, Primitive
from fxgrad.ops.collective import AxisPrimitive
from fxgrad.ops.ranks import BetweenRanks

X = np.arange(1.0, 4.0)


def classes(base):
    for cls in base.__subclasses__():
        yield cls
        yield from classes(cls)


def carried(graph):
    """All equations of a Graph and of those that its equations carry out."""
    for equation in graph.equations:
        yield equation
        for _, inner in iter_subgraphs(equation.params):
            yield from carried(inner)


PROGRAMS = {
    "scan": lambda x: lax.scan(lambda c, r: (c * r, c), 1.0, x),
    "while": lambda x: lax.while_loop(lambda v: v.sum() < 9, lambda v: v * 2, x),
    "switch": lambda x: lax.switch(x[0].astype(int), [fnp.sin, fnp.cos], x),
    "checkpoint": fx.checkpoint(lambda x: fnp.sin(fnp.sin(x))),
    "custom_vjp": fx.custom(fnp.sin, vjp=lambda ct, y, x: (ct * fnp.cos(x),)),
    "linear_solve": lambda x: lax.custom_linear_solve(lambda v: 2 * v, x, lambda _, b: b / 2, symmetric=True),
    "pure_callback": lambda x: fx.pure_callback(np.sin, fx.ShapeDtypeStruct(x.shape, x.dtype), x),
    "debug_callback": lambda x: (fx.debug.callback(lambda v: None, x), x)[1],
    "jacobian of a scan": lambda x: fx.jacobian(lambda x: lax.scan(lambda c, r: (c * r, c), 1.0, x))(x),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_carries_graphs_is_of_higher_order(program):
    found = list(carried(fx.make_graph(program)(X)))
    for equation in found:
        holds = any(iter_subgraphs(equation.params)) or any(map(callable, equation.params.values()))
        assert isinstance(equation.primitive, HigherOrder) or not holds
    assert any(isinstance(equation.primitive, HigherOrder) for equation in found)


@pytest.mark.parametrize("cls", list(classes(HigherOrder)), ids=lambda cls: cls.__name__)
def test_the_base_says_it_once(cls):
    assert cls.multiple_results and cls.errors_are_users and not cls.kernel_shortcut
    assert not {"multiple_results", "errors_are_users", "kernel_shortcut"} & set(vars(cls))


def test_each_trait_has_one_meaning():
    collectives, between_ranks = set(classes(AxisPrimitive)), {BetweenRanks, *classes(BetweenRanks)}
    for cls in {type(p) for p in REGISTRY.values()} | set(classes(Primitive)) - {AxisPrimitive}:
        higher = issubclass(cls, HigherOrder)
        assert cls.bound_to_axis == (cls in collectives)
        assert cls.errors_are_users == higher
        assert cls.kernel_shortcut == (not higher and cls not in collectives | between_ranks)
        assert higher or cls in between_ranks or not cls.effectful
        assert higher or not (cls.identity_params or cls.rules_run_user_code)


def test_only_bodies_show_their_traits():
    graph = fx.make_graph(PROGRAMS["scan"])(X)
    (scan,) = graph.equations
    assert not scan.effectful and not scan.bound_to_axis and not scan.has_trait("identity_params")
    tell = fx.make_graph(lambda x: lax.scan(lambda c, r: (fx.debug.callback(print, r), (c, r))[1], 0.0, x))(X)
    assert [e.effectful for e in tell.equations] == [True]


# -- tracers with a primal
def nested(function):
    """Whether a value of three levels of derivatives is weak, and what it gives with an array of single precision."""
    seen = []

    def note(x):
        seen.append((x.weak, (x * np.float32(2)).dtype, x.dtype, x.shape, x.aval))
        return x * x * x

    function(note)
    return seen


@pytest.mark.parametrize(
    "outer", [fx.grad, lambda f: lambda x: fx.jvp(f, (x,), (1.0,))[1]], ids=["grad", "jvp"]
)
@pytest.mark.parametrize(
    "inner", [fx.grad, lambda f: lambda x: fx.jvp(f, (x,), (1.0,))[1]], ids=["grad", "jvp"]
)
def test_weakness_passes_through_all_levels(outer, inner):
    ((weak, product, *_, aval),) = nested(lambda f: outer(inner(f))(2.0))
    assert weak and aval.weak and product == np.float32
    ((weak, product, *_, aval),) = nested(lambda f: outer(inner(f))(np.float64(2.0)))
    assert not weak and not aval.weak and product == np.float64


@pytest.mark.parametrize("transform", [fx.vmap, lambda f: fx.vmap(fx.vmap(f)), lambda f: fx.jit(fx.vmap(f))])
def test_a_batch_looks_like_an_entry(transform):
    seen = []
    transform(lambda x: seen.append((x.shape, x.dtype, x.ndim, x.aval.shape, x.aval.dtype)) or x)(
        np.ones((2, 3, 4), np.float32)
    )
    (shape, dtype, ndim, *aval), *_ = seen
    assert shape in {(3, 4), (4,)} and ndim == len(shape) and dtype == np.float32
    assert aval == [shape, dtype]
