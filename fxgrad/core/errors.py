"""Every exception that fxgrad raises on purpose: the ones about a program's values, and those of the other error
modules.

Each class also derives from the built-in exception that a user of NumPy or JAX would catch. Its docstring is its page
in the documentation, and ends with a program that fails and a corrected one. `message` describes the form of
messages.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from . import source_info
from .advice import advise
from .machine_errors import CheckpointError as CheckpointError
from .machine_errors import CollectiveMismatchError as CollectiveMismatchError
from .machine_errors import CollectiveTimeoutError as CollectiveTimeoutError
from .machine_errors import DeviceError as DeviceError
from .machine_errors import LoadedError as LoadedError
from .machine_errors import MissingLibraryError as MissingLibraryError
from .message import FxgradError as FxgradError
from .message import describe as describe
from .rule_errors import CheckError as CheckError
from .rule_errors import CustomRuleError as CustomRuleError
from .rule_errors import NotCheckableError as NotCheckableError
from .rule_errors import NotDifferentiableError as NotDifferentiableError
from .rule_errors import NotLinearError as NotLinearError


class ShapeError(FxgradError, ValueError):
    """Shapes that do not match.

    It comes from operands of one operation whose sizes differ, shapes that do not broadcast, a `reshape` to another
    number of entries, parts of different sizes in `concatenate` and `stack`; from tangents and cotangents that have not
    the shape of their values; and from loops (`scan`, `while_loop`) whose state changes its shape from step to step.

    >>> x, w = np.ones((2, 3)), np.ones((4, 3))
    >>> fx.grad(lambda w: fnp.sum(x @ w))(w)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.ShapeError: matmul: the inner sizes 3 and 4 differ: float64[2,3] @ float64[4,3]
      in:  level 1: grad at ...
      at:  ...
      try: the second one transposed (.T), which fits
      see: errors/ShapeError, or help(fx.ShapeError)

    The sizes that are contracted must agree:

    >>> fx.grad(lambda w: fnp.sum(x @ w.T))(w).shape
    (4, 3)
    """


class DTypeError(FxgradError, TypeError):
    """A dtype that fxgrad, or this transform, does not support.

    Objects, strings and foreign byte orders have no arithmetic here, and neither have arrays of two libraries (NumPy
    and CuPy) in one operation, masked arrays, or tables. Derivatives need floating-point inputs: a derivative with
    respect to an integer does not exist.

    >>> fx.grad(lambda x: x**2)(3)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.DTypeError: grad: the argument args[0] has integer or boolean dtype int64, which has no gradient
      at:  ...
      try: convert it (x.astype(float), 2.0 instead of 2), choose other argnums, or allow_int=True
      see: errors/DTypeError, or help(fx.DTypeError)

    >>> print(fx.grad(lambda x: x**2)(3.0))
    6.0

    A complex result needs `holomorphic=True`, your promise that the function is complex-differentiable:

    >>> fx.grad(lambda z: z**2)(1j)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.DTypeError: grad: the result has dtype complex128, expected a real one (holomorphic=False)
      at:  ...
      try: for a holomorphic function give holomorphic=True; otherwise differentiate ...
      see: errors/DTypeError, or help(fx.DTypeError)

    >>> print(fx.grad(lambda z: z**2, holomorphic=True)(1j))
    2j
    """

    _plain_values_needed = True


class StructureError(FxgradError, TypeError, ValueError):
    """Two containers (pytrees) whose structures differ but must be equal, or an unknown option.

    Tangents must be built as the primals are, cotangents as the outputs, `in_axes` as the arguments are, though it may
    stop short: one entry may stand for a whole container. The branches of `cond` return equal containers, and what a
    step of `scan` returns is built as what it got. The message says where the two part.

    >>> def area(box):
    ...     return box["w"] * box["h"]
    >>> fx.jvp(area, ({"w": 2.0, "h": 3.0},), ((1.0, 0.0),))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.StructureError: jvp: the tangents have a tuple of length 2 at [0], expected a dict with the
    keys ['h', 'w']
      at:  ...
      try: containers of the same kinds, with the same keys and lengths, as what they belong to
      see: errors/StructureError, or help(fx.StructureError)

    >>> _, tangent = fx.jvp(area, ({"w": 2.0, "h": 3.0},), ({"w": 1.0, "h": 0.0},))
    >>> print(tangent)
    3.0
    """


class AxisError(FxgradError, np.exceptions.AxisError):
    """An axis that does not exist, or mapped axes of different sizes.

    `vmap` needs one size along all mapped axes, and `out_axes=None` is only for results that do not depend on the
    mapped inputs. Functions of `fxgrad.numpy` raise it for an `axis` beyond those of the array. (This is also NumPy's
    own AxisError, hence both a ValueError and an IndexError.)

    >>> fx.vmap(lambda x, y: x * y)(np.ones(3), np.ones(4))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.AxisError: vmap: the mapped axes have different sizes: x: 3 (shape (3,), axis 0),
    y: 4 (shape (4,), axis 0)
      at:  ...
      try: in_axes=None for arguments that are not mapped
      see: errors/AxisError, or help(fx.AxisError)

    To use the whole second argument for every element of the first, do not map it:

    >>> fx.vmap(lambda x, y: x * y, in_axes=(0, None))(np.ones(3), np.ones(4)).shape
    (3, 4)
    """


class NonScalarError(FxgradError, TypeError):
    """`grad` of a function whose result is not one number.

    A gradient is the derivative of a scalar. It comes from `grad` and `value_and_grad`, from `hvp` and `hessian`, and
    from the functions of `fxgrad.per_sample`, of a function that returns an array with axes, or a tuple without
    `has_aux=True`.

    >>> fx.grad(fnp.sin)(np.zeros(3))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.NonScalarError: grad is of scalar functions; the result has shape (3,)
      at:  ...
      try: sum it (fnp.sum), or use fx.jacrev, fx.vjp or fx.vmap(fx.grad(f))
      see: errors/NonScalarError, or help(fx.NonScalarError)

    Reduce the result to a scalar, map over the inputs, or ask for the whole Jacobian:

    >>> fx.grad(lambda x: fnp.sum(fnp.sin(x)))(np.zeros(3))
    array([1., 1., 1.])
    >>> fx.vmap(fx.grad(fnp.sin))(np.zeros(3))
    array([1., 1., 1.])
    >>> fx.jacobian(fnp.sin)(np.zeros(3)).shape
    (3, 3)
    """


class EscapedTracerError(FxgradError, RuntimeError):
    """A traced value used after the transform that made it has returned, or in another thread.

    While a function is transformed its values are tracers, which mean nothing outside. They escape through
    variables that outlive the call: a list, an attribute of an object, a global, a cache.

    >>> kept = []
    >>> def loss(x):
    ...     kept.append(3 * x)
    ...     return x**2
    >>> print(fx.grad(loss)(1.0))
    2.0
    >>> kept[0] + 1
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.EscapedTracerError: add: a traced value f64*[] of grad (opened at ...) is used outside ...
      at:  ...
      try: return the value from the transformed function (has_aux=True for extra results) ...
      see: errors/EscapedTracerError, or help(fx.EscapedTracerError)

    Return what you want to see:

    >>> gradient, kept = fx.grad(lambda x: (x**2, 3 * x), has_aux=True)(1.0)
    >>> print(gradient, kept + 1)
    2.0 4.0
    """


class ConcretizationError(FxgradError, TypeError):
    """A request for the Python value of a traced value that has none, or has many.

    Under `jit` and `make_graph` the numbers are not known yet; under `vmap` there is one for each element. So
    `if`, `while`, `float()`, `int()`, `range()` and indexing of a list cannot go by them. Under `grad` and `jvp` the
    values are known: `if`, `int(x)` and `x.item()` see them.

    >>> fx.vmap(lambda x: x if x > 0 else -x)(np.array([1.0, -2.0]))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.ConcretizationError: bool() of a batched value bool[]
      in:  level 1: vmap at ...
      at:  ...
      try: it differs from one batch entry to the next: use fnp.where, fnp.select or fx.lax.cond instead of `if`, ...
      see: errors/ConcretizationError, or help(fx.ConcretizationError)

    >>> fx.vmap(lambda x: fnp.where(x > 0, x, -x))(np.array([1.0, -2.0]))
    array([1., 2.])

    Under `jit`, an argument that is not an array, such as a number of steps, can be static:

    >>> powers = fx.jit(lambda x, n: [x**k for k in range(n)], static_argnums=1)
    >>> print(*powers(2.0, 3))
    1.0 2.0 4.0
    """

    _plain_values_needed = True


class ArrayConversionError(FxgradError, TypeError):
    """A traced value that would have to become, or be stored in, a plain NumPy array.

    The array would hold a number and forget where it came from: its derivative would silently be lost. It comes from
    `np.array(x)` and `np.asarray(x)` of traced x, from writing x into an array that was made with `np.zeros(n)`, from
    compiled code of other libraries, and from messages between processes. (For one entry, `buffer[0] = x`, NumPy
    raises a ValueError of its own, with this error as its cause.)

    >>> def loss(x):
    ...     buffer = np.zeros(2)
    ...     buffer[:] = x
    ...     return buffer.sum()
    >>> fx.grad(loss)(1.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.ArrayConversionError: a traced value f64*[] of grad cannot become a plain NumPy array: its
    derivative would be lost
      in:  level 1: grad at ...
      at:  ...
      try: x.astype('float64') converts a traced value; or use fxgrad.numpy (fnp.asarray, fnp.stack) ...
      see: errors/ArrayConversionError, or help(fx.ArrayConversionError)

    Build the array from its parts, or make the buffer by this library's function, which can then be written into:

    >>> print(fx.grad(lambda x: fnp.stack([x, 0.0 * x]).sum())(1.0))
    1.0
    >>> def loss(x):
    ...     buffer = fnp.zeros(2)
    ...     buffer[:] = x
    ...     return buffer.sum()
    >>> print(fx.grad(loss)(1.0))
    2.0
    """

    _plain_values_needed = True


class ImmutableError(FxgradError, TypeError, ValueError):
    """An assignment into an array that is immutable.

    Arrays from outside of a function that is being staged do not: that would happen once, and not each time it runs.
    Neither do read-only views, an array of which `np.asarray` has made another one that would not see it, and a `Ref`
    after `fx.freeze`.

    >>> def loss(x):
    ...     total = fnp.zeros(1)
    ...     def step(i, y):
    ...         total[0] += y
    ...         return y * 0.5
    ...     fx.lax.fori_loop(0, 3, step, x)
    ...     return total[0]
    >>> fx.grad(loss)(1.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.ImmutableError: an array f64[1] made outside of fori_loop: ... is written into inside: that would
    happen once, while the function is staged, and not each time it runs
      in:  level 2: fori_loop: ...
      at:  ...
      try: x = x.copy() inside, and return it; loops take it as part of their carry
      see: errors/ImmutableError, or help(fx.ImmutableError)

    >>> def loss(x):
    ...     def step(i, carry):
    ...         y, total = carry
    ...         total[0] += y
    ...         return y * 0.5, total
    ...     return fx.lax.fori_loop(0, 3, step, (x, fnp.zeros(1)))[1][0]
    >>> print(fx.grad(loss)(1.0))
    1.75
    """

    _plain_values_needed = True


class IndexingError(FxgradError, IndexError):
    """An index that is out of range, or a selection whose size depends on unknown values.

    >>> fx.grad(lambda x: x[3])(np.ones(3))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.IndexingError: getitem: index 3 is out of bounds for axis 0 with size 3; operands: float64[3]
      in:  level 1: grad at ...
      at:  ...
      try: an index from -3 to 2, or fnp.take(x, index, axis, mode='clip'), which takes the nearest
      see: errors/IndexingError, or help(fx.IndexingError)

    >>> fx.grad(lambda x: x[-1])(np.ones(3))
    array([0., 0., 1.])

    A boolean mask under `vmap` or `jit` would select another number of elements each time:

    >>> fx.vmap(lambda x: x[x > 0].sum())(np.array([[1.0, -1.0]]))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.IndexingError: a boolean mask whose values are not known (staged or batched) has a result of
    unknown shape
      in:  level 1: vmap at ...
      at:  ...
      try: use fnp.where(mask, x, 0), or x.at[…] with integer indices
      see: errors/IndexingError, or help(fx.IndexingError)

    >>> fx.vmap(lambda x: fnp.where(x > 0, x, 0.0).sum())(np.array([[1.0, -1.0]]))
    array([1.])
    """


class LinAlgError(FxgradError, np.linalg.LinAlgError):
    """A matrix for which a computation is impossible, met inside a transform.

    `inv` and `solve` of a singular matrix, `cholesky` of one that is not positive definite, an iteration that does not
    converge. (This is also NumPy's own LinAlgError, which is what plain arrays give.)

    >>> def energy(a):
    ...     return fnp.sum(fnp.linalg.solve(a, np.ones(2)))
    >>> fx.grad(energy)(np.ones((2, 2)))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.LinAlgError: solve: Singular matrix; operands: float64[2,2], float64[2,1]
      in:  level 1: grad at ...
      at:  ...
      try: fnp.linalg.lstsq or pinv, which take every matrix, or a + eps * fnp.eye(n) with a small eps
      see: errors/LinAlgError, or help(fx.LinAlgError)

    Keep the matrix away from singular ones, or ask for the least-squares solution:

    >>> fx.grad(lambda a: energy(a + np.eye(2)))(np.ones((2, 2))).round(3)
    array([[-0.111, -0.111],
           [-0.111, -0.111]])
    """


class GraphError(FxgradError, AssertionError):
    """An inconsistent Graph: one that was changed by hand, or a bug in fxgrad.

    `Graph.check` raises it, and calling a Graph with another number of values than it takes.

    >>> graph = fx.make_graph(fnp.sin)(1.0)
    >>> graph.equations.clear()
    >>> _ = graph.check()
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.GraphError: sin: an output is not bound
      at:  ...
      see: errors/GraphError, or help(fx.GraphError)

    Change the function and stage it again, rather than the Graph:

    >>> _ = fx.make_graph(lambda x: x)(1.0).check()
    """


class NonFiniteError(FxgradError, FloatingPointError):
    """A NaN or an infinity that an operation has computed from finite numbers, inside `debug_nans` (or where NumPy is
    told to raise).

    >>> with fx.debug_nans():
    ...     fx.grad(fnp.sqrt)(0.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.NonFiniteError: sqrt: the cotangent of operand 0, in the backward pass of grad at ... inf
      of:  cotangent float64[] 1
      of:  residual 0 float64[] 0
      in:  level 1: debug_nans at ...
      at:  ...
      try: keep such entries from the operation: f(fnp.where(ok, x, 1.0)); fnp.where after it is too late. ...
      see: errors/NonFiniteError, or help(fx.NonFiniteError)

    The value is 0, the derivative is infinite there. Keep such entries from the operation, not from its result:

    >>> def root(x):
    ...     return fnp.where(x > 0, fnp.sqrt(fnp.where(x > 0, x, 1.0)), 0.0)
    >>> with fx.debug_nans():
    ...     print(fx.grad(root)(0.0))
    0.0
    """


class StaticArgumentError(FxgradError, ValueError, TypeError):
    """A static argument of `jit` that cannot be hashed and compared.

    The compiled code is kept for the *values* of the static arguments, so they must be hashable: numbers, strings,
    tuples, functions; not lists, dicts or arrays.

    >>> scale = fx.jit(lambda x, factors: x * factors[0], static_argnums=1)
    >>> scale(2.0, [3.0])
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.StaticArgumentError: jit: the static argument 1 of type list is not hashable
      at:  ...
      try: pass a tuple instead of a list, or make the argument dynamic
      see: errors/StaticArgumentError, or help(fx.StaticArgumentError)

    >>> print(scale(2.0, (3.0,)))
    6.0
    """


class ImpureFunctionError(FxgradError, RuntimeError):
    """A function that does not do the same when it is run again, where it has to.

    `jit(control="follow")` runs a function again along the decisions that it knows in order to stage a way that it has
    not taken before. What it depends on besides its arguments must not change meanwhile.

    >>> rates = iter([0.1, 0.2, 0.3])
    >>> @fx.jit(control="follow")
    ... def f(x):
    ...     step = x * next(rates)
    ...     return step if x > 0 else -step
    >>> f(1.0)
    0.1
    >>> f(-1.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.ImpureFunctionError: f does not compute the same when it is run again with the same decisions
      ...
      try: make what it depends on (a clock, a global that changes, np.random) an argument, ...
      see: errors/ImpureFunctionError, or help(fx.ImpureFunctionError)
    >>> g = fx.jit(lambda x, rate: x * rate if x > 0 else -x * rate, control="follow")
    >>> g(1.0, 0.5), g(-1.0, 0.5)
    (0.5, 0.5)
    """


class TooManyPathsError(FxgradError, RuntimeError):
    """A function under `jit(control="follow")` whose decisions on values lead to more paths than it may have.

    Each path is staged and compiled. Loops count once as long as nothing but numbers changes from step to step.

    >>> @fx.jit(control="follow", max_paths=4)
    ... def f(x):
    ...     return x * int(x)  # a decision on the value of x: another path for every number
    >>> for n in range(5):
    ...     y = f(float(n))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.TooManyPathsError: f has taken more than max_paths=4 ways, of which each is staged:
      ...
      try: fnp.where or fx.lax.cond in place of an `if` on values; ...
      see: errors/TooManyPathsError, or help(fx.TooManyPathsError)
    >>> g = fx.jit(lambda x: x * fnp.floor(x), control="follow", max_paths=4)
    >>> [float(g(float(n))) for n in range(3)]
    [0.0, 1.0, 4.0]
    """


class UnboundAxisError(FxgradError, NameError):
    """A collective over a name that no enclosing `vmap` and no mesh has given to an axis.

    >>> fx.vmap(lambda x: x - fx.lax.pmean(x, "batch"))(fnp.array([1.0, 3.0]))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.UnboundAxisError: no mapped axis is named 'batch'; open are: none
      in:  level 1: vmap at ...
      at:  ...
      try: call it inside fx.vmap(f, axis_name='batch'), or `with mesh:` where its axes are between processes
      see: errors/UnboundAxisError, or help(fx.UnboundAxisError)

    >>> fx.vmap(lambda x: x - fx.lax.pmean(x, "batch"), axis_name="batch")(fnp.array([1.0, 3.0]))
    array([-1.,  1.])
    """


class UnsupportedError(FxgradError, NotImplementedError):
    """A request that is meaningful but that fxgrad does not support. The message says what to use instead.

    Functions of NumPy and SciPy that are not here for traced values, options of theirs that are not, `vmap` of a
    callback that does not say how it takes a batch, pickling of traced values.

    >>> def moving_average(x):
    ...     return np.lib.stride_tricks.as_strided(x, (3, 2), (8, 8)).mean(axis=1)
    >>> fx.jacobian(moving_average)(np.ones(4))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.UnsupportedError: np.lib.stride_tricks.as_strided of a traced value f64[4], which has no memory
      in:  level 1: vjp at ...
      at:  ...
      try: np.lib.stride_tricks.sliding_window_view, or an array of indices: x[i[:, None] + j]
      see: errors/UnsupportedError, or help(fx.UnsupportedError)

    >>> def moving_average(x):
    ...     return np.lib.stride_tricks.sliding_window_view(x, 2).mean(axis=1)
    >>> fx.jacobian(moving_average)(np.ones(4))
    array([[0.5, 0.5, 0. , 0. ],
           [0. , 0.5, 0.5, 0. ],
           [0. , 0. , 0.5, 0.5]])
    """

    _plain_values_needed = True


def reword(
    error: Exception, operation: str, operands: Iterable[object], site: source_info.Site | None = None
) -> Exception:
    """What to raise, `from error`, when a NumPy kernel raised `error` inside a transform.

    NumPy's own words with the operation, its operands, a hint, the open transforms and the user's line added, as our
    class for the same built-in. Errors that carry these already, and other types, come back unchanged.
    """
    if isinstance(error, FxgradError):
        return error
    operands = tuple(operands)
    words = str(error).strip().removeprefix(f"{operation}: ")
    message = f"{operation}: {words}; operands: {', '.join(map(describe, operands)) or 'none'}"
    for theirs, ours in _COUNTERPARTS:
        if isinstance(error, theirs):
            return ours(message, hint=advise(words, operands), site=site)
    return error


_COUNTERPARTS: tuple[tuple[type[Exception], type[FxgradError]], ...] = (
    (np.linalg.LinAlgError, LinAlgError),  # a ValueError about values, which users catch by this name
    (np.exceptions.AxisError, AxisError),
    (IndexError, IndexingError),
    (ValueError, ShapeError),
    (TypeError, DTypeError),
    (FloatingPointError, NonFiniteError),
)
