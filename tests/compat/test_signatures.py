"""Functions and classes have torch's own parameters: all that tests/tables/signatures.txt tells of those that are here."""

from __future__ import annotations

import inspect
from importlib import import_module
from inspect import Parameter
from typing import Any

import pytest

from tests.tables.signatures import format_signature, kept_signatures

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def find(path: str) -> Any:
    """What a path of torch's means here; None if there is nothing."""
    module, _, name = path.replace("torch", "fxgrad.compat", 1).rpartition(".")
    try:
        if module.endswith(".Tensor"):
            return getattr(import_module("fxgrad.compat").Tensor, name, None)
        return getattr(import_module(module), name, None)
    except ImportError:
        return None


def parameters_of(path: str, value: Any) -> list[Parameter]:
    """The parameters of a function, class or method of ours, without `self`."""
    found = list(inspect.signature(value).parameters.values())
    return found[1:] if path.startswith("torch.Tensor.") else found


def deviations(path: str) -> list[str]:
    """How the parameters of a function or class deviate from torch's."""
    overloads, _ = kept_signatures()[path]
    ours = parameters_of(path, find(path))
    named = {p.name: p for p in ours}
    order = [p.name for p in ours if p.kind in POSITIONAL]
    star = any(p.kind is p.VAR_POSITIONAL for p in ours)
    found = []
    for theirs in overloads:
        places = [p.name for p in theirs if p.kind in POSITIONAL]
        if len(overloads) == 1 and places != order[: len(places)] and not star:
            found.append(f"order {order} for {places}")
        if len(places) > len(order) and not star:
            found.append(f"takes {len(order)} by position of {places}")
        for p in theirs:
            if p.kind in (p.POSITIONAL_ONLY, p.VAR_KEYWORD, p.VAR_POSITIONAL):
                continue
            if p.name not in named:
                found.append(f"lacks {p.name}")
            elif named[p.name].kind is p.VAR_KEYWORD:
                found.append(f"{p.name} not by name")
            elif len(overloads) == 1 and text_of(p) != text_of(named[p.name]):
                found.append(f"default {p.name}={text_of(named[p.name])} for {text_of(p)}")
            elif p.default is p.empty is not named[p.name].default and False:
                pass
        required = [p.name for p in ours if p.default is p.empty and p.kind in POSITIONAL]
        given = {p.name for p in theirs}
        if len(overloads) > 1 and [n for n in required if n not in given and order.index(n) >= len(places)]:
            found.append(f"requires {required}")
    extra = [n for n, p in named.items() if n not in {q.name for o in overloads for q in o}]
    told = all(p.kind is not p.VAR_KEYWORD for o in overloads for p in o)
    if extra and told:
        found.append(f"extra {extra}")
    return list(dict.fromkeys(found))


def text_of(p: Parameter) -> str:
    return format_signature([p.replace(kind=p.KEYWORD_ONLY)])[4:-1]
