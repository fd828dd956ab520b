"""`jax.config`: switches, of which `jax_enable_x64` has a meaning here."""

from __future__ import annotations

from typing import Any

from ... import config as here
from .dtypes import enable_wide, is_wide

X64 = "jax_enable_x64"


class Config:
    """JAX's switches, as attributes and by `update`."""

    def __getattr__(self, name: str) -> Any:
        if name == X64:
            return is_wide()
        if name == "x64_enabled":
            return is_wide()
        if name.startswith("_"):
            raise AttributeError(name)
        return here.read(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    def update(self, name: str, val: Any) -> None:
        """Set a switch.

        Raises:
            UnsupportedError: the value asks for results that are not here.
        """
        if name == X64:
            enable_wide(bool(val))
        else:
            here.update(name, val)

    def read(self, name: str) -> Any:
        """Return the value of a switch."""
        return getattr(self, name)


config = Config()
