"""The base classes of distributions, which derive all methods from the functions that a subclass defines.

A subclass defines functions of a standard variable and of the shapes, under the names that subclasses of SciPy's
`rv_continuous` and `rv_discrete` use: `_logpdf` or `_logpmf`, `_cdf`, and better versions of derived ones if there are
any: `_sf`, `_logcdf`, `_logsf`, `_ppf`, `_isf`; `_get_support` and `_argcheck` where they are not constant or not "all
shapes are positive"; `_stats` or `_munp` and `_entropy`. The base class adds the public methods: location and scale,
values outside the support, NaN for invalid parameters, and derivatives that are finite wherever the value is that of a
constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ... import random as fxrandom
from ...extend import (
    Array,
    ArrayLike,
    DTypeError,
    ShapeError,
    StructureError,
    UnsupportedError,
    api_boundary,
    as_value,
    aval_of,
    errors,
    insert_before_example,
    kind_of,
    ops,
)
from ...numpy.composite import cast, composite
from ...random.laws import Functions, Law
from ...random.parameters import uniform_open
from .. import special
from .generator import check_that_all_is_plain, is_of_numpy, random_key, scipy_law

F = TypeVar("F", bound=Callable[..., Any])
INFINITY = math.inf


def method(body: F) -> F:
    """Declare a method: NumPy does not warn of what is masked afterwards, and errors name the user's line."""

    @wraps(body)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            result = body(*args, **kwargs)
        return (
            result[()] if type(result) is np.ndarray and not result.ndim else result
        )  # a number, as SciPy's

    return composite()(quiet)  # type: ignore[return-value]


class Arguments(NamedTuple):
    """The arguments of a method: points, shapes, location and scale (None for 0 and 1), whether the parameters are
    ones (None where that is known), and the dtype of the result."""

    points: Any
    shapes: list[Any]
    loc: Any
    scale: Any
    valid: Any
    dtype: np.dtype

    def finish(self, result: Any) -> Any:
        """Return a result in its dtype, NaN where the parameters are no parameters."""
        return cast(result if self.valid is None else ops.where(self.valid, result, math.nan), self.dtype)

    def place(self, z: Any) -> Any:
        """Return the point of which z is the standard form."""
        z = z if self.scale is None else z * self.scale
        return z if self.loc is None else z + self.loc


def all_of(*conditions: Any) -> Any:
    """Whether all conditions hold; None is one that does."""
    found = None
    for condition in conditions:
        if condition is not None:
            found = condition if found is None else ops.logical_and(found, condition)
    return found


def any_of(*conditions: Any) -> Any:
    """Whether one of the conditions holds; None is one that does not."""
    found = None
    for condition in conditions:
        if condition is not None:
            found = condition if found is None else ops.logical_or(found, condition)
    return found


def select(condition: Any, x: Any, otherwise: Any) -> Any:
    """`where`, for a condition that may be None, which does not hold."""
    return otherwise if condition is None else ops.where(condition, x, otherwise)


def magnitude(x: Any) -> Any:
    """|x|, with derivative 1 at 0: for functions that are smooth there."""
    return ops.where(ops.less(x, 0), -x, x)


def is_constant(bound: Any, value: float) -> bool:
    """Whether a bound is a Python number of this value."""
    return isinstance(bound, float | int) and bound == value


def as_floats(values: Sequence[Any], name: str) -> tuple[list[Array], np.dtype]:
    """Return real arguments in the dtype in which they are computed, and that of the result: their common one, float64
    for integers. Numbers of 16 bits are computed in float32."""
    values = [as_value(v) for v in values]
    dtype = np.dtype(ops.result_dtype(values) if values else float)
    if kind_of(dtype) == "c":
        raise DTypeError(
            f"{name}: arguments are real numbers, not {', '.join(map(errors.describe, values))}",
            hint="z.real or abs(z)",
        )
    if kind_of(dtype) != "f":
        dtype = np.dtype(float)
    computed = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    return [ops.convert(v, dtype=computed) for v in values], dtype


def stats_of_moments(first: Any, second: Any, third: Any, fourth: Any) -> tuple[Any, Any, Any, Any]:
    """Return mean, variance, skewness and excess kurtosis, given the moments about zero."""
    var = second - first**2
    skew = (third - 3 * first * second + 2 * first**3) / var**1.5
    heavy = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    return first, var, skew, heavy / var**2 - 3


