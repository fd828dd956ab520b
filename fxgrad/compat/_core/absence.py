"""Names of torch that are absent here: they can be imported, and raise an error when they are used."""

from __future__ import annotations

from ...doors.absence import AbsentClass as AbsentClass
from ...doors.absence import is_asked as is_asked
from ...doors.absence import make_absent as make_absent_class
from ..errors import NotSupportedError


def make_absent(name: str, reason: str) -> type:
    """Make a class that stands for a name of torch's and raises NotSupportedError, a NotImplementedError, when called.

    >>> from fxgrad.compat._core.absence import make_absent
    >>> program = make_absent("torch.export.Dim", "shapes are numbers here")
    >>> isinstance(3, program)
    False
    >>> program()
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.NotSupportedError: torch.export.Dim is not there: shapes are numbers here
    ...
    """
    return make_absent_class(name, reason, NotSupportedError)
