"""Hints of error messages that many functions share, derived from shapes and NumPy's messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from math import prod
from typing import Any

Shape = Sequence[int]


def suggest(name: str, names: Collection[str]) -> str:
    """Return the question after a name that is not there: whether the nearest one of `names` is meant; "" if none is
    near.

    >>> suggest("axes", ["a", "axis", "keepdims"]), suggest("axes", ["x"])
    (". Did you mean: 'axis'?", '')
    """
    from difflib import get_close_matches

    near = get_close_matches(name, names, 1, 0.7) or [n for n in names if n.lower() == name.lower()]
    return f". Did you mean: {near[0]!r}?" if near else ""


def suggest_keyword(error: BaseException, function: Callable[..., Any]) -> None:
    """Complete Python's error for a keyword that a function has not. From Python 3.13 on Python does so itself, but not
    for functions that pass their keywords on."""
    found = re.search(r"([^\s.]*)\(\) got an unexpected keyword argument '(\w+)'$", str(error))
    if type(error) is not TypeError or found is None:
        return
    if found[1] == function.__name__ or f"<locals>.{found[1]}()" in str(error):  # whose name was given later
        from inspect import signature

        error.args = (str(error) + suggest(found[2], [*signature(function).parameters]),)


def fit_axis(ndim: int) -> str:
    """Return which axes there are.

    >>> fit_axis(2), fit_axis(0)
    ('an axis from -2 to 1', 'x[None], which has an axis: a number has none')
    """
    return f"an axis from {-ndim} to {ndim - 1}" if ndim else "x[None], which has an axis: a number has none"


def fit_index(size: int) -> str:
    """Return which indices there are.

    >>> fit_index(2)
    "an index from -2 to 1, or fnp.take(x, index, axis, mode='clip'), which takes the nearest"
    """
    if not size:
        return "look at x.shape first: the axis is empty"
    return f"an index from {-size} to {size - 1}, or fnp.take(x, index, axis, mode='clip'), which takes the nearest"


def fit_reshape(size: int, shape: Shape) -> str:
    """Return a shape near the one wanted that has `size` entries; -1 stands for a size to be found.

    >>> fit_reshape(6, (4, 2)), fit_reshape(6, (4, -1))
    ('(3, 2), which has 6 entries', '-1 beside sizes whose product divides 6')
    >>> fit_reshape(6, (5, 5))
    'sizes whose product is 6; fnp.resize(x, shape) repeats or drops entries'
    """
    if -1 in shape:
        return f"-1 beside sizes whose product divides {size}"
    for i in range(len(shape)):
        others = prod(shape[:i]) * prod(shape[i + 1 :])
        if others and size % others == 0:
            return f"{(*shape[:i], size // others, *shape[i + 1 :])}, which has {size} entries"
    return f"sizes whose product is {size}; fnp.resize(x, shape) repeats or drops entries"


def fit_broadcast(shapes: Sequence[Shape], names: tuple[str, str] | None = None) -> str:
    """Return what makes two shapes broadcast: the axes that one of them lacks, or the rule.

    >>> fit_broadcast([(2, 3), (2,)]), fit_broadcast([(2, 3), (3, 2)])
    ('the second one as y[:, None], of shape (2, 1)', 'the second one as y.T, transposed')
    >>> fit_broadcast([(2, 3), (2,)], ("x[…]", "values"))
    'values[:, None], of shape (2, 1)'
    >>> fit_broadcast([(2,), (3,)])
    'x[:, None] and y for all pairs of entries'
    >>> fit_broadcast([(2, 3), (2, 4)])
    'sizes that, from the right, are equal or 1; x[:, None] adds an axis of size 1'
    """
    first, second = names or ("the first one as x", "the second one as y")
    if len(shapes) == 2:
        x, y = map(tuple, shapes)
        if x == y[::-1] and len(x) == 2:
            return f"{second}.T, transposed"
        if len(x) == len(y) == 1 and names is None:
            return "x[:, None] and y for all pairs of entries"
        for name, short, long in ((second, y, x), (first, x, y)):
            missing = len(long) - len(short)
            if missing > 0 and long[: len(short)] == short:
                index = ", ".join([":"] * len(short) + ["None"] * missing)
                return f"{name}[{index}], of shape {short + (1,) * missing}"
    return "sizes that, from the right, are equal or 1; x[:, None] adds an axis of size 1"


def fit_product(x: Shape, y: Shape) -> str:
    """Return how two operands of a matrix product fit: one of them transposed, or the rule.

    >>> fit_product((2, 3), (4, 3)), fit_product((3, 2), (3,))
    ('the second one transposed (.T), which fits', 'the first one transposed (.T), which fits')
    >>> fit_product((2, 3), (2, 2, 4))
    'a second operand [..., 3, n] for a first one [..., m, 3]'
    """
    rows = y[0] if len(y) == 1 else y[-2]
    if len(y) == 2 and y[-1] == x[-1]:
        return "the second one transposed (.T), which fits"
    if len(x) == 2 and len(y) <= 2 and x[0] == rows:
        return "the first one transposed (.T), which fits"
    if len(y) == 1:
        return f"a vector of {x[-1]} entries" + (", or fnp.outer(x, y)" if len(x) == 1 else "")
    return f"a second operand [..., {x[-1]}, n] for a first one [{'..., m, ' * (len(x) > 1)}{x[-1]}]"


REGULARIZE = "a + eps * fnp.eye(n) with a small eps"
SQUARE = "matrices [..., n, n]; fnp.linalg.pinv and lstsq are for all others"


def shapes_of(operands: Iterable[Any]) -> list[Shape]:
    return [x.shape for x in operands if isinstance(getattr(x, "shape", None), tuple)]


def integers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"-?\d+", text.replace("newaxis", "-1"))]


# NumPy's words → the hint, or what makes it of the words found and the operands.
_ADVICE: dict[str, str | Callable[[re.Match[str], Sequence[object]], str]] = {
    r"axis -?\d+ is out of bounds for array of dimension (\d+)": lambda found, xs: fit_axis(int(found[1])),
    r"index -?\d+ is out of bounds for (?:axis \d+ with )?size (\d+)": (
        lambda found, xs: fit_index(int(found[1]))
    ),
    r"cannot reshape array of size (\d+) into shape (.*)": (
        lambda found, xs: fit_reshape(int(found[1]), integers(found[2]))
    ),
    r"(?:remapped\]:|from shape) (\(.*?\)) +(?:and requested|into) shape (\(.*?\))": (
        lambda found, xs: fit_broadcast([integers(found[2]), integers(found[1])], ("the result", "x"))
    ),
    r"could not( be)? broadcast|shape mismatch": lambda found, xs: fit_broadcast(shapes_of(xs)),
    r"[Rr]epeated axis|duplicate value in": "each axis once, counted from one end",
    r"must match exactly, but along dimension (\d+)": (
        lambda found, xs: f"arrays that differ along the axis joined only, or axis={found[1]}"
    ),
    r"[Ss]ingular matrix": f"fnp.linalg.lstsq or pinv, which take every matrix, or {REGULARIZE}",
    r"not positive definite": f"{REGULARIZE}, and (a + a.mT) / 2 where a is not symmetric",
    r"near singular circulant": "singular='lstsq'",
    r"must be square|expected a square matrix": SQUARE,
    r"is not a matrix|expected a matrix": "x[:, None] for a column, x[None] for a row",
    r"did not converge": "look for NaN and infinities first: fnp.isfinite(a).all()",
    r"iteration over a 0-d array": "x[None] or fnp.atleast_1d(x), which has an axis",
    r"not supported for the input types": "x.real or abs(x) of complex numbers, x.astype(float) of others",
    r"did not contain a loop with signature": "x.astype(float)",
    r"mismatch in its core dimension": "operands whose inner sizes agree: x.mT transposes matrices",
    r"did not appear in the input": "letters of the operands only; x[..., None] adds an axis",
    r"need at least one array": "fnp.zeros((0,)), the empty array, where there may be no part",
    r"same number of dimensions|must be >= \d-d": "x[None], which has an axis more",
}


def advise(words: str, operands: Sequence[object]) -> str | None:
    """Return the hint for an error of NumPy's, by its words and the operands; None where they are not known.

    >>> advise("axis 3 is out of bounds for array of dimension 2", ())
    'an axis from -2 to 1'
    """
    for pattern, hint in _ADVICE.items():
        found = re.search(pattern, words)
        if found is not None:
            return hint if isinstance(hint, str) else hint(found, operands)
    return None
