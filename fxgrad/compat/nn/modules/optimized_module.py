"""What torch.compile makes of a module."""

from __future__ import annotations

from typing import Any

from .module import Module


class OptimizedModule(Module):
    """A module that `torch.compile` was given, as `_orig_mod`, under which its parameters and buffers have their names
    here. It computes what the module does, and has its attributes.

    >>> compiled = torch.compile(torch.nn.Linear(2, 1))
    >>> list(compiled.state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    """

    _orig_mod: Module

    def __init__(self, mod: Module):
        super().__init__()
        self._modules["_orig_mod"] = mod

    @property  # type: ignore[override]
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        if "_modules" in self.__dict__:
            self._orig_mod.training = mode

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if name == "_orig_mod" and name in modules:
            return modules[name]
        return super().__getattr__(name) if not modules else getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)
