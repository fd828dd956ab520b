"""The errors of the torch-compatible API by name, for `except` and for `help`.

torch has names for few of these. Each also derives from the built-in exception that torch raises, so that programs for
torch catch it. The first line of its message is torch's, and the lines below are fxgrad's (see `fxgrad.FxgradError`).

>>> from fxgrad.compat.errors import DimensionError
>>> try:
...     torch.ones(3).sum(dim=1)
... except DimensionError as error:
...     print(isinstance(error, IndexError))
True
"""

from __future__ import annotations

# Classes of errors, of which users catch the instances; nothing is unpickled.
from pickle import PicklingError as PythonPicklingError
from pickle import UnpicklingError as PythonUnpicklingError
from typing import TypeVar

from ..extend import ConcretizationError, FxgradError

Kind = TypeVar("Kind", bound=type)

__all__ = [
    "ArgumentError",
    "ArgumentValueError",
    "BatchedValueError",
    "CheckpointError",
    "DeviceError",
    "DimensionError",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "GradcheckError",
    "LinAlgError",
    "MissingMatrixError",
    "NoGradientError",
    "NotSupportedError",
    "PicklingError",
    "QueueEmptyError",
    "RequirementError",
    "TensorError",
    "TraceError",
    "TruncatedError",
    "UnpicklingError",
]


class TensorError(FxgradError, RuntimeError):
    """The error for which torch raises RuntimeError: most of its errors.

    Shapes that do not fit, dtypes that differ, a second `backward` through a graph that was freed, a leaf or a saved
    Tensor that was changed in place. The first line is torch's.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (3 * x).backward()
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.TensorError: grad can be implicitly created only for scalar outputs
      at:  ...
      see: errors/compat/TensorError, or help(fxgrad.compat.errors.TensorError)

    >>> (3 * x).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """


class NoGradientError(FxgradError, AssertionError):
    """The error for something of the backward pass that is not there where it is waited for.

    It is an AssertionError, as in torch. It comes from a `GradScaler` that is used out of order, from optimizers under
    options that exclude gradients, and from hooks for several gradients.

    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu")
    >>> scaler.step(optimizer)
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.NoGradientError: Attempted step but _scale is None. ...
      at:  ...
      see: errors/compat/NoGradientError, or help(fxgrad.compat.errors.NoGradientError)

    The loss is scaled first:

    >>> scaler.scale(w.sum()).backward()
    >>> scaler.step(optimizer)
    >>> w.detach()
    tensor([0.5000])
    """


class RequirementError(FxgradError, AssertionError):
    """The error for arguments that do not go together: an AssertionError, as in torch.

    Sizes of attention that do not divide each other, masks and scores of another shape, layers that are still in
    training where they are to be fused.

    >>> torch.nn.MultiheadAttention(embed_dim=10, num_heads=3)
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.RequirementError: embed_dim must be divisible by num_heads
      at:  ...
      try: num_heads: one of [1, 2, 5, 10]
      see: errors/compat/RequirementError, or help(fxgrad.compat.errors.RequirementError)

    >>> torch.nn.MultiheadAttention(embed_dim=10, num_heads=5).head_dim
    2
    """


class DimensionError(FxgradError, IndexError):
    """The error for a dimension or an index that is out of range: an IndexError, as in torch.

    >>> torch.ones(3).sum(dim=1)
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.DimensionError: Dimension out of range (expected to be in range of [-1, 0], but got 1)
      at:  ...
      see: errors/compat/DimensionError, or help(fxgrad.compat.errors.DimensionError)

    >>> torch.ones(3).sum(dim=0)
    tensor(3.)
    """


class ArgumentError(FxgradError, TypeError):
    """The error for an argument of the wrong kind: a TypeError, as in torch.

    A number where a Tensor is needed, a Tensor where a number is, a name that no argument has.

    >>> torch.zeros("3")
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.ArgumentError: zeros(): argument 'size' (position 1) must be tuple of ints, not str
      at:  ...
      see: errors/compat/ArgumentError, or help(fxgrad.compat.errors.ArgumentError)

    >>> torch.zeros(3)
    tensor([0., 0., 0.])
    """


def argument_error(
    function: str, parameter: str, position: int | None, wanted: str, given: object, hint: str | None = None
) -> ArgumentError:
    """Return the error for an argument of the wrong kind."""
    place = "" if position is None else f" (position {position})"
    kind = f"{'numpy.' * (type(given).__module__ == 'numpy')}{type(given).__name__}"
    return ArgumentError(
        f"{function}(): argument '{parameter}'{place} must be {wanted}, not {kind}", hint=hint
    )


class ArgumentValueError(FxgradError, ValueError):
    """The error for an argument of the right kind with a value that is not valid: a ValueError, as in torch.

    Hyperparameters out of their range, parameters of distributions, sizes of targets, names of options.

    >>> w = torch.ones(1, requires_grad=True)
    >>> torch.optim.SGD([w], lr=-1.0)
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.ArgumentValueError: Invalid learning rate: -1.0
      at:  ...
      see: errors/compat/ArgumentValueError, or help(fxgrad.compat.errors.ArgumentValueError)

    >>> torch.optim.SGD([w], lr=1.0).defaults["lr"]
    1.0
    """


