"""torch.utils: checkpoints, and batches of data."""

from typing import TYPE_CHECKING

from ...core.face import Face

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

Face.of(__name__)
