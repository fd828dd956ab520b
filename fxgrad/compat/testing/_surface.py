"""The names of `torch.testing`."""

from .. import _surface  # Tensors have all their methods
from .._core.absence import make_absent
from .comparison import assert_allclose, assert_close, default_tolerances, get_tolerances
from .creation import make_tensor

FileCheck = make_absent("torch.testing.FileCheck", "there is no text of a graph to be checked")

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
