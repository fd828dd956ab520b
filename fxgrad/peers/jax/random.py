"""`jax.random`: the distributions, with the numbers that JAX draws for a key.

A distribution is a function of the words of its key and of values; `draws` makes of it what programs call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as fnp
from ...core.arrays import as_value
from ...core.aval import aval_of
from ...core.errors import DTypeError, ShapeError
from ...core.fp_errors import call_silently
from ...core.shapes import refuse_shape
from ...random import selection
from ...scipy import special
from . import threefry
from .arrays import array_of, value_of
from .counts import FEW, count_events, draw_successes, reject_events
from .dtypes import canonicalize_dtype, finfo, narrow
from .gammas import draw_log_gammas
from .loops import scan
from .threefry import (
    KEY_TYPE,
    PRNGKey,
    as_shape,
    clone,
    fold_in,
    key,
    key_data,
    key_impl,
    keys_of,
    split,
    words_of,
    wrap_key_data,
)

__all__ = [
    "PRNGKey", "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy", "chisquare", "choice",
    "clone", "dirichlet", "double_sided_maxwell", "exponential", "f", "fold_in", "gamma", "generalized_normal",
    "geometric", "gumbel", "key", "key_data", "key_dtype", "key_impl", "laplace", "loggamma", "logistic",
    "lognormal", "maxwell", "multinomial", "multivariate_normal", "normal", "orthogonal", "pareto", "permutation",
    "poisson", "rademacher", "randint", "rayleigh", "split", "t", "triangular", "truncated_normal", "uniform",
    "wald", "weibull_min", "wrap_key_data",
]  # fmt: skip

Words = Any
UNUSED = ("out_sharding",)
NUMBERS = frozenset([int, float, np.float32, np.float64])
# Distributions whose numbers are integers.
COUNTS = frozenset({"bits", "geometric", "poisson", "rademacher", "randint"})


def key_dtype(impl_spec: Any = None) -> Any:
    """Return the dtype of typed keys."""
    return KEY_TYPE


def draws(distribution: Callable[..., Any]) -> Any:
    """Return a distribution as programs call it, with a key and arrays; `of` is the distribution itself."""

    @wraps(distribution)
    def draw(key: Any, *args: Any, **options: Any) -> Any:
        for name in UNUSED:
            options.pop(name, None)
        words = words_of(key, distribution.__name__)
        given = {name: value_of(v) for name, v in options.items()}
        return array_of(call_silently(distribution, words, *map(value_of, args), **given))

    draw.of = distribution  # type: ignore[attr-defined]
    return draw


def float_dtype(dtype: Any) -> Any:
    """Return the dtype of random numbers, which is JAX's default where none is given."""
    found = canonicalize_dtype(float if dtype is None else dtype)
    if found.kind not in "fV":
        raise DTypeError(
            f"jax.random: numbers of dtype {found.name} are no floats", hint="dtype=jnp.float32, say"
        )
    return found


