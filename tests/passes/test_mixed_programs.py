"""Random programs of operands of all dtypes, of numbers as large and as small as these have, of selections in
selections and factors in chains: what is compiled gives what the program as it is written gives."""

import random
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.kernels.native import engine
from fxgrad.passes import gather
from fxgrad.passes.table import PASSES
from tests.kernels.native.random_programs import check_results, is_exact, set_way
from tests.passes.test_programs import EXACT, bits

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f4", "f8", "c8", "c16"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, np.inf, -np.inf, np.nan]  # further ones: the ends of a dtype
NUMBERS = [0, 1, -1, 2, -3, 7, 0.0, -0.0, 0.5, 1.0, -1.0, 0.1, 3.0, 1e-3, 1e3, 1e-30, 1e30, 1e-200, True]
SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (1, 3)]


def draw_array(draw, shape, dtype):
    """An array of ordinary and special numbers, and of those at the ends of what the dtype has."""
    kind, size = np.dtype(dtype).kind, int(np.prod(shape))
    if kind in "iu":
        ends = np.iinfo(dtype)
        numbers = [0, 1, 2, 3, 5, 100, ends.min, ends.max, ends.max - 1, ends.min + 1]
        entries = [draw.choice(numbers) for _ in range(size)]
        return np.array(entries, object).astype(dtype).reshape(shape)[()]
    numbers = list(SPECIAL)
    if kind in "fc":
        ends = np.finfo(dtype)
        numbers += map(
            float, (ends.max, ends.tiny, ends.smallest_subnormal, -ends.max / 3, ends.tiny * 5, ends.eps)
        )
        numbers += [float(ends.max) ** draw.uniform(-0.95, 0.95) for _ in range(3)]
    if draw.random() < 0.5:
        numbers = [1.5, -0.75, 2.0, -3.0, 0.25, *(draw.uniform(-2, 2) for _ in range(4))]
    entries = [draw.choice(numbers) for _ in range(2 * size)]
    if kind == "c":
        both = np.array(entries, float).astype(np.finfo(dtype).dtype)
        return both.view(dtype).reshape(shape)[()]
    return np.array(entries[:size], float).astype(dtype).reshape(shape)[()]


def astype(x, k):
    return x.astype(DTYPES[k % len(DTYPES)])


def number(k):
    return NUMBERS[k % len(NUMBERS)]


# Functions of (values, place of a mask among them or a number).
ONE = [
    lambda x, c, k: -x, lambda x, c, k: -x, lambda x, c, k: x * number(k), lambda x, c, k: number(k) * x,
    lambda x, c, k: x / (number(k) or 1), lambda x, c, k: number(k) / x, lambda x, c, k: x + number(k),
    lambda x, c, k: x - number(k), lambda x, c, k: number(k) - x, lambda x, c, k: x**1,
    lambda x, c, k: x**2 if x.dtype != bool else x,
    lambda x, c, k: fnp.conj(x), lambda x, c, k: fnp.logical_not(x), lambda x, c, k: ~x, lambda x, c, k: abs(x),
    lambda x, c, k: fnp.real(x), lambda x, c, k: fnp.where(c, x, 0),
    lambda x, c, k: fnp.where(c, 0, x), lambda x, c, k: fnp.where(~c, x, number(k)),
    lambda x, c, k: fnp.sum(x, axis=()), lambda x, c, k: fnp.sum(x, axis=-1) if x.ndim else fnp.sum(x, 0),
    lambda x, c, k: fnp.max(x), lambda x, c, k: fnp.reshape(x, -1), lambda x, c, k: x.T, lambda x, c, k: x[..., ::-1],
    lambda x, c, k: fnp.broadcast_to(x, np.broadcast_shapes(x.shape, (2, 3))), lambda x, c, k: x[None],
    lambda x, c, k: fnp.full_like(x, number(k)), lambda x, c, k: astype(x, k), lambda x, c, k: fx.stop_gradient(x),
    lambda x, c, k: (x * number(k)) * number(k + 1), lambda x, c, k: (x / (number(k) or 2)) * number(k + 1),
]  # fmt: skip
TWO = [
    lambda x, y, c, k: x + y, lambda x, y, c, k: x - y, lambda x, y, c, k: x * y, lambda x, y, c, k: x / y,
    lambda x, y, c, k: x + -y, lambda x, y, c, k: x - -y, lambda x, y, c, k: -x + y, lambda x, y, c, k: (-x) * (-y),
    lambda x, y, c, k: (-x) / (-y), lambda x, y, c, k: fnp.where(c, x, y), lambda x, y, c, k: fnp.where(~c, x, y),
    lambda x, y, c, k: fnp.where(c, fnp.where(c, x, y), x), lambda x, y, c, k: fnp.where(c, x, fnp.where(c, y, x)),
    lambda x, y, c, k: fnp.where(c, fnp.where(c, x, 0), y), lambda x, y, c, k: fnp.where(c, x, 0) + fnp.where(c, 0, y),
    lambda x, y, c, k: fnp.where(c, x, 0) + fnp.where(c, y, 0), lambda x, y, c, k: fnp.where(x == y, x, y),
    lambda x, y, c, k: fnp.where(c, fnp.where(x == y, x, 0), 0), lambda x, y, c, k: fnp.maximum(x, y),
    lambda x, y, c, k: fnp.logical_and(x, y), lambda x, y, c, k: fnp.logical_or(x, y), lambda x, y, c, k: x == y,
    lambda x, y, c, k: x & y, lambda x, y, c, k: fnp.stack([x, y]),
]  # fmt: skip
# Those whose kernels for arrays and for what is staged are not the same to the last bit.
INEXACT_ONE = [
    lambda x, c, k: fnp.sign(x),
    lambda x, c, k: fnp.sum(x * number(k)),
    lambda x, c, k: fnp.sum(-x),
]
INEXACT_TWO = [
    lambda x, y, c, k: -(x * y) * y * number(k), lambda x, y, c, k: fnp.where(c, x * y, 0) * y - x / y,
    lambda x, y, c, k: (fnp.where(c, -x, 0) + fnp.where(c, 0, x)) * y / number(k),
    lambda x, y, c, k: fnp.tensordot(x, y, axes=0), lambda x, y, c, k: fnp.dot(x, y.T) * number(k),
    lambda x, y, c, k: fnp.dot(-x, y.T), lambda x, y, c, k: fnp.dot(x * number(k), y.T),
]  # fmt: skip


