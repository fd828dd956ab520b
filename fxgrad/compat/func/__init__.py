"""torch.func: transforms of functions of Tensors, which nest with one another and with `backward()`."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .._surface import vmap as vmap
    from .forward import jvp as jvp
    from .forward import linearize as linearize
    from .functionalization import functionalize as functionalize
    from .jacobian import hessian as hessian
    from .jacobian import jacfwd as jacfwd
    from .jacobian import jacrev as jacrev
    from .reverse import grad as grad
    from .reverse import grad_and_value as grad_and_value
    from .reverse import vjp as vjp
    from .stateless import functional_call as functional_call
    from .stateless import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
    from .stateless import stack_module_state as stack_module_state

LazyPackage.of(__name__)
