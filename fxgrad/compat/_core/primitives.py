"""Primitives of torch's operations beside those of `fxgrad.ops`: they follow torch's conventions, or use its memory
model.

They have a registry of their own, from which tests are generated as for the others. Some compute the same as a
primitive of `fxgrad.ops`, with another derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...extend import Primitive, register

PRIMITIVES: dict[str, Primitive] = {}


def declare_primitive(
    kind: type[Primitive], name: str, *args, computes: str = "", **options
) -> Callable[..., Any]:
    """Declare a primitive of a kind (see `ops.kinds`) and return its binding function. What `computes` names is the
    primitive of `fxgrad.ops` whose values it has, with another derivative."""
    primitive = register(kind(name, *args, **options), PRIMITIVES)
    primitive.computes = computes
    return primitive.call
