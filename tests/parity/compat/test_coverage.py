"""Every name of torch that fxgrad.compat is to have is there, with torch's parameters."""

from __future__ import annotations

import inspect
import re

import pytest
import torch
import torch.utils.checkpoint

import fxgrad.compat as fxt
from tests.parity.compat import differences
from tests.parity.compat.names import NAMES

ALL = [f"{space}.{name}".lstrip(".") for space, names in NAMES.items() for name in names.split()]
FUNCTIONS = [name for name in ALL if name not in differences.MISSING]


def found(library, name: str):
    """What a dotted name stands for."""
    for part in name.split("."):
        library = getattr(library, part)
    return library


def test_no_name_is_listed_twice_in_its_namespace():
    for names in NAMES.values():
        listed = names.split()
        assert sorted({name for name in listed if listed.count(name) > 1}) == []


@pytest.mark.parametrize("name", ALL)
def test_name(name):
    found(torch, name)
    if name in differences.MISSING:
        with pytest.raises(AttributeError):
            found(fxt, name)
    else:
        found(fxt, name)


def parameters(function) -> list[str] | None:
    """The names of the parameters of a function; of torch's builtins, by the first line of their documentation."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return documented(function)
    if any(p.kind is p.VAR_POSITIONAL for p in found):
        return None
    rest = any(p.kind is p.VAR_KEYWORD for p in found)
    return [p.name for p in found if p.kind is not p.VAR_KEYWORD] + CONSTRUCTION * rest


# What functions that make Tensors hand on as **options.
CONSTRUCTION = ["out", "dtype", "device", "requires_grad", "generator"]
NESTED = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|\\+")  # types, defaults that are tuples; escapes


def documented(function) -> list[str] | None:
    name = re.sub("^(linalg|fft|special)_", "", getattr(function, "__name__", ""))
    doc = getattr(function, "__doc__", None) or ""
    match = re.match(rf"\s*(?:[\w.]*\.)?{name}\((.*?)\) *->", doc, re.S)
    if match is None:
        return None
    text = match[1]
    while NESTED.search(text):
        text = NESTED.sub("", text)
    parts = [part.strip() for part in text.split(",")]
    return [
        re.split("[:=]", part)[0].split()[-1]
        for part in parts
        if part.strip("*") and not re.match(r"\*\w", part)
    ]


# Where memory is, which is decided once for all here, and what only torch's compiler asks.
ELSEWHERE = {
    "layout",
    "pin_memory",
    "memory_format",
    "_stacklevel",
    "_preallocate_and_copy",
    "**kwargs",
    "self",
}


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n.rpartition(".")[2][0].islower()])
def test_parameters(name):
    theirs = found(torch, name)
    if not callable(theirs) or inspect.ismodule(theirs):
        return
    wanted = parameters(theirs)
    if wanted is None:
        return
    ours = parameters(found(fxt, name))
    assert ours is None or [
        p for p in wanted if p not in ELSEWHERE and p not in ours
    ] == differences.PARAMETERS.get(name, [])
