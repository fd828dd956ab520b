"""All operations of torch, each declared once; every file contains one family."""

from typing import TYPE_CHECKING, Any

from ...extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *


def _find_namespace(name: str) -> Any:
    """Find the operations of the user's own in a namespace: `torch.ops.mine`."""
    from .._core.operation_names import OPERATIONS, OpNamespace

    if name not in OPERATIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return OpNamespace(name)


LazyPackage.of(__name__, find_otherwise=_find_namespace)
