"""Arrays with labels: Series and DataFrames of pandas, DataArrays of xarray.

For transforms such an object is a pytree whose one leaf is its values, an array; the labels are part of the structure.
So a function gets the values, and a gradient, which has the structure of its argument, the labels. Neither library is
imported here: its classes are registered as soon as it is imported, by whomever.
"""

from __future__ import annotations

import importlib.util
import reprlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import StructureError
from .pytree_structures import NODES, register_pytree_node
from .typing import type_of

# Library and class → the labels of an instance, by the names under which the constructor takes them beside the values.
LABELS: dict[tuple[str, str], Callable[[Any], dict[str, Any]]] = {
    ("pandas", "Series"): lambda x: {"index": x.index, "name": x.name},
    ("pandas", "DataFrame"): lambda x: {"index": x.index, "columns": x.columns},
    ("xarray", "DataArray"): lambda x: {
        "coords": {name: coordinate.variable for name, coordinate in x.coords.items()},
        "dims": x.dims,
        "name": x.name,
        "attrs": x.attrs,
    },
}


class Labels:
    """The labels of an array, with its class and its shape."""

    __slots__ = ("kind", "named", "shape")

    def __init__(self, kind: type, named: dict[str, Any], shape: tuple[int, ...]):
        self.kind = kind
        self.named = named
        self.shape = shape

    def label(self, values: Any) -> Any:
        """Return values with these labels, if it is an array of numbers of their shape; unchanged otherwise."""
        if type(values) is not np.ndarray or values.shape != self.shape or values.dtype.kind not in "biufc":
            return values
        return self.kind(values, **self.named)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and self.kind is other.kind and are_equal(self.named, other.named)

    def __hash__(self) -> int:
        return hash((self.kind, self.shape))

    def __repr__(self) -> str:
        return ", ".join(f"{name}={shorten(labels)}" for name, labels in self.named.items())


def are_equal(a: Any, b: Any) -> bool:
    """Whether two labels, or dicts of them, are equal."""
    if a is b:
        return True
    if type_of(a) is type_of(b) is dict:
        return a.keys() == b.keys() and all(are_equal(a[key], b[key]) for key in a)
    return bool(a.equals(b)) if hasattr(a, "equals") else bool(np.all(a == b))


def shorten(labels: Any) -> str:
    """Write labels, with dots in the place of most of many."""
    return reprlib.repr(list(labels) if type_of(labels) is dict or hasattr(labels, "equals") else labels)


def is_labelled(kind: type) -> bool:
    """Whether instances of a class are arrays with labels."""
    return (kind.__module__.partition(".")[0], kind.__name__) in LABELS


def labels_of(value: Any) -> Labels:
    """Return the labels of an array that has some."""
    kind = type_of(value)
    named = LABELS[kind.__module__.partition(".")[0], kind.__name__](value)
    return Labels(kind, named, value.shape)


def common_labels(operands: Sequence[Any]) -> Labels | None:
    """Return the labels that the operands of one operation share, None if none has any.

    Raises:
        StructureError: two have different labels. (pandas and xarray would align them.)
    """
    found = [labels_of(x) for x in operands if is_labelled(type_of(x))]
    if any(labels != found[0] for labels in found):
        raise StructureError(
            "operands with different labels, which are not aligned here",
            hint="align them first (x.align(y), xarray.align), or give the values: np.asarray(x)",
        )
    return found[0] if found else None


def register(library: str) -> None:
    """Register the classes of a library that has been imported."""
    for home, name in LABELS:
        kind = getattr(sys.modules[library], name, None) if home == library else None
        if kind is not None and kind not in NODES:
            register_pytree_node(
                kind,
                lambda x: ((np.asarray(x),), labels_of(x)),
                lambda labels, children: labels.label(*children),
                lambda x: ((("", np.asarray(x)),), labels_of(x)),  # a step that paths do not show
            )


class LabelFinder:
    """The finder that has a library's classes registered when it is imported after fxgrad. Python's import system asks
    it first for every module; it leaves all others, and the search itself, to the finders behind it."""

    def __init__(self, libraries: set[str]):
        self.libraries = libraries

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.libraries:
            return None
        self.libraries.remove(name)  # who searches asks this finder again
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.libraries.add(name)  # somebody may only have asked whether it is there
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return None
        loader: Any = spec.loader
        execute = loader.exec_module

        def execute_and_register(module: Any) -> None:
            execute(module)
            register(name)

        loader.exec_module = execute_and_register
        return spec


def watch_imports() -> None:
    """Register the classes of the libraries that are there, and those of others when they are imported."""
    libraries = {library for library, _ in LABELS}
    for library in libraries & sys.modules.keys():
        register(library)
    sys.meta_path.insert(0, LabelFinder(libraries - sys.modules.keys()))
