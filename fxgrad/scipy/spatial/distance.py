"""Distances between vectors, between the rows of one matrix, and between those of two, with SciPy's names.

A metric is one function of arrays along their last axis. Where two points coincide, derivatives of norms are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ... import numpy as fnp
from ...extend import (
    Array,
    ArrayLike,
    ShapeError,
    api_boundary,
    aval_of,
    check_option,
    ops,
    show_public_names,
)
from ...numpy.composite import operand
from ..reference import scipy_function

Metric = Callable[..., Any]


def weigh(x: Any, w: Any) -> Any:
    """Multiply by weights, if there are any."""
    return x if w is None else x * w


def total(x: Any) -> Any:
    """Sum along the last axis."""
    return fnp.sum(x, axis=-1)


def quotient(x: Any, y: Any) -> Any:
    """Divide, where 0/0 is 0."""
    is_zero = ops.equal(y, 0)
    return ops.where(is_zero, 0.0, x / ops.where(is_zero, 1.0, y))


def euclidean_distance(x: Any, y: Any, w: Any = None) -> Any:
    """The Euclidean norm of the difference."""
    return fnp.linalg.norm(weigh(x - y, None if w is None else fnp.sqrt(w)), axis=-1)


def minkowski_distance(x: Any, y: Any, p: float = 2, w: Any = None) -> Any:
    """The p-norm of the difference."""
    return fnp.linalg.norm(weigh(x - y, None if w is None else fnp.asarray(w) ** (1 / p)), p, axis=-1)


def cosine_distance(x: Any, y: Any, w: Any = None) -> Any:
    """One minus the cosine of the angle."""
    scale = fnp.sqrt(total(weigh(x * x, w)) * total(weigh(y * y, w)))
    return 1 - total(weigh(x * y, w)) / scale


def correlation_distance(x: Any, y: Any, w: Any = None) -> Any:
    """The cosine distance of deviations from the mean."""
    share = 1 / x.shape[-1] if w is None else w / fnp.sum(fnp.asarray(w))
    x, y = x - total(x * share)[..., None], y - total(y * share)[..., None]
    return cosine_distance(x, y, w)


def jensen_shannon(x: Any, y: Any, base: float | None = None) -> Any:
    """The root of the mean relative entropy of two laws to their mean."""
    x, y = x / total(x)[..., None], y / total(y)[..., None]
    middle = (x + y) / 2

    def entropy(p: Any) -> Any:
        ratio = ops.where(ops.greater(p, 0), quotient(p, middle), 1.0)
        return total(p * fnp.log(ratio))

    both = (entropy(x) + entropy(y)) / 2
    positive = ops.greater(both, 0)
    return fnp.where(positive, fnp.sqrt(fnp.where(positive, both, 1.0) / np.log(base or np.e)), 0.0)


METRICS: dict[str, Metric] = {
    "braycurtis": lambda x, y, w=None: total(weigh(abs(x - y), w)) / total(weigh(abs(x + y), w)),
    "canberra": lambda x, y, w=None: total(weigh(quotient(abs(x - y), abs(x) + abs(y)), w)),
    "chebyshev": lambda x, y, w=None: fnp.max(
        abs(x - y) if w is None else fnp.where(w > 0, abs(x - y), 0), axis=-1
    ),
    "cityblock": lambda x, y, w=None: total(weigh(abs(x - y), w)),
    "correlation": correlation_distance,
    "cosine": cosine_distance,
    "euclidean": euclidean_distance,
    "jensenshannon": jensen_shannon,
    "mahalanobis": lambda x, y, VI: fnp.sqrt(total(((x - y) @ VI) * (x - y))),
    "minkowski": minkowski_distance,
    "seuclidean": lambda x, y, V: euclidean_distance(x, y, 1 / fnp.asarray(V)),
    "sqeuclidean": lambda x, y, w=None: total(weigh((x - y) ** 2, w)),
}
SHORT = {
    "l1": "cityblock",
    "l2": "euclidean",
    "inf": "chebyshev",
    "manhattan": "cityblock",
    "js": "jensenshannon",
}


class Distance(Protocol):
    """The type of the functions that measure one distance; `options` are those of the metric."""

    def __call__(self, u: ArrayLike, v: ArrayLike, *options: Any, **named: Any) -> Array: ...


def floating(x: Any) -> Any:
    """Return an array of floating numbers."""
    x = operand(x)
    return x if aval_of(x).dtype.kind == "f" else fnp.astype(x, float)


def measure(name: str, u: Any, v: Any, **options: Any) -> Any:
    """Return the distance of two vectors."""
    x, y = floating(u), floating(v)
    if x.ndim != 1 or x.shape != y.shape:
        raise ShapeError(
            f"{name}: vectors of shapes {x.shape} and {y.shape}",
            hint=f"two vectors of one size; cdist(x, y, {name!r}) for all rows",
        )
    return METRICS[name](x, y, **options)


# Functions of two vectors by their signatures, for those metrics whose options are other than weights.
FORMS: dict[str, Callable[[str], Callable[..., Any]]] = {
    "jensenshannon": lambda name: lambda p, q, base=None: measure(name, p, q, base=base),
    "mahalanobis": lambda name: lambda u, v, VI: measure(name, u, v, VI=fnp.asarray(VI)),
    "minkowski": lambda name: lambda u, v, p=2, w=None: measure(name, u, v, p=p, w=w),
    "seuclidean": lambda name: lambda u, v, V: measure(name, u, v, V=V),
}
OPTIONS = {
    "VI": "the inverse of a covariance",
    "V": "variances",
    "base": "the logarithm's",
    "p": "the norm's",
}


def declare(name: str, text: str, found: str, options: str = "") -> Distance:
    """Declare the distance of two vectors by a metric."""
    make = FORMS.get(name, lambda name: lambda u, v, w=None: measure(name, u, v, w=w))
    function: Any = make(name)
    function.__name__ = function.__qualname__ = name
    first, second, *others = function.__code__.co_varnames[: function.__code__.co_argcount]
    told = [f"        {o}: {OPTIONS.get(o, 'weights of the entries; None: all 1')}.\n" for o in others]
    function.__doc__ = f"""{text}

    Args:
        {first}, {second}: two vectors.
{"".join(told)}
    Raises:
        ShapeError: they are no vectors of one size.

    >>> round(float(fx.scipy.spatial.distance.{name}([1.0, 2.0], [4.0, 6.0]{options})), 4)
    {found}
    """
    return scipy_function("spatial.distance")(function)


braycurtis: Distance = declare("braycurtis", "The sum of |u − v| divided by that of |u + v|.", "0.5385")
canberra: Distance = declare("canberra", "The sum of |u − v| / (|u| + |v|).", "1.1")
chebyshev: Distance = declare("chebyshev", "The greatest |u − v|.", "4.0")
cityblock: Distance = declare("cityblock", "The sum of |u − v|.", "7.0")
correlation: Distance = declare("correlation", "One minus the correlation of u and v.", "0.0")
cosine: Distance = declare("cosine", "One minus the cosine of the angle between u and v.", "0.0077")
euclidean: Distance = declare("euclidean", "The Euclidean distance.", "5.0")
jensenshannon: Distance = declare("jensenshannon", "The Jensen-Shannon distance of two laws.", "0.0489")
mahalanobis: Distance = declare(
    "mahalanobis", "The root of (u − v) VI (u − v).", "7.0711", ", [[2.0, 0.0], [0.0, 2.0]]"
)
minkowski: Distance = declare("minkowski", "The p-norm of u − v.", "4.4979", ", 3")
seuclidean: Distance = declare(
    "seuclidean", "The Euclidean distance of entries with the variances V.", "2.5", ", [4.0, 4.0]"
)
sqeuclidean: Distance = declare("sqeuclidean", "The square of the Euclidean distance.", "25.0")


def choose_metric(metric: Any, options: dict[str, Any], samples: Callable[[], Any]) -> Metric:
    """Return a metric as a function of arrays along the last axis. What it is of is estimated from samples, unless it
    is given, as by SciPy."""
    options = {k: v for k, v in options.items() if v is not None}
    if callable(metric):
        name = getattr(metric, "__name__", "")
        if globals().get(name) is not metric:
            flat = fnp.vectorize(lambda x, y: metric(x, y, **options), signature="(n),(n)->()")
            return lambda x, y: flat(*fnp.broadcast_arrays(x, y))
        metric = name
    metric = SHORT.get(str(metric).lower(), str(metric).lower())
    check_option("cdist", "metric", metric, METRICS)
    if metric == "seuclidean" and "V" not in options:
        options["V"] = fnp.var(samples(), axis=0, ddof=1)
    if metric == "mahalanobis" and "VI" not in options:
        options["VI"] = fnp.linalg.inv(fnp.cov(samples().T)).T
    return lambda x, y: METRICS[metric](x, y, **options)


@scipy_function("spatial.distance")
def cdist(
    XA: ArrayLike, XB: ArrayLike, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any
) -> Array:
    """The distances between the rows of two matrices, [m, n].

    Args:
        XA, XB: matrices [m, d] and [n, d].
        metric: the name of a function of this module, or a function of two vectors.
        kwargs: what the metric takes.

    Raises:
        ShapeError: they are no matrices with rows of one size.
        StructureError: there is no such metric.

    >>> x = fnp.array([[0.0, 0.0], [3.0, 4.0]])
    >>> fx.scipy.spatial.distance.cdist(x, x[:1])
    array([[0.],
           [5.]])
    """
    x, y = floating(XA), floating(XB)
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise ShapeError(
            f"cdist: matrices of shapes {x.shape} and {y.shape}", hint="shapes (m, d) and (n, d)"
        )
    chosen = choose_metric(metric, kwargs, lambda: fnp.concatenate([x, y]))
    return chosen(x[:, None], y[None])


@scipy_function("spatial.distance")
def pdist(X: ArrayLike, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Array:
    """The distances between all pairs of rows, as a vector: (0, 1), (0, 2), …, (1, 2), …; `squareform` makes a matrix
    of it.

    Args:
        X: a matrix [m, d].
        metric, kwargs: as for `cdist`.

    Raises:
        ShapeError: it is no matrix.
        StructureError: there is no such metric.

    >>> fx.scipy.spatial.distance.pdist(np.array([[0.0], [1.0], [3.0]]))
    array([1., 3., 2.])
    """
    x = floating(X)
    if x.ndim != 2:
        raise ShapeError(f"pdist: a matrix of shape {x.shape}", hint="shape (m, d): x[:, None] for numbers")
    first, second = np.triu_indices(x.shape[0], 1)
    return choose_metric(metric, kwargs, lambda: x)(x[first], x[second])


@scipy_function("spatial.distance")
def squareform(X: ArrayLike, force: str = "no", checks: bool = True) -> Array:
    """The symmetric matrix of the distances of all pairs, or these distances of the matrix.

    Args:
        X: what `pdist` returns, or a symmetric matrix.
        force: "tovector" or "tomatrix", of which only one is possible.
        checks: SciPy's checks of symmetry; of known values only.

    Raises:
        ShapeError: a vector whose size is not that of all pairs.

    >>> fx.scipy.spatial.distance.squareform(np.array([1.0, 3.0, 2.0]))
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    x = operand(X)
    if x.ndim == 2:
        return x[np.triu_indices(x.shape[0], 1)]
    n = round((1 + np.sqrt(1 + 8 * x.size)) / 2)
    if x.ndim != 1 or n * (n - 1) // 2 != x.size:
        raise ShapeError(f"squareform: a vector of shape {x.shape}", hint="n(n − 1)/2 distances, or a matrix")
    upper = fnp.at(fnp.zeros((n, n), aval_of(x).dtype))[np.triu_indices(n, 1)].set(x)
    return upper + upper.T


@api_boundary
def distance_matrix(x: ArrayLike, y: ArrayLike, p: float = 2, threshold: int = 1000000) -> Array:
    """The p-norm distances between the rows of two matrices, [m, n].

    Args:
        x, y: matrices [m, d] and [n, d].
        p: the norm's.
        threshold: has no effect on results.

    >>> fx.scipy.spatial.distance_matrix(np.array([[0.0], [1.0]]), np.array([[3.0]]))
    array([[3.],
           [2.]])
    """
    return cdist(x, y, "minkowski", p=p)


__all__ = [
    "braycurtis", "canberra", "cdist", "chebyshev", "cityblock", "correlation", "cosine", "euclidean",
    "jensenshannon", "mahalanobis", "minkowski", "pdist", "seuclidean", "sqeuclidean", "squareform",
]  # fmt: skip

show_public_names(__name__)
