"""The errors of files that torch's users catch."""

from __future__ import annotations

# Classes of errors, of which users catch the instances; nothing is unpickled.
from pickle import PicklingError as PythonPicklingError
from pickle import UnpicklingError as PythonUnpicklingError

from ...extend import FxgradError
from .._core.errors import public

SAVEABLE = "a whole file that torch.save wrote, of Tensors, numbers and text in lists, tuples and dicts"


@public
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
      see: errors/compat/UnpicklingError

    What you trust is allowed by name:

    >>> _ = file.seek(0)
    >>> with torch.serialization.safe_globals([datetime.date]):
    ...     torch.load(file)
    datetime.date(2020, 2, 29)
    """


@public
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
      see: errors/compat/PicklingError

    >>> torch.save(torch.nn.Linear(2, 1).state_dict(), io.BytesIO())
    """


@public
class TruncatedError(FxgradError, EOFError):
    """A file that ends too early: a copy that was cut off, or one that is still being written.

    >>> import io
    >>> torch.load(io.BytesIO(b""))
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.TruncatedError: Ran out of input
      at:  ...
      try: the file is not complete: copy or save it again
      see: errors/compat/TruncatedError

    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([1., 1.])
    """


def refuse(text: str, hint: str = SAVEABLE) -> UnpicklingError:
    """Return the error for an object that files may not build, or that has another form than programs save."""
    return UnpicklingError(f"Weights only load failed. WeightsUnpickler error: {text}", hint=hint)
