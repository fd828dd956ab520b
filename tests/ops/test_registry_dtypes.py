"""Every primitive over dtypes, Python scalars and empty operands: what is staged is what is computed.

NumPy's kernel is the reference for shape, dtype and weakness (NEP 50): the abstract rule must give the same, or
refuse where the kernel does. Tangents have the dtype of the result, cotangents that of the operand.
"""

import itertools

import ml_dtypes
import numpy as np
import pytest

from fxgrad.core.aval import Aval, aval_of, is_differentiable
from fxgrad.core.primitive import REGISTRY
from fxgrad.core.staging import stage
from fxgrad.ops.kinds import Elementwise
from fxgrad.testing import random_like
from fxgrad.transforms.jvp import jvp
from fxgrad.transforms.vjp import vjp
from fxgrad.transforms.vmap import vmap
from tests.sample import active, drawn
from tests.samples import SAMPLES
from tests.together import together

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
REAL = [np.dtype(name) for name in ("float16", "float32", "float64")]
COMPLEX = [np.dtype(name) for name in ("complex64", "complex128")]
DISCRETE = [np.dtype(name) for name in ("bool", "uint8", "int32", "int64")]
PYTHON = [True, 1, 1.0, 1.0 + 0.5j]
ELEMENTWISE = {name: p for name, p in REGISTRY.items() if isinstance(p, Elementwise)}

each_elementwise = pytest.mark.parametrize("name", ELEMENTWISE)
ignoring_floating_point_warnings = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def params_of(name):
    return next(s.params for s in SAMPLES if s.name == name)


def outcome(function):
    """The aval of a result, or the class of the error."""
    try:
        return aval_of(function())
    except (TypeError, ValueError) as error:
        return next(kind for kind in (TypeError, ValueError) if isinstance(error, kind))


def combinations(name, choices):
    """Operands for every choice of dtypes (arrays) and Python numbers."""
    count, shape = len(ELEMENTWISE[name].partials), () if name == "weaken" else (2,)
    for picked in itertools.product(choices, repeat=count):
        yield [p if type(p) in (bool, int, float, complex) else np.ones(shape, p) for p in picked]


@each_elementwise
@ignoring_floating_point_warnings
def test_staged_avals_are_those_of_numpy(name):
    primitive, params = ELEMENTWISE[name], params_of(name)
    choices = (
        [*DISCRETE, *REAL, *COMPLEX, *PYTHON] if len(primitive.partials) < 3 else [*REAL, *COMPLEX, True, 1.0]
    )
    for operands in combinations(name, choices):
        expected = outcome(lambda operands=operands: primitive.kernel(*operands, **params))
        actual = outcome(
            lambda operands=operands: primitive.abstract_eval([aval_of(x) for x in operands], params)
        )
        assert actual == expected, operands


@each_elementwise
@ignoring_floating_point_warnings
def test_bfloat16_is_staged_as_it_is_computed(name):
    primitive, params = ELEMENTWISE[name], params_of(name)
    for operands in combinations(name, [BFLOAT16, 1.0]):
        expected = outcome(lambda operands=operands: primitive.kernel(*operands, **params))
        actual = outcome(
            lambda operands=operands: primitive.abstract_eval([aval_of(x) for x in operands], params)
        )
        assert actual == expected, operands


@each_elementwise
@ignoring_floating_point_warnings
def test_derivatives_have_the_dtypes_of_their_values(name):
    primitive, params = ELEMENTWISE[name], params_of(name)
    rng = np.random.default_rng(0)
    choices = [*REAL, *COMPLEX, BFLOAT16, 1.0] if len(primitive.partials) < 3 else [REAL[1], COMPLEX[0], 1.0]
    for operands in combinations(name, choices):
        result = outcome(lambda operands=operands: primitive.kernel(*operands, **params))
        if not isinstance(result, Aval) or not is_differentiable(result.dtype):
            continue
        if name == "sign" and result.dtype.kind == "c":
            continue  # refused: see ops/test_masked.py

        def call(*xs):
            return primitive.call(*xs, **params)

        y, t = jvp(call, operands, random_like(rng, *operands))
        assert (t.shape, t.dtype) == (aval_of(y).shape, aval_of(y).dtype), operands
        cts = vjp(call, *operands)[1](random_like(rng, y)[0])
        wanted = [(aval_of(x).shape, aval_of(x).dtype) for x in operands]
        assert [(c.shape, c.dtype) for c in cts] == wanted, operands
        for i, x in enumerate(operands):  # the others constant: Python scalars among them stay weak
            (ct,) = vjp(lambda v, i=i, full=operands: call(*full[:i], v, *full[i + 1 :]), x)[1](
                random_like(rng, y)[0]
            )
            assert (ct.shape, ct.dtype) == wanted[i], operands


