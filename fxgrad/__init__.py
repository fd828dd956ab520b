"""fxgrad: composable function transformations for NumPy and CuPy.

    import fxgrad as fx
    import fxgrad.numpy as fnp

    fx.grad(lambda x: fnp.sum(fnp.sin(x) ** 2))

Names are loaded when first used. Examples in docstrings take these imports and `import numpy as np` as given, those of
`fxgrad.compat` `import fxgrad.compat as torch`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
_CODE = sys._getframe().f_code

if TYPE_CHECKING:  # what the package has: `core.face` reads it from the code
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
        ops,
        optim,
        per_sample,
        random,
        scipy,
        sharding,
        testing,
        tree,
        tree_util,
        typing,
    )
    from .core.array_type import Array as Array
    from .core.array_type import block_until_ready as block_until_ready
    from .core.aval import Aval as Aval
    from .core.aval import float0 as float0
    from .core.devices import Device as Device
    from .core.devices import default_backend as default_backend
    from .core.devices import default_device as default_device
    from .core.devices import devices as devices
    from .core.devices import pinned_empty as pinned_empty
    from .core.errors import ArrayConversionError as ArrayConversionError
    from .core.errors import AxisError as AxisError
    from .core.errors import CheckError as CheckError
    from .core.errors import CheckpointError as CheckpointError
    from .core.errors import CollectiveMismatchError as CollectiveMismatchError
    from .core.errors import CollectiveTimeoutError as CollectiveTimeoutError
    from .core.errors import ConcretizationError as ConcretizationError
    from .core.errors import CustomRuleError as CustomRuleError
    from .core.errors import DeviceError as DeviceError
    from .core.errors import DTypeError as DTypeError
    from .core.errors import EscapedTracerError as EscapedTracerError
    from .core.errors import FxgradError as FxgradError
    from .core.errors import GraphError as GraphError
    from .core.errors import ImmutableError as ImmutableError
    from .core.errors import ImpureFunctionError as ImpureFunctionError
    from .core.errors import IndexingError as IndexingError
    from .core.errors import LinAlgError as LinAlgError
    from .core.errors import LoadedError as LoadedError
    from .core.errors import MissingLibraryError as MissingLibraryError
    from .core.errors import NonFiniteError as NonFiniteError
    from .core.errors import NonScalarError as NonScalarError
    from .core.errors import NotCheckableError as NotCheckableError
    from .core.errors import NotDifferentiableError as NotDifferentiableError
    from .core.errors import NotLinearError as NotLinearError
    from .core.errors import ShapeError as ShapeError
    from .core.errors import StaticArgumentError as StaticArgumentError
    from .core.errors import StructureError as StructureError
    from .core.errors import TooManyPathsError as TooManyPathsError
    from .core.errors import UnboundAxisError as UnboundAxisError
    from .core.errors import UnsupportedError as UnsupportedError
    from .core.graph import Graph as Graph
    from .core.interpreter import Tracer as Tracer
    from .core.interpreter import opened as opened
    from .core.references import OuterRefError as OuterRefError
    from .core.source_info import set_traceback_filtering as set_traceback_filtering
    from .core.user_level import Interpreter as Interpreter
    from .distributed.counts import device_count as device_count
    from .distributed.counts import local_device_count as local_device_count
    from .distributed.counts import process_count as process_count
    from .distributed.counts import process_index as process_index
    from .distributed.files import load as load
    from .distributed.files import save as save
    from .distributed.mapping import shard_map as shard_map
    from .distributed.mesh import make_mesh as make_mesh
    from .distributed.sharding import NamedSharding as NamedSharding
    from .distributed.sharding import P as P
    from .numpy.missing import MissingNameError as MissingNameError
    from .numpy.placement import device_get as device_get
    from .numpy.placement import device_put as device_put
    from .numpy.refs import Ref as Ref
    from .numpy.refs import freeze as freeze
    from .numpy.refs import new_ref as new_ref
    from .peers.door.finder import install as install
    from .peers.door.finder import uninstall as uninstall
    from .profiling.profile import profile as profile
    from .profiling.scope import named_scope as named_scope
    from .transforms.callback import io_callback as io_callback
    from .transforms.callback import pure_callback as pure_callback
    from .transforms.checkpoint import checkpoint as checkpoint
    from .transforms.checkpoint import checkpoint_name as checkpoint_name
    from .transforms.checkpoint import remat as remat
    from .transforms.coloring import Coloring as Coloring
    from .transforms.coloring import color as color
    from .transforms.curvature import LinearOperator as LinearOperator
    from .transforms.curvature import fisher_product as fisher_product
    from .transforms.curvature import ggn_product as ggn_product
    from .transforms.custom.jvp_vjp import custom_gradient as custom_gradient
    from .transforms.custom.jvp_vjp import custom_jvp as custom_jvp
    from .transforms.custom.jvp_vjp import custom_vjp as custom_vjp
    from .transforms.custom.jvp_vjp import stop_gradient as stop_gradient
    from .transforms.custom.rules import custom as custom
    from .transforms.debug_nans import debug_nans as debug_nans
    from .transforms.disable_jit import disable_jit as disable_jit
    from .transforms.jacobian import hessian as hessian
    from .transforms.jacobian import hvp as hvp
    from .transforms.jacobian import jacfwd as jacfwd
    from .transforms.jacobian import jacobian as jacobian
    from .transforms.jacobian import jacrev as jacrev
    from .transforms.jet import jet as jet
    from .transforms.jit import closure_convert as closure_convert
    from .transforms.jit import eval_shape as eval_shape
    from .transforms.jit import jit as jit
    from .transforms.jit import make_graph as make_graph
    from .transforms.jit import make_jaxpr as make_jaxpr
    from .transforms.jvp import jvp as jvp
    from .transforms.jvp import linearize as linearize
    from .transforms.memory import MemoryEstimate as MemoryEstimate
    from .transforms.memory import memory_estimate as memory_estimate
    from .transforms.residuals import print_saved_residuals as print_saved_residuals
    from .transforms.residuals import saved_residuals as saved_residuals
    from .transforms.shape_struct import ShapeDtypeStruct as ShapeDtypeStruct
    from .transforms.shape_struct import typeof as typeof
    from .transforms.sparse_matrix import SparseMatrix as SparseMatrix
    from .transforms.sparsity import sparsity_pattern as sparsity_pattern
    from .transforms.structured import divergence as divergence
    from .transforms.structured import hessian_diagonal as hessian_diagonal
    from .transforms.structured import jacobian_diagonal as jacobian_diagonal
    from .transforms.structured import laplacian as laplacian
    from .transforms.to_source import to_source as to_source
    from .transforms.vjp import grad as grad
    from .transforms.vjp import linear_transpose as linear_transpose
    from .transforms.vjp import value_and_grad as value_and_grad
    from .transforms.vjp import vjp as vjp
    from .transforms.vmap import vmap as vmap


def __getattr__(name: str) -> Any:
    face = import_module(".core.face", __name__)
    homes = face.noted_imports(__name__, _CODE).homes
    if name == "__all__":
        return [*homes]
    if name.startswith("_"):
        raise face.missing_attribute(__name__, name)
    if name not in homes:
        raise import_module(".missing", __name__).missing_name_error(name)
    home = homes[name].module
    is_transform = home.startswith(".transforms")
    if is_transform or home == ".core.interpreter":  # what traced values have belongs to it
        import_module(".transforms.derived_function", __name__).load_methods()
    for function in (
        other.load(__name__) for other in homes.values() if is_transform and other.module == home
    ):
        if isinstance(function, FunctionType):
            function.__module__ = __name__  # where pickle finds it, and with it what is loaded here
    value = globals()[name] = homes[name].load(__name__)
    return value


def __dir__() -> list[str]:
    return sorted({*__getattr__("__all__"), *(name for name in globals() if name.startswith("__"))})
