"""`fxgrad.scipy.cluster`: vector quantization and k-means, in `vq`."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from . import vq as vq

LazyPackage.of(__name__)
