"""`fxgrad.experimental`: names that JAX has under this path, `jet`, `ode` and `io_callback`."""

from typing import TYPE_CHECKING

from ..core.face import LazyPackage

if TYPE_CHECKING:
    from ..transforms.callback import io_callback as io_callback

LazyPackage.of(__name__)
