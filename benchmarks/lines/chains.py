"""Chains of elementwise operations: what an operation costs in itself on few numbers, and its kernels on many."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiled import compiled
from ..libraries import functional, tape
from ..line import Contenders, Run, line

EAGER = "fxgrad torch.func jax autograd"


@line(tolerance=1e-9)
def chain_64(quick: bool) -> Contenders:
    """eager gradient of 100 operations on 64 numbers"""
    return _chain(64)


@line(tolerance=1e-9)
def chain_100k(quick: bool) -> Contenders:
    """eager gradient of 100 operations on 100 000 numbers"""
    return _chain(1000 if quick else 100_000)


def _chain(size: int) -> Contenders:
    x = np.random.default_rng(0).standard_normal(size)

    def chain(np: Any, x: Any) -> Any:
        y = x
        for _ in range(25):
            y = x * np.exp(-(y * y))
        return np.sum(y)

    def on_tape(torch: Any, x: Any) -> Run:
        x.requires_grad_()

        def run() -> Any:
            x.grad = None
            chain(torch, x).backward()
            return x.grad

        return run

    def by_hand() -> Any:
        kept, y = [], x
        for _ in range(25):
            e = np.exp(-(y * y))
            kept.append((y, e))
            y = x * e
        ct, total = np.ones_like(x), np.zeros_like(x)
        for y, e in reversed(kept):
            ct *= e
            total += ct
            ct *= x
            ct *= y
            ct *= -2
        return total + ct

    return {
        **functional(lambda lib: lib.grad(lambda v: chain(lib.np, v)), x, by=EAGER),
        **tape(on_tape, x),
        "numpy": lambda: by_hand,
    }


def _ten(np: Any, x: Any) -> Any:
    """Ten operations, with a clamp and a relu."""
    y = np.clip(x * 1.5 + 0.25, -1.0, 1.0)
    y = y * x - 0.5 * y
    return np.maximum(y, 0.0) * 2.0 + x


def _ten_sum(np: Any, x: Any) -> Any:
    return np.sum(_ten(np, x))


_TEN_IN_C = """
static inline float clip(float v) { return v < -1 ? -1 : v > 1 ? 1 : v; }
void forward(long n, const float *x, float *out) {
    for (long i = 0; i < n; i++) {
        float y = clip(x[i] * 1.5f + 0.25f);
        y = y * x[i] - 0.5f * y;
        out[i] = (y > 0 ? y : 0) * 2 + x[i];
    }
}
void gradient(long n, const float *x, float *out) {
    for (long i = 0; i < n; i++) {
        float u = x[i] * 1.5f + 0.25f, y = clip(u);
        float inner = y + (x[i] - 0.5f) * (u > -1 && u < 1 ? 1.5f : 0);
        out[i] = (y * x[i] - 0.5f * y > 0 ? 2 * inner : 0) + 1;
    }
}
"""


def _ten_in_c(function: str, x: np.ndarray) -> Callable[[], Run]:
    def prepare() -> Run:
        call = compiled(_TEN_IN_C, function)

        def run() -> np.ndarray:
            out = np.empty_like(x)
            call(x.size, x, out)
            return out

        return run

    return prepare


def _ten_million(quick: bool) -> np.ndarray:
    """Numbers away from the kinks, where the last bit of a sum would decide about a derivative."""
    x = np.random.default_rng(0).standard_normal(1000 if quick else 10_000_000).astype("float32")
    for kink in (-5 / 6, -1 / 6, 0.5):
        x[np.abs(x - kink) < 1e-4] += 1e-3
    return x


@line(tolerance=1e-6)
def ten_forward_jit(quick: bool) -> Contenders:
    """jitted chain of 10 operations on 10M float32"""
    x = _ten_million(quick)
    by = "fxgrad:jit jax:jit torch.compile"
    return {
        **functional(lambda lib: lambda v: _ten(lib.np, v), x, by=by),
        "numpy": lambda: lambda: _ten(np, x),
        "C": _ten_in_c("forward", x),
    }


@line(tolerance=1e-6)
def ten_gradient_jit(quick: bool) -> Contenders:
    """jitted gradient of 10 operations on 10M float32"""
    x = _ten_million(quick)
    by = "fxgrad:jit jax:jit torch.compile"
    return {
        **functional(lambda lib: lib.grad(lambda v: _ten_sum(lib.np, v)), x, by=by),
        "C": _ten_in_c("gradient", x),
    }


@line(tolerance=1e-6)
def ten_gradient(quick: bool) -> Contenders:
    """eager gradient of 10 operations on 10M float32"""
    x = _ten_million(quick)

    def on_tape(torch: Any, x: Any) -> Run:
        x.requires_grad_()

        def run() -> Any:
            x.grad = None
            y = torch.clamp(x * 1.5 + 0.25, -1.0, 1.0)
            y = y * x - 0.5 * y
            torch.sum(torch.relu(y) * 2.0 + x).backward()
            return x.grad

        return run

    return {
        **functional(lambda lib: lib.grad(lambda v: _ten_sum(lib.np, v)), x, by=EAGER),
        **tape(on_tape, x),
        "C": _ten_in_c("gradient", x),
    }


_BLACK_SCHOLES_IN_C = """
#include <math.h>
void greeks(long n, const double *s, const double *k, const double *t, const double *v,
            double *price, double *ds, double *dt, double *dv) {
    const double r = 0.02, root = 0.70710678118654752, density = 0.39894228040143268;
    for (long i = 0; i < n; i++) {
        double w = sqrt(t[i]), d1 = (log(s[i] / k[i]) + (r + 0.5 * v[i] * v[i]) * t[i]) / (v[i] * w);
        double d2 = d1 - v[i] * w, e = k[i] * exp(-r * t[i]);
        double c1 = 0.5 * (1 + erf(d1 * root)), c2 = 0.5 * (1 + erf(d2 * root));
        double p = density * exp(-0.5 * d1 * d1);
        price[i] = s[i] * c1 - e * c2;
        ds[i] = c1;
        dt[i] = s[i] * p * v[i] / (2 * w) + r * e * c2;
        dv[i] = s[i] * p * w;
    }
}
"""


@line(tolerance=1e-8)
def black_scholes_jit(quick: bool) -> Contenders:
    """jitted Black-Scholes prices and greeks, 4M float64"""
    rng, size = np.random.default_rng(0), 1000 if quick else 4_000_000
    market = tuple(rng.uniform(a, b, size) for a, b in ((80, 120), (80, 120), (0.2, 2), (0.1, 0.5)))

    def program(lib: Any) -> Callable:
        np, erf = lib.np, lib.torch.erf if hasattr(lib, "torch") else lib.lax.erf

        def total(spot: Any, strike: Any, time: Any, volatility: Any) -> Any:
            root = volatility * np.sqrt(time)
            d1 = (np.log(spot / strike) + (0.02 + 0.5 * volatility**2) * time) / root
            d2 = d1 - root
            normal = [0.5 * (1.0 + erf(d * 0.5**0.5)) for d in (d1, d2)]
            price = spot * normal[0] - strike * np.exp(-0.02 * time) * normal[1]
            return np.sum(price), price

        def greeks(*market: Any) -> Any:
            if hasattr(lib, "torch"):
                gradients, (_, price) = lib.torch.func.grad_and_value(total, (0, 2, 3), has_aux=True)(*market)
            else:
                (_, price), gradients = lib.value_and_grad(total, (0, 2, 3), has_aux=True)(*market)
            return price, *gradients

        return greeks

    def in_c() -> Run:
        call = compiled(_BLACK_SCHOLES_IN_C, "greeks")

        def run() -> list[np.ndarray]:
            out = [np.empty(size) for _ in range(4)]
            call(size, *market, *out)
            return out

        return run

    return {**functional(program, *market, by="fxgrad:jit jax:jit torch.compile"), "C": in_c}
