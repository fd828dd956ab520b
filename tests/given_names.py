"""What examples in docstrings take as given: names, and in `compat.distributed` a group of one process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from fxgrad.core.docstrings import example_names


@contextmanager
def given_names(module: str, text: str) -> Iterator[dict[str, ModuleType]]:
    """The names that the examples in a docstring of a module use without an import. While the context is open, there is
    a group of processes for examples of `compat.distributed` that open none themselves, and functions under older names
    do not warn of that."""
    names = {name: import_module(package) for name, package in example_names(module).items()}
    group = None if "init_process_group(" in text else names.get("dist")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        if group is not None:
            group.init_process_group("gloo")
        try:
            yield names
        finally:
            if group is not None:
                group.destroy_process_group()
