"""Hints of error messages that many functions share, derived from shapes and NumPy's messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any

Shape = Sequence[int]


# Names that torch has for what is called otherwise here.
SYNONYMS = {
    "dim": "axis",
    "in_dims": "in_axes",
    "keepdim": "keepdims",
    "lr": "learning_rate",
    "out_dims": "out_axes",
    "seed": "key",
    "size": "shape",
}


def suggest(name: str, names: Collection[str]) -> str:
    """Return the question after a name that is not there: whether the nearest one of `names` is meant; "" if none is
    near.

    >>> suggest("axes", ["a", "axis", "keepdims"]), suggest("axes", ["x"])
    (". Did you mean: 'axis'?", '')
    """
    from difflib import get_close_matches

    near = (
        [n for n in names if n == SYNONYMS.get(name)]
        or get_close_matches(name, names, 1, 0.7)
        or [n for n in names if n.lower() == name.lower()]
    )
    return f". Did you mean: {near[0]!r}?" if near else ""


def explain_arguments(error: BaseException, function: Callable[..., Any]) -> None:
    """Complete the error for arguments that a function does not take: a misspelt keyword, of which Python itself says
    so from 3.13 on, but not for functions that pass their keywords on; and a shape that is given number by number."""
    if type(error) is not TypeError:
        return
    found = re.search(r"([^\s.]*)\(\) got an unexpected keyword argument '(\w+)'$", str(error))
    # The name may have been given later.
    if found and (found[1] == function.__name__ or f"<locals>.{found[1]}()" in str(error)):
        error.args = (str(error) + suggest(found[2], [*signature_of(function)]),)
    found = re.search(
        r"([^\s.]*)\(\) (takes|missing) .* positional arguments?(:| but \d+ were given$)", str(error)
    )
    if found and found[1] == function.__name__ and signature_of(function):
        told = fit_call(function, found[2] == "missing")
    else:
        found = re.match(r"Cannot interpret '\d+' as a data type$", str(error))
        told = found and "shape" in signature_of(function) and fit_numbers(function.__name__)
    if told:
        error.args = (f"{error}: {told}",)


def fit_call(function: Callable[..., Any], lacks: bool) -> str:
    """Return how a function is called to which too many arguments were given, or to which some are lacking; "" if there
    is nothing to say. Transforms of other libraries take the arguments of the function together with it, or not.

    >>> fit_call(fx.hvp, True)
    'all arguments at once, hvp(fun, primals, tangents)'
    >>> fit_call(fx.checkpoint, False)
    'the arguments go to what it returns, checkpoint(fun)(*args)'
    """
    name, parameters = function.__name__, signature_of(function)
    if "shape" in parameters and not lacks:
        return fit_numbers(name)
    if next(iter(parameters)) not in ("f", "fun", "func"):
        return ""
    given = [p for p in parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    required = [p.name for p in given if p.default is p.empty]
    if lacks:
        return f"all arguments at once, {name}({', '.join(required)})"
    returned = str(function.__annotations__.get("return"))
    is_transform = len(required) <= 1 and returned.startswith(("Callable", "Any"))
    return f"the arguments go to what it returns, {name}(fun)(*args)" if is_transform else ""


def fit_numbers(name: str) -> str:
    """Return how a function takes a shape.

    >>> fit_numbers("normal")
    'a shape of several numbers is one argument, normal(…, shape=(m, n))'
    """
    return f"a shape of several numbers is one argument, {name}(…, shape=(m, n))"


def signature_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the parameters of a function; none of a compiled one that does not say."""
    from inspect import signature

    try:
        return signature(function).parameters
    except ValueError:
        return {}


# How functions call what the user gives them.
CALLED_AS = {
    "closure_convert": "fun(*example_args), of closure_convert(fun, *example_args)",
    "eval_shape": "fun(*args), of eval_shape(fun, *args)",
    "fori_loop": "body_fun(i, carry)",
    "linear_transpose": "fun(*primals), of linear_transpose(fun, *primals)",
    "linearize": "fun(*primals), of linearize(fun, *primals)",
    "map": "f(x)",
    "odeint": "func(y, t, *args)",
    "print_saved_residuals": "fun(*args), of print_saved_residuals(fun, *args)",
    "saved_residuals": "fun(*args), of saved_residuals(fun, *args)",
    "scan": "f(carry, x)",
    "solve_bvp": "fun(x, y) and bc(ya, yb), with p at the end of both if there are unknown parameters",
    "solve_ivp": "fun(t, y, *args)",
    "vjp": "fun(*primals), of vjp(fun, *primals)",
    "while_loop": "cond_fun(carry) and body_fun(carry)",
}


def explain_call(error: BaseException, function: Callable[..., Any]) -> None:
    """Complete Python's error where a function that the user gave does not take the arguments of a call of ours: the
    call is the last frame."""
    called_as = CALLED_AS.get(function.__name__)
    if called_as is None or type(error) is not TypeError or "positional argument" not in str(error):
        return
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is not None and str(frame.tb_frame.f_globals.get("__name__")).startswith("fxgrad."):
        error.args = (f"{error}: {function.__name__} calls {called_as}",)


# Words of NumPy's compiled code, which asks no protocol → what to write.
COMPILED = {
    "NPY_ITER_REFS_OK": "np.nditer and np.nested_iters of a traced value: a loop over np.ndindex(x.shape), or none",
    "a bytes-like object is required": "np.frombuffer of a traced value, which has no memory of its own: x.ravel()",
}


def explain_compiled(error: BaseException) -> None:
    """Complete an error of NumPy's compiled code, inside a transform, where it has been given a traced value."""
    if type(error) is TypeError:
        for words, told in COMPILED.items():
            if words in str(error) and told not in getattr(error, "__notes__", ()):
                error.add_note(told)


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
