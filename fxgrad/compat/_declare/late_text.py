"""Docstrings that are composed when they are read: composing those of all functions would take longer than the import.

The docstring of a function is in a slot that cannot be a property. So the slot holds a `LateText`: a str whose content
is the declared sentence, and whose methods answer for the whole text. `help`, `inspect.getdoc`, doctest, Sphinx and
IPython use these methods. A C function that reads the memory of a str, such as those of `re`, sees only the declared
sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class LateText(str):
    """The docstring of `subject`, a function or class: the declared sentence, completed when it is read."""

    __slots__ = ("own_writer", "subject")

    subject: Any
    own_writer: Callable[[Any, str], str] | None  # in place of `writer`
    writer: ClassVar[Callable[[Any, str], str]]  # (subject, what is declared of it) → the whole text

    def __str__(self) -> str:
        return (self.own_writer or LateText.writer)(self.subject, self.declared)

    @property
    def declared(self) -> str:
        """The text in the declaration."""
        return str.__str__(self)

    def __reduce__(self) -> Any:
        return str, (str(self),)


def complete_late(subject: Any, writer: Callable[[Any, str], str] | None = None) -> None:
    """Complete the docstring of a function when it is read: by `writer`, or by that of all declarations."""
    declared = subject.__doc__
    if type(declared) is not LateText:
        subject.__doc__ = text = LateText(declared or "")
    else:
        subject.__doc__ = text = LateText(declared.declared)
    text.subject, text.own_writer = subject, writer


def ask_whole_text(name: str) -> Callable[..., Any]:
    """Make the method of a LateText that is that of str on the whole text."""
    method = getattr(str, name)

    def call(self, *args, **options) -> Any:
        return method(str(self), *args, **options)

    call.__name__ = name
    return call


KEPT = {
    "__class__",
    "__doc__",
    "__getattribute__",
    "__hash__",
    "__init__",
    "__new__",
    "__str__",
    "__sizeof__",
}
KEPT |= {
    "__delattr__",
    "__dir__",
    "__init_subclass__",
    "__reduce__",
    "__reduce_ex__",
    "__setattr__",
    "__subclasshook__",
}
for name in set(dir(str)) - KEPT - {"maketrans", "__getnewargs__", "__getstate__"}:
    setattr(LateText, name, ask_whole_text(name))
