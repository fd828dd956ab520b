"""Docstrings that take what is the same throughout a package from its entry in `texts/packages.txt`: what parameters
mean, what is returned, and frames of examples. What a function returns may also follow from its annotation.

The last line of a module calls `complete_module(globals(), "cuda")`; what its docstrings say themselves remains.
"""

from __future__ import annotations

from functools import partial
from types import FunctionType
from typing import Any

from .late_text import complete_late


def complete_by_package(subject: Any, package: str) -> None:
    """Complete the docstring of a function or class from the entry of a package when it is read."""
    complete_late(subject, partial(write_docstring, package))


def complete_module(names: dict[str, Any], package: str) -> None:
    """Complete the docstrings of a module's public functions and classes likewise; `names` are its globals."""
    for subject in [names[name] for name in names.get("__all__", names)]:
        is_own = isinstance(subject, FunctionType | type) and subject.__module__ == names["__name__"]
        if is_own and type(subject.__doc__) is str:
            complete_by_package(subject, package)


def complete_methods(cls: type, package: str) -> None:
    """Complete the docstrings of a class's own public methods likewise."""
    for name, method in vars(cls).items():
        if type(method) is FunctionType and type(method.__doc__) is str and not name.startswith("_"):
            complete_by_package(method, package)


def write_docstring(package: str, subject: Any, declared: str) -> str:
    """Return the whole docstring."""
    from .package_documentation import document_by_package  # loaded with the first docstring that is read

    return document_by_package(package, subject, declared)
