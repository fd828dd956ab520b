"""`fxgrad.experimental`: JAX's module paths for `jet` and `ode`."""

from ..core.face import LazyPackage

LazyPackage.of(__name__)
