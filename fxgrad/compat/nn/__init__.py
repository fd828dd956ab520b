"""torch.nn: modules, and the functions, initial values and utilities that belong to them."""

from typing import TYPE_CHECKING

from ...core.face import LazyPackage

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

LazyPackage.of(__name__)
