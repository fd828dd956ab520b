"""Modules that pad images."""

from __future__ import annotations

from typing import Any

from .. import functional
from .functional_modules import FunctionalModule, functional_module


class PadModule(FunctionalModule):
    """Padding before and after the last dimensions; one number stands for all."""

    _fx_dims: int
    _fx_mode: str
    padding: Any

    def _fx_start(self, given: dict[str, Any]) -> None:
        padding = given["padding"]
        given["padding"] = (padding,) * (2 * self._fx_dims) if isinstance(padding, int) else tuple(padding)
        super()._fx_start(given)

    def forward(self, input) -> Any:
        return functional.pad(input, self.padding, self._fx_mode)


class _ConstantPadNd(PadModule):
    """The base of padding with one number."""

    _fx_mode = "constant"
    value: float

    def forward(self, input) -> Any:
        return functional.pad(input, self.padding, self._fx_mode, self.value)


class _ReflectionPadNd(PadModule):
    """The base of padding by reflection at the outer entries."""

    _fx_mode = "reflect"


class _ReplicationPadNd(PadModule):
    """The base of padding with the outer entries."""

    _fx_mode = "replicate"


class _CircularPadNd(PadModule):
    """The base of padding from the other end."""

    _fx_mode = "circular"


PADDINGS = [
    ("Constant", _ConstantPadNd),
    ("Reflection", _ReflectionPadNd),
    ("Replication", _ReplicationPadNd),
    ("Circular", _CircularPadNd),
]


def pad_module(kind: str, base: type[PadModule], dims: int) -> type:
    """Make the class of Modules that pad so many dimensions."""
    shaped = type("PadModule", (base,), {"_fx_dims": dims, "__module__": __name__})
    row = ("padding, value", "padding value") if kind == "Constant" else ("padding", "[padding]")
    return functional_module(f"{kind}Pad{dims}d", "pad", *row, shaped, __name__)


MODULES: dict[str, type] = {}
for n in (1, 2, 3):
    for kind, base in PADDINGS:
        MODULES[f"{kind}Pad{n}d"] = pad_module(kind, base, n)
    constant: Any = MODULES[f"ConstantPad{n}d"]
    zero: Any = functional_module(f"ZeroPad{n}d", "pad", "padding", "[padding]", constant, __name__)
    zero.value = 0.0
    MODULES[zero.__name__] = zero
globals().update(MODULES)
