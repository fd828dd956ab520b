"""Operands for every primitive that `fxgrad.compat` has beside those of the registry, as in tests/samples.py for these.

Namesakes of a registered primitive have its operands and its reference: only derivatives are torch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.integrate
import scipy.special

import fxgrad.compat._surface  # noqa: F401 - which declares them
from fxgrad.compat._core.primitives import PRIMITIVES
from fxgrad.compat._declare.spaces import load_families
from fxgrad.core.primitive import REGISTRY
from tests.sample import DOMAINS, Sample, drawn, written
from tests.samples import SAMPLES as REGISTERED

load_families()


def made(name: str, *operands: Any, joined: Callable | None = None, **options: Any) -> Sample:
    """A sample in one line."""
    sample = replace(written(name, *operands, **options), of=PRIMITIVES[name])
    return sample if joined is None else replace(sample, joined=joined)


def like(registered: str, name: str) -> list[Sample]:
    """The samples of a registered primitive for another one."""
    return [
        replace(s, name=name, of=PRIMITIVES[name])
        for s in REGISTERED
        if s.name == registered and s.of is None
    ]


def strided(x: np.ndarray, shape: tuple, strides: tuple, shift: int, layout: tuple) -> np.ndarray:
    """Entry by entry, of an operand in the order of rows."""
    places = [shift + sum(i * s for i, s in zip(index, strides)) for index in np.ndindex(*shape)]
    return x.reshape(-1)[places].reshape(shape)


def unfolded(x: np.ndarray, dim: int, length: int, step: int) -> np.ndarray:
    starts = range(0, x.shape[dim] - length + 1, step)
    return np.stack([np.moveaxis(x, dim, -1)[..., i : i + length] for i in starts], dim)


def normalized(x: np.ndarray, axes: tuple[int, ...], eps: float) -> np.ndarray:
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return np.concatenate([((x - mean) / np.sqrt(variance + eps)).ravel(), mean.ravel(), variance.ravel()])


def deflated(t: np.ndarray, u: np.ndarray, before: Any, after: Any, axes: tuple[int, ...]) -> np.ndarray:
    s = t * before
    return after * (s - s.mean(axes, keepdims=True) - u * (u * s).mean(axes, keepdims=True))


DOMAINS["interior"] = lambda rng, shape: rng.uniform(0.2, 0.8, shape)
ELEMENTWISE = [
    *like("arctan2", "atan2"),
    *like("power", "pow")[:-1],  # torch's integers are another function
    *like("remainder", "signed_remainder"),  # whose zeros alone have another sign
    *(sample for name in PRIMITIVES if name in REGISTRY for sample in like(name, name)),
    made("rsqrt", ("positive", (2, 3)), reference=lambda x: x**-0.5),
    made("rsqrt", ("complex", (3,)), reference=lambda x: x**-0.5),
    made("normal_density", ("real", (2, 3)), reference=lambda x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
    made("entr", ("positive", (2, 3)), reference=scipy.special.entr),
    made("lower_exponent", ("positive", (2, 3)), reference=lambda p: p - 1),
    made("lower_exponent", ("complex", (3,)), reference=lambda p: p - 1),
    made("log_base", ("positive", (2, 3)), ("real", (3,)), reference=lambda x, p: np.log(x) + 0 * p),
    made("log_base", ("complex", (3,)), ("complex", (3,)), reference=lambda x, p: np.log(x) + 0 * p),
    made("logit", ("interior", (2, 3)), reference=scipy.special.logit),
    made(
        "binary_entropy",
        ("interior", (2, 3)),
        ("real", (3,)),
        reference=lambda x, y: -y * np.log(x) - (1 - y) * np.log(1 - x),
    ),
    made("xlogy", ("real", (2, 3)), ("positive", (3,)), reference=scipy.special.xlogy),
    made("xlog1py", ("real", (2, 1)), ("positive", (1, 3)), reference=scipy.special.xlog1py),
]
STRIDES = [
    made("part", ("real", (2, 3)), index=(1,), reference=lambda x: x[1]),
    made("part", ("real", (2, 3)), index=(1, 2), reference=lambda x: x[1, 2]),
    made(
        "part",
        ("complex", (4, 3)),
        index=(slice(3, 0, -2), slice(1, None)),
        reference=lambda x: x[3:0:-2, 1:],
    ),
    made("expand", ("real", (3, 1)), shape=(2, 3, 4), reference=lambda x: np.broadcast_to(x, (2, 3, 4))),
    made("unsqueeze", ("real", (2, 3)), dim=0, reference=lambda x: x[None]),
    made("unsqueeze", ("complex", (2, 3)), dim=2, reference=lambda x: x[..., None]),
    *(made("clone", ("real", (2, 3)), order=order, reference=np.copy) for order in (None, (), (1, 0))),
    *(
        made(
            "diagonal",
            ("real", (3, 2, 4)),
            offset=offset,
            dims=dims,
            reference=lambda x, k=offset, d=dims: np.diagonal(x, k, *d),
        )
        for offset, dims in [(0, (0, 1)), (1, (1, 2)), (-1, (2, 0))]
    ),
    *(
        made(
            "unfold",
            ("real", (2, 5)),
            dim=dim,
            length=length,
            step=step,
            reference=lambda x, p=(dim, length, step): unfolded(x, *p),
        )
        for dim, length, step in [(1, 2, 1), (1, 3, 2), (0, 1, 1)]
    ),
    *(
        made(
            "as_strided",
            ("real", (3, 4)),
            shape=shape,
            strides=strides,
            shift=shift,
            layout=(4, 1),
            reference=lambda x, p=(shape, strides, shift, (4, 1)): strided(x, *p),
        )
        for shape, strides, shift in [((2, 2), (4, 1), 0), ((3, 3), (2, 1), 1), ((2, 3), (0, 5), 1)]
    ),
    made("stack", ("real", (2, 3)), ("real", (2, 3)), axis=1, reference=lambda a, b: np.stack([a, b], 1)),
    made("stack", *[("complex", (3,))] * 3, axis=0, reference=lambda *xs: np.stack(xs)),
]
MATRICES = [
    made("mm", ("real", (2, 3)), ("real", (3, 4)), reference=lambda a, b: a @ b),
    made("mm", ("complex", (2, 3)), ("complex", (3, 1)), reference=lambda a, b: a @ b),
]
NORMALIZATION = [
    *(
        made(
            "standardized",
            ("real", shape),
            axes=axes,
            eps=0.1,
            reference=lambda x, a=axes: normalized(x, a, 0.1),
        )
        for shape, axes in [((3, 4), (1,)), ((4, 2, 3), (2,)), ((2, 3, 2), (1, 2))]
    ),
    *(
        made(
            "deflated",
            *(("real", s) for s in ((3, 4), (3, 4), before, after)),
            axes=axes,
            reference=lambda *xs, a=axes: deflated(*xs, a),
        )
        for before, after, axes in [((3, 1), (4,), (1,)), ((1, 4), (3, 1), (1,))]
    ),
]
DOMAINS["classes3"] = lambda rng, shape: rng.permutation(np.arange(math.prod(shape)) % 3).reshape(shape)


def class_loss(x: np.ndarray, target: np.ndarray, ignored: int) -> np.ndarray:
    """Minus the mean score of the target classes, row by row."""
    scores = [row[c] for row, c in zip(x, target) if c != ignored]
    return -np.sum(scores) / len(scores)


CLASSES = [
    made(
        "mean_class_loss",
        ("real", (4, 3)),
        ("classes3", (4,)),
        ignore_index=ignored,
        reference=lambda x, target, i=ignored: class_loss(x, target, i),
    )
    for ignored in (-100, 1)
]
REFERENCES = {"J": scipy.special.jv, "Y": scipy.special.yv, "K": scipy.special.kv}
SPECIAL = [
    *(
        made(
            "bessel",
            ("positive", (2, 3)),
            family=family,
            order=order,
            scaled=False,
            reference=lambda x, f=REFERENCES[family], n=order: f(n, x),
        )
        for family, order in [("J", 0), ("Y", 1), ("K", 0)]
    ),
    made(
        "bessel",
        ("positive", (3,)),
        family="K",
        order=1,
        scaled=True,
        reference=lambda x: scipy.special.kve(1, x),
    ),
    *(
        made(
            "airy",
            ("nonzero", (2, 3)),
            slope=slope,
            reference=lambda x, i=int(slope): scipy.special.airy(x)[i],
        )
        for slope in (False, True)
    ),
    *(
        made(
            "orthogonal_polynomial",
            ("real", (2, 3)),
            ("count", (3,)),
            family=family,
            order=0,
            reference=lambda x, n, f=reference: f(n, x),
        )
        for family, reference in [
            ("shifted_chebyshev_polynomial_t", scipy.special.eval_sh_chebyt),
            ("laguerre_polynomial_l", scipy.special.eval_laguerre),
        ]
    ),
]


def keep_rank(a: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """The logarithm of a gamma variable of another shape with the rank that it has for the shape that was drawn."""
    drawn_a, z = drawn(FOLLOWING)[1][0], np.exp(logs)
    p, q = scipy.special.gammainc(drawn_a, z), scipy.special.gammaincc(drawn_a, z)
    return np.log(np.where(p < q, scipy.special.gammaincinv(a, p), scipy.special.gammainccinv(a, q)))


def beta_tail(a: np.ndarray, b: np.ndarray, u: np.ndarray, upper: np.ndarray, m: int, n: int) -> np.ndarray:
    """The integral over a tail of the log odds of a beta variable, entry by entry."""
    sigmoid = scipy.special.log_expit

    def integrate(a: float, b: float, u: float, sign: float) -> float:
        def value(s: float) -> float:
            left, right = sigmoid(u + sign * s) - sigmoid(u), sigmoid(-u - sign * s) - sigmoid(-u)
            return np.exp(a * left + b * right) * left**m * right**n

        return scipy.integrate.quad(value, 0, 200, epsabs=1e-11, epsrel=1e-11, limit=200)[0]

    return np.vectorize(integrate)(a, b, u, 2.0 * upper - 1)


FOLLOWING = replace(made("follow_shape", ("positive", (2, 3)), ("real", (2, 3))), model=keep_rank)
GAMMA = [
    FOLLOWING,
    *(
        made(
            "beta_moment",
            ("positive", (3,)),
            ("positive", (3,)),
            ("real", (3,)),
            ("bool", (3,)),
            m=m,
            n=n,
            reference=partial(beta_tail, m=m, n=n),
        )
        for m, n in [(0, 0), (1, 0), (0, 2)]
    ),
]
SAMPLES = [*ELEMENTWISE, *STRIDES, *MATRICES, *NORMALIZATION, *CLASSES, *SPECIAL, *GAMMA]
