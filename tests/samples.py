"""Operands for every primitive of the registry: what the generated tests of test_registry.py run on.

An elementwise operation is one line of domains, `"real real | complex complex"`: alternatives, each with a domain
for every operand. The others are written out. Values are drawn from a generator, so that a batch of operands is
several draws; the domains keep clear of kinks, branch cuts and jumps, where tests/test_masked.py looks closely.
"""

from __future__ import annotations

import cmath
import itertools
import math
import operator
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fxgrad.core.aval import aval_of, is_differentiable
from fxgrad.core.primitive import REGISTRY
from fxgrad.ops import ARRAY


def magnitude(low: float, high: float) -> Callable:
    """Values of either sign between two absolute values."""
    return lambda rng, shape: rng.uniform(low, high, shape) * rng.choice([-1.0, 1.0], shape)


def distinct(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """No two values are near each other."""
    return (rng.permutation(math.prod(shape)).reshape(shape) + rng.uniform(-0.2, 0.2, shape)) / 2 - 1.1


DOMAINS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "real": lambda rng, shape: rng.uniform(-2, 2, shape),
    "positive": lambda rng, shape: rng.uniform(0.3, 2.5, shape),
    "unit": lambda rng, shape: rng.uniform(-0.9, 0.9, shape),
    "above1": lambda rng, shape: rng.uniform(1.2, 3, shape),
    "nonzero": magnitude(0.3, 2),
    "fraction": lambda rng, shape: rng.integers(-3, 3, shape) + rng.uniform(0.1, 0.4, shape),
    "numerator": magnitude(3.1, 3.9),  # of quotients between the integers 2 and 3, or −3 and −2
    "denominator": lambda rng, shape: rng.uniform(1.35, 1.5, shape),
    "distinct": distinct,
    "complex": lambda rng, shape: rng.uniform(0.2, 1.2, shape) + 1j * magnitude(0.3, 1.2)(rng, shape),
    "bool": lambda rng, shape: rng.random(shape) < 0.5,
    "int": lambda rng, shape: rng.integers(-5, 6, shape),
    "count": lambda rng, shape: rng.integers(1, 5, shape),
    "uint8": lambda rng, shape: rng.integers(0, 200, shape).astype(np.uint8),
    "index3": lambda rng, shape: rng.integers(-3, 3, shape),
    "index4": lambda rng, shape: rng.integers(-4, 4, shape),
    "permuted3": lambda rng, shape: rng.permutation(3),
}


@dataclass(frozen=True)
class Sample:
    """Operands of a primitive: (domain, shape) for each, with params.

    reference(*operands): the result by means other than the kernel. model(*operands, **params): the function
    whose derivative it has, where that is another one by design.
    """

    name: str
    operands: tuple[tuple[str, tuple[int, ...]], ...]
    params: dict[str, Any] = field(default_factory=dict)
    reference: Callable | None = None
    model: Callable | None = None

    @property
    def primitive(self) -> Any:
        return REGISTRY[self.name]

    def draw(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [np.asarray(DOMAINS[domain](rng, shape)) for domain, shape in self.operands]

    def __str__(self) -> str:
        shapes = ",".join(f"{domain}{list(shape)}".replace(" ", "") for domain, shape in self.operands)
        params = ",".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.name}-{shapes}{'-' * bool(params)}{params}".replace("slice", "").replace(", None", "")


