"""`fxgrad.extend`: what interpreters, primitives, rules and surfaces of your own are built from.

The public names of `fxgrad` are for programs. These are for what stands beside them: `fxgrad.compat` and
`fxgrad.scipy`, which take nothing else from the rooms below, and your own. Each has one home, from which it is loaded
when it is first used; what is in those rooms beside them may change at any time. Names of `fxgrad` that are needed for
it, such as `Interpreter` and the errors, are here as well.

Constants:

    PLAIN: The types that kernels take: Python's numbers, and NumPy's arrays and scalars.
    SCALARS: The types of Python's numbers, whose dtype gives way to those of arrays.
    CONSTANTS_FOLLOW: The ContextVar that says whether NumPy arrays go where the other operands of an operation are.
    CPU: The device of NumPy's arrays.
    CURRENT: The ContextVar of the stack of interpreters: its value is the `Context` that is current.
    EVAL: The `Context` below all levels, in which kernels run.
    ERROR_STATE: The ContextVar of how floating-point errors are treated, which is NumPy's where it has one.
    IGNORE: The value of `ERROR_STATE` with which nothing warns.
    DEFAULT: The value of `ERROR_STATE` when the library was imported.
    EXACT: The types whose values are their own `key_of`.
    code_kinds: For each file of code, whether it is the library's or the user's; filled when a file is first met.
    SINGLE_REFCOUNT: What `sys.getrefcount` says of an object with one name only.
    TRACERS: For each class of tracers that a surface hides, the class of its objects.
    is_object: Whether a value is an object of a surface.
    Array: The annotation of an array of any library, or a traced value.
    ArrayLike: The annotation of what becomes an array: also numbers, and nested sequences of them.
    Axis: The annotation of an axis, a tuple of axes, or None for all.
    PyTree: The annotation of arrays in nested containers.

Namespaces:

    ops: The primitives, as functions that bind them, and functions that rules are written with.
    derive: Pullbacks that are derived from tangent rules and transposes.
    masked: Cotangents that are zero outside a support.
    projection: Cotangents brought to the shape and dtype of what they are cotangents of.
    costs: Sizes that decide between two ways to compute the same.
    pytree: Nested containers of values: `fxgrad.tree`, to which an object of a surface is its value.
    source_info: The user's lines, for messages and tracebacks.
    errors: All classes of errors, and how values are described in messages.
    devices: Devices, and arrays that go from one to another.
    pictures: Drawings for notebooks.
    graph_text: Listings of Graphs.
    finite_differences: Derivatives by central differences, for checks.
    bessel_kernels, beta_kernels, normalization_kernels, orthogonal_polynomials: Kernels of a family.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

_CODE = sys._getframe().f_code

if TYPE_CHECKING:  # the names and their homes: `core.face` reads them from the code
    from . import ops
    from .checking import finite_differences as finite_differences
    from .control.stepwise import run_scan as run_scan
    from .core import costs as costs
    from .core import devices as devices
    from .core import errors as errors
    from .core import graph_text as graph_text
    from .core import picture as pictures
    from .core import pytree as pytree
    from .core import source_info as source_info
    from .core.advice import fit_broadcast as fit_broadcast
    from .core.advice import fit_product as fit_product
    from .core.array_type import Array as Array
    from .core.arrays import CONSTANTS_FOLLOW as CONSTANTS_FOLLOW
    from .core.arrays import as_value as as_value
    from .core.arrays import has_own_operations as has_own_operations
    from .core.arrays import namespace_of as namespace_of
    from .core.arrays import use_device_of as use_device_of
    from .core.aval import PLAIN as PLAIN
    from .core.aval import SCALARS as SCALARS
    from .core.aval import Aval as Aval
    from .core.aval import aval_of as aval_of
    from .core.aval import is_differentiable as is_differentiable
    from .core.aval import kind_of as kind_of
    from .core.cache import Cache as Cache
    from .core.common_errors import check_ndim as check_ndim
    from .core.common_errors import check_option as check_option
    from .core.common_errors import wrong_shape as wrong_shape
    from .core.devices import CPU as CPU
    from .core.devices import Device as Device
    from .core.devices import device_in_use as device_in_use
    from .core.devices import device_of as device_of
    from .core.devices import is_on_cuda as is_on_cuda
    from .core.docstrings import insert_before_example as insert_before_example
    from .core.errors import ConcretizationError as ConcretizationError
    from .core.errors import DTypeError as DTypeError
    from .core.errors import FxgradError as FxgradError
    from .core.errors import NotDifferentiableError as NotDifferentiableError
    from .core.errors import ShapeError as ShapeError
    from .core.errors import StructureError as StructureError
    from .core.errors import UnsupportedError as UnsupportedError
    from .core.face import LazyPackage as LazyPackage
    from .core.face import show_public_names as show_public_names
    from .core.fp_errors import DEFAULT as DEFAULT
    from .core.fp_errors import ERROR_STATE as ERROR_STATE
    from .core.fp_errors import IGNORE as IGNORE
    from .core.graph import Graph as Graph
    from .core.interpreter import CURRENT as CURRENT
    from .core.interpreter import EVAL as EVAL
    from .core.interpreter import Context as Context
    from .core.interpreter import PrimalTracer as PrimalTracer
    from .core.interpreter import Tracer as Tracer
    from .core.interpreter import acting_level as acting_level
    from .core.interpreter import api_boundary as api_boundary
    from .core.interpreter import concretize as concretize
    from .core.interpreter import ensure_open as ensure_open
    from .core.interpreter import escaped_tracer_error as escaped_tracer_error
    from .core.interpreter import is_plain as is_plain
    from .core.interpreter import leave_library as leave_library
    from .core.interpreter import levels as levels
    from .core.interpreter import opened as opened
    from .core.interpreter import use_context as use_context
    from .core.key import EXACT as EXACT
    from .core.key import key_of as key_of
    from .core.key import params_key as params_key
    from .core.library import load_library as load_library
    from .core.observer import Observer as Observer
    from .core.observer import pull_observed as pull_observed
    from .core.primitive import HigherOrder as HigherOrder
    from .core.primitive import Primitive as Primitive
    from .core.primitive import register as register
    from .core.pullback import OperandPullback as OperandPullback
    from .core.pullback import PullbackRule as PullbackRule
    from .core.pullback import RematPullback as RematPullback
    from .core.snapshot import SINGLE_REFCOUNT as SINGLE_REFCOUNT
    from .core.source_info import code_kinds as code_kinds
    from .core.staging import stage as stage
    from .core.surface import TRACERS as TRACERS
    from .core.surface import SurfaceObject as SurfaceObject
    from .core.surface import call_on_values as call_on_values
    from .core.surface import first_object as first_object
    from .core.surface import is_object as is_object
    from .core.typing import ArrayLike as ArrayLike
    from .core.typing import Axis as Axis
    from .core.typing import PyTree as PyTree
    from .core.user_level import Interpreter as Interpreter
    from .kernels import bessel as bessel_kernels
    from .kernels import beta as beta_kernels
    from .kernels import normalization as normalization_kernels
    from .kernels import orthogonal_polynomials as orthogonal_polynomials
    from .kernels.codegen.observed import observe_code as observe_code
    from .kernels.codegen.source import compile_graph as compile_graph
    from .kernels.matmul import dot as dot
    from .kernels.memory import keep_freed_memory as keep_freed_memory
    from .kernels.normal_cdf import normal_cdf_kernel as normal_cdf_kernel
    from .kernels.power import real_power as real_power
    from .kernels.registry import native_function as native_function
    from .kernels.special import real_kernel as real_kernel
    from .ops import derive as derive
    from .ops import masked as masked
    from .ops import projection as projection
    from .ops.activation import blockwise_kernel as blockwise_kernel
    from .ops.kinds import Bilinear as Bilinear
    from .ops.kinds import Elementwise as Elementwise
    from .ops.kinds import General as General
    from .ops.kinds import Linear as Linear
    from .ops.kinds import ensure_batched as ensure_batched
    from .ops.kinds import namespace_function as namespace_function
    from .ops.kinds import promote_tangent as promote_tangent
    from .ops.masked import Masked as Masked
    from .passes.pullbacks import compact as compact
    from .transforms.arguments import restrict_arguments as restrict_arguments
    from .transforms.callback import pure_callback as pure_callback
    from .transforms.checkpoint import checkpoint as checkpoint
    from .transforms.curvature import LinearOperator as LinearOperator
    from .transforms.custom.jvp_vjp import custom_jvp as custom_jvp
    from .transforms.debug_nans import has_nan as has_nan
    from .transforms.jacobian import hessian as hessian
    from .transforms.jacobian import jacobian as jacobian
    from .transforms.jacobian import unit_vectors as unit_vectors
    from .transforms.jit import closure_convert as closure_convert
    from .transforms.jit import jit as jit
    from .transforms.jvp import JVPInterpreter as JVPInterpreter
    from .transforms.jvp import JVPTracer as JVPTracer
    from .transforms.jvp import jvp as jvp
    from .transforms.jvp import jvp_flat as jvp_flat
    from .transforms.jvp import linearize as linearize
    from .transforms.reverse import ReverseTracer as ReverseTracer
    from .transforms.shape_struct import ShapeDtypeStruct as ShapeDtypeStruct
    from .transforms.sparse_matrix import SparseMatrix as SparseMatrix
    from .transforms.vjp import grad as grad
    from .transforms.vjp import linear_transpose as linear_transpose
    from .transforms.vjp import value_and_grad as value_and_grad
    from .transforms.vmap import BatchInterpreter as BatchInterpreter
    from .transforms.vmap import BatchTracer as BatchTracer
    from .transforms.vmap import vmap as vmap
    from .transforms.vmap import vmap_flat as vmap_flat


def __getattr__(name: str) -> Any:
    """Load a name from its home."""
    homes = import_module(".core.face", __package__).noted_imports(__name__, _CODE).homes
    if name == "__all__":
        return [*homes]
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, homes[name].load(__package__))


def __dir__() -> list[str]:
    return sorted({*__getattr__("__all__"), *(name for name in globals() if name.startswith("__"))})