class NotSupportedError(FxgradError, NotImplementedError):
    """The error for a feature that torch does not implement either, or that `fxgrad.compat` leaves out.

    It is a NotImplementedError. The message says why the feature is left out, the hint what there is in its place.
    Names that are left out can be imported and used in annotations; only a call raises.

    >>> torch.export.export(torch.nn.Identity(), ())
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.NotSupportedError: torch.export.export is not there: ...
      at:  ...
      see: errors/compat/NotSupportedError, or help(fxgrad.compat.errors.NotSupportedError)

    A program as data is a Graph here:

    >>> len(fx.make_graph(torch.sin)(torch.ones(3)).equations)
    1
    """


class TraceError(FxgradError, ValueError):
    """The error for a program that asks for a value while it is traced: in a condition, or in a loop.

    >>> torch.fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.TraceError: symbolically traced variables cannot be used as inputs to control flow
      at:  ...
      try: ...
      see: errors/compat/TraceError, or help(fxgrad.compat.errors.TraceError)

    >>> print(torch.fx.symbolic_trace(lambda x: torch.where(x.sum() > 0, x, -x)).code.strip())
    def forward(self, x):
        sum_1 = x.sum()
        gt = sum_1 > 0;  sum_1 = None
        neg = -x
        where = torch.where(gt, x, neg);  gt = x = neg = None
        return where
    """


class LinAlgError(FxgradError, RuntimeError):
    """The error for a matrix with which a computation is impossible: singular, or not positive definite.

    >>> torch.linalg.inv(torch.zeros(2, 2))
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.LinAlgError: linalg.inv: The diagonal element 1 is zero, the inversion could not be
    completed because the input matrix is singular.
      at:  ...
      see: errors/compat/LinAlgError, or help(fxgrad.compat.errors.LinAlgError)

    The pseudo-inverse exists for every matrix, and `inv_ex` says by a number which matrices are singular:

    >>> torch.linalg.pinv(torch.zeros(2, 2))
    tensor([[0., 0.],
            [0., 0.]])
    """


class DeviceError(TensorError, AssertionError):
    """The error for a device that is not available.

    "cuda" is a device where CuPy is installed and finds a GPU.

    >>> torch.ones(3, device="cuda:99")
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.DeviceError: ...CUDA...
      see: errors/compat/DeviceError, or help(fxgrad.compat.errors.DeviceError)

    Ask before, as programs for torch do:

    >>> device = "cuda" if torch.cuda.is_available() else "cpu"
    >>> torch.ones(3, device=device).sum().item()
    3.0
    """


class BatchedValueError(TensorError, ConcretizationError):
    """Code inside `vmap` that asks for the one value of a batched Tensor: by `if`, `.item()`, `float()`.

    >>> torch.func.vmap(lambda x: x if x > 0 else -x)(torch.tensor([1.0, -2.0]))
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.BatchedValueError: vmap: It looks like you're attempting to use a Tensor in some
    data-dependent control flow. We don't support that yet.
      in:  ... level 1: vmap at ...
      at:  ...
      try: the value differs from one entry to the next: torch.where instead of `if`, Tensors for numbers
      see: errors/compat/BatchedValueError, or help(fxgrad.compat.errors.BatchedValueError)

    >>> torch.func.vmap(lambda x: torch.where(x > 0, x, -x))(torch.tensor([1.0, -2.0]))
    tensor([1., 2.])
    """


class GradcheckError(TensorError):
    """A derivative that does not agree with finite differences, or with itself.

    `gradcheck` and `gradgradcheck` raise it: a `backward` with a wrong factor, one that returns something else in its
    second run, single precision where double is needed.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * ctx.saved_tensors[0]
    >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(Square.apply, x)
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.GradcheckError: Jacobian mismatch for output 0 with respect to input 0,
    numerical:tensor([[2.0000, 0.0000],
            [0.0000, 2.0000]], dtype=torch.float64)
    analytical:tensor([[1., 0.],
            [0., 1.]], dtype=torch.float64)
    ...
      see: errors/compat/GradcheckError, or help(fxgrad.compat.errors.GradcheckError)

    The factor 2 was missing:

    >>> Square.backward = staticmethod(lambda ctx, grad: 2 * grad * ctx.saved_tensors[0])
    >>> torch.autograd.gradcheck(Square.apply, x)
    True
    """


