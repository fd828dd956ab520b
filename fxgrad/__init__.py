"""fxgrad: composable function transformations for NumPy and CuPy.

    import fxgrad as fx
    import fxgrad.numpy as fnp

    fx.grad(lambda x: fnp.sum(fnp.sin(x) ** 2))

Names are loaded when first used. Examples in docstrings take these imports and `import numpy as np` as given, those of
`fxgrad.compat` `import fxgrad.compat as torch`.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name → the module that defines it.
_HOMES = {
    "transforms.vjp": ("grad", "linear_transpose", "value_and_grad", "vjp"),
    "transforms.jvp": ("jvp", "linearize"),
    "transforms.vmap": ("vmap",),
    "transforms.jacobian": ("hessian", "hvp", "jacfwd", "jacobian", "jacrev"),
    "transforms.curvature": ("LinearOperator", "fisher_product", "ggn_product"),
    "transforms.jet": ("jet",),
    "transforms.structured": ("divergence", "hessian_diagonal", "jacobian_diagonal", "laplacian"),
    "transforms.sparsity": ("sparsity_pattern",),
    "transforms.coloring": ("Coloring", "color"),
    "transforms.sparse_matrix": ("SparseMatrix",),
    "transforms.jit": ("closure_convert", "eval_shape", "jit", "make_graph", "make_jaxpr"),
    "transforms.shape_struct": ("ShapeDtypeStruct", "typeof"),
    "transforms.callback": ("io_callback", "pure_callback"),
    "transforms.to_source": ("to_source",),
    "transforms.checkpoint": ("checkpoint", "checkpoint_name", "remat"),
    "transforms.residuals": ("print_saved_residuals", "saved_residuals"),
    "transforms.debug_nans": ("debug_nans",),
    "transforms.disable_jit": ("disable_jit",),
    "transforms.memory": ("MemoryEstimate", "memory_estimate"),
    "transforms.custom.jvp_vjp": ("custom_gradient", "custom_jvp", "custom_vjp", "stop_gradient"),
    "transforms.custom.rules": ("custom",),
    "profiling.profile": ("profile",),
    "profiling.scope": ("named_scope",),
    "core.array_type": ("Array", "block_until_ready"),
    "numpy.missing": ("MissingNameError",),
    "numpy.refs": ("OuterRefError", "Ref", "freeze", "new_ref"),
    "numpy.placement": ("device_get", "device_put"),
    "core.aval": ("Aval", "float0"),
    "core.devices": ("Device", "default_backend", "default_device", "devices", "pinned_empty"),
    "distributed.counts": ("device_count", "local_device_count", "process_count", "process_index"),
    "core.errors": (
        "ArrayConversionError",
        "AxisError",
        "CheckError",
        "CheckpointError",
        "CollectiveMismatchError",
        "CollectiveTimeoutError",
        "ConcretizationError",
        "CustomRuleError",
        "DTypeError",
        "DeviceError",
        "EscapedTracerError",
        "FxgradError",
        "GraphError",
        "ImmutableError",
        "IndexingError",
        "LinAlgError",
        "MissingLibraryError",
        "NonFiniteError",
        "NonScalarError",
        "NotCheckableError",
        "NotDifferentiableError",
        "NotLinearError",
        "ShapeError",
        "StaticArgumentError",
        "StructureError",
        "UnboundAxisError",
        "UnsupportedError",
    ),
    "core.graph": ("Graph",),
    "core.interpreter": ("Tracer", "opened"),
    "core.user_level": ("Interpreter",),
    "core.source_info": ("set_traceback_filtering",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_SUBMODULES = (
    "ad_checkpoint",
    "checkpoint_policies",
    "compat",
    "config",
    "custom_batching",
    "custom_derivatives",
    "debug",
    "distributed",
    "experimental",
    "flatten_util",
    "lax",
    "nn",
    "numpy",
    "optim",
    "per_sample",
    "random",
    "scipy",
    "testing",
    "tree",
    "tree_util",
    "typing",
)

if TYPE_CHECKING:
    from . import (
        ad_checkpoint,
        checkpoint_policies,
        compat,
        config,
        custom_batching,
        custom_derivatives,
        debug,
        distributed,
        experimental,
        flatten_util,
        lax,
        nn,
        numpy,
        optim,
        per_sample,
        random,
        scipy,
        testing,
        tree,
        tree_util,
        typing,
    )
    from .core.array_type import block_until_ready
    from .core.aval import Aval, float0
    from .core.devices import Device, default_backend, default_device, devices, pinned_empty
    from .core.errors import (
        ArrayConversionError,
        AxisError,
        CheckError,
        CheckpointError,
        CollectiveMismatchError,
        CollectiveTimeoutError,
        ConcretizationError,
        CustomRuleError,
        DeviceError,
        DTypeError,
        EscapedTracerError,
        FxgradError,
        GraphError,
        ImmutableError,
        IndexingError,
        LinAlgError,
        MissingLibraryError,
        NonFiniteError,
        NonScalarError,
        NotCheckableError,
        NotDifferentiableError,
        NotLinearError,
        ShapeError,
        StaticArgumentError,
        StructureError,
        UnboundAxisError,
        UnsupportedError,
    )
    from .core.graph import Graph
    from .core.interpreter import Tracer, opened
    from .core.source_info import set_traceback_filtering
    from .core.typing import Array
    from .core.user_level import Interpreter
    from .distributed.counts import device_count, local_device_count, process_count, process_index
    from .numpy.missing import MissingNameError
    from .numpy.placement import device_get, device_put
    from .numpy.refs import OuterRefError, Ref, freeze, new_ref
    from .profiling.profile import profile
    from .profiling.scope import named_scope
    from .transforms.callback import io_callback, pure_callback
    from .transforms.checkpoint import checkpoint, checkpoint_name, remat
    from .transforms.coloring import Coloring, color
    from .transforms.curvature import LinearOperator, fisher_product, ggn_product
    from .transforms.custom.jvp_vjp import custom_gradient, custom_jvp, custom_vjp, stop_gradient
    from .transforms.custom.rules import custom
    from .transforms.debug_nans import debug_nans
    from .transforms.disable_jit import disable_jit
    from .transforms.jacobian import hessian, hvp, jacfwd, jacobian, jacrev
    from .transforms.jet import jet
    from .transforms.jit import closure_convert, eval_shape, jit, make_graph, make_jaxpr
    from .transforms.jvp import jvp, linearize
    from .transforms.memory import MemoryEstimate, memory_estimate
    from .transforms.residuals import print_saved_residuals, saved_residuals
    from .transforms.shape_struct import ShapeDtypeStruct, typeof
    from .transforms.sparse_matrix import SparseMatrix
    from .transforms.sparsity import sparsity_pattern
    from .transforms.structured import divergence, hessian_diagonal, jacobian_diagonal, laplacian
    from .transforms.to_source import to_source
    from .transforms.vjp import grad, linear_transpose, value_and_grad, vjp
    from .transforms.vmap import vmap

__all__ = [*_HOME, *_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f".{name}", __name__)
    if name.startswith("_"):
        raise AttributeError(f"module 'fxgrad' has no attribute {name!r}")
    if name not in _HOME:
        raise import_module(".missing", __name__).missing_name_error(name)
    is_transform = _HOME[name].startswith("transforms")
    if is_transform or _HOME[name] == "core.interpreter":  # what traced values have belongs to it
        import_module(".transforms.derived_function", __name__).load_methods()
    home = import_module(f".{_HOME[name]}", __name__)
    for function in (getattr(home, n) for n in _HOMES[_HOME[name]] if is_transform):
        if isinstance(function, FunctionType):
            function.__module__ = __name__  # where pickle finds it, and with it what is loaded here
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
