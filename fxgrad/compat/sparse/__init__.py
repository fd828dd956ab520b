"""torch.sparse: Tensors that store only their nonzero entries.

construction    sparse Tensors from indices and entries, and from dense Tensors
tensor_types    the older classes that make them
members         members beside those of all Tensors
operations      operations, defined on the entries
products        products with matrices
matrix_product  the product of a sparse matrix and a dense one
reductions      sums and softmax along dimensions
text            conversion to text
"""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__)
