"""The surface of torch and torch.autograd on fxgrad's interpreters: `import fxgrad.compat as torch`.

At the top are torch's own names; the rest is in rooms, each of which imports the ones above it and the house:

_core       what a Tensor is, who records, what it may be besides (a view, a dual), the way back
_declare    from the declaration of an operation to the function that users call
_make       Tensors from data, from samplers, on devices
ops         the operations, one file a family
_read       Tensors as text, as values of Python, in other dtypes
func, autograd, nn, optim, amp, cuda, utils, testing, distributions    torch's namespaces
door        torch's paths of modules: `install()` lets `import torch` mean all this

The functional API takes Tensors as well, and gives them: `fx.grad(f)(w)`, `fxgrad.numpy.sin(w)`, `fx.vmap`,
`fx.jit`, the loops of `fxgrad.lax`. A function that closes over a Tensor records through it; where it does so, the
result is a Tensor whatever the arguments were.
"""

from typing import TYPE_CHECKING, Any

from ..core.face import LazyPackage

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403
    from .accelerator import get_device_module
    from .amp import GradScaler
    from .compiler import compile
    from .cuda import AcceleratorError, OutOfMemoryError
    from .door.finder import install, uninstall
    from .serialization import load, save
    from .utils.dlpack import to_dlpack


def _find_otherwise(name: str) -> Any:
    """Find the version, or a namespace of torch's that has no file here."""
    from .door.modules import find_namespace
    from .door.version import __version__

    return __version__ if name == "__version__" else find_namespace(name)


LazyPackage.of(
    __name__,
    homes={
        "accelerator": "get_device_module",
        "amp": "GradScaler",
        "compiler": "compile",
        "cuda": "AcceleratorError OutOfMemoryError",
        "door.finder": "install uninstall",
        "serialization": "load save",
        "utils.dlpack": "to_dlpack",
    },
    find_otherwise=_find_otherwise,
)