class CheckpointError(TensorError):
    """A checkpointed function that did not do the same when it was run again.

    `torch.utils.checkpoint` runs a function a second time in the backward pass. It must save the same Tensors then: it
    must not depend on a counter, on the time, or on random numbers other than torch's.

    >>> runs = []
    >>> def layer(x):
    ...     runs.append(1)
    ...     return x.sin() * x.cos() if len(runs) == 1 else x.sin()
    >>> x = torch.zeros(3, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).sum().backward()
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.CheckpointError: torch.utils.checkpoint: A different number of tensors was ...
      see: errors/compat/CheckpointError, or help(fxgrad.compat.errors.CheckpointError)

    >>> torch.utils.checkpoint.checkpoint(lambda x: x.sin() * x.cos(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([1., 1., 1.])
    """


class MissingMatrixError(FxgradError, AssertionError):
    """Not exactly one matrix where one is waited for: an AssertionError, as in torch.

    >>> torch.distributions.Wishart(df=torch.tensor(3.0))
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.MissingMatrixError: Exactly one of covariance_matrix or precision_matrix or
    scale_tril may be specified.
      at:  ...
      see: errors/compat/MissingMatrixError, or help(fxgrad.compat.errors.MissingMatrixError)

    >>> torch.distributions.Wishart(df=torch.tensor(3.0), covariance_matrix=torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """


class UnpicklingError(FxgradError, PythonUnpicklingError):
    """A file that holds what is not allowed, or that is broken. It is a `pickle.UnpicklingError` too.

    Nothing in a file is ever executed: classes are built only if they are known or allowed.

    >>> import io, datetime
    >>> file = io.BytesIO()
    >>> torch.save(datetime.date(2020, 2, 29), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.UnpicklingError: Weights only load failed. WeightsUnpickler error: ...
      see: errors/compat/UnpicklingError, or help(fxgrad.compat.errors.UnpicklingError)

    What you trust is allowed by name:

    >>> _ = file.seek(0)
    >>> with torch.serialization.safe_globals([datetime.date]):
    ...     torch.load(file)
    datetime.date(2020, 2, 29)
    """


class PicklingError(FxgradError, PythonPicklingError, AttributeError):
    """An object that cannot be saved: a function or class without a place where it would be found again.

    (Python has two errors for that; this one is both.)

    >>> import io
    >>> torch.save({"activation": lambda x: x}, io.BytesIO())
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.PicklingError: Can't pickle <function <lambda> at ...>: it's not found as ...
      at:  ...
      try: define it at the top of a module; or save a state_dict()
      see: errors/compat/PicklingError, or help(fxgrad.compat.errors.PicklingError)

    >>> torch.save(torch.nn.Linear(2, 1).state_dict(), io.BytesIO())
    """


class TruncatedError(FxgradError, EOFError):
    """A file that ends too early: a copy that was cut off, or one that is still being written.

    >>> import io
    >>> torch.load(io.BytesIO(b""))
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.TruncatedError: Ran out of input
      at:  ...
      try: the file is not complete: copy or save it again
      see: errors/compat/TruncatedError, or help(fxgrad.compat.errors.TruncatedError)

    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([1., 1.])
    """


UNRAISED = """

Nothing here raises it: what fails between processes is a CollectiveMismatchError or a CollectiveTimeoutError.
Programs that catch it by this name run unchanged.

>>> raise torch.distributed.{name}("no answer")
Traceback (most recent call last):
    ...
fxgrad.compat.errors.{name}: no answer
  at:  ...
  see: errors/compat/{name}, or help(fxgrad.compat.errors.{name})

>>> try:
...     raise torch.distributed.{name}("no answer")
... except RuntimeError:
...     print("caught")
caught
"""


def unraised(kind: Kind) -> Kind:
    """State in the docstring of an error that it exists for programs that catch it."""
    kind.__doc__ = f"{kind.__doc__ or ''}{UNRAISED.format(name=kind.__name__)}"
    return kind


@unraised
class DistError(TensorError):
    """The base of the errors of communication."""


@unraised
class DistBackendError(DistError):
    """The error for a library that communicates and fails."""


@unraised
class DistNetworkError(DistError):
    """The error of the network."""


class DistStoreError(DistError):
    """The error of a store: a key that nobody has set in time.

    >>> from datetime import timedelta
    >>> store = torch.distributed.HashStore()
    >>> store.set_timeout(timedelta(milliseconds=10))
    >>> store.get("address")
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.DistStoreError: wait timeout after 10ms, keys: address
      at:  ...
      see: errors/compat/DistStoreError, or help(fxgrad.compat.errors.DistStoreError)

    >>> store.set("address", "here")
    >>> store.get("address")
    b'here'
    """


class QueueEmptyError(DistStoreError):
    """The error of a queue of a store with nothing in it.

    >>> store = torch.distributed.HashStore()
    >>> store.queue_pop("jobs", block=False)
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.QueueEmptyError: the queue jobs is empty
      at:  ...
      see: errors/compat/QueueEmptyError, or help(fxgrad.compat.errors.QueueEmptyError)

    >>> store.queue_push("jobs", "first")
    >>> store.queue_pop("jobs", block=False)
    b'first'
    """
