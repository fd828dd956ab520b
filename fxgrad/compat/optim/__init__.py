"""torch.optim: steps that make a loss smaller, and learning rates that change."""

from typing import TYPE_CHECKING

from ...core.face import Face

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

Face.of(__name__)
