"""The errors of the torch-compatible API: torch's built-in class and first line, then fxgrad's own lines."""

from __future__ import annotations

from typing import TypeVar

from ...extend import FxgradError

Kind = TypeVar("Kind", bound=type)


def public(kind: Kind) -> Kind:
    """Make an error a name of `fxgrad.compat.errors`, where messages show it and pickle finds it."""
    kind.__module__ = "fxgrad.compat.errors"
    return kind


@public
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
      see: errors/compat/TensorError

    >>> (3 * x).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """


@public
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
      see: errors/compat/NoGradientError

    The loss is scaled first:

    >>> scaler.scale(w.sum()).backward()
    >>> scaler.step(optimizer)
    >>> w.detach()
    tensor([0.5000])
    """


@public
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
      see: errors/compat/RequirementError

    >>> torch.nn.MultiheadAttention(embed_dim=10, num_heads=5).head_dim
    2
    """


@public
class DimensionError(FxgradError, IndexError):
    """The error for a dimension or an index that is out of range: an IndexError, as in torch.

    >>> torch.ones(3).sum(dim=1)
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.DimensionError: Dimension out of range (expected to be in range of [-1, 0], but got 1)
      at:  ...
      see: errors/compat/DimensionError

    >>> torch.ones(3).sum(dim=0)
    tensor(3.)
    """


@public
class ArgumentError(FxgradError, TypeError):
    """The error for an argument of the wrong kind: a TypeError, as in torch.

    A number where a Tensor is needed, a Tensor where a number is, a name that no argument has.

    >>> torch.zeros("3")
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.ArgumentError: zeros(): argument 'size' (position 1) must be tuple of ints, not str
      at:  ...
      see: errors/compat/ArgumentError

    >>> torch.zeros(3)
    tensor([0., 0., 0.])
    """


def argument_error(
    function: str, parameter: str, position: int | None, wanted: str, given: object, hint: str | None = None
) -> ArgumentError:
    """Return the error for an argument of another kind than the one that is wanted."""
    place = "" if position is None else f" (position {position})"
    kind = f"{'numpy.' * (type(given).__module__ == 'numpy')}{type(given).__name__}"
    return ArgumentError(
        f"{function}(): argument '{parameter}'{place} must be {wanted}, not {kind}", hint=hint
    )


@public
class ArgumentValueError(FxgradError, ValueError):
    """The error for an argument of the right kind with a value that is not valid: a ValueError, as in torch.

    Hyperparameters out of their range, parameters of distributions, sizes of targets, names of options.

    >>> w = torch.ones(1, requires_grad=True)
    >>> torch.optim.SGD([w], lr=-1.0)
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.ArgumentValueError: Invalid learning rate: -1.0
      at:  ...
      see: errors/compat/ArgumentValueError

    >>> torch.optim.SGD([w], lr=1.0).defaults["lr"]
    1.0
    """


@public
class NotSupportedError(FxgradError, NotImplementedError):
    """The error for a feature that torch does not implement either, or that `fxgrad.compat` leaves out.

    It is a NotImplementedError. The message says why the feature is left out, the hint what there is in its place.
    Names that are left out can be imported and used in annotations; only a call raises.

    >>> torch.fx.Tracer()
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.NotSupportedError: torch.fx.Tracer is not there: ...
      at:  ...
      see: errors/compat/NotSupportedError

    A program as data is a Graph here:

    >>> len(fx.make_graph(torch.sin)(torch.ones(3)).equations)
    1
    """


@public
class LinAlgError(FxgradError, RuntimeError):
    """The error for a matrix with which a computation is impossible: singular, or not positive definite.

    >>> torch.linalg.inv(torch.zeros(2, 2))
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.LinAlgError: linalg.inv: The diagonal element 1 is zero, the inversion could not be
    completed because the input matrix is singular.
      at:  ...
      see: errors/compat/LinAlgError

    The pseudo-inverse exists for every matrix, and `inv_ex` says by a number which matrices are singular:

    >>> torch.linalg.pinv(torch.zeros(2, 2))
    tensor([[0., 0.],
            [0., 0.]])
    """


@public
class DeviceError(TensorError, AssertionError):
    """The error for a device that is not available.

    "cuda" is a device where CuPy is installed and finds a GPU.

    >>> torch.ones(3, device="cuda:99")
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.DeviceError: ...CUDA...
      see: errors/compat/DeviceError

    Ask before, as programs for torch do:

    >>> device = "cuda" if torch.cuda.is_available() else "cpu"
    >>> torch.ones(3, device=device).sum().item()
    3.0
    """
