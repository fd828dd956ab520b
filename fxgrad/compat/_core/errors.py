"""The errors of the torch surface: the built-in class and the first line that torch has, and our parts below it."""

from __future__ import annotations

from ...core.errors import FxgradError


class TensorError(FxgradError, RuntimeError):
    """An error for which torch raises RuntimeError: most of its errors.

    >>> import fxgrad.compat as torch
    >>> torch.tensor([1.0, 2.0], requires_grad=True).backward()
    Traceback (most recent call last):
        ...
    fxgrad.compat._core.errors.TensorError: grad can be implicitly created only for scalar outputs
    ...
    """


class NoGradientError(FxgradError, AssertionError):
    """A Tensor that requires no gradient where one is waited for."""


class DimensionError(FxgradError, IndexError):
    """A dimension or index out of range."""


class ArgumentError(FxgradError, TypeError):
    """An argument of the wrong kind."""


class ArgumentValueError(FxgradError, ValueError):
    """An argument of the right kind with an invalid value."""


class NotSupportedError(FxgradError, NotImplementedError):
    """A feature that torch does not implement either, or that this surface leaves out."""


class LinAlgError(FxgradError, RuntimeError):
    """A matrix for which the computation is impossible: singular, or not positive definite."""


class DeviceError(TensorError, AssertionError):
    """A device that is not available."""
