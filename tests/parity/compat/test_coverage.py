"""Every name of torch that fxgrad.compat is to have is there, with torch's parameters."""

from __future__ import annotations

import inspect
import re

import pytest
import torch
import torch.nn.utils.prune
import torch.signal.windows
import torch.utils.checkpoint

import fxgrad.compat as fxt
from tests.parity.compat import differences
from tests.parity.compat.names import NAMES
from tests.tables.signatures import kept_signatures

ALL = [f"{space}.{name}".lstrip(".") for space, names in NAMES.items() for name in names.split()]
FUNCTIONS = [name for name in ALL if name not in differences.MISSING]


def found(library, name: str):
    """What a dotted name stands for."""
    for part in name.split("."):
        library = getattr(library, part)
    return library


# The namespaces that are complete, but for what is ABSENT.
COMPLETE = ["", "Tensor", "linalg", "fft", "special", "signal.windows", "nn.functional"]


def is_operation(theirs) -> bool:
    """Whether a name stands for more than a module, or for what torch imports for itself."""
    return not inspect.ismodule(theirs) and str(getattr(theirs, "__module__", None)).split(".")[0] not in (
        "typing",
        "collections",
        "enum",
    )


def public_names(space: str) -> set[str]:
    """The names that torch documents or declares to be public in a namespace."""
    library = found(torch, space) if space else torch
    declared = getattr(library, "__all__", None)
    names = {name for name in (dir(library) if declared is None else declared) if not name.startswith("_")}
    if not space:  # built-in functions with documentation are public as well
        names |= {name for name, value in vars(torch).items() if inspect.isbuiltin(value) and value.__doc__}
    return {name for name in names if not name.startswith("_") and is_operation(getattr(library, name))}


@pytest.mark.parametrize("space", COMPLETE)
def test_every_public_name_is_there_or_has_a_reason(space):
    theirs = public_names(space)
    ours = found(fxt, space) if space else fxt
    absent = {name for names in differences.ABSENT.values() for name in names.get(space, "").split()}
    missing = {name for name in theirs if not hasattr(ours, name)}
    assert sorted(missing - absent) == []
    assert sorted(absent & theirs - missing) == [], "there now: they leave ABSENT of differences.py"
    assert sorted(absent - theirs) == []  # torch has them no longer


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


def test_what_torch_has_under_several_names_is_one_object():
    """`torch.vmap` is `torch.func.vmap`: whoever is told of a function knows it by either name."""
    named = {}
    for space in NAMES:
        theirs = found(torch, space) if space else torch
        ours = found(fxt, space) if space else fxt
        for name in vars(theirs) if inspect.ismodule(theirs) else []:
            value = getattr(theirs, name)
            if callable(value) and not name.startswith("_") and hasattr(ours, name):
                known = named.setdefault(id(value), (getattr(ours, name), f"{space}.{name}"))
                assert known[0] == getattr(ours, name), (known[1], f"{space}.{name}")


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
    "_caller",
    "_devices_kw",
    "**kwargs",
    "self",
}


@pytest.mark.parametrize(
    "name",
    [n for n in FUNCTIONS if n.rpartition(".")[2][0].islower() and f"torch.{n}" not in kept_signatures()],
)
def test_parameters_of_what_no_signature_is_kept_of(name):
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
