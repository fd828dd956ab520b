"""Python numbers as operands and parameters of operations under torch and fxgrad.compat: what becomes of −0, NaN, bool,
and of what the dtype does not have."""

from __future__ import annotations

import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.case import Case, T, gathered
from tests.parity.compat.cases_special import FAMILIES
from tests.parity.compat.comparison import as_numpy, check_same, flat, outcome

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")

# Those that compare equal stand side by side: what is kept under the first must not be found by the second.
NUMBERS = (0.0, -0.0, 1, 1.0, True, False, -1, -2.5, 300, 3e9, -1e39, math.inf, -math.inf, math.nan)
DTYPES = ("float64", "float32", "int64", "uint8")

# Of these only floating operands are compared: torch subtracts unsigned integers, and divides whole ones, as such.
FLOATING = ("_loss", "_distance", "local_response_norm", "lp_pool1d", "lp_pool2d")
# These are no numbers but sizes, or decide about them.
SIZES = ("interpolate", "upsample_bilinear", "max_unpool2d", "tensordot", "searchsorted")
# Of these the sign of a zero is not compared. torch's depends on the width of vectors in softshrink and sums; that of
# `%` is the dividend's, Python's the divisor's; and where an operand is a limit itself, or elu's kink, either will do.
UNSIGNED = (
    "softshrink", "trapezoid", "cumulative_trapezoid", "batch_norm", "remainder", "__rmod__", "elu", "hardtanh",
)  # fmt: skip
# What differs, by the text of the number, and why.
POWERS = {"300", "3000000000.0", "-1e+39"}  # torch's powers overflow, or are computed in another precision
BEYOND = {"-1e+39"}  # torch refuses it for float32, compiled code takes it for infinity
INFINITE = {"inf", "-inf"}  # torch meets infinity with zeros of its own
UNKNOWN = {"nan"}  # as a tolerance, a margin or a correction torch takes it for one that does not count
# torch overflows to NaN in single precision, takes minutes, or casts what is no degree to the least integer.
DEGREES = {"300", "3000000000.0", "inf", "nan"}
DIFFERENCES = {
    **dict.fromkeys(("cdist", "dist", "norm", "linalg.norm", "linalg.vector_norm", "normalize"), POWERS),
    **dict.fromkeys(("pairwise_distance", "triplet_margin_loss"), POWERS),
    **dict.fromkeys(
        ("clamp", "clamp_", "clamp_min", "clamp_max", "clamp_max_", "clip", "lerp", "lerp_"), BEYOND
    ),
    **dict.fromkeys(("gaussian_nll_loss", "hinge_embedding_loss"), BEYOND),
    **dict.fromkeys(
        ("addmm", "addbmm", "scaled_dot_product_attention", "signal.windows.exponential"), INFINITE
    ),
    **{f"special.{family}": DEGREES for family in FAMILIES},
    **dict.fromkeys(("var", "std", "var_mean", "std_mean", "linalg.pinv", "linalg.matrix_rank"), UNKNOWN),
    "multi_margin_loss": UNKNOWN | BEYOND,
    "softplus": POWERS | INFINITE | UNKNOWN,  # e⁸⁰⁰ is infinite, its logarithm is not
    "elu": INFINITE | UNKNOWN,  # at its kink
    "trapezoid": {"True", "False"},  # which torch refuses
    "cumulative_trapezoid": {"True", "False"},
    "pad": {"-1"},  # torch takes it for a float
    "cross_entropy": {"-1", "-2.5", "-1e+39", "-inf", "nan"},  # which torch does not refuse
    "hardtanh_": {
        str(x) for x in NUMBERS
    },  # limits in the wrong order, which torch refuses for hardtanh only
}


def short(name: str) -> str:
    return name.removeprefix("nn.functional.").removeprefix(".")


def with_number(case: Case, place: int | str, number) -> Case:
    """The call with another number at a place."""
    if isinstance(place, int):
        return replace(case, args=(*case.args[:place], number, *case.args[place + 1 :]))
    return replace(case, kwargs=case.kwargs | {place: number})


def in_dtype(case: Case, dtype: str) -> Case:
    """The call with its double precision operands in another dtype."""

    def changed(t: T) -> T:
        if t.dtype != "float64":
            return t
        if dtype.startswith("float"):
            return t.but(dtype=dtype)
        values = None if t.values is None else np.abs(np.asarray(t.values)) % 100
        return t.but(dtype=dtype, low=0, high=5, grad=False, values=values)

    return case.changed(changed)


