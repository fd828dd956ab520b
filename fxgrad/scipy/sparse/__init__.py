"""`fxgrad.scipy.sparse`: sparse matrices whose entries may be traced. `linalg` solves linear systems with them.

The sparse arrays of scipy.sparse are constants here: `S @ x` and `x @ S` with a traced x are differentiated. If the
entries themselves are traced, use `coo_array`, `csr_array`, `csc_array` and `diags_array` of this package.
"""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from . import linalg
    from .arrays import *

LazyPackage.of(__name__)
