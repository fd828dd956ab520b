"""The torch-compatible API on fxgrad's interpreters: `import fxgrad.compat as torch`.

Modules at the top are torch's own. The packages, each of which imports only earlier ones and the rest of fxgrad, are:

_core       Tensors, views, duals, the tape, the backward pass
_declare    turns the declaration of an operation into the function that users call
_make       creation of Tensors: from data, from random numbers, on devices
ops         the operations, one file for each family
_read       conversion of Tensors to text, Python values and other dtypes
amp, autograd, cuda, distributed, distributions, func, nn, optim, signal, sparse, testing, utils    torch's namespaces
serialization, texts    files of Tensors; docstrings
door        the import hook `install()`, which lets `import torch` import this package

The functional API accepts and returns Tensors, too: `fx.grad(f)(w)`, `fxgrad.numpy.sin(w)`, `fx.vmap`, `fx.jit`, the
loops of `fxgrad.lax`. If a function closes over a Tensor, operations on it are recorded, and the result is a Tensor.
"""

from typing import TYPE_CHECKING, Any

from ..extend import LazyPackage

if TYPE_CHECKING:
    from . import (
        accelerator,
        amp,
        autograd,
        backends,
        compiler,
        cuda,
        distributed,
        distributions,
        fft,
        func,
        futures,
        fx,
        jit,
        library,
        linalg,
        multiprocessing,
        nn,
        optim,
        overrides,
        profiler,
        random,
        serialization,
        signal,
        sparse,
        special,
        storage,
        testing,
        types,
        utils,
        version,
    )
    from ._surface import *
    from .accelerator import get_device_module as get_device_module
    from .amp import GradScaler as GradScaler
    from .compiler import compile as compile
    from .cuda import AcceleratorError as AcceleratorError
    from .cuda import OutOfMemoryError as OutOfMemoryError
    from .door.finder import install as install
    from .door.finder import uninstall as uninstall
    from .serialization import load as load
    from .serialization import save as save
    from .utils.dlpack import to_dlpack as to_dlpack


def _find_otherwise(name: str) -> Any:
    """Find the version, or a namespace of torch's that has no file here."""
    from .door.modules import find_namespace
    from .door.version import __version__

    return __version__ if name == "__version__" else find_namespace(name)


LazyPackage.of(__name__, find_otherwise=_find_otherwise)
