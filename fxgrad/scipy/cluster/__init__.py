"""`fxgrad.scipy.cluster`: vector quantization and k-means, in `vq`."""

from ...extend import LazyPackage

LazyPackage.of(__name__, parts=(), listed=("vq",))
