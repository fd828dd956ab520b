"""The errors of files: those that torch's users catch."""

from __future__ import annotations

# Classes of errors, of which users catch the instances; nothing is unpickled.
from pickle import PicklingError as PythonPicklingError
from pickle import UnpicklingError as PythonUnpicklingError

from ...core.errors import FxgradError


class UnpicklingError(FxgradError, PythonUnpicklingError):
    """A file that holds what is not allowed, or that is broken. It is a `pickle.UnpicklingError` too.

    >>> import io, datetime
    >>> import fxgrad.compat as torch
    >>> file = io.BytesIO()
    >>> torch.save(datetime.date(2020, 2, 29), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    Traceback (most recent call last):
        ...
    fxgrad.compat.serialization.errors.UnpicklingError: Weights only load failed. WeightsUnpickler error: ...

    What you trust is allowed by name:

    >>> _ = file.seek(0)
    >>> with torch.serialization.safe_globals([datetime.date]):
    ...     torch.load(file)
    datetime.date(2020, 2, 29)
    """


class PicklingError(FxgradError, PythonPicklingError, AttributeError):
    """An object that cannot be saved: a function or class without a place where it would be found again. (Python has
    two errors for that.)"""


class TruncatedError(FxgradError, EOFError):
    """A file that ends too early."""


def refuse(text: str, hint: str | None = None) -> UnpicklingError:
    """Return the error for what a file may not build, or what is not as programs save it."""
    return UnpicklingError(f"Weights only load failed. WeightsUnpickler error: {text}", hint=hint)
