"""Numerical derivatives by finite differences, and their comparison with computed ones.

Along a direction t, D(h) = (f(x + ht) − f(x − ht)) / 2h errs by O(h²), and Richardson's (4·D(h/2) − D(h)) / 3 by
O(h⁴) (L. F. Richardson, The deferred approach to the limit, 1927). Rounding adds ε·|f| / h, so that h = ε^(1/6)
leaves ε^(2/3) of the one and ε^(5/6) of the other; h² = ε^(1/3) is the tolerance. |D(h/2) − D(h)| bounds the error
of the extrapolated value generously, and tells where it cannot be trusted: near a kink, a pole, the border of a
domain, or in noise. There the step shrinks, some times; what no step resolves cannot be checked, and is said to be so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import pytree
from ..core.arrays import namespace_of
from ..core.aval import SCALARS, aval_of, is_differentiable
from ..core.interpreter import api_boundary
from ..transforms.arguments import float0_zeros
from ..transforms.flat_function import FlatFunction
from .hermitian import with_hermitian_parts

SHRINK, MAX_STEPS = 2.0**-5, 4  # down to 6e-8 in double precision


def precision(values: Sequence[Any]) -> float:
    """Return the largest ε of the floating-point dtypes of these values, that of double precision at
    least."""
    names = {aval_of(v).dtype.name for v in values if is_differentiable(aval_of(v).dtype)}
    return max([2.0**-52, *(2.0**-7 if n == "bfloat16" else float(np.finfo(n).eps) for n in names)])


def to_host_array(value: Any) -> np.ndarray:
    """Return a result as a NumPy array in double precision."""
    array = np.asarray(value.get() if hasattr(value, "__cuda_array_interface__") else value)
    return array.astype(complex if array.dtype.kind == "c" else float)


@api_boundary
def random_like(rng: np.random.Generator, *values: Any) -> list[Any]:
    """Draw standard normal tangents or cotangents of the values, by their shapes and dtypes (float0 for
    integers). `rng` is a generator of NumPy's.

    >>> [t.shape for t in random_like(np.random.default_rng(0), np.ones(3), 2.0)]
    [(3,), ()]
    """
    drawn: list[Any] = []
    for value in values:
        aval = aval_of(value)
        if not is_differentiable(aval.dtype):
            drawn.append(float0_zeros(value))
            continue
        t = rng.normal(size=aval.shape)
        if aval.dtype.kind == "c":
            t = t + 1j * rng.normal(size=aval.shape)
        xp = namespace_of(value)
        t = np.asarray(t, aval.dtype)
        drawn.append(t if xp in (np, None) else xp.asarray(t))
    return drawn


def random_direction(values: Sequence[Any]) -> list[Any]:
    """Draw a random direction from a point, the same at every call (None for integers); values beyond 1 set
    the scale."""
    drawn: list[Any] = []
    for value, t in zip(values, random_like(np.random.default_rng(0), *values)):
        if not is_differentiable(aval_of(value).dtype):
            drawn.append(None)
            continue
        size = float(np.max(np.abs(to_host_array(value)), initial=1))
        drawn.append(t * t.dtype.type(size) if 1 < size < math.inf else t)
    return drawn


def inner(a: Any, b: Any) -> float:
    """⟨a, b⟩ = Re Σ aᵢ·bᵢ over the floating-point leaves, without conjugation: how tangents and cotangents pair.

    >>> inner({"w": np.array([1.0, 2.0])}, {"w": np.array([3.0, 4.0])})
    11.0
    """
    pairs = [
        (x, y) for x, y in zip(pytree.leaves(a), pytree.leaves(b)) if is_differentiable(aval_of(x).dtype)
    ]
    return float(sum(np.sum(to_host_array(x) * to_host_array(y)).real for x, y in pairs))


def move_along(x: Any, t: Any, h: float) -> Any:
    """Return x + h·t; a Python number stays one."""
    if t is None:
        return x
    return type(x)(x + h * t) if type(x) in SCALARS else x + h * t


def central_differences(values_at: Callable[[float], Sequence[np.ndarray]], step: float) -> list[np.ndarray]:
    """Return (f(h) − f(−h)) / 2h of each of the results that a function gives at a step h.

    >>> central_differences(lambda h: [3 + 2 * h], 0.5)
    [2.0]
    """
    return [(ahead - behind) / (2 * step) for ahead, behind in zip(values_at(step), values_at(-step))]


class Measurement:
    """A measurement: the derivative of each result along a direction, from one pair of steps, with its error,
    of which `noise` is the part from rounding; `jump` bounds how much the derivatives from the two sides
    differ. `ulp` is the precision of the function."""

    __slots__ = ("error", "jump", "noise", "value")

    def __init__(
        self, fun: Callable[..., Sequence[Any]], xs: Sequence[Any], ts: Sequence[Any], step: float, ulp: float
    ):
        def evaluate_at(h: float) -> list[np.ndarray]:
            return [to_host_array(y) for y in fun(*[move_along(x, t, h) for x, t in zip(xs, ts)])]

        self.value, self.error, self.noise, self.jump = [], [], [], []
        with np.errstate(all="ignore"):
            at = {h: evaluate_at(h) for h in (0.0, step, -step, step / 2, -step / 2)}
            slopes = [central_differences(at.__getitem__, h) for h in (step, step / 2)]
            for here, ahead, behind, nearer, near, wide, narrow in zip(*at.values(), *slopes):
                size = max(float(np.max(np.abs(y), initial=0)) for y in (here, ahead, behind))
                noise = 4 * ulp * size / step
                self.value.append((4 * narrow - wide) / 3)
                self.error.append(np.abs(narrow - wide) + noise)
                self.noise.append(noise)
                self.jump.append(2 * np.abs(nearer - 2 * here + near) / step + 2 * noise)


class Tolerance:
    """The differences that are tolerated: by default ε^(1/3) of the derivative, and the error of the
    measurement as long as that is below ε^(1/3), or ε^(1/6) of the derivative. `like` are values of the
    dtypes with which the function computes, `eps` is the first step."""

    __slots__ = ("atol", "root", "rtol", "step", "ulp")

    def __init__(
        self,
        like: Sequence[Any],
        atol: float | None = None,
        rtol: float | None = None,
        eps: float | None = None,
    ):
        self.ulp = precision(like)
        self.root = 2.0 ** round(math.log2(self.ulp) / 6)  # a power of two: as the step, h·t is exact
        self.step = self.root if eps is None else eps
        self.rtol, self.atol = self.root**2 if rtol is None else rtol, atol

    def allowed_gap(self, value: Any, error: Any) -> Any:
        """Return the discrepancy that a measured value with this error allows."""
        slack = np.fmin(error, self.tolerable_error(value)) if self.atol is None else self.atol
        return self.rtol * np.abs(value) + slack

    def tolerable_error(self, value: Any) -> Any:
        """Return the error with which a measured value still tells something."""
        if self.atol is None:
            return self.root**2 + self.root * np.abs(value)
        return self.atol + self.rtol * np.abs(value)


class Comparison:
    """A comparison of a derivative with measurements of ever smaller steps; each entry of each result goes by
    the measurement with the smallest error."""

    def __init__(
        self,
        fun: Callable[..., Sequence[Any]],
        xs: Sequence[Any],
        ts: Sequence[Any],
        found: Sequence[Any],
        tolerance: Tolerance,
    ):
        self.found = [to_host_array(f) for f in found]
        self.value = [np.full(f.shape, np.nan, f.dtype) for f in self.found]
        self.error = [np.full(f.shape, np.inf) for f in self.found]
        self.jump = [np.full(f.shape, np.inf) for f in self.found]
        self.is_wrong = [np.ones(f.shape, bool) for f in self.found]
        self.is_settled = [np.zeros(f.shape, bool) for f in self.found]
        for shrunk in range(MAX_STEPS):
            measured = Measurement(fun, xs, ts, tolerance.step * SHRINK**shrunk, tolerance.ulp)
            self.update(measured, tolerance)
            if self.agrees and all(map(np.all, self.is_settled)):
                break

    @property
    def agrees(self) -> bool:
        return not any(map(np.any, self.is_wrong))

    def update(self, measured: Measurement, tolerance: Tolerance) -> None:
        """Update the comparison by the measurement with one step."""
        parts = zip(measured.value, measured.error, measured.noise, measured.jump)
        for i, (value, error, noise, jump) in enumerate(parts):
            better = error < self.error[i]
            self.value[i] = np.where(better, value, self.value[i])
            self.error[i] = np.where(better, error, self.error[i])
            with np.errstate(all="ignore"):
                allowed = tolerance.allowed_gap(self.value[i], self.error[i])
                self.is_wrong[i] = ~(np.abs(self.found[i] - self.value[i]) <= allowed)
            # Known to some digits, or as well as rounding lets it be: a smaller step would tell no more.
            self.is_settled[i] |= error <= np.maximum(tolerance.root * np.abs(value), 2 * noise)
            self.jump[i] = np.fmin(jump, self.jump[i])

    def worst_entry(self, tolerance: Tolerance) -> tuple[int, tuple[int, ...], bool]:
        """Find the largest discrepancy, reliable ones before others; return (result, entry, whether the
        measurement there can be relied on)."""
        candidates = []
        for i, (f, v, e, j) in enumerate(zip(self.found, self.value, self.error, self.jump)):
            with np.errstate(all="ignore"):
                gap = np.abs(f - v)
                reliable = np.isfinite(v) & (e <= tolerance.tolerable_error(v)) & ~(gap <= j)
                rank = np.where(self.is_wrong[i], np.where(np.isnan(gap), np.inf, gap), -1.0)
            for firm in (True, False):
                masked = np.where(reliable == firm, rank, -1.0)
                if masked.size and np.max(masked) >= 0:
                    entry = np.unravel_index(int(np.argmax(masked)), masked.shape)
                    candidates.append((firm, float(np.max(masked)), i, tuple(map(int, entry))))
        firm, _, i, entry = max(candidates)
        return i, entry, firm


@api_boundary
def measured_jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], eps: float | None = None
) -> Any:
    """Measure the derivative of `fun` at `primals` along `tangents` by central differences and one step of
    extrapolation.

    Matrices of which `eigh`, `cholesky` and others read one triangle move along the Hermitian part of the direction.

    Args:
        fun: a function of pytrees of arrays.
        primals: tuple of its arguments.
        tangents: tuple of the same structure.
        eps: the step; by default the sixth root of the precision of the arguments.

    Returns:
        A pytree like the result of `fun`, of arrays in double precision.

    >>> bool(abs(measured_jvp(np.sin, (1.0,), (2.0,)) - 2 * np.cos(1.0)) < 1e-10)
    True
    """
    values, structure = pytree.flatten(tuple(primals))
    fun = with_hermitian_parts(fun, primals)
    flat_fun = FlatFunction(fun, structure, "measured_jvp")
    tolerance = Tolerance(values, eps=eps)
    measured = Measurement(flat_fun, values, pytree.leaves(tuple(tangents)), tolerance.step, tolerance.ulp)
    return pytree.unflatten(flat_fun.out_structure, [value[()] for value in measured.value])
