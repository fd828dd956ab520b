"""`fxgrad.experimental`: where programs written for JAX look for `jet`; here it is `fxgrad.jet` as well."""

from ..core.face import LazyPackage

LazyPackage.of(__name__, parts=())
