"""The surface of torch and torch.autograd on fxgrad's interpreters: `import fxgrad.compat as torch`.

At the top are torch's own names; the rest is in rooms, each of which imports the ones above it and the house:

_core       what a Tensor is, who records, what it may be besides (a view, a dual), the way back
_declare    from the declaration of an operation to the function that users call
_make       Tensors from data, from samplers, on devices
ops         the operations, one file a family
_read       Tensors as text, as values of Python, in other dtypes
func, autograd, nn, optim, utils    torch's namespaces

The functional API takes Tensors as well, and gives them: `fx.grad(f)(w)`, `fxgrad.numpy.sin(w)`, `fx.vmap`,
`fx.jit`, the loops of `fxgrad.lax`. A function that closes over a Tensor records through it; where it does so, the
result is a Tensor whatever the arguments were.
"""

from typing import TYPE_CHECKING

from ..core.face import LazyPackage

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

LazyPackage.of(__name__)
