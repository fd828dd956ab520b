"""Docstrings: what stands in them by the name under which users look for it.

A namespace is complete where none of its names is in `EXCEPTIONS`; the numbers there may only shrink.
"""

import doctest
import importlib
import inspect
import re
import typing
from enum import Enum
from functools import cache

import pytest

from tests.house.raised_errors import list_unsaid, plain

# What every docstring must have, and how many names of a namespace lack it as yet.
#
#   sentence: it begins with a sentence that says something, and not only whose name it is
#   text:     there is more than that sentence
#   arguments: each argument is named in it, if there is more than one
#   example:  an example that runs
#   margin:   none before headings, pages and examples; from Python 3.13 on the compiler takes away that of the source
EXCEPTIONS: dict[str, dict[str, int]] = {
    "fxgrad": {},
    "fxgrad.ad_checkpoint": {},
    "fxgrad.checkpoint_policies": {},
    "fxgrad.config": {},
    "fxgrad.custom_batching": {},
    "fxgrad.custom_derivatives": {},
    "fxgrad.debug": {},
    "fxgrad.distributed": {},
    "fxgrad.experimental.jet": {},
    "fxgrad.experimental.ode": {},
    "fxgrad.flatten_util": {},
    "fxgrad.lax": {},
    "fxgrad.lax.linalg": {},
    "fxgrad.nn": {},
    "fxgrad.nn.initializers": {},
    "fxgrad.numpy": {"text": 7, "arguments": 3, "example": 26},  # NumPy's scalar types
    "fxgrad.numpy.emath": {},
    "fxgrad.numpy.fft": {},
    "fxgrad.numpy.linalg": {},
    "fxgrad.optim": {},
    "fxgrad.per_sample": {},
    "fxgrad.random": {},
    "fxgrad.scipy.cluster.vq": {},
    "fxgrad.scipy.fft": {},
    "fxgrad.scipy.integrate": {},
    "fxgrad.scipy.interpolate": {},
    "fxgrad.scipy.linalg": {"text": 1, "example": 1},  # SciPy's LinAlgWarning
    "fxgrad.scipy.ndimage": {},
    "fxgrad.scipy.optimize": {},
    "fxgrad.scipy.signal": {"sentence": 5, "example": 1},  # SciPy's designs of filters
    "fxgrad.scipy.sparse": {},
    "fxgrad.scipy.special": {},
    "fxgrad.scipy.stats": {},
    "fxgrad.sharding": {},
    "fxgrad.testing": {},
    "fxgrad.tree": {},
}

# Errors of helpers that the function calls in such a way that they cannot come.
IMPOSSIBLE = {
    "fxgrad.numpy.choose": {"IndexingError"},  # the positions have been checked before
    "fxgrad.numpy.take_along_axis": {"DTypeError"},
    "fxgrad.scipy.ndimage.laplace": {"ShapeError"},  # the origin is in the middle of its own weights
    "fxgrad.scipy.ndimage.prewitt": {"ShapeError"},
    "fxgrad.scipy.ndimage.shift": {"ShapeError"},  # and the coordinates are its own
    "fxgrad.scipy.ndimage.sobel": {"ShapeError"},
    "fxgrad.scipy.ndimage.zoom": {"ShapeError"},
    "fxgrad.scipy.stats.trim_mean": {"UnsupportedError"},  # it has no `nan_policy`
}
SENTENCE = re.compile(r"[^\s].*?[.:)](\s|$)", re.DOTALL)
ALIAS = re.compile(r"(As|The same as|An? alias (of|for)) `[^`]+`\.$")
ELSEWHERE = re.compile(r"\b(arguments|args)\b[^.]*\bas\b|\bsame\s+arguments|\bSee `", re.IGNORECASE)
MISPLACED = re.compile(r"^ +(?:>>> |https:|(?:Args|Returns|Raises):$)", re.MULTILINE)
UNSAID = {"self", "cls", "args", "kwargs", "options"}  # arguments that need no words


def public_names(namespace: str) -> dict[str, object]:
    """The names of a namespace, with what they are: one name for each object, and no constants."""
    module = importlib.import_module(namespace)
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    values = {
        getattr(module, name): name for name in sorted(set(names)) if is_documented(getattr(module, name))
    }
    return {name: value for value, name in values.items()}


def is_documented(value: object) -> bool:
    """Whether it is something that has a docstring of its own: no constant, and no alias of a type."""
    return callable(value) and typing.get_origin(value) is None


def lacks(value: object) -> set[str]:
    """What the docstring of a function or class lacks."""
    text = inspect.getdoc(value) or ""
    first = text.partition("\n\n")[0]
    found = {
        "sentence": bool(SENTENCE.match(first)) and not ALIAS.match(first),
        "text": text != first,
        "arguments": arguments_are_named(value, text),
        "example": bool(doctest.DocTestParser().get_examples(text)),
        "margin": not (value.__module__.startswith("fxgrad") and MISPLACED.search(text)),
    }
    return {what for what, is_there in found.items() if not is_there}


def arguments_are_named(value: object, text: str) -> bool:
    """Whether the text has the name of each argument, or says where they are explained; one alone needs no name."""
    if isinstance(value, type) and issubclass(value, BaseException | Enum):
        return True  # which users catch or name, and do not make
    try:
        named = [name for name in inspect.signature(value).parameters if name not in UNSAID]  # type: ignore
    except (TypeError, ValueError):
        return True
    return (
        len(named) < 2
        or bool(ELSEWHERE.search(text))
        or all(re.search(rf"\b{re.escape(name)}\b", text) for name in named)
    )


@pytest.mark.parametrize("namespace", EXCEPTIONS)
def test_every_name_has_a_docstring_with_an_example(namespace):
    lacking: dict[str, list[str]] = {}
    for name, value in public_names(namespace).items():
        for what in lacks(value):
            lacking.setdefault(what, []).append(name)
    allowed = EXCEPTIONS[namespace]
    assert all(len(names) <= allowed.get(what, 0) for what, names in lacking.items()), lacking


@cache
def documented_functions() -> set[object]:
    """All functions and classes of the functional API."""
    return {plain(value) for namespace in EXCEPTIONS for value in public_names(namespace).values()}


@pytest.mark.parametrize("namespace", EXCEPTIONS)
def test_what_a_function_raises_stands_in_its_docstring(namespace):
    unsaid = {
        name: errors
        for name, value in public_names(namespace).items()
        if (
            errors := list_unsaid(value, inspect.getdoc(value) or "", documented_functions())
            - IMPOSSIBLE.get(f"{namespace}.{name}", set())
        )
    }
    assert not unsaid
