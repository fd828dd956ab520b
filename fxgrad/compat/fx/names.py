"""Names in traced programs: those of values, which are unique in a Graph, and those of functions, as torch has them."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from typing import Any

COMPAT = __name__.removesuffix(".fx.names")
ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
NUMBERED = re.compile(r"(.+)_(\d+)")
BEFORE_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Names that generated code uses without an import of its own: values by their texts in arguments.
KNOWN_NAMES = ("inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree")


class Namespace:
    """Names in use. A name that is taken, or that Python has, gets a number.

    >>> from fxgrad.compat.fx.names import Namespace
    >>> names = Namespace()
    >>> [names.create_name(name) for name in ("add", "add", "sum", "layer.0")]
    ['add', 'add_1', 'sum_1', 'layer_0']
    """

    def __init__(self) -> None:
        self._fx_used: set[str] = set()
        self._fx_counts: dict[str, int] = {}
        self._fx_by_object: dict[Any, str] = {}

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """Create a name like the candidate; the same object gets the same name.

        Args:
            candidate: a text, of which what cannot stand in a name is replaced.
            obj: what is named, or None.
        """
        if obj is not None and obj in self._fx_by_object:
            return self._fx_by_object[obj]
        name = ILLEGAL.sub("_", candidate) or "_unnamed"
        name = f"_{name}" if name[0].isdigit() else name
        found = NUMBERED.fullmatch(name)
        base, number = (found[1], int(found[2])) if found else (name, 0)
        if found and name not in self._fx_used:
            self._fx_counts[base] = number
        while name in self._fx_used or is_reserved(name, obj):
            self._fx_counts[base] = self._fx_counts.get(base, 0) + 1
            name = f"{base}_{self._fx_counts[base]}"
        self._fx_used.add(name)
        if obj is not None:
            self._fx_by_object[obj] = name
        return name

    def _rename_object(self, obj: Any, name: str) -> None:
        """Give an object a name that was created for it."""
        self._fx_by_object[obj] = name
        self._fx_used.add(name)


def is_reserved(name: str, obj: Any) -> bool:
    """Whether a name means something else than an object in generated code."""
    if keyword.iskeyword(name) or name in KNOWN_NAMES:
        return True
    if name == "_":  # which interactive Python writes there: its last result
        return False
    return hasattr(builtins, name) and getattr(builtins, name) is not obj


def snake_case(text: str) -> str:
    """Write a name of a class as one of a value: BatchNorm → batch_norm.

    >>> from fxgrad.compat.fx.names import snake_case
    >>> snake_case("maxPool")
    'max_pool'
    """
    return BEFORE_CAPITAL.sub("_", text).lower()


def name_of_target(target: Any) -> str:
    """Return the name that values get which a target computes."""
    if callable(target):
        target = getattr(target, "__name__", type(target).__name__).split(".")[0]
    if re.fullmatch("__.+__", target):
        target = target[2:-2]
    return snake_case(target)


def qualified_name(target: Any) -> str:
    """Return the name of a function with that of its module, as torch has it where it is one of ours.

    >>> import math
    >>> from fxgrad.compat.fx.names import qualified_name
    >>> qualified_name(torch.nn.functional.relu), qualified_name(torch.add), qualified_name(math.sqrt)
    ('torch.nn.functional.relu', 'torch.add', 'math.sqrt')
    """
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
    if name is None:
        raise RuntimeError(f"cannot find the name of {target!r}, which is no function")
    module = getattr(target, "__module__", None) or getattr(type(target), "__module__", "builtins")
    if module == "builtins" and hasattr(builtins, name):
        return name
    if f"{module}.".startswith(f"{COMPAT}."):
        is_at_top = getattr(sys.modules[COMPAT], name, None) is target  # as Tensor, whose file is private
        module = "torch" if is_at_top else module.replace(COMPAT, "torch", 1)
    return f"{module}.{name.replace('<', '_').replace('>', '_')}"


def shown_name(target: Any) -> str:
    """Return the name under which a target is printed: that of a module or method is a text already."""
    if isinstance(target, str):
        return target
    name = qualified_name(target)
    return f"builtins.{name}" if "." not in name else name.removeprefix("_")  # _operator


def is_ours(target: Any) -> bool:
    """Whether the name of a function, after `torch`, leads to it in this package."""
    first, _, rest = qualified_name(target).partition(".")
    return first == "torch" and find_at(sys.modules[COMPAT], rest) is target


def find_at(root: Any, path: str) -> Any:
    """Find what is at a path of attributes: None if there is nothing."""
    for name in path.split("."):
        root = getattr(root, name, None)
    return root
