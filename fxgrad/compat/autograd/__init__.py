"""torch.autograd: `backward`, `grad` and the rest of its surface."""

from typing import TYPE_CHECKING

from ...core.face import Face

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

Face.of(__name__, hidden=("gradcheck", "variable"))
