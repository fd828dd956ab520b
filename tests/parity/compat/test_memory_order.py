"""The strides of results of entrywise functions, for operands that are not row-major, beside torch's."""

import pytest
import torch

import fxgrad.compat as here

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64"]
LAYOUTS = {
    "transposed": lambda t, dtype: (t.ones(4, 5) * 2).to(dtype).t(),
    "a part": lambda t, dtype: (t.ones(4, 5) * 2).to(dtype).t()[:, :-1],
    "channels last": lambda t, dtype: (
        (t.ones(2, 3, 4, 5) * 2).to(dtype).contiguous(memory_format=t.channels_last)
    ),
}
ONE = [
    "abs", "angle", "atan", "conj_physical", "cos", "deg2rad", "digamma", "erf", "erfinv", "exp", "exp2", "expm1",
    "floor", "frac", "i0", "isfinite", "isnan", "lgamma", "log1p", "logical_not", "logit", "nan_to_num", "neg",
    "positive", "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign", "signbit", "sin", "sinc", "sqrt",
    "square", "tanh", "trunc",
]  # fmt: skip
TWO = [
    "add", "atan2", "bitwise_and", "copysign", "div", "eq", "float_power", "floor_divide", "fmod", "heaviside",
    "hypot", "ldexp", "logaddexp", "logical_and", "lt", "maximum", "mul", "nextafter", "pow", "remainder", "sub",
    "xlogy",
]  # fmt: skip
OTHERS = {
    "clamp": lambda t, x: t.clamp(x, 0, 1),
    "a number": lambda t, x: x * 2 + 1,
    "conversion": lambda t, x: x.to(t.complex128),
    "lerp": lambda t, x: t.lerp(x, x, 0.5),
    "masked_fill": lambda t, x: x.masked_fill(x == 2, 1),
    "where": lambda t, x: t.where(x == 2, x, 0),
}
# Kernels that go through entries block after block, and what is the operand itself in another row order.
ROWS = {
    **dict.fromkeys(["erf", "erfinv", "lgamma"], ("float32", "float64")),
    "sigmoid": ["float32", "float64", "complex64"],
    "angle": ["complex64"],
    "relu": ["bfloat16", "int64"],
    **dict.fromkeys(["sgn", "sign"], ("bool",)),
}


def strides(t, name, layout, dtype):
    x = LAYOUTS[layout](t, getattr(t, dtype))
    function = OTHERS.get(name) or (
        lambda t, x: getattr(t, name)(x) if name in ONE else getattr(t, name)(x, x)
    )
    try:
        y = function(t, x)
    except (RuntimeError, NotImplementedError, TypeError):
        return None
    return tuple(y.stride())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*ONE, *TWO, *OTHERS])
def test_results_lie_in_memory_as_operands(name, layout):
    for dtype in DTYPES:
        expected, found = strides(torch, name, layout, dtype), strides(here, name, layout, dtype)
        if None not in (expected, found) and dtype not in ROWS.get(name, ()):
            assert found == expected, dtype
