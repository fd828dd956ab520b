"""torch.nn: modules, and the functions, initial values and utilities that belong to them."""

from typing import TYPE_CHECKING

from ...core.face import Face

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

Face.of(__name__)
