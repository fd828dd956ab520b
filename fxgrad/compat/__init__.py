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

from typing import TYPE_CHECKING

from ..core.face import Face

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

Face.of(__name__, hidden=("tensor",))
