"""The surface of torch and torch.autograd on fxgrad's interpreters: `import fxgrad.compat as torch`.

tensor, tape, modes                             the user's object, the level that records, its switches
operation, functions, composite, precision      what is made of an operation's declaration
primitives                                      what `fxgrad.ops` has not
refusals, errors, out, silence                  how it fails, where results go, that nothing warns
engine, accumulation, hooks, callbacks, saved   the way back
aspects, inplace, memory, inference, duals      what a Tensor may be besides a value with a node
formats, strides, storage, rearrangement        where entries are in memory
ops                                             the operations, one file a family
dtypes, devices, creation, data, random, …      Tensors from what users give, and what users get of them
autograd, func, nn, optim, linalg, fft, …       torch's namespaces
"""

from math import e, inf, nan, pi

from . import (
    attributes,
    autograd,
    backends,
    conversion,
    creation,
    cuda,
    devices,
    fft,
    func,
    interop,
    linalg,
    nn,
    ops,
    optim,
    printing,
    random,
    sampling,
    settings,
    special,
    utils,
    windows,
)
from .dtypes import PUBLIC, dtype, from_name, get_default_dtype, set_default_dtype
from .operation import SPACES
from .tensor import Size, Tensor

newaxis = None
Tensor.attach(**SPACES["method"])
globals().update(SPACES["function"] | PUBLIC)


def __getattr__(name: str) -> dtype:
    """`bfloat16` belongs to a package that is imported when it is first asked for."""
    if name != "bfloat16":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return from_name(name)
