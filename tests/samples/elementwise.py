"""Samples of the elementwise primitives, each one line of domains.

`"real real | complex complex"`: alternatives, each with a domain for every operand; the first is tried in several
broadcast shapes. The reference is Python's own arithmetic, one number at a time.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from functools import partial

import numpy as np

from tests.sample import Sample

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
    "exp2": "real | complex",
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
    "unit_vector": "real positive | complex positive",
    "absolute": "nonzero | complex | int",
    "fabs": "nonzero",
    "sign": "nonzero | int",
    "hypot": "nonzero nonzero",
    "copysign": "nonzero nonzero",
    "maximum": "real real | int int | complex complex",
    "minimum": "real real | int int | complex complex",
    "fmax": "real real | int int | complex complex",
    "fmin": "real real | int int | complex complex",
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
    "with_derivative_of": "real real | complex complex",
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
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "negative": "neg",
    "positive": "pos",
    "power": "pow",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "absolute": "abs",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "logical_not": "not_",
    "bitwise_and": "and_",
    "bitwise_or": "or_",
    "bitwise_xor": "xor",
    "left_shift": "lshift",
    "right_shift": "rshift",
}


def by_parts(number: complex) -> tuple[float, float]:
    """NumPy's order of complex numbers."""
    return number.real, number.imag


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
    "unit_vector": lambda x, n: x / n,
    "sign": lambda x: (x > 0) - (x < 0),
    "maximum": partial(max, key=by_parts),
    "minimum": partial(min, key=by_parts),
    "fmax": partial(max, key=by_parts),
    "fmin": partial(min, key=by_parts),
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
    "with_derivative_of": lambda value, _: value,
    "signbit": lambda x: math.copysign(1, x) < 0,
    "logical_and": lambda a, b: bool(a and b),
    "logical_or": lambda a, b: bool(a or b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
}
_MATH = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "arctan2": "atan2",
}
_MODELS: dict[str, Callable] = {
    "stop_gradient": np.zeros_like,
    "with_derivative_of": lambda value, model: model + 0 * value,
}


def by_numbers(name: str, is_complex: bool) -> Callable:
    """The function of arrays that computes with Python's numbers, one at a time."""
    library = cmath if is_complex else math
    function = _FORMULAS.get(name) or getattr(operator, _OPERATORS.get(name, "?"), None)
    function = function or getattr(library, _MATH.get(name, name), None)
    if function is None:
        raise LookupError(f"{name}: {library.__name__} has no such function, so _FORMULAS needs a line")

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


SAMPLES = [
    sample
    for name, specification in ELEMENTWISE.items()
    for sample in elementwise_samples(name, specification)
]