def result(case: Case, library):
    """(results, class of the error)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return outcome(lambda: case.call(library, case.tensors(library)))
    except ArithmeticError as error:
        return None, type(error)


def takes_numbers(case: Case, place: int | str, given) -> bool:
    """Whether the number at a place is none that has to be whole, as dimensions and sizes are."""
    if type(given) not in (int, float) or any(spec.of is not None for spec in case.specs):
        return False
    tried = (0.5,) if type(given) is float else (0.5, 1.0)
    return all(result(with_number(case, place, x), torch)[1] is not TypeError for x in tried)


def numbers() -> dict[str, tuple[Case, int | str]]:
    """(case, place) of every number of every operation, once."""
    found: dict[str, tuple[Case, int | str]] = {}
    for case in gathered():
        if short(case.name) not in SIZES:
            for place, given in (*enumerate(case.args), *case.kwargs.items()):
                name = f"{case.name}-{place}"
                if name not in found and takes_numbers(case, place, given):
                    found[name] = case, place
    return found


FOUND = numbers()


def difference(case: Case, signed: bool) -> str | None:
    """How the results differ: in class of error, value, or sign of zero."""
    (ours, error), (theirs, expected) = result(case, fxt), result(case, torch)
    if error is None is expected:
        try:
            check_same(ours, theirs, 1e-9)
        except AssertionError as failure:
            return str(failure)
        for a, b in zip(flat(ours), flat(theirs)) if signed else ():
            a, b = as_numpy(a), as_numpy(b)
            if a.dtype.kind == "f" and ((np.signbit(a) != np.signbit(b)) & (a == 0)).any():
                return f"{a} and {b}"
        return None
    fits = error is not None and expected is not None and issubclass(error, expected)
    return None if fits else f"{error} and {expected}"


@pytest.mark.parametrize("name", FOUND)
def test_every_number(name):
    case, place = FOUND[name]
    operation = short(case.name)
    known = DIFFERENCES.get(operation, ())
    floating = operation.endswith(FLOATING)
    for dtype in DTYPES[:2] if floating else DTYPES:
        here = in_dtype(case, dtype)
        if None not in (result(here, torch)[1], result(with_number(here, place, 1), torch)[1]):
            continue  # torch does not have it for the dtype
        for number in NUMBERS:
            if str(number) not in known:
                found = difference(with_number(here, place, number), operation not in UNSIGNED)
                assert found is None, (dtype, number, found)


def test_there_are_numbers():
    assert len(FOUND) > 190


# -- single programs ------------------------------------------
def gradient(library, function, *values):
    """(result, gradients) of a function of leaves."""
    leaves = [
        library.tensor(v, dtype=library.cdouble if isinstance(v[0], complex) else library.float64)
        for v in values
    ]
    for x in leaves:
        x.requires_grad_()
    y = function(*leaves)
    (y.real if y.is_complex() else y).sum().backward()
    return [y, *(x.grad for x in leaves)]


def ints(library, *shape, dtype="int32"):
    return library.arange(math.prod(shape), dtype=getattr(library, dtype)).reshape(shape)


PROGRAMS = {
    "complex-powers": lambda t: [
        r
        for base in (-1, -2, -0.5, 2)
        for r in gradient(t, lambda z, base=base: base**z, [0.3 + 0.4j, -1 + 0.1j])
    ],
    "ldexp": lambda t: [
        t.ldexp(t.tensor([0.0, 1e-30, 1.0, math.inf, math.nan]), t.tensor([200, 200, -149, -3, 2])),
        t.ldexp(t.tensor([1e300, -5e-324], dtype=t.float64), t.tensor([-2000, 2000])),
        t.ldexp(t.tensor([1.0, 2.0]), t.tensor([math.inf, -math.inf])),
        t.ldexp(t.tensor([1, 2]), t.tensor([0.5, -1.5])),
        t.ldexp(t.tensor([1j]), t.tensor(20)),
        *gradient(t, t.ldexp, [1.0, -3.0], [0.5, 2.0]),
    ],
    "negative-zero": lambda t: [
        1 / x
        for x in (
            t.full((2,), -0.0),
            t.full_like(t.ones(2), -0.0),
            t.ones(2).new_full((2,), -0.0),
            t.ones(2).fill_(-0.0),
            t.ones(2).masked_fill(t.tensor([True, False]), -0.0),
            t.where(t.tensor([True, False]), -0.0, t.ones(2)),
            t.ones(2).index_fill(0, t.tensor([1]), -0.0),
            t.ones(2).scatter(0, t.tensor([1]), -0.0),
            t.ones(2, 2).fill_diagonal_(-0.0),
            t.nn.functional.pad(t.ones(2), (1, 1), value=-0.0),
            t.nn.functional.pad(t.ones(2), (1, -1), value=0.0),
            t.nn.functional.threshold(t.ones(2), 2.0, -0.0),
            t.tensor(-0.0),
            t.tensor([-0.0, 0.0]),
        )
    ],
    "overloads": lambda t: [
        f(t.ones(2, 2) * 3, t.ones(2, 2))
        for f in (
            lambda x, y: x.add_(2, y),
            lambda x, y: x.sub_(2, y),
            lambda x, y: x.add(2.5, y),
            lambda x, y: t.add(x, 2, y),
            lambda x, y: t.add(x, 2, y, out=t.zeros(2, 2)),
            lambda x, y: t.sub(x, 2, y),
            lambda x, y: x.addcmul_(2, y, x + 0),
            lambda x, y: t.addcmul(x, 2, y, x),
            lambda x, y: x.addcdiv_(2, y, x + 0),
            lambda x, y: t.addcdiv(x, 2, y, x),
            lambda x, y: x.addmm_(2, y, y),
            lambda x, y: x.addmm(2, 3, y, y),
            lambda x, y: t.addmm(2, x, 3, y, y),
            lambda x, y: t.addmm(2, x, y, y),
            lambda x, y: t.addmv(2, x[0], 3, y, y[0]),
            lambda x, y: t.addr(2, x, 3, y[0], y[0]),
            lambda x, y: t.addbmm(2, x, 3, y[None], y[None]),
            lambda x, y: t.baddbmm(2, x[None], 3, y[None], y[None]),
        )
    ],
    "einsum-of-integers": lambda t: [
        t.einsum(equation, *[ints(t, *"x" * n and (2,) * n, dtype=d) for n in ranks])
        for d in ("int32", "uint8")
        for equation, *ranks in (
            ("ij,jk", 2, 2),
            ("i->", 1),
            ("ij->i", 2),
            ("ij->ji", 2),
            ("ii", 2),
            ("ii->i", 2),
            ("i,j->i", 1, 1),
            ("ij,ij->j", 2, 2),
            ("ij,jk->", 2, 2),
            ("...i->...", 2),
        )
    ],
    "pools-of-integers": lambda t: [
        t.nn.functional.avg_pool2d(ints(t, 1, 4, 4, dtype="int64") - 8, 2),
        t.nn.functional.avg_pool2d(
            ints(t, 1, 4, 4, dtype="int64") - 8, 2, padding=1, count_include_pad=False
        ),
        t.nn.functional.avg_pool2d(ints(t, 1, 4, 4, dtype="int64") - 8, 2, divisor_override=3),
        t.nn.functional.avg_pool1d(ints(t, 1, 4, dtype="int64"), 3),
    ],
    "products-of-integers": lambda t: [
        t.addbmm(ints(t, 3, 2, dtype=d), ints(t, 2, 3, 2, dtype=d), ints(t, 2, 2, 2, dtype=d), beta=2)
        for d in ("int32", "uint8")
    ],
    "dtypes-of-distances": lambda t: [
        t.nn.functional.pairwise_distance(ints(t, 2, 3), ints(t, 2, 3) + 1),
        t.nn.functional.margin_ranking_loss(ints(t, 2), ints(t, 2) + 1, ints(t, 2), margin=0.5),
    ],
    "negative-norms": lambda t: [
        r for p in (-0.5, -1, -3.0) for r in gradient(t, lambda x, p=p: t.linalg.norm(x, p), [0.0, 1.0, 2.0])
    ],
    "pools-of-infinite-order": lambda t: [
        r
        for p in (math.inf, -math.inf)
        for r in gradient(t, lambda x, p=p: t.nn.functional.lp_pool1d(x[None], p, 2), [1.0, -3.0, 2.0, -0.5])
    ],
    "as-strided": lambda t: t.tensor([1.0]).as_strided((0, 3), (1, 1), 2),
    "frequencies": lambda t: [t.fft.fftfreq(4, 0.0), t.fft.rfftfreq(4, d=-0.0), t.fft.fftfreq(5, 0.3)],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    check_same(PROGRAMS[name](fxt), PROGRAMS[name](torch), 1e-12)


MISUSE = {
    "where": lambda t: t.where(t.tensor([True]), t.tensor([1], dtype=t.uint8), 300),
    "pad": lambda t: t.nn.functional.pad(t.tensor([1], dtype=t.uint8), (1, 1), value=300),
    "pad-cut": lambda t: t.nn.functional.pad(t.ones(1, 5), (-6, 8)),
    "pad-empty": lambda t: t.nn.functional.pad(t.ones(1, 5), (-3, -3), "circular"),
    "fill": lambda t: t.tensor([1], dtype=t.int8).fill_(128),
    "scatter": lambda t: t.tensor([1], dtype=t.uint8).scatter(0, t.tensor([0]), 300),
    "celu": lambda t: t.nn.functional.celu(t.ones(2), 0.0),
    "hardtanh": lambda t: t.nn.functional.hardtanh(t.ones(2), 2, 1),
    "softshrink": lambda t: t.nn.functional.softshrink(t.ones(2), -1),
    "renorm": lambda t: t.renorm(t.ones(2, 2), 0, 0, 1),
    "renorm-maximum": lambda t: t.renorm(t.ones(2, 2), 2, 0, -1),
    "isclose": lambda t: t.isclose(t.ones(2), t.ones(2), atol=math.nan),
    "triplet": lambda t: t.nn.functional.triplet_margin_loss(*[t.ones(1, 2)] * 3, margin=0.0),
    "addr": lambda t: t.addr(ints(t, 2, 2), ints(t, 2), ints(t, 2), beta=1.5),
    "batch_norm": lambda t: t.nn.functional.batch_norm(t.ones(4), t.zeros(4), t.ones(4), training=True),
    "batch_norm-alone": lambda t: t.nn.functional.batch_norm(t.ones(4), None, None, training=True),
    "batch_norm-eps": lambda t: t.nn.functional.batch_norm(t.ones(4, 2), None, None, training=True, eps=0),
    "avg_pool": lambda t: t.nn.functional.avg_pool2d(ints(t, 1, 4, 4), 2),
    "finfo": lambda t: t.finfo("x"),
    "finfo-int": lambda t: t.finfo(int),
    "iinfo-float": lambda t: t.iinfo(float),
    "iinfo-bool": lambda t: t.iinfo(bool),
    "timeout": lambda t: t.utils.data.DataLoader([1, 2], timeout=-1),
    "batch_size": lambda t: setattr(t.utils.data.DataLoader([1, 2]), "batch_size", 2),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name):
    with pytest.raises(Exception) as theirs:
        MISUSE[name](torch)
    with pytest.raises(theirs.type) as ours:
        MISUSE[name](fxt)
    assert str(ours.value).partition("\n")[0] == str(theirs.value).partition("\n")[0]


@pytest.mark.parametrize(
    "call", [lambda x: fxt.add(x, x, x), lambda x: x.add(2, x, alpha=3), lambda x: fxt.add(x, x, 2)]
)
def test_overloads_that_never_were(call):
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        call(fxt.ones(2))


def test_overloads_warn():
    with pytest.warns(UserWarning, match="add is deprecated:(.|\n)*alpha=2"):
        fxt.ones(2).add(2, fxt.ones(2))


# -- small attributes that programs read ------------------------------------------
@pytest.mark.parametrize("given", [float, int, complex, bool, torch.float32, torch.bfloat16, torch.uint8])
@pytest.mark.parametrize("name", ["finfo", "iinfo"])
def test_limits(name, given):
    ours = given if isinstance(given, type) else getattr(fxt, str(given).removeprefix("torch."))
    a, error = outcome(lambda: repr(getattr(fxt, name)(ours)))
    b, expected = outcome(lambda: repr(getattr(torch, name)(given)))
    assert error is expected and a == b


@pytest.mark.parametrize("options", [{"padding": (1, 2)}, {"padding": "same"}, {"padding": "valid"}, {}])
def test_the_padding_of_convolutions(options):
    ours, theirs = (t.nn.Conv2d(1, 1, (3, 4), **options) for t in (fxt, torch))
    assert [*ours._reversed_padding_repeated_twice] == [*theirs._reversed_padding_repeated_twice]


def test_states_of_optimizers_of_ones_own():
    class Old(fxt.optim.SGD):
        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault("nesterov", False)

    copied = pickle.loads(pickle.dumps(fxt.optim.SGD([fxt.nn.Parameter(fxt.ones(2))], lr=0.1)))
    assert copied.param_groups[0]["lr"] == 0.1
    old = Old([fxt.nn.Parameter(fxt.ones(2))], lr=0.1)
    group = {name: x for name, x in old.param_groups[0].items() if name != "nesterov"}
    old.__setstate__({"param_groups": [group]})
    assert old.param_groups[0]["nesterov"] is False


def test_the_nuclear_norm_is_written_out():
    out = fxt.zeros(())
    assert fxt.norm(fxt.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc", out=out) is out and out.item() == 7


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("divisor", [-2, 2.0])
def test_a_remainder_of_zero_has_the_dividends_sign(dtype, divisor):
    def signs(library):
        x = library.tensor([4.0, -4.0, 0.0, -0.0, 3.0, -3.0], dtype=getattr(library, dtype))
        y = library.full_like(x, divisor)
        return [
            [str(v) for v in z.tolist()] for z in (library.remainder(x, divisor), x % y, library.fmod(x, y))
        ]

    assert signs(fxt) == signs(torch)
