"""torch.func: transforms of functions of Tensors, freely nested with one another and with `backward()`."""

from typing import TYPE_CHECKING

from ...core.face import Face

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

Face.of(__name__)
