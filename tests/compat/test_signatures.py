"""Functions and classes have torch's own parameters: all that tests/tables/signatures.txt tells of those that are here."""

from __future__ import annotations

import inspect
from ast import literal_eval
from importlib import import_module
from inspect import Parameter
from typing import Any

import pytest

from tests.tables.signatures import Default, kept_signatures

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def find(path: str) -> Any:
    """What a path of torch's means here; None if there is nothing."""
    module, _, name = path.replace("torch", "fxgrad.compat", 1).rpartition(".")
    try:
        library = import_module(module.removesuffix(".Tensor"))
    except ImportError:
        return None
    return getattr(library.Tensor if module.endswith(".Tensor") else library, name, None)


HERE = [path for path in kept_signatures() if find(path) is not None]


def parameters_of(path: str) -> list[Parameter]:
    """The parameters of a function, class or method of ours, without `self`."""
    found = list(inspect.signature(find(path)).parameters.values())
    return found[1:] if path.startswith("torch.Tensor.") else found


def deviations(path: str) -> list[str]:
    """How the parameters of a function or class deviate from torch's: each of torch's overloads is to be taken by
    position and by name, with its defaults where there is one overload, and nothing besides."""
    overloads, _ = kept_signatures()[path]
    ours = {p.name: p for p in parameters_of(path)}
    order = [p.name for p in ours.values() if p.kind in POSITIONAL]
    any_count = any(p.kind is p.VAR_POSITIONAL for p in ours.values())
    found = []
    for theirs in overloads:
        places = [p.name for p in theirs if p.kind in POSITIONAL]
        if len(places) > len(order) and not any_count:
            found.append(f"takes {order} by position, not {places}")
        elif len(overloads) == 1 and places != order[: len(places)] and not any_count:
            found.append(f"takes {order} by position, not {places}")
        for p in theirs:
            if p.kind in (p.POSITIONAL_ONLY, p.VAR_KEYWORD, p.VAR_POSITIONAL):
                continue
            if p.name not in ours:
                found.append(f"lacks {p.name}")
            elif len(overloads) == 1 and not same_default(p, ours[p.name]):
                found.append(f"{p.name}={text_of(ours[p.name])}, not {text_of(p)}")
        given = {p.name for p in theirs}
        needed = [n for n in order if ours[n].default is Parameter.empty][len(places) :]
        if not given.issuperset(needed):
            found.append(f"requires {needed}")
    told = {p.name for theirs in overloads for p in theirs}
    if not any(p.kind is p.VAR_KEYWORD for theirs in overloads for p in theirs):
        several = (Parameter.VAR_POSITIONAL,) * (len(overloads) > 1)
        found += [f"has {n} besides" for n, p in ours.items() if n not in told and p.kind not in several]
    return list(dict.fromkeys(found))


def same_default(theirs: Parameter, ours: Parameter) -> bool:
    """Whether parameters have equal defaults; one that has no text is any."""
    texts = [text_of(theirs), text_of(ours)]
    if texts[0] == "..." or texts[0] == texts[1]:
        return "required" not in texts or texts[0] == texts[1]
    try:
        return literal_eval(texts[0]) == literal_eval(texts[1]) and "True" not in texts
    except ValueError:
        return False


def text_of(parameter: Parameter) -> str:
    """The text of a default."""
    return "required" if parameter.default is Parameter.empty else str(Default.of(parameter))
