"""Whole modules in files, as `torch.save(model)` writes them: classes and functions of torch.nn, which
`torch.load(f, weights_only=False)` builds. Those of users need `add_safe_globals`."""

from __future__ import annotations

from functools import partial
from types import FunctionType
from typing import Any

from ..door.modules import TORCH
from ..nn.modules.module import Module
from .allowed import lookup, refusal
from .builders import is_special
from .errors import refuse
from .machine import Global, Machine

PLACES = {"torch._C._nn": "torch.nn.functional"}  # where torch's functions say that they are


def find_global_or_module(module: str, name: str) -> Global:
    """Find the object for a name in a file; classes and functions of torch.nn are allowed.

    Raises:
        UnpicklingError: it is not allowed.
    """
    found = lookup(module, name) or find_part(PLACES.get(module, module), name)
    if found is None:
        raise refusal(module, name)
    return found


def find_part(module: str, name: str) -> Global | None:
    """Find a class of modules, which the file builds, or a function of torch.nn, which it only mentions."""
    if not module.startswith("torch.nn."):
        return None
    place = TORCH.open_module(module, TORCH.namespaces)
    found = vars(place).get(name) if place is not None else None
    if isinstance(found, type) and issubclass(found, Module):
        return Global(found, partial(make_module, found), fill_module)
    return Global(found) if type(found) is FunctionType and module == "torch.nn.functional" else None


def make_module(cls: type[Module], machine: Machine) -> Module:
    """Make a module whose state follows."""
    return cls.__new__(cls)


def fill_module(machine: Machine, made: Module, state: Any) -> None:
    """Give a module its state: parameters, buffers, modules and numbers."""
    if type(state) is not dict or not all(type(name) is str and not is_special(name) for name in state):
        raise refuse("The state of a module is none")
    machine.charge(len(state))
    made.__setstate__(state)
