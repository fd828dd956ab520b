"""torch.sparse: Tensors of which only the entries that are not zero are kept.

construction    sparse Tensors from places and entries, and from dense Tensors
tensor_types    the older classes that make them
members         what sparse Tensors have beside what all Tensors have
operations      what operations mean for them, in terms of their entries
products        products with matrices
matrix_product  that of a sparse matrix and a dense one
reductions      sums and softmax along their dimensions
text            how they are written
"""

from typing import TYPE_CHECKING

from ...core.face import LazyPackage

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

LazyPackage.of(__name__)