# -- elementwise -----------------------------------------------------------------------------------------------
ELEMENTWISE = {
    "add": "real real | complex complex | int int | real complex",
    "subtract": "real real | complex complex | int int",
    "multiply": "real real | complex complex | int int | real complex",
    "divide": "real nonzero | complex complex | int count",
    "negative": "real | complex | int",
    "positive": "real | complex | int",
    "power": "positive real | complex complex | count count",
    "square": "real | complex | int",
    "reciprocal": "nonzero | complex",
    "floor_divide": "fraction count | int count",
    "remainder": "numerator denominator | int count",
    "fmod": "numerator denominator | int count",
    "exp": "real | complex",
    "exp2": "real",
    "expm1": "real | complex",
    "log": "positive | complex",
    "log2": "positive | complex",
    "log10": "positive | complex",
    "log1p": "positive | complex",
    "sqrt": "positive | complex",
    "cbrt": "nonzero",
    "logaddexp": "real real",
    "logaddexp2": "real real",
    "sin": "real | complex",
    "cos": "real | complex",
    "tan": "unit | complex",
    "arcsin": "unit | complex",
    "arccos": "unit | complex",
    "arctan": "real | complex",
    "sinh": "real | complex",
    "cosh": "real | complex",
    "tanh": "real | complex",
    "arcsinh": "real | complex",
    "arccosh": "above1 | complex",
    "arctanh": "unit | complex",
    "arctan2": "nonzero nonzero",
    "degrees": "real",
    "radians": "real",
    "unit": "real positive | complex positive",
    "absolute": "nonzero | complex | int",
    "fabs": "nonzero",
    "sign": "nonzero | int",
    "hypot": "nonzero nonzero",
    "copysign": "nonzero nonzero",
    "maximum": "real real | int int",
    "minimum": "real real | int int",
    "fmax": "real real | int int",
    "fmin": "real real | int int",
    "where": "bool real real | bool complex real | bool int int",
    "floor": "fraction",
    "ceil": "fraction",
    "trunc": "fraction",
    "rint": "fraction",
    "heaviside": "nonzero nonzero",
    "nextafter": "real real",
    "ldexp": "real int",
    "spacing": "positive",
    "real": "real | complex",
    "imag": "real | complex",
    "conjugate": "real | complex",
    "angle": "complex | positive",
    "make_complex": "real real",
    "weaken": "real | int | complex",
    "stop_gradient": "real | complex | int",
    "graft": "real real | complex complex",
    "equal": "int int | real real",
    "not_equal": "int int | real real",
    "less": "int int | real real",
    "less_equal": "int int | real real",
    "greater": "int int | real real",
    "greater_equal": "int int | real real",
    "isnan": "real | complex",
    "isinf": "real | complex",
    "isfinite": "real | complex | int",
    "signbit": "real",
    "logical_not": "bool | int | real",
    "logical_and": "bool bool | int int",
    "logical_or": "bool bool | int int",
    "logical_xor": "bool bool | int int",
    "bitwise_and": "int int | bool bool",
    "bitwise_or": "int int | bool bool",
    "bitwise_xor": "int int | bool bool",
    "bitwise_not": "int | bool",
    "left_shift": "count count",
    "right_shift": "count count",
    "gcd": "int int",
    "lcm": "int int",
}
SHAPES = {
    1: [((2, 3),)],
    2: [((2, 3), (3,)), ((), (2, 3)), ((2, 1), (1, 3))],
    3: [((3,), (2, 3), ()), ((2, 1), (3,), (2, 3))],
}

# What an operation gives for Python's own numbers: independent of NumPy's loops.
_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "negative": "neg", "positive": "pos",
    "power": "pow", "floor_divide": "floordiv", "remainder": "mod", "absolute": "abs", "equal": "eq",
    "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
    "logical_not": "not_", "bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor",
    "left_shift": "lshift", "right_shift": "rshift",
}  # fmt: skip
_FORMULAS: dict[str, Callable] = {
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "exp2": lambda x: 2**x,
    "expm1": lambda x: cmath.exp(x) - 1 if isinstance(x, complex) else math.exp(x) - 1,
    "log2": lambda x: cmath.log(x) / math.log(2),
    "log1p": lambda x: cmath.log(1 + x),
    "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x),
    "logaddexp": lambda a, b: math.log(math.exp(a) + math.exp(b)),
    "logaddexp2": lambda a, b: math.log2(2**a + 2**b),
    "unit": lambda x, n: x / n,
    "sign": lambda x: (x > 0) - (x < 0),
    "maximum": max, "minimum": min, "fmax": max, "fmin": min,
    "where": lambda c, a, b: a if c else b,
    "isnan": lambda x: x != x,
    "bitwise_not": lambda x: not x if isinstance(x, bool) else ~x,
    "rint": lambda x: float(round(x)),
    "heaviside": lambda x, _: float(x > 0),
    "spacing": math.ulp,
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "conjugate": lambda x: x.conjugate(),
    "angle": cmath.phase,
    "make_complex": complex,
    "weaken": lambda x: x,
    "stop_gradient": lambda x: x,
    "graft": lambda value, _: value,
    "signbit": lambda x: math.copysign(1, x) < 0,
    "logical_and": lambda a, b: bool(a and b),
    "logical_or": lambda a, b: bool(a or b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
}  # fmt: skip
_MATH = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
         "arctanh": "atanh", "arctan2": "atan2"}  # fmt: skip