def test_a_rule_is_not_shared_between_scalars_and_arrays():
    """The compiled pullbacks are cached by what the operands are; Python scalars have rules of their own."""
    single = np.full(3, 2.0, np.float32)
    calls = [
        lambda: vjp(REGISTRY["power"].call, 2.0, 3.0)[1](1.0),
        lambda: vjp(REGISTRY["power"].call, np.full((2, 1), 2.0), np.full((1, 3), 3.0))[1](np.ones((2, 3))),
        lambda: vjp(lambda x: REGISTRY["power"].call(x, np.full(3, 3, np.float32)), single)[1](single),
        lambda: vjp(lambda x: REGISTRY["power"].call(x, 3.0), single)[1](single),
        lambda: vjp(REGISTRY["angle"].call, 2.0)[1](1.0),
        lambda: vjp(REGISTRY["angle"].call, single + 1j)[1](single),
        lambda: vjp(REGISTRY["absolute"].call, 2.0)[1](1.0),
        lambda: vjp(REGISTRY["absolute"].call, single + 1j)[1](single),
    ]

    def results(order):
        for primitive in REGISTRY.values():
            getattr(primitive, "derived", {}).clear()
        return {i: calls[i]() for i in order}

    forwards, backwards = results(range(len(calls))), results(range(len(calls))[::-1])
    for i in forwards:
        for a, b in zip(forwards[i], backwards[i]):
            assert aval_of(a) == aval_of(b)
            np.testing.assert_array_equal(a, b)


def recast(x, dtype):
    """x in another dtype, without its imaginary part where that is real."""
    return (x if dtype.kind == "c" else x.real).astype(dtype)


# Those whose params are Graphs have the dtypes that these were staged for.
OTHERS = [s for s in SAMPLES if s.name not in ELEMENTWISE and s.of is None and active(s)]


@together(sample=lambda sample: sample.name)
@pytest.mark.parametrize("sample", OTHERS, ids=str)
@ignoring_floating_point_warnings
def test_other_operations_over_dtypes(sample):
    rng, operands = drawn(sample)
    positions = active(sample)
    for dtype in [*DISCRETE, *REAL, *COMPLEX, BFLOAT16]:
        cast = [recast(x, dtype) if i in positions else x for i, x in enumerate(operands)]
        result = outcome(lambda cast=cast: sample.call(*cast))
        if not isinstance(result, Aval):
            continue

        def call(*xs, cast=cast):
            full = list(cast)
            for i, x in zip(positions, xs):
                full[i] = x
            return sample.call(*full)

        graph = stage(lambda *xs: [sample.call(*xs)], [aval_of(x) for x in cast])
        assert graph.out_avals == [result], (
            f"of {dtype}: staged, by the abstract rule, and computed, by the kernel"
        )
        xs = [cast[i] for i in positions]
        if not is_differentiable(dtype) or not is_differentiable(result.dtype):
            continue
        y, t = jvp(call, xs, random_like(rng, *xs))
        assert aval_of(t) == aval_of(y) == result, dtype
        cts = vjp(call, *xs)[1](random_like(rng, y)[0])
        assert [aval_of(c) for c in cts] == [aval_of(x) for x in xs], dtype


@together("shape")
@each_elementwise
@pytest.mark.parametrize("shape", [(0,), (2, 0), ()], ids=str)
def test_empty_and_zero_dimensional_operands(name, shape):
    primitive = ELEMENTWISE[name]
    sample = next(s for s in SAMPLES if s.name == name)
    rng, full = drawn(sample)
    operands = [np.full(shape, x.reshape(-1)[0]) for x in full]

    def call(*xs):
        return primitive.call(*xs, **sample.params)

    y = call(*operands)
    assert aval_of(y).shape == shape
    graph = stage(lambda *xs: [call(*xs)], [aval_of(x) for x in operands]).check()
    np.testing.assert_array_equal(graph(*operands)[0], y)
    assert vmap(call)(*[np.stack([x] * 3) for x in operands]).shape == (3, *shape)
    assert vmap(call)(*[np.zeros((0, *shape), x.dtype) for x in operands]).shape == (0, *shape)
    xs = [operands[i] for i in active(sample)]
    if xs and is_differentiable(aval_of(y).dtype):

        def smooth(*values):
            rest = iter(values)
            return call(*[next(rest) if i in active(sample) else x for i, x in enumerate(operands)])

        ts = random_like(rng, *xs)
        (ct,) = random_like(rng, y)
        assert jvp(smooth, xs, ts)[1].shape == shape
        assert [c.shape for c in vjp(smooth, *xs)[1](ct)] == [shape] * len(xs)