def parameters(shape: Any, dtype: Any, *values: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape of the numbers, by default that of the parameters together, and the parameters in a dtype."""
    if all([type(v) in NUMBERS for v in values]):
        return () if shape is None else as_shape(shape), [dtype.type(v) for v in values]
    for value in values:
        refuse_shape(value, "jax.random")
    values = tuple(
        [as_value(v).astype(dtype) if hasattr(v, "astype") else dtype.type(v) for v in map(as_value, values)]
    )
    common = np.broadcast_shapes(*[aval_of(v).shape for v in values])
    return common if shape is None else as_shape(shape), list(values)


# -- uniform numbers -------------------------------------------------------------------------------------------------
@draws
def bits(words: Words, shape: Any = (), dtype: Any = None) -> Any:
    """Random bits, as unsigned integers."""
    dtype = canonicalize_dtype(np.uint64 if dtype is None else dtype)
    return threefry.bits(words, as_shape(shape), dtype.itemsize * 8).astype(dtype)


@draws
def uniform(words: Words, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Numbers that are uniform from `minval` to below `maxval`."""
    dtype, shape = float_dtype(dtype), as_shape(shape)
    fractions = threefry.fractions(words, shape, dtype)
    if type(minval) is type(maxval) is float and minval == 0.0 and maxval == 1.0:
        return fractions
    _, (low, high) = parameters(shape, dtype, minval, maxval)
    return fnp.maximum(low, fractions * (high - low) + low)


@draws
def randint(words: Words, shape: Any, minval: Any, maxval: Any, dtype: Any = None) -> Any:
    """Integers that are uniform from `minval` to below `maxval`; those of 8 and 16 bits are drawn with 32."""
    dtype, shape = canonicalize_dtype(int if dtype is None else dtype), as_shape(shape)
    width = max(32, dtype.itemsize * 8)
    wide, kind, ends = np.dtype(f"{dtype.kind}{width // 8}"), np.dtype(f"u{width // 8}"), np.iinfo(dtype)
    for value in (minval, maxval):
        refuse_shape(value, "randint")
    ends_given = [as_value(v) for v in (minval, maxval)]
    low, high = [fnp.asarray(fnp.clip(v, ends.min, ends.max)).astype(wide)[()] for v in ends_given]
    span = (high - low).astype(kind) + fnp.asarray(ends_given[1] > ends.max).astype(kind)
    span = fnp.where(high <= low, kind.type(1), span)
    first, second = [threefry.bits(part, shape, width) for part in keys_of(words, 2)]
    factor = kind.type(2 ** (width // 2)) % span
    factor = (factor * factor) % span
    offset = ((first % span) * factor + second % span) % span
    return (low + offset.astype(wide)).astype(dtype)


@draws
def bernoulli(words: Words, p: Any = 0.5, shape: Any = None, mode: str = "low") -> Any:
    """True with probability `p`."""
    refuse_shape(p, "bernoulli: p")
    dtype = canonicalize_dtype(aval_of(as_value(p)).dtype)
    if dtype.kind not in "fV":
        raise DTypeError(
            f"bernoulli: p is a probability, a float, not one of dtype {dtype}",
            hint="float(p); a shape comes after it, or as shape=",
        )
    shape, (p,) = parameters(shape, dtype, p)
    return uniform.of(words, shape, dtype) < p


@draws
def rademacher(words: Words, shape: Any = (), dtype: Any = None) -> Any:
    """1 and −1, each with probability ½."""
    dtype = canonicalize_dtype(int if dtype is None else dtype)
    return (2 * bernoulli.of(words, 0.5, as_shape(shape)).astype(dtype) - 1).astype(dtype)


# -- normal numbers --------------------------------------------------------------------------------------------------
@draws
def normal(words: Words, shape: Any = (), dtype: Any = None) -> Any:
    """Standard normal numbers; complex ones have variance 1."""
    dtype = canonicalize_dtype(float if dtype is None else dtype)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        real, imag = [normal.of(k, shape, part) for k in keys_of(words, 2)]
        return ((real + 1j * imag) / part.type(math.sqrt(2))).astype(dtype)
    low = np.nextafter(dtype.type(-1), dtype.type(0), dtype=dtype)
    numbers = uniform.of(words, shape, dtype, low, 1.0)
    return dtype.type(math.sqrt(2)) * special.erfinv(numbers).astype(dtype)


@draws
def truncated_normal(words: Words, lower: Any, upper: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Standard normal numbers between two bounds."""
    dtype = float_dtype(dtype)
    shape, (lower, upper) = parameters(shape, dtype, lower, upper)
    root = dtype.type(math.sqrt(2))
    ends = [special.erf(bound / root).astype(dtype) for bound in (lower, upper)]
    numbers = root * special.erfinv(uniform.of(words, shape, dtype, *ends)).astype(dtype)
    inside = lax.nextafter(lower, dtype.type(np.inf)), lax.nextafter(upper, dtype.type(-np.inf))
    return fnp.clip(numbers, lax.stop_gradient(inside[0]), lax.stop_gradient(inside[1]))


@draws
def lognormal(words: Words, sigma: Any = 1.0, shape: Any = None, dtype: Any = None) -> Any:
    """The exponential of normal numbers with standard deviation `sigma`."""
    dtype = float_dtype(dtype)
    shape, (sigma,) = parameters(shape, dtype, sigma)
    return fnp.exp(normal.of(words, shape, dtype) * sigma)


@draws
def multivariate_normal(
    words: Words, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: str = "cholesky"
) -> Any:
    """Normal vectors with a mean and a covariance matrix."""
    dtype = float_dtype(dtype)
    _, (mean, cov) = (
        parameters((), dtype, mean, 1.0)[0],
        [as_value(mean).astype(dtype), as_value(cov).astype(dtype)],
    )
    if shape is None:
        shape = np.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    if method == "cholesky":
        factor = fnp.linalg.cholesky(cov)
    elif method == "svd":
        u, s, _ = fnp.linalg.svd(cov)
        factor = u * fnp.sqrt(s[..., None, :])
    else:
        values, vectors = fnp.linalg.eigh(cov)
        factor = vectors * fnp.sqrt(values[..., None, :])
    numbers = normal.of(words, (*as_shape(shape), mean.shape[-1]), dtype)
    return mean + fnp.einsum("...ij,...j->...i", factor, numbers)


@draws
def maxwell(words: Words, shape: Any = (), dtype: Any = None) -> Any:
    """The lengths of standard normal vectors in three dimensions."""
    return fnp.linalg.norm(normal.of(words, (*as_shape(shape), 3), float_dtype(dtype)), axis=-1)


@draws
def double_sided_maxwell(words: Words, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Maxwell numbers of either sign, scaled and moved."""
    dtype = float_dtype(dtype)
    common, (loc, scale) = parameters(None, dtype, loc, scale)
    first, second = keys_of(words, 2)
    shape = (*as_shape(shape), *common)
    return loc + scale * maxwell.of(first, shape, dtype) * rademacher.of(second, shape).astype(dtype)


@draws
def orthogonal(words: Words, n: int, shape: Any = (), dtype: Any = None, m: int | None = None) -> Any:
    """Matrices with orthonormal columns or rows, uniform among these."""
    dtype, (n, m) = float_dtype(dtype), as_shape((n, n if m is None else m))
    rows, columns = max(m, n), min(m, n)
    q, r = fnp.linalg.qr(normal.of(words, (*as_shape(shape), rows, columns), dtype))
    d = fnp.diagonal(r, axis1=-2, axis2=-1)
    q = q * fnp.expand_dims(d / fnp.abs(d), -2)
    return fnp.swapaxes(q, -2, -1) if n < m else q


# -- numbers by the inverse of the distribution function -------------------------------------------------------------
@draws
def exponential(words: Words, shape: Any = (), dtype: Any = None) -> Any:
    """Numbers of density e⁻ˣ."""
    return -fnp.log1p(-uniform.of(words, shape, float_dtype(dtype)))


@draws
def gumbel(words: Words, shape: Any = (), dtype: Any = None, mode: str | None = None) -> Any:
    """Numbers with the distribution function exp(−e⁻ˣ)."""
    dtype = float_dtype(dtype)
    if mode == "high":
        return -fnp.log(-fnp.log1p(-uniform.of(words, shape, dtype)))
    return -fnp.log(-fnp.log(uniform.of(words, shape, dtype, finfo(dtype).tiny, 1.0)))


@draws
def laplace(words: Words, shape: Any = (), dtype: Any = None) -> Any:
    """Numbers of density e^(−|x|)/2."""
    dtype = float_dtype(dtype)
    u = uniform.of(words, shape, dtype, -1 + finfo(dtype).epsneg, 1.0)
    return fnp.sign(u) * fnp.log1p(-fnp.abs(u))


@draws
def cauchy(words: Words, shape: Any = (), dtype: Any = None) -> Any:
    """Numbers of density 1/(π(1 + x²))."""
    dtype = float_dtype(dtype)
    u = uniform.of(words, shape, dtype, finfo(dtype).eps, 1.0)
    return fnp.tan(dtype.type(np.pi) * (u - dtype.type(0.5)))


@draws
def logistic(words: Words, shape: Any = (), dtype: Any = None) -> Any:
    """Numbers with the distribution function 1/(1 + e⁻ˣ)."""
    dtype = float_dtype(dtype)
    u = uniform.of(words, shape, dtype, finfo(dtype).eps, 1.0)
    return fnp.log(u / (1 - u))


@draws
def pareto(words: Words, b: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Numbers of density b/x^(b+1), from 1 on."""
    dtype = float_dtype(dtype)
    shape, (b,) = parameters(shape, dtype, b)
    return fnp.exp(exponential.of(words, shape, dtype) / b)


@draws
def rayleigh(words: Words, scale: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The lengths of normal vectors in two dimensions."""
    dtype = float_dtype(dtype)
    shape, (scale,) = parameters(shape, dtype, scale)
    return fnp.sqrt(fnp.log(uniform.of(words, shape, dtype, finfo(dtype).tiny)) * dtype.type(-2)) * scale


@draws
def weibull_min(words: Words, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Weibull numbers."""
    dtype = float_dtype(dtype)
    _, (scale, power) = parameters((), dtype, scale, concentration)
    return (-fnp.log1p(-uniform.of(words, shape, dtype))) ** (1 / power) * scale


@draws
def triangular(words: Words, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Numbers whose density is a triangle."""
    dtype = float_dtype(dtype)
    shape, (left, mode, right) = parameters(shape, dtype, left, mode, right)
    u = uniform.of(words, shape, dtype)
    rising = left + fnp.sqrt(u * (right - left) * (mode - left))
    falling = right - fnp.sqrt((1 - u) * (right - left) * (right - mode))
    return fnp.where(u < (mode - left) / (right - left), rising, falling)


@draws
def wald(words: Words, mean: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Inverse Gaussian numbers."""
    dtype = float_dtype(dtype)
    shape, (mean,) = parameters(shape, dtype, mean)
    first, second = keys_of(words, 2)
    y = fnp.square(normal.of(first, shape, dtype))
    x = mean + mean * mean * y / 2 - mean / 2 * fnp.sqrt(4 * mean * y + mean * mean * (y * y))
    is_near = uniform.of(second, shape, dtype) <= mean / (mean + x)
    return fnp.where(is_near, x, mean * mean / x)


@draws
def geometric(words: Words, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The number of trials up to the first success."""
    found, dtype = float_dtype(None), canonicalize_dtype(int if dtype is None else dtype)
    shape, (p,) = parameters(shape, found, p)
    u = uniform.of(words, shape, found)
    return (fnp.floor(fnp.log(u) / fnp.log1p(-p)) + 1).astype(dtype)


# -- numbers of gamma type -------------------------------------------------------------------------------------------
@draws
def loggamma(words: Words, a: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The logarithms of gamma numbers."""
    shape, (a,) = parameters(shape, float_dtype(dtype), a)
    return draw_log_gammas(words, fnp.broadcast_to(a, shape))


@draws
def gamma(words: Words, a: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Gamma numbers, of density x^(a−1)·e⁻ˣ/Γ(a)."""
    return fnp.exp(loggamma.of(words, a, shape, dtype))


@draws
def chisquare(words: Words, df: Any, shape: Any = None, dtype: Any = None) -> Any:
    """χ² numbers of `df` degrees of freedom."""
    dtype = float_dtype(dtype)
    shape, (df,) = parameters(shape, dtype, df)
    return 2 * fnp.exp(loggamma.of(words, df / 2, shape, dtype))


@draws
def beta(words: Words, a: Any, b: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Beta numbers, of density ∝ x^(a−1)·(1 − x)^(b−1)."""
    dtype = float_dtype(dtype)
    shape, (a, b) = parameters(shape, dtype, a, b)
    first, second = keys_of(words, 2)
    x, y = loggamma.of(first, a, shape, dtype), loggamma.of(second, b, shape, dtype)
    largest = fnp.maximum(x, y)
    x, y = fnp.exp(x - largest), fnp.exp(y - largest)
    return x / (x + y)


@draws
def dirichlet(words: Words, alpha: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Vectors of numbers that sum to 1."""
    _, (alpha,) = parameters((), float_dtype(dtype), alpha)
    if not aval_of(alpha).shape:
        raise ShapeError(
            "dirichlet: alpha has at least one axis",
            hint="alpha[None]; of one share there is nothing to draw",
        )
    leading = alpha.shape[:-1] if shape is None else as_shape(shape)
    logs = loggamma.of(words, alpha, (*leading, alpha.shape[-1]), dtype)
    parts = fnp.exp(logs - fnp.max(logs, axis=-1, keepdims=True))
    return parts / fnp.sum(parts, axis=-1, keepdims=True)


@draws
def t(words: Words, df: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Student's t of `df` degrees of freedom."""
    dtype = float_dtype(dtype)
    shape, (df,) = parameters(shape, dtype, df)
    first, second = keys_of(words, 2)
    half = df / 2
    return normal.of(first, shape, dtype) * fnp.sqrt(half / gamma.of(second, half, shape, dtype))


@draws
def f(words: Words, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Quotients of χ² numbers, each over its degrees of freedom."""
    dtype = float_dtype(dtype)
    shape, (dfnum, dfden) = parameters(shape, dtype, dfnum, dfden)
    below, above = keys_of(words, 2)
    top = chisquare.of(above, dfnum, shape, dtype) / dfnum
    return top / (chisquare.of(below, dfden, shape, dtype) / dfden)


@draws
def generalized_normal(words: Words, p: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Numbers of density ∝ exp(−|x|^p)."""
    dtype = float_dtype(dtype)
    first, second = keys_of(words, 2)
    sizes = gamma.of(first, 1 / p, as_shape(shape), dtype)
    return rademacher.of(second, shape).astype(dtype) * sizes ** dtype.type(1 / p)


@draws
def ball(words: Words, d: int, p: Any = 2, shape: Any = (), dtype: Any = None) -> Any:
    """Vectors of `d` numbers that are uniform in the unit ball of the p-norm."""
    dtype, shape = float_dtype(dtype), as_shape(shape)
    first, second = keys_of(words, 2)
    g = generalized_normal.of(first, p, (*shape, d), dtype)
    e = exponential.of(second, shape, dtype)
    return g / (((fnp.abs(g) ** p).sum(-1) + e) ** dtype.type(1 / p))[..., None]


# -- counts ----------------------------------------------------------------------------------------------------------
@draws
def poisson(words: Words, lam: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Numbers of events in a unit of time, of which `lam` are expected."""
    dtype = canonicalize_dtype(int if dtype is None else dtype)
    shape, (lam,) = parameters(shape, np.dtype(np.float32), lam)
    lam = lax.stop_gradient(fnp.broadcast_to(lam, shape))
    is_small = fnp.logical_or(fnp.isnan(lam), lam < FEW)
    few = count_events(words, fnp.where(is_small, lam, lam.dtype.type(0)), shape)
    many = reject_events(words, fnp.where(is_small, lam.dtype.type(1e5), lam), shape)
    return fnp.where(lam == 0, 0, fnp.where(is_small, few, many)).astype(dtype)


@draws
def binomial(words: Words, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Numbers of successes in `n` trials, each with probability `p`, as floats: NaN for what is no number of trials or
    no probability."""
    dtype, count = float_dtype(dtype), float_dtype(None)
    (of_n, (n,)), (of_p, (p,)) = parameters(None, count, n), parameters(None, dtype, p)
    shape = np.broadcast_shapes(of_n, of_p) if shape is None else as_shape(shape)
    return draw_successes(words, fnp.broadcast_to(n, shape), fnp.broadcast_to(p, shape)).astype(dtype)


@draws
def multinomial(
    words: Words, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: Any = 1
) -> Any:
    """How many of `n` trials have each of the results whose probabilities lie along the last axis of `p`: one after
    the other, binomial numbers of the trials that are left."""
    dtype = canonicalize_dtype(float if dtype is None else dtype)
    (_, (n,)), (_, (p,)) = [parameters(None, float_dtype(None), v) for v in (n, p)]
    if not aval_of(p).shape:
        raise ShapeError("multinomial: p has at least one axis", hint="fnp.stack([p, 1 - p]) for two results")
    shape = aval_of(p).shape if shape is None else as_shape(shape)
    p = fnp.moveaxis(fnp.broadcast_to(p, shape), -1, 0)
    rest = fnp.flip(fnp.cumsum(fnp.flip(p, 0), 0), 0)
    shares = p / fnp.where(rest == 0, p.dtype.type(1), rest)

    def draw(left: Any, given: Any) -> Any:
        words, share = given
        found = draw_successes(words, left, fnp.clip(share, 0, 1))
        return left - found, found

    left = fnp.broadcast_to(n, shape[:-1])
    _, counts = scan(draw, left, (threefry.split_words(words, shape[-1:]), shares))
    return fnp.moveaxis(counts, 0, -1).astype(dtype)


# -- choices ---------------------------------------------------------------------------------------------------------
def shuffle(words: Words, x: Any, axis: int) -> Any:
    """Return an array with its entries along an axis in another order: sorted by random keys, as often as ties among
    these need."""
    size = math.prod(x.shape)
    rounds = math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))
    for _ in range(rounds):
        words, part = keys_of(words, 2)
        order = fnp.argsort(threefry.bits(part, x.shape), axis=axis, stable=True)
        x = fnp.take_along_axis(x, order, axis)
    return x


@draws
def permutation(words: Words, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """The entries along an axis in a random order; those of `range(x)` for an integer."""
    refuse_shape(x, "permutation: x")
    x = as_value(x)
    if not np.ndim(x):
        if aval_of(x).dtype.kind not in "iu":
            raise DTypeError(
                "permutation: x is an integer, or has at least one axis", hint="int(x), jnp.arange(n)"
            )
        return shuffle(words, np.arange(int(x), dtype=canonicalize_dtype(int)), 0)
    if independent or x.ndim == 1:
        return shuffle(words, x, axis)
    return fnp.take(x, shuffle(words, np.arange(x.shape[axis], dtype=canonicalize_dtype(int)), 0), axis)


@draws
def choice(
    words: Words,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: Any = None,
) -> Any:
    """Entries of `a` along an axis, or numbers below the integer `a`, with the probabilities `p`."""
    if hasattr(shape, "__index__"):
        raise ShapeError(f"choice: the shape is a sequence, not {shape!r}", hint=f"shape=({shape!r},)")
    selection.check_flag(replace, "choice", "replace")
    refuse_shape(a, "choice: a")
    a = as_value(a)
    shape, is_number = as_shape(shape), not np.ndim(a)
    count, number = int(a) if is_number else a.shape[axis], math.prod(shape)
    p = None if p is None else narrow(as_value(p))
    selection.check_draws(count, number, replace, None if p is None else aval_of(p).shape)
    if p is None and replace:
        places = randint.of(words, shape, 0, count)
    elif p is None:
        order = permutation.of(words, count if is_number else a, axis)
        return order[:number].reshape(shape) if is_number else reshape_axis(order, axis, number, shape)
    elif replace:
        sums = fnp.cumsum(as_value(p))
        r = sums[-1] * (1 - uniform.of(words, shape, sums.dtype))
        places = fnp.searchsorted(sums, r).astype(canonicalize_dtype(int))
    else:
        scores = gumbel.of(words, (count,), as_value(p).dtype, mode) + fnp.log(as_value(p))
        places = lax.top_k(scores, number)[1].reshape(shape)
    return places if is_number else fnp.take(a, places, axis)


def reshape_axis(x: Any, axis: int, number: int, shape: tuple[int, ...]) -> Any:
    """Return the first entries along an axis, which becomes the axes of a shape."""
    axis %= x.ndim
    first = x[(slice(None),) * axis + (slice(number),)]
    return first.reshape((*x.shape[:axis], *shape, *x.shape[axis + 1 :]))


@draws
def categorical(
    words: Words, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True, mode: Any = None
) -> Any:
    """Numbers of the entries along an axis, with probabilities proportional to e^logits."""
    logits = fnp.asarray(as_value(logits))
    if not logits.ndim or not hasattr(axis, "__index__"):
        raise ShapeError(
            f"categorical: logits of shape {logits.shape}, axis {axis!r}",
            hint="logits with at least one axis, an integer for the axis, and shape= by its name",
        )
    axis = axis % logits.ndim - logits.ndim
    batch = logits.shape[:axis] + (logits.shape[axis + 1 :] if axis != -1 else ())
    shape = batch if shape is None else as_shape(shape)
    prefix = shape[: len(shape) - len(batch)]
    if replace:
        scores = gumbel.of(words, (*prefix, *logits.shape), logits.dtype, mode) + logits
        return fnp.argmax(scores, axis=axis).astype(canonicalize_dtype(int))
    scores = fnp.moveaxis(gumbel.of(words, logits.shape, logits.dtype, mode) + logits, axis, -1)
    places = lax.top_k(scores, math.prod(prefix))[1]
    return fnp.moveaxis(places, -1, 0).reshape(shape).astype(canonicalize_dtype(int))