_MODELS: dict[str, Callable] = {
    "stop_gradient": np.zeros_like,
    "graft": lambda value, model: model + 0 * value,
}


def by_numbers(name: str, is_complex: bool) -> Callable:
    """The function of arrays that computes with Python's numbers, one at a time."""
    library = cmath if is_complex else math
    function = _FORMULAS.get(name) or getattr(operator, _OPERATORS.get(name, "?"), None)
    function = function or getattr(library, _MATH.get(name, name))

    def reference(*operands: np.ndarray) -> np.ndarray:
        arrays = np.broadcast_arrays(*operands)
        flat = [function(*numbers) for numbers in zip(*(a.reshape(-1).tolist() for a in arrays))]
        return np.array(flat).reshape(arrays[0].shape)

    return reference


def elementwise_samples(name: str, specification: str) -> list[Sample]:
    samples = []
    for index, alternative in enumerate(specification.split("|")):
        domains = alternative.split()
        for shapes in SHAPES[len(domains)][: None if index == 0 else 1]:
            if name == "weaken":  # scalars only
                shapes = ((),)
            operands = tuple(zip(domains, shapes))
            reference = by_numbers(name, "complex" in domains)
            samples.append(Sample(name, operands, {}, reference, _MODELS.get(name)))
    return samples


# -- the others ------------------------------------------------------------------------------------------------
def written(name: str, *operands: tuple[str, tuple[int, ...]], reference: Callable | None = None,
            **params: Any) -> Sample:  # fmt: skip
    return Sample(name, operands, params, reference)


ALL = slice(None, None, None)
STATIC = [
    *(written("static_power", (domain, (2, 3)), p=p, reference=lambda x, p=p: np.exp(p * np.log(x.astype(complex))))
      for domain, p in [("nonzero", 2), ("nonzero", 3), ("positive", 0.5), ("nonzero", 1), ("nonzero", 0),
                        ("nonzero", -1), ("complex", 3), ("complex", 0.5)]),
    written("round", ("fraction", (2, 3)), decimals=0, reference=np.floor),
    written("round", ("complex", (3,)), decimals=0, reference=lambda z: np.rint(z.real) + 1j * np.rint(z.imag)),
    written("convert", ("real", (2, 3)), dtype=np.dtype("f4"), reference=lambda x: x),
    written("convert", ("real", (3,)), dtype=np.dtype(complex), reference=lambda x: x + 0j),
    written("convert", ("int", (3,)), dtype=np.dtype(float), reference=lambda x: x * 1.0),
    written("convert", ("nonzero", (3,)), dtype=np.dtype(bool), reference=lambda x: x != 0),
]  # fmt: skip


def loop_sum(x: np.ndarray, axes: tuple[int, ...], combine: Callable, start: Any) -> np.ndarray:
    """A reduction by Python's loop over the entries."""
    shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
    out: dict[tuple, Any] = {}
    for place in np.ndindex(x.shape):
        rest = tuple(k for i, k in enumerate(place) if i not in axes)
        value = x[place].item()
        out[rest] = combine(out[rest], value) if rest in out else (value if start is None else combine(start, value))
    return np.array([out.get(place, start) for place in np.ndindex(shape)]).reshape(shape)


def reductions(name: str, domains: str, combine: Callable, start: Any, zero_size: bool) -> list[Sample]:
    samples = []
    for domain in domains.split():
        for shape, axes in [((2, 3), (0,)), ((2, 3), (0, 1)), ((2, 3, 2), (2, 0)), ((2, 3), ()), ((), ())][
            : None if domain == domains.split()[0] else 2
        ]:
            axes = tuple(sorted(axes))
            samples.append(written(name, (domain, shape), axes=axes,
                                   reference=lambda x, axes=axes: loop_sum(x, axes, combine, start)))  # fmt: skip
    for shape, axes in [((0, 3), (1,)), *([((0, 3), (0,))] if zero_size else [])]:
        samples.append(written(name, ("real", shape), axes=axes))
    return samples