def draw_program(draw, exact, length=9):
    """(function of arrays, arrays): each step takes what is there already; those that do not fit are left out."""
    one, two = (ONE, TWO) if exact else (ONE + 2 * INEXACT_ONE, TWO + 2 * INEXACT_TWO)
    operands = [draw_array(draw, draw.choice(SHAPES), draw.choice(DTYPES)) for _ in range(draw.randint(1, 4))]
    shape = draw.choice(SHAPES)
    mask = np.array([draw.random() < 0.5 for _ in range(int(np.prod(shape)))]).reshape(shape)[()]
    steps = [
        (draw.choice(one if draw.random() < 0.5 else two), *(draw.randrange(40) for _ in range(3)))
        for _ in range(draw.randint(1, length))
    ]

    def program(mask, *operands):
        made = list(operands)
        for function, i, j, k in steps:
            x, y = made[-1 - i % len(made) if i % 3 else -1], made[j % len(made)]
            try:
                z = function(x, mask, k) if function in one else function(x, y, mask, k)
            except (TypeError, ValueError, IndexError):  # none of these dtypes or shapes
                continue
            if fnp.size(z) <= 64 and fnp.ndim(z) <= 4:
                made.append(fnp.asarray(z))
        return made[-3:]

    return program, (mask, *operands)


# Passes that keep values to rounding: what is computed otherwise.
REORDERED = frozenset({"multiply", "divide", "negative", "contract", "add", "subtract", "reduce_sum"})


def keeps_bits(equation):
    return is_exact(equation) and equation.primitive.name not in REORDERED


def check(seed, mode=None):
    program, operands = draw_program(random.Random(seed), exact=mode is None)
    with np.errstate(all="ignore"), warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        try:
            want = [np.asarray(v) for v in program(*operands)]
        except OverflowError:  # a number that a dtype does not have, of which staging does not know
            return
        staged = fx.make_graph(program)(*operands)
        if mode is None:
            exactly = [bits(v) for v in staged(*operands)]
            made = [*staged.inputs, *(v for e in staged.equations for v in e.outputs)]
            if "c" not in [v.aval.dtype.kind for v in made]:  # NumPy rounds products of scalars otherwise
                assert [bits(v) for v in want] == exactly, staged
            for name in EXACT:
                done = PASSES[name](staged).check()
                # Equation by equation: also in place, NumPy rounds products of complex numbers otherwise.
                assert [bits(v) for v in done(*operands)] == exactly, (name, staged, done)
            return
        set_way(patch, mode)
        for name, value in (
            ("SCANNED_ENTRIES", 2),
            ("COEFFICIENT_RATIO", 1),
            ("LOOKING_PASSES", 0),
        ):  # as for arrays that are large
            patch.setattr(gather, name, value)
        got = [np.asarray(v) for v in fx.jit(program)(*operands)]
        want = [np.asarray(v) for v in staged(*operands)]  # BLAS has 0·∞ as it likes
        check_results(got, want, staged, operands, keeps_bits, signs=True)


SEEDS = st.integers(0, 2**32)
MANY = settings(max_examples=200, suppress_health_check=list(HealthCheck))


@MANY
@given(SEEDS)
def test_exact_passes_keep_every_bit(seed):
    check(seed)


@pytest.mark.parametrize("mode", ["always", "never"] if engine.mode() != "never" else ["never"])
@MANY
@given(seed=SEEDS)
def test_compiled_programs_give_what_is_written(mode, seed):
    check(seed, mode)
