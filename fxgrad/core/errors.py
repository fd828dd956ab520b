"""Every exception that fxgrad raises on purpose, and how errors are worded.

A message has up to five parts, of which the raiser writes the first two and the last:

    ShapeError: matmul: the inner sizes differ: float64[3,4] @ float64[5]        what, and the values
      in:  level 2: vmap at a.py:10 → level 1: grad at a.py:12                   the open transforms
      at:  a.py:7 in loss:  y = x @ w                                            the user's own line
      try: w.T, or fnp.pad the shorter one                                       what to write instead

Each class is also the built-in exception that a NumPy or JAX user would catch in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from . import source_info

# The open transforms in words, or "" outside all of them. `core.interpreter` puts the real one here.
describe_chain: Callable[[], str] = str


class FxgradError(Exception):
    """The base of all errors below: catching it catches what fxgrad objects to, and no bug.

    `hint` says what to write instead. `chain` and `site` are where the error is made, unless given: a Graph
    that is evaluated gives the line at which the failing equation was traced.
    """

    _plain_values_needed = (
        False  # whether plain values are needed where there are traced ones, as in SciPy's code
    )

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        chain: str | None = None,
        site: source_info.Site | None = None,
    ):
        super().__init__(message)
        namespace = source_info.namespace_of_scipy() if self._plain_values_needed else None
        if namespace is not None:
            hint = f"fxgrad.scipy.{namespace}: its functions, which have SciPy's names, take traced values"
        self.hint = hint
        self.chain = describe_chain() if chain is None else chain
        self.site = source_info.user_frame() if site is None else site

    def __str__(self) -> str:
        parts = {"in:": self.chain, "at:": self.site.describe(), "try:": self.hint}
        lines = [f"  {label:<4} {text}" for label, text in parts.items() if text]
        return "\n".join([super().__str__(), *lines])


class ShapeError(FxgradError, ValueError):
    """Shapes that do not fit together: operands of one operation, or a tangent or cotangent and its value.

    >>> import numpy as np, fxgrad as fx, fxgrad.numpy as fnp
    >>> x, w = np.ones((2, 3)), np.ones((4, 3))
    >>> fx.grad(lambda w: fnp.sum(x @ w))(w)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.ShapeError: ...

    The sizes that are contracted must agree:

    >>> fx.grad(lambda w: fnp.sum(x @ w.T))(w).shape
    (4, 3)
    """


class DTypeError(FxgradError, TypeError):
    """A dtype that fxgrad, or this transform, cannot compute with.

    Objects, strings and foreign byte orders have no arithmetic here. Derivatives need floating-point inputs:
    a derivative with respect to an integer does not exist.

    >>> import fxgrad as fx
    >>> fx.grad(lambda x: x**2)(3)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.DTypeError: ...

    >>> print(fx.grad(lambda x: x**2)(3.0))
    6.0

    A complex result needs `holomorphic=True`, your promise that the function is complex-differentiable:

    >>> fx.grad(lambda z: z**2)(1j)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.DTypeError: ...

    >>> print(fx.grad(lambda z: z**2, holomorphic=True)(1j))
    2j
    """


class StructureError(FxgradError, TypeError, ValueError):
    """Two containers (pytrees) that ought to have one structure and do not.

    Tangents must be built as the primals are, cotangents as the outputs, `in_axes` as the arguments are,
    though it may stop short: one entry may stand for a whole container.

    >>> import fxgrad as fx
    >>> def area(box):
    ...     return box["w"] * box["h"]
    >>> fx.jvp(area, ({"w": 2.0, "h": 3.0},), ((1.0, 0.0),))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.StructureError: ...

    >>> _, tangent = fx.jvp(area, ({"w": 2.0, "h": 3.0},), ({"w": 1.0, "h": 0.0},))
    >>> print(tangent)
    3.0
    """


class AxisError(FxgradError, np.exceptions.AxisError):
    """An axis that is not there, or mapped axes that do not go together.

    `vmap` needs one size along all mapped axes, and `out_axes=None` is only for results that do not depend on
    the mapped inputs. (This is also NumPy's own AxisError, hence both a ValueError and an IndexError.)

    >>> import numpy as np, fxgrad as fx
    >>> fx.vmap(lambda x, y: x * y)(np.ones(3), np.ones(4))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.AxisError: ...

    To use the whole second argument for every element of the first, do not map it:

    >>> fx.vmap(lambda x, y: x * y, in_axes=(0, None))(np.ones(3), np.ones(4)).shape
    (3, 4)
    """


class NonScalarError(FxgradError, TypeError):
    """`grad` of a function whose result is not one number.

    >>> import numpy as np, fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.grad(fnp.sin)(np.zeros(3))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.NonScalarError: ...

    Reduce the result to a scalar, map over the inputs, or ask for the whole Jacobian:

    >>> fx.grad(lambda x: fnp.sum(fnp.sin(x)))(np.zeros(3))
    array([1., 1., 1.])
    >>> fx.vmap(fx.grad(fnp.sin))(np.zeros(3))
    array([1., 1., 1.])
    >>> fx.jacobian(fnp.sin)(np.zeros(3)).shape
    (3, 3)
    """


class EscapedTracerError(FxgradError, RuntimeError):
    """A traced value used after the transform that made it has returned.

    While a function is transformed its values are tracers, which mean nothing outside. They escape through
    variables that outlive the call.

    >>> import fxgrad as fx
    >>> kept = []
    >>> def loss(x):
    ...     kept.append(3 * x)
    ...     return x**2
    >>> print(fx.grad(loss)(1.0))
    2.0
    >>> kept[0] + 1
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.EscapedTracerError: ...

    Return what you want to see:

    >>> gradient, kept = fx.grad(lambda x: (x**2, 3 * x), has_aux=True)(1.0)
    >>> print(gradient, kept + 1)
    2.0 4.0
    """


class ConcretizationError(FxgradError, TypeError):
    """One Python value asked of a traced value that has none, or has many.

    Under `jit` and `make_graph` the numbers are not known yet; under `vmap` there is one for each element. So
    `if`, `float()`, `int()` and indexing of a list cannot go by them. Under `grad` and `jvp` the values are known:
    `if`, `int(x)` and `x.item()` see them.

    >>> import numpy as np, fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.vmap(lambda x: x if x > 0 else -x)(np.array([1.0, -2.0]))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.ConcretizationError: ...

    >>> fx.vmap(lambda x: fnp.where(x > 0, x, -x))(np.array([1.0, -2.0]))
    array([1., 2.])
    """

    _plain_values_needed = True


class ArrayConversionError(FxgradError, TypeError):
    """A traced value that was to become, or to be stored in, a plain NumPy array.

    The array would hold a number and forget where it came from: its derivative would silently be lost. (For one
    entry, `buffer[0] = x`, NumPy raises a ValueError of its own, with this error as its cause.)

    >>> import numpy as np, fxgrad as fx, fxgrad.numpy as fnp
    >>> def loss(x):
    ...     buffer = np.zeros(2)
    ...     buffer[:] = x
    ...     return buffer.sum()
    >>> fx.grad(loss)(1.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.ArrayConversionError: ...

    Build the array from its parts:

    >>> print(fx.grad(lambda x: fnp.stack([x, 0.0 * x]).sum())(1.0))
    1.0
    """

    _plain_values_needed = True


class ImmutableError(FxgradError, TypeError):
    """An assignment into a traced array. Traced values never change; make an updated copy.

    >>> import numpy as np, fxgrad as fx
    >>> def loss(x):
    ...     x[0] = 0.0
    ...     return x.sum()
    >>> fx.grad(loss)(np.ones(3))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.ImmutableError: ...

    >>> fx.grad(lambda x: x.at[0].set(0.0).sum())(np.ones(3))
    array([0., 1., 1.])
    """


class IndexingError(FxgradError, IndexError):
    """An index that is out of range, or a selection whose size depends on values that are not known.

    >>> import numpy as np, fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.grad(lambda x: x[3])(np.ones(3))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.IndexingError: ...

    A boolean mask under `vmap` or `jit` would select another number of elements each time:

    >>> fx.vmap(lambda x: x[x > 0].sum())(np.array([[1.0, -1.0]]))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.IndexingError: ...

    >>> fx.vmap(lambda x: fnp.where(x > 0, x, 0.0).sum())(np.array([[1.0, -1.0]]))
    array([1.])
    """


class NotLinearError(FxgradError, ValueError, TypeError):
    """`linear_transpose` of a function that is not linear.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.linear_transpose(fnp.sin, 1.0)(1.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.NotLinearError: ...

    Linearize it first, which `vjp` does:

    >>> value, pullback = fx.vjp(fnp.sin, 0.0)
    >>> print(*pullback(1.0))
    1.0
    """


class NotDifferentiableError(FxgradError, TypeError, ValueError):
    """A derivative for which there is no rule, such as forward mode through a `custom_vjp` whose backward rule is
    not linear, so that it has no transpose.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> @fx.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda residuals, ct: (fnp.clip(ct, -1, 1),))
    >>> print(fx.grad(lambda x: 5 * clipped(x))(1.0))
    1.0
    >>> fx.jvp(clipped, (1.0,), (1.0,))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.NotDifferentiableError: ...

    A `custom_jvp` serves both modes: reverse mode is derived from its rule.

    >>> @fx.custom_jvp
    ... def twice(x):
    ...     return 2 * x
    >>> twice.defjvps(lambda tangent, result, x: 2 * tangent)
    >>> print(fx.grad(twice)(1.0))
    2.0
    """


class CheckError(FxgradError, AssertionError):
    """A derivative that disagrees with the numerical one, or cannot be compared with it; a `vmap` that disagrees with
    the loop. Raised by `check=True`, by `fx.custom`, and by `fxgrad.testing`.

    >>> import fxgrad as fx
    >>> @fx.custom_jvp
    ... def square(x):
    ...     return x * x
    >>> square.defjvps(lambda tangent, result, x: x * tangent)
    >>> fx.grad(square, check=True)(3.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.CheckError: ...

    >>> square.defjvps(lambda tangent, result, x: 2 * x * tangent)
    >>> print(fx.grad(square, check=True)(3.0))
    6.0
    """


class NotCheckableError(CheckError):
    """A derivative that cannot be compared with a numerical one at this point, which may be a kink, or the function is
    noisy, or changes too fast.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> ramp = fx.grad(lambda x: fnp.where(x > 0, x, 0.0), check=True)
    >>> ramp(0.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.NotCheckableError: ...

    >>> print(ramp(0.1))
    1.0
    """


class CustomRuleError(FxgradError, TypeError, ValueError):
    """A custom rule that is missing, or that gives back something other than it must.

    The backward rule of a `custom_vjp` gives a tuple with one cotangent for each argument.

    >>> import fxgrad as fx
    >>> @fx.custom_vjp
    ... def product(x, y):
    ...     return x * y
    >>> product.defvjp(lambda x, y: (x * y, (x, y)), lambda residuals, ct: ct * residuals[1])
    >>> fx.grad(product)(2.0, 3.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.CustomRuleError: ...

    >>> product.defvjp(
    ...     lambda x, y: (x * y, (x, y)), lambda residuals, ct: (ct * residuals[1], ct * residuals[0])
    ... )
    >>> print(fx.grad(product)(2.0, 3.0))
    3.0
    """


class GraphError(FxgradError, AssertionError):
    """A Graph that contradicts itself. One made by hand, or a bug in fxgrad.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> graph = fx.make_graph(fnp.sin)(1.0)
    >>> _ = graph.check()
    >>> graph.equations.clear()
    >>> _ = graph.check()
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.GraphError: ...
    """


class NonFiniteError(FxgradError, FloatingPointError):
    """NaN or an infinity that an operation made of numbers, inside `debug_nans` (or where NumPy is told to raise).

    >>> import numpy as np, fxgrad as fx, fxgrad.numpy as fnp
    >>> with fx.debug_nans():
    ...     fx.grad(fnp.sqrt)(0.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.NonFiniteError: ...

    The value is 0, the derivative is infinite there. Keep such entries from the operation, not from its result:

    >>> def root(x):
    ...     return fnp.where(x > 0, fnp.sqrt(fnp.where(x > 0, x, 1.0)), 0.0)
    >>> with fx.debug_nans():
    ...     print(fx.grad(root)(0.0))
    0.0
    """


class StaticArgumentError(FxgradError, ValueError, TypeError):
    """A static argument of `jit` that cannot be a key.

    The Graph is kept for the *values* of the static arguments, so they must be hashable.

    >>> import fxgrad as fx
    >>> scale = fx.jit(lambda x, factors: x * factors[0], static_argnums=1)
    >>> scale(2.0, [3.0])
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.StaticArgumentError: ...

    >>> print(scale(2.0, (3.0,)))
    6.0
    """


class UnboundAxisError(FxgradError, NameError):
    """A collective over a mapped axis that is not open: no enclosing `vmap` has given it this name.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.vmap(lambda x: x - fx.lax.pmean(x, "batch"))(fnp.array([1.0, 3.0]))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.UnboundAxisError: ...

    >>> fx.vmap(lambda x: x - fx.lax.pmean(x, "batch"), axis_name="batch")(fnp.array([1.0, 3.0]))
    array([-1.,  1.])
    """


class MissingLibraryError(FxgradError, ImportError):
    """A library that is no requirement of this one and is not installed; the hint names the extra that brings it.

    >>> from fxgrad.core.library import load_library
    >>> load_library("no_such_library", "scipy", "fxgrad.scipy")
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.MissingLibraryError: ...

    >>> load_library("math", "scipy", "fxgrad.scipy").__name__
    'math'
    """


class DeviceError(FxgradError, RuntimeError):
    """A device that is not there, or operands that are on different ones.

    >>> import fxgrad as fx
    >>> fx.device_put(1.0, "tpu")
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.DeviceError: ...

    >>> fx.device_put(1.0, "cpu")
    array(1.)
    """


class CollectiveMismatchError(FxgradError, RuntimeError):
    """Processes that do not meet: they call different collectives, with operands that do not fit together, or one of
    them has ended while others wait for it.

    >>> import numpy as np, fxgrad as fx
    >>> alone = fx.distributed.Communicator()
    >>> alone.recv(np.empty(3))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.CollectiveMismatchError: ...

    Every message that is awaited must be sent:

    >>> alone.send(np.ones(3), target=0)
    >>> alone.recv(np.empty(3))
    array([1., 1., 1.])
    """


class CollectiveTimeoutError(FxgradError, TimeoutError):
    """Other processes that have not come to a collective in the time that was given (`timeout` of the communicator)."""


class CheckpointError(FxgradError, OSError):
    """Files of a training run that cannot be written, or of which none is whole.

    Every process raises it, whichever of them could not write.

    >>> import fxgrad as fx
    >>> fx.distributed.Checkpoints("/dev/null/run").save(0, {"w": 1.0})
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.CheckpointError: ...

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fx.distributed.Checkpoints(folder).save(0, {"w": 1.0})
    """


class UnsupportedError(FxgradError, NotImplementedError):
    """Something that is meaningful but that fxgrad does not do. The message says what to use in its place."""


def describe(value: object) -> str:
    """A value in a message: `float64[3,4]` for whatever has a shape and a dtype, `int (weak)`, or its type.

    >>> describe(np.ones((3, 4))), describe(2), describe("text")
    ('float64[3,4]', 'int (weak)', 'str')
    """
    if type(value) in (bool, int, float, complex):
        return f"{type(value).__name__} (weak)"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if not isinstance(shape, tuple) or dtype is None:
        return type(value).__name__
    # str(dtype) shows a foreign byte order, which dtype.name hides; float0 is a structure of one field.
    name = "+".join(getattr(dtype, "names", None) or [str(dtype).rpartition(".")[2]])
    return f"{name}[{','.join(map(str, shape))}]" + (" (weak)" if getattr(value, "weak", False) else "")


def reword(
    error: Exception, operation: str, operands: Iterable[object], site: source_info.Site | None = None
) -> Exception:
    """What to raise, `from error`, when a NumPy kernel raised `error` inside a transform.

    NumPy's own words with the operation, its operands, the open transforms and the user's line added, as our
    class for the same built-in. Errors that carry these already, and other types, come back unchanged.
    """
    if isinstance(error, FxgradError):
        return error
    words = str(error).strip().removeprefix(f"{operation}: ")
    message = f"{operation}: {words}; operands: {', '.join(map(describe, operands)) or 'none'}"
    if isinstance(error, np.linalg.LinAlgError):  # a ValueError about values, which users catch by this name
        return np.linalg.LinAlgError(str(FxgradError(message, site=site)))
    for theirs, ours in _COUNTERPARTS:
        if isinstance(error, theirs):
            return ours(message, site=site)
    return error


_COUNTERPARTS: tuple[tuple[type[Exception], type[FxgradError]], ...] = (
    (np.exceptions.AxisError, AxisError),
    (IndexError, IndexingError),
    (ValueError, ShapeError),
    (TypeError, DTypeError),
    (FloatingPointError, NonFiniteError),
)