def running(combine: Callable) -> Callable:
    """A running reduction by Python's loop."""
    return lambda x, axis: np.apply_along_axis(lambda v: np.array(list(itertools.accumulate(v.tolist(), combine))), axis, x)


def runnings(name: str, domains: str, combine: Callable) -> list[Sample]:
    samples = [written(name, ("real", (0, 3)), axis=0)]
    for domain in domains.split():
        for shape, axis in [((4,), 0), ((2, 3), 0), ((2, 3), 1)]:
            samples.append(written(name, (domain, shape), axis=axis,
                                   reference=lambda x, axis=axis: running(combine)(x, axis)))  # fmt: skip
    return samples


def recurrence(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    """zₖ = aₖ·zₖ₋₁ + bₖ by sums of products."""
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    z = [sum(np.prod(a[i + 1 : k + 1], axis=0) * b[i] for i in range(k + 1)) for k in range(len(a))]
    return np.moveaxis(np.array(z), 0, axis)


REDUCTIONS = [
    *reductions("reduce_sum", "real complex int bool", operator.add, 0, True),
    *reductions("reduce_prod", "nonzero complex int", operator.mul, 1, True),
    *reductions("reduce_max", "distinct int", max, None, False),
    *reductions("reduce_min", "distinct int", min, None, False),
    *reductions("reduce_any", "bool int", lambda a, b: bool(a or b), False, True),
    *reductions("reduce_all", "bool int", lambda a, b: bool(a and b), True, True),
    *(written("norm2", (domain, shape), axes=axes, reference=reference)
      for domain in ("nonzero", "complex")
      for shape, axes, reference in [
          ((3,), (0,), lambda x: math.hypot(*np.abs(x))),
          ((2, 3), (1,), lambda x: np.array([math.hypot(*np.abs(row)) for row in x])),
          ((2, 3), (0, 1), lambda x: math.hypot(*np.abs(x.ravel()))),
      ]),
    written("norm2", ("real", (0, 3)), axes=(1,)),
    written("norm2", ("real", (0, 3)), axes=(0,)),
    *(written(name, ("distinct", shape), axis=axis,
              reference=lambda x, axis=axis, best=best: np.apply_along_axis(
                  lambda v: v.tolist().index(best(v.tolist())), axis, x))
      for name, best in [("argmax", max), ("argmin", min)] for shape, axis in [((4,), 0), ((2, 3), 0), ((2, 3), 1)]),
    *runnings("cumsum", "real complex int", operator.add),
    *runnings("cumprod", "real complex int", operator.mul),
    *runnings("cummax", "distinct int", max),
    *runnings("cummin", "distinct int", min),
    *(written("recurrence", (a, shape), (b, shape), axis=axis,
              reference=lambda a, b, axis=axis: recurrence(a, b, axis))
      for a, b in [("real", "real"), ("complex", "complex"), ("real", "complex")]
      for shape, axis in [((4,), 0), ((2, 3), 1), ((2, 3), 0)]),
    written("recurrence", ("real", (0,)), ("real", (0,)), axis=0),
]  # fmt: skip

SHAPING = [
    *(written("reshape", ("real", a), shape=b, reference=lambda x, b=b: np.array(x.ravel().tolist()).reshape(b))
      for a, b in [((2, 3), (6,)), ((2, 3), (3, 2)), ((), (1, 1)), ((1,), ()), ((0, 3), (3, 0))]),
    *(written("permute", (domain, shape), axes=axes, reference=lambda x, axes=axes: np.moveaxis(x, axes, range(x.ndim)))
      for domain, shape, axes in [("real", (2, 3), (1, 0)), ("complex", (2, 3, 1), (2, 0, 1)), ("int", (), ())]),
    *(written("broadcast_to", ("real", a), shape=b, reference=lambda x, b=b: x + np.zeros(b))
      for a, b in [((3,), (2, 3)), ((2, 1), (2, 3)), ((), (2,)), ((1, 3), (0, 3)), ((1,), (2, 1, 3))]),
    *(written("flip", (domain, shape), axes=axes, reference=lambda x, axes=axes: x[tuple(
          slice(None, None, -1 if i in axes else 1) for i in range(x.ndim))])
      for domain, shape, axes in [("real", (2, 3), (0,)), ("complex", (2, 3), (0, 1)), ("int", (3,), ())]),
    *(written("concatenate", *[("real", s) for s in shapes], axis=axis,
              reference=lambda *xs, axis=axis: np.moveaxis(
                  np.array([row for x in xs for row in np.moveaxis(x, axis, 0)]), 0, axis))
      for shapes, axis in [([(2, 3), (1, 3)], 0), ([(2, 1), (2, 2), (2, 1)], 1), ([(3,)], 0)]),
    written("concatenate", ("real", (0, 3)), ("real", (2, 3)), axis=0, reference=lambda a, b: b),
    written("concatenate", ("complex", (2,)), ("complex", (1,)), axis=0),
    *(written("pad", (domain, shape), widths=widths, reference=lambda x, widths=widths: np.pad(x, widths))
      for domain, shape, widths in [("real", (2, 3), ((1, 0), (0, 2))), ("complex", (3,), ((2, 1),)),
                                    ("int", (2,), ((0, 0),)), ("real", (0,), ((1, 1),))]),
    written("full_like", ("real", (2, 3)), value=2.5, reference=lambda x: np.full((2, 3), 2.5)),
    written("full_like", ("int", ()), value=0, reference=lambda x: np.array(0)),
]  # fmt: skip

# (shape, index arrays as (domain, shape), template)
INDICES = [
    ((3, 4), [], (ALL, slice(1, None, 2))),
    ((3, 4), [], (2, None, slice(None, None, -1))),
    ((3, 4), [], (slice(2, 2, None), ALL)),
    ((3,), [], (-1,)),
    ((), [], ()),
    ((3,), [("index3", (5,))], (ARRAY,)),
    ((3, 4), [("index3", (2, 2))], (ARRAY, ALL)),
    ((3, 4), [("index4", (2,))], (ALL, ARRAY)),
    ((3, 4), [("index3", (2, 1)), ("index4", (3,))], (ARRAY, ARRAY)),
    ((3, 2, 4), [("index3", (2,)), ("index4", (2,))], (ARRAY, ALL, ARRAY)),
    ((2, 3, 4), [("index3", (2,)), ("index4", (1,))], (slice(None, 1, None), ARRAY, ARRAY)),
    ((3, 2, 4), [("index3", (2,)), ("index4", (2,))], (ARRAY, None, ALL, ARRAY)),
    ((3, 4), [("index3", ())], (ARRAY, ALL)),
    ((3, 4), [("index3", (0,))], (ARRAY, slice(None, None, 2))),
]
UNIQUE = [case for case in INDICES if not case[1]] + [
    ((3,), [("permuted3", (3,))], (ARRAY,)),
    ((3, 4), [("permuted3", (3,))], (ARRAY, slice(1, 3, None))),
    ((3, 4, 3), [("permuted3", (3,)), ("permuted3", (3,))], (ARRAY, slice(1, 3, None), ARRAY)),
]


def filled(index: tuple, arrays: tuple) -> tuple:
    rest = iter(arrays)
    return tuple(next(rest) if e is ARRAY else e for e in index)


def taken_shape(shape: tuple[int, ...], arrays: list, index: tuple) -> tuple[int, ...]:
    return np.empty(shape)[filled(index, tuple(np.zeros(s, int) for _, s in arrays))].shape


def getitem_reference(x: np.ndarray, *arrays: np.ndarray, index: tuple) -> np.ndarray:
    """Through the positions in the flat array."""
    places = np.arange(x.size).reshape(x.shape)[filled(index, arrays)]
    return np.array([x.ravel()[p] for p in np.ravel(places)], x.dtype).reshape(np.shape(places))


def put_reference(u: np.ndarray, *arrays: np.ndarray, index: tuple, shape: tuple) -> np.ndarray:
    places = np.arange(math.prod(shape)).reshape(shape)[filled(index, arrays)]
    out = [0.0] * math.prod(shape)
    for place, value in zip(np.ravel(places), np.ravel(u)):
        out[place] += value
    return np.array(out).reshape(shape)


def update_reference(x: np.ndarray, u: np.ndarray, *arrays: np.ndarray, index: tuple) -> np.ndarray:
    places = np.arange(x.size).reshape(x.shape)[filled(index, arrays)]
    out = x.ravel().tolist()
    for place, value in zip(np.ravel(places), np.ravel(u)):
        out[place] = value
    return np.array(out).reshape(x.shape)


def partial(function: Callable, **params: Any) -> Callable:
    return lambda *operands: function(*operands, **params)


INDEXING = [
    *(written("getitem", ("real", shape), *arrays, index=index, reference=partial(getitem_reference, index=index))
      for shape, arrays, index in INDICES),
    written("getitem", ("complex", (3,)), ("index3", (2,)), index=(ARRAY,)),
    *(written("put", ("real", taken_shape(shape, arrays, index)), *arrays, index=index, shape=shape,
              reference=partial(put_reference, index=index, shape=shape)) for shape, arrays, index in INDICES),
    written("put", ("complex", (2,)), ("index3", (2,)), index=(ARRAY,), shape=(3,)),
    *(written("update", ("real", shape), ("real", taken_shape(shape, arrays, index)), *arrays, index=index,
              reference=partial(update_reference, index=index)) for shape, arrays, index in UNIQUE),
    written("update", ("real", (3,)), ("real", (5,)), ("index3", (5,)), index=(ARRAY,),
            reference=partial(update_reference, index=(ARRAY,))),
    written("update", ("complex", (3,)), ("complex", (2,)), index=(slice(0, 2, None),)),
]  # fmt: skip

SIZES = {"i": 2, "j": 3, "k": 2, "l": 1, "m": 3, "z": 0}
CONTRACTIONS = [
    written("contract", (domain, tuple(SIZES[c] for c in left)), (other, tuple(SIZES[c] for c in right)),
            spec=f"{left},{right}->{out}", reference=lambda a, b, s=f"{left},{right}->{out}": np.einsum(s, a, b))
    for domain, other, spec in [
        ("real", "real", "ij,jk->ik"), ("real", "real", "ij,jk->ki"), ("real", "real", "ji,jk->ik"),
        ("real", "real", "j,j->"), ("real", "real", "ij,j->i"), ("real", "real", "i,j->ji"),
        ("real", "real", "mij,mjk->mik"), ("real", "real", "ijk,kjm->im"), ("real", "real", "imj,mkj->kmi"),
        ("real", "real", ",ij->ij"), ("real", "real", ",->"), ("real", "real", "ij,ij->ij"), ("real", "real", "iz,zj->ij"),
        ("real", "real", "zi,ij->zj"), ("complex", "complex", "ij,jk->ik"), ("real", "complex", "ij,j->i"),
        ("int", "int", "ij,jk->ik"), ("real", "real", "ikl,lj->ikj"),
    ]
    for (left, right), out in [(spec.split("->")[0].split(","), spec.split("->")[1])]
]  # fmt: skip

SAMPLES = [
    *(sample for name, specification in ELEMENTWISE.items() for sample in elementwise_samples(name, specification)),
    *STATIC, *REDUCTIONS, *SHAPING, *INDEXING, *CONTRACTIONS,
]  # fmt: skip

# -- what the generated tests do with them ---------------------------------------------------------------------
def drawn(sample: Sample) -> tuple[np.random.Generator, list[np.ndarray]]:
    """(a generator of its own, operands) of a sample: the same in every run."""
    rng = np.random.default_rng(zlib.crc32(str(sample).encode()))
    return rng, sample.draw(rng)


def active(sample: Sample) -> list[int]:
    """The positions of the operands that carry tangents."""
    return [i for i, x in enumerate(drawn(sample)[1]) if is_differentiable(x.dtype)]


def function_of(sample: Sample, operands: Sequence[Any]) -> tuple[Callable, list[Any]]:
    """(f, values): the primitive as a function of its active operands, the others fixed."""
    positions = active(sample)

    def f(*values: Any) -> Any:
        full = list(operands)
        for i, v in zip(positions, values):
            full[i] = v
        return sample.primitive.call(*full, **sample.params)

    return f, [operands[i] for i in positions]


def random_like(rng: np.random.Generator, *values: Any) -> list[np.ndarray]:
    """Standard normal tangents or cotangents for values."""
    tangents = []
    for aval in map(aval_of, values):
        t = rng.normal(size=aval.shape)
        is_complex = aval.dtype.kind == "c"
        tangents.append(np.asarray(t + 1j * rng.normal(size=aval.shape) if is_complex else t, aval.dtype))
    return tangents


def close(actual: Any, expected: Any, tolerance: float = 1e-7) -> None:
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
