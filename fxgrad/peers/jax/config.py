"""`jax.config`: switches, of which four have a meaning here: for precision, for what is reported, for `jit`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ... import config as here
from ...core.errors import StructureError
from ...transforms.debug_nans import debug_nans as debug_non_finite
from ...transforms.disable_jit import disable_jit
from .dtypes import enable_wide, is_wide

X64 = "jax_enable_x64"
debug_nans, debug_infs = partial(debug_non_finite, infs=False), partial(debug_non_finite, nans=False)
# Switches that are context managers of this library, and those that are open.
BLOCKS: dict[str, Callable[[], Any]] = {
    "jax_debug_nans": debug_nans, "jax_debug_infs": debug_infs, "jax_disable_jit": disable_jit,
}  # fmt: skip
OPENED: dict[str, Any] = {}


def turn(switch: str, on: bool) -> None:
    """Open or close the block of a switch; those opened later stay open around what follows."""
    wanted = [name for name in OPENED if name != switch] + [switch] * on
    for name in reversed([*OPENED]):
        OPENED.pop(name).__exit__(None, None, None)
    for name in wanted:
        OPENED[name] = BLOCKS[name]()
        OPENED[name].__enter__()


class Config:
    """JAX's switches, as attributes and by `update`."""

    def __getattr__(self, name: str) -> Any:
        if name == X64:
            return is_wide()
        if name == "x64_enabled":
            return is_wide()
        if name in BLOCKS:
            return name in OPENED
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
        elif name in BLOCKS:
            if bool(val) != (name in OPENED):
                turn(name, bool(val))
        else:
            try:
                here.update(name, val)
            except StructureError as error:
                raise AttributeError(f"Unrecognized config option: {name}") from error

    def read(self, name: str) -> Any:
        """Return the value of a switch."""
        return getattr(self, name)


config = Config()