class Distribution:
    """The base of distributions of one number: parameters, frozen ones, and what continuous and discrete ones share."""

    a: Any = -INFINITY  # the ends of the support in standard form
    b: Any = INFINITY
    shapes: tuple[str, ...] = ()
    _further: tuple[str, ...] = ()  # parameters after the shapes
    _holds_at_infinity = False  # whether the hooks are right at ±∞, too
    _law: str = ""  # the hook whose signature names the shapes
    _source: str = ""  # of its formulas, for the docstring
    _sampler: str = ""  # of `fxgrad.random`, where that is not the inverse of the distribution function
    _f = Functions(ops, special)  # over which the formulas of `fxgrad.random.laws` are computed

    @api_boundary
    def __init__(self, a: float | None = None, b: float | None = None, name: str | None = None):
        self.a, self.b = (self.a if a is None else a), (self.b if b is None else b)
        self.name: str = name or type(self).__name__.lower().rstrip("_")

    def __init_subclass__(cls) -> None:
        stated = [vars(c) for c in (cls, *cls.__bases__) if c is cls or issubclass(c, Law)]
        laws = (members.get(hook) for hook in (cls._law, cls._law.replace("log", "")) for members in stated)
        law = next(filter(None, laws), None)
        if law is not None and "shapes" not in vars(cls):
            cls.shapes = law.__code__.co_varnames[2 : law.__code__.co_argcount]
        if cls._source and cls.__doc__ and cls.__module__.startswith(f"{__package__}."):
            cls.__doc__ = insert_before_example(cls.__doc__, f"Source: {cls._source}.")

    def __repr__(self) -> str:
        return f"<fxgrad.scipy.stats.{self.name}({', '.join((*self.shapes, *self._further))})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Freeze the parameters: `norm(1.0, 2.0).logpdf(x)` is `norm.logpdf(x, 1.0, 2.0)`."""
        return self.freeze(*args, **kwargs)

    def freeze(self, *args: Any, **kwargs: Any) -> Frozen:
        """Freeze the parameters, as a call does."""
        self._parameters(args, kwargs)
        return Frozen(self, args, kwargs)

    # -- arguments ------------------------------------------
    def _parameters(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """Return the shapes, the location and (of continuous ones) the scale."""
        names = (*self.shapes, *self._further)
        given = dict(zip(names, args))
        twice = given.keys() & kwargs.keys()
        given |= kwargs
        missing = [name for name in self.shapes if name not in given]
        if len(args) > len(names) or twice or missing or not given.keys() <= set(names):
            raise StructureError(
                f"{self.name}: the parameters are {', '.join(names)}; "
                f"given are {len(args)} by position{''.join(f', {name}=' for name in kwargs)}",
                hint="each parameter once, by position or by name",
            )
        defaults = {"loc": 0, "scale": 1}
        return [given[name] if name in given else defaults[name] for name in names]

    def _arguments(self, points: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Arguments:
        """Prepare the arguments of a method; `points` is None where it has none."""
        parameters = self._parameters(args, kwargs)
        count = len(self.shapes)
        plain = (0, 1)  # the parameters after the shapes that change nothing
        used = [not (type(v) is int and v == plain[i]) for i, v in enumerate(parameters[count:])]
        given = [v for v, use in zip(parameters, [True] * count + used) if use]
        values, dtype = as_floats([*given, *([] if points is None else [points])], self.name)
        self._check_shapes(values)
        shapes, rest = values[:count], iter(values[count:])
        loc = next(rest) if used[0] else None
        scale = next(rest) if used[1:] and used[1] else None
        valid = all_of(self._argcheck(*shapes), None if scale is None else ops.greater(scale, 0))
        return Arguments(None if points is None else values[-1], shapes, loc, scale, valid, dtype)

    def _check_shapes(self, values: Sequence[Any]) -> None:
        """Raise ShapeError where arguments do not broadcast."""
        sizes = {tuple(v.shape) for v in values} - {()}
        if len(sizes) > 1:
            try:
                np.broadcast_shapes(*sizes)
            except ValueError:
                raise ShapeError(
                    f"{self.name}: arguments of shapes {', '.join(str(tuple(v.shape)) for v in values)} do not "
                    "broadcast",
                    hint="one axis for each parameter that varies by itself: x[:, None]",
                ) from None

    def _standardize(self, given: Arguments) -> Any:
        """Return the points in standard form."""
        z = given.points if given.loc is None else given.points - given.loc
        return z if given.scale is None else z / given.scale

    # -- what a distribution may state ------------------------------------------
    def _argcheck(self, *shapes: Any) -> Any:
        """Whether shapes are parameters: all are positive, unless a distribution says otherwise."""
        return all_of(*(ops.greater(shape, 0) for shape in shapes))

    def _get_support(self, *shapes: Any) -> tuple[Any, Any]:
        """Return the ends of the support."""
        return self.a, self.b

    def _cdf(self, z: Any, *shapes: Any) -> Any:
        if type(self)._sf is Distribution._sf:
            raise UnsupportedError(
                f"{self.name} has no distribution function here", hint="define _cdf(self, x, *shapes)"
            )
        return 1 - self._sf(z, *shapes)

    def _sf(self, z: Any, *shapes: Any) -> Any:
        return 1 - self._cdf(z, *shapes)

    def _logcdf(self, z: Any, *shapes: Any) -> Any:
        return self._log_of_part(self._cdf, self._sf, z, *shapes)

    def _logsf(self, z: Any, *shapes: Any) -> Any:
        return self._log_of_part(self._sf, self._cdf, z, *shapes)

    def _log_of_part(self, part: Callable[..., Any], rest: Callable[..., Any], z: Any, *shapes: Any) -> Any:
        """log F, from 1 - F where F is the greater."""
        p, q = part(z, *shapes), rest(z, *shapes)
        small = ops.less(p, 0.5)
        return ops.where(small, ops.log(ops.where(small, p, 0.5)), ops.log1p(-ops.where(small, 0.5, q)))

    def _stats(self, *shapes: Any) -> tuple[Any, Any, Any, Any]:
        """Return mean, variance, skewness and excess kurtosis, from the moments about zero."""
        return stats_of_moments(*(self._munp(n, *shapes) for n in (1, 2, 3, 4)))

    def _munp(self, n: int, *shapes: Any) -> Any:
        """Return the moment of order n about zero, from mean, variance, skewness and kurtosis."""
        if type(self)._stats is Distribution._stats:
            raise UnsupportedError(
                f"{self.name}: no closed form of its moments is known here",
                hint=f"integrate.quad(lambda x: x**n * {self.name}.pdf(x, …), a, b)",
            )
        mean, var, skew, kurtosis = self._stats(*shapes)
        if n > 4:
            raise UnsupportedError(
                f"{self.name}: no closed form of moments of order {n} is known here",
                hint=f"integrate.quad(lambda x: x**{n} * {self.name}.pdf(x, …), a, b)",
            )
        central = [
            1.0,
            0.0,
            var,
            skew * var**1.5 if n > 2 else 0.0,
            (kurtosis + 3) * var * var if n > 3 else 0.0,
        ]
        return sum(math.comb(n, i) * central[i] * mean ** (n - i) for i in range(n + 1))

    def _entropy(self, *shapes: Any) -> Any:
        raise UnsupportedError(
            f"{self.name}: no closed form of its entropy is known here",
            hint="integrate.quad(lambda x: -pdf(x) * logpdf(x), a, b)",
        )

    def _rvs(self, key: Any, size: tuple[int, ...], *shapes: Any) -> Any:
        if self._sampler:
            return getattr(fxrandom, self._sampler)(key, *shapes, size)
        return self._ppf(uniform_open(key, size), *shapes)

    def _ppf(self, q: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    # -- distribution functions ------------------------------------------
    def _part(
        self, part: Callable[..., Any], below: float, above: float, x: Any, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """A function of the part of the distribution on one side of x, which is constant outside the support."""
        given = self._arguments(x, args, kwargs)
        z = self._count(self._standardize(given))
        lower, upper = self._get_support(*given.shapes)
        left = None if self._is_nowhere(lower, -INFINITY) else self._is_below(z, lower)
        right = None if self._is_nowhere(upper, INFINITY) else ops.greater_equal(z, upper)
        inner = select(any_of(left, right), self._inner_point(lower, upper), z)
        value = self._level_off(part(inner, *given.shapes), below, above, inner, given.shapes)
        return given.finish(select(left, below, select(right, above, value)))

    def _level_off(self, value: Any, below: float, above: float, z: Any, shapes: Sequence[Any]) -> Any:
        """Values of a part, without derivatives where they are constant but for what underflows."""
        return value

    def _is_nowhere(self, end: Any, infinity: float) -> bool:
        """Whether nothing has to be masked beyond an end of the support."""
        return self._holds_at_infinity and is_constant(end, infinity)

    def _count(self, z: Any) -> Any:
        return z

    def _is_below(self, z: Any, lower: Any) -> Any:
        return ops.less_equal(z, lower)

    def _inner_point(self, lower: Any, upper: Any) -> Any:
        """A point inside the support, to put in the place of those outside, whose derivatives are masked."""
        if is_constant(lower, -INFINITY):
            return 0.0 if is_constant(upper, INFINITY) else upper - 1
        if is_constant(upper, INFINITY):
            return lower + 1
        if isinstance(lower, float | int) and isinstance(upper, float | int):
            return 0.5 * (lower + upper)
        finite = ops.logical_and(ops.isfinite(lower), ops.isfinite(upper))
        middle = 0.5 * (ops.where(finite, lower, 0.0) + ops.where(finite, upper, 0.0))
        return ops.where(finite, middle, ops.minimum(ops.maximum(0.0, lower), upper))

    @method
    def cdf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The distribution function, P(X ≤ x)."""
        return self._part(self._cdf, 0.0, 1.0, x, args, kwargs)

    @method
    def sf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The survival function P(X > x), which is not the difference 1 - cdf(x)."""
        return self._part(self._sf, 1.0, 0.0, x, args, kwargs)

    @method
    def logcdf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The logarithm of `cdf`."""
        return self._part(self._logcdf, -INFINITY, 0.0, x, args, kwargs)

    @method
    def logsf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The logarithm of `sf`."""
        return self._part(self._logsf, 0.0, -INFINITY, x, args, kwargs)

    # -- quantiles ------------------------------------------
    def _quantile(self, inverse: Callable[..., Any], falling: bool, q: Any, args: Any, kwargs: Any) -> Any:
        """The point at which `cdf` (or `sf`, which falls) is q: the ends of the support for 0 and 1, NaN beyond."""
        given = self._arguments(q, args, kwargs)
        q = given.points
        lower, upper = self._get_support(*given.shapes)
        ends = (upper, self._least(lower)) if falling else (self._least(lower), upper)
        inside = ops.logical_and(ops.greater(q, 0), ops.less(q, 1))
        z = inverse(ops.where(inside, q, 0.5), *given.shapes)
        for bound in ends:  # what is rounded to an end is the end
            z = ops.where(ops.equal(z, bound), bound, z)
        end = ops.where(ops.equal(q, 0), ends[0], ops.where(ops.equal(q, 1), ends[1], math.nan))
        return given.finish(given.place(ops.where(inside, z, end)))

    def _least(self, lower: Any) -> Any:
        """The quantile for 0."""
        return lower

    @method
    def ppf(self, q: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The quantile function, the inverse of `cdf`; of a discrete distribution the least k with cdf(k) ≥ q."""
        return self._quantile(self._ppf, False, q, args, kwargs)

    @method
    def isf(self, q: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The inverse of `sf`; of a discrete distribution the least k with sf(k) ≤ q."""
        return self._quantile(self._isf, True, q, args, kwargs)

    def _isf(self, q: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def median(self, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The quantile for 1/2."""
        return self.ppf(0.5, *args, **kwargs)

    def interval(self, confidence: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> tuple[Array, Array]:
        """The ends of the interval about the median that has a probability: two quantiles."""
        lower, upper = 0.5 * (1 - as_value(confidence)), 0.5 * (1 + as_value(confidence))
        return self.ppf(lower, *args, **kwargs), self.ppf(upper, *args, **kwargs)

    @method
    def support(self, *args: ArrayLike, **kwargs: ArrayLike) -> tuple[Array, Array]:
        """The ends of the support."""
        given = self._arguments(None, args, kwargs)
        ends = (ops.convert(end, dtype=given.dtype) for end in self._get_support(*given.shapes))
        return tuple(given.finish(given.place(end)) for end in ends)  # type: ignore[return-value]

    # -- moments ------------------------------------------
    @method
    def stats(self, *args: ArrayLike, moments: str = "mv", **kwargs: ArrayLike) -> Any:
        """The mean "m", the variance "v", the skewness "s" and the excess kurtosis "k", those that `moments` names.

        Raises:
            StructureError: a letter of `moments` stands for none.
            UnsupportedError: no closed form of one is known here.
        """
        given = self._arguments(None, args, kwargs)
        mean, var, skew, kurtosis = self._stats(*given.shapes)
        var = var if given.scale is None else var * ops.square(given.scale)
        known = {"m": given.place(mean), "v": var, "s": skew, "k": kurtosis}
        if not moments or set(moments) - set(known):
            raise StructureError(
                f"{self.name}.stats: moments are letters of 'mvsk', not {moments!r}",
                hint='moments="mv" for mean and variance, s for skew, k for kurtosis',
            )
        shape = np.broadcast_shapes(
            *(aval_of(v).shape for v in (*given.shapes, given.loc, given.scale) if v is not None)
        )
        found = []
        for letter in moments:
            value = known[letter]
            if value is None:
                raise UnsupportedError(
                    f"{self.name}.stats: no closed form of {letter!r} is known here",
                    hint=f"integrate.quad(lambda x: x**n * {self.name}.pdf(x, …), a, b), of which it is made",
                )
            value = ops.convert(as_value(value), dtype=given.dtype)
            found.append(
                given.finish(value if value.shape == shape else ops.broadcast_to(value, shape=shape))
            )
        return found[0] if len(found) == 1 else tuple(found)

    def mean(self, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The expectation E X."""
        return self.stats(*args, moments="m", **kwargs)

    def var(self, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The variance E (X - E X)²."""
        return self.stats(*args, moments="v", **kwargs)

    @method
    def std(self, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The standard deviation, the root of the variance."""
        return ops.sqrt(self.var(*args, **kwargs))

    @method
    def moment(self, order: int, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The moment E Xⁿ of an order n = 1, 2, …, not about the mean.

        Raises:
            StructureError: the order is no positive whole number.
        """
        if not isinstance(order, int | np.integer) or order < 1:
            raise StructureError(
                f"{self.name}.moment: the order is a positive whole number, not {order!r}",
                hint="order=1 for the mean",
            )
        given = self._arguments(None, args, kwargs)
        powers = [1.0, *(self._munp(n, *given.shapes) for n in range(1, order + 1))]
        scale, loc = (1.0 if given.scale is None else given.scale), (0.0 if given.loc is None else given.loc)
        terms = (math.comb(order, n) * powers[n] * scale**n * loc ** (order - n) for n in range(order + 1))
        return given.finish(ops.convert(as_value(sum(terms)), dtype=given.dtype))

    # -- random numbers ------------------------------------------
    @method
    def rvs(self, *args: ArrayLike, size: Any = None, random_state: Any = None, **kwargs: ArrayLike) -> Array:
        """Draw random numbers, which are differentiable in the parameters of a continuous distribution.

        `random_state` is a key of `fxgrad.random`, and `size` the shape of the result, to which the parameters
        broadcast: theirs, unless it is given. Without a key, or with a seed or a generator of NumPy's, the numbers are
        SciPy's, outside of transforms.

        Raises:
            StructureError: there is no key inside a transform.
            ShapeError: the parameters do not broadcast to the size.
        """
        if is_of_numpy(random_state):
            check_that_all_is_plain(f"{self.name}.rvs", [*args, *kwargs.values()])
        given = self._arguments(None, args, kwargs)
        values = [v for v in (*given.shapes, given.loc, given.scale) if v is not None]
        shape = np.broadcast_shapes(*(aval_of(v).shape for v in values))
        size = shape if size is None else fxrandom.keys.as_shape(size, f"{self.name}.rvs")
        if np.broadcast_shapes(shape, size) != size:
            raise ShapeError(
                f"{self.name}.rvs: parameters of shape {shape} do not broadcast to size {size}",
                hint=f"size={(*np.atleast_1d(size).tolist(), *shape)}, which ends with the shape of the parameters",
            )
        if is_of_numpy(random_state):
            theirs: Any = scipy_law(self)
            if theirs is not None:
                return cast(theirs.rvs(*args, **kwargs, size=size, random_state=random_state), given.dtype)
            random_state = random_key(random_state)
        drawn = self._rvs(fxrandom.keys.check_one_key(random_state, f"{self.name}.rvs"), size, *given.shapes)
        return given.finish(given.place(drawn))


class Frozen:
    """A distribution with its parameters, which its methods add to what they are given."""

    def __init__(self, dist: Distribution, args: tuple[Any, ...], kwds: dict[str, Any]):
        self.dist: Distribution = dist
        self.args: tuple[Any, ...] = args
        self.kwds: dict[str, Any] = kwds

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwds.items())]
        return f"{self.dist.name}({', '.join(given)})"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in dir(self.dist) if not name.startswith("_"))]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("dist", "shapes", "freeze"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(self.dist, name)
        if not callable(found):
            return found

        @wraps(found)
        def with_parameters(*args: Any, **kwargs: Any) -> Any:
            return found(*args, *self.args, **self.kwds, **kwargs)

        return with_parameters
