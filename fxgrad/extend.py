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
    library: Ufuncs of SciPy's as primitives.
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

from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any

# Where each name has its home.
_HOMES = {
    # values
    "core.aval": "Aval PLAIN SCALARS aval_of is_differentiable kind_of",
    "core.arrays": "CONSTANTS_FOLLOW as_value has_own_operations namespace_of use_device_of",
    "core.devices": "CPU Device device_in_use device_of is_on_cuda",
    "core.snapshot": "SINGLE_REFCOUNT",
    "core.array_type": "Array",
    "core.typing": "ArrayLike Axis PyTree",
    # levels
    "core.interpreter": "CURRENT EVAL Context PrimalTracer Tracer acting_level api_boundary concretize ensure_open "
    "escaped_tracer_error is_plain leave_library levels opened use_context",
    "core.user_level": "Interpreter",
    "core.source_info": "code_kinds",
    "core.observer": "Observer pull_observed",
    "core.fp_errors": "DEFAULT ERROR_STATE IGNORE",
    "transforms.jvp": "JVPInterpreter JVPTracer jvp jvp_flat linearize",
    "transforms.reverse": "ReverseTracer",
    "transforms.vmap": "BatchInterpreter BatchTracer vmap vmap_flat",
    # primitives and their rules
    "core.primitive": "HigherOrder Primitive register",
    "core.pullback": "OperandPullback PullbackRule RematPullback",
    "ops.kinds": "Bilinear Elementwise General Linear ensure_batched namespace_function promote_tangent",
    "ops.masked": "Masked",
    "control.stepwise": "run_scan",
    # kernels
    "kernels.registry": "native_function",
    "kernels.special": "real_kernel",
    "ops.activation": "blockwise_kernel",
    "kernels.normal_cdf": "normal_cdf_kernel",
    "kernels.power": "real_power",
    "kernels.space": "reduces_an_end",
    "kernels.memory": "keep_freed_memory",
    # staged functions
    "core.graph": "Graph",
    "core.staging": "stage",
    "passes": "compact",
    "kernels.codegen.source": "compile_graph",
    "kernels.codegen.observed": "observe_code",
    "core.cache": "Cache",
    "core.key": "EXACT key_of params_key",
    # surfaces: objects that stand for values
    "core.surface": "SurfaceObject TRACERS call_on_values first_object is_object",
    "core.face": "LazyPackage",
    # transforms
    "transforms.arguments": "restrict_arguments",
    "transforms.callback": "pure_callback",
    "transforms.curvature": "LinearOperator",
    "transforms.custom.jvp_vjp": "custom_jvp",
    "transforms.debug_nans": "has_nan",
    "transforms.jacobian": "hessian jacobian unit_vectors",
    "transforms.jit": "closure_convert jit",
    "transforms.shape_struct": "ShapeDtypeStruct",
    "transforms.sparse_matrix": "SparseMatrix",
    "transforms.vjp": "grad linear_transpose value_and_grad",
    # messages
    "core.errors": "ConcretizationError DTypeError FxgradError NotDifferentiableError ShapeError StructureError "
    "UnsupportedError",
    "core.common_errors": "unknown_option wrong_ndim wrong_shape",
    "core.advice": "fit_broadcast fit_product",
    "core.library": "load_library",
    "core.docstrings": "insert_before_example",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
_NAMESPACES = {
    "bessel_kernels": "kernels.bessel",
    "beta_kernels": "kernels.beta",
    "derive": "ops.derive",
    "devices": "core.devices",
    "errors": "core.errors",
    "finite_differences": "checking.finite_differences",
    "graph_text": "core.graph_text",
    "library": "ops.library",
    "masked": "ops.masked",
    "normalization_kernels": "kernels.normalization",
    "ops": "ops",
    "orthogonal_polynomials": "kernels.orthogonal_polynomials",
    "pictures": "core.picture",
    "projection": "ops.projection",
    "pytree": "core.pytree",
    "source_info": "core.source_info",
}

if TYPE_CHECKING:
    from . import ops
    from .checking import finite_differences
    from .control.stepwise import run_scan
    from .core import devices, errors, graph_text, pytree, source_info
    from .core import picture as pictures
    from .core.advice import fit_broadcast, fit_product
    from .core.array_type import Array
    from .core.arrays import CONSTANTS_FOLLOW, as_value, has_own_operations, namespace_of, use_device_of
    from .core.aval import PLAIN, SCALARS, Aval, aval_of, is_differentiable, kind_of
    from .core.cache import Cache
    from .core.common_errors import unknown_option, wrong_ndim, wrong_shape
    from .core.devices import CPU, Device, device_in_use, device_of, is_on_cuda
    from .core.docstrings import insert_before_example
    from .core.errors import (
        ConcretizationError,
        DTypeError,
        FxgradError,
        NotDifferentiableError,
        ShapeError,
        StructureError,
        UnsupportedError,
    )
    from .core.face import LazyPackage
    from .core.fp_errors import DEFAULT, ERROR_STATE, IGNORE
    from .core.graph import Graph
    from .core.interpreter import (
        CURRENT,
        EVAL,
        Context,
        PrimalTracer,
        Tracer,
        acting_level,
        api_boundary,
        concretize,
        ensure_open,
        escaped_tracer_error,
        is_plain,
        leave_library,
        levels,
        opened,
        use_context,
    )
    from .core.key import EXACT, key_of, params_key
    from .core.library import load_library
    from .core.observer import Observer, pull_observed
    from .core.primitive import HigherOrder, Primitive, register
    from .core.pullback import OperandPullback, PullbackRule, RematPullback
    from .core.snapshot import SINGLE_REFCOUNT
    from .core.source_info import code_kinds
    from .core.staging import stage
    from .core.surface import TRACERS, SurfaceObject, call_on_values, first_object, is_object
    from .core.typing import ArrayLike, Axis, PyTree
    from .core.user_level import Interpreter
    from .kernels import bessel as bessel_kernels
    from .kernels import beta as beta_kernels
    from .kernels import normalization as normalization_kernels
    from .kernels import orthogonal_polynomials
    from .kernels.codegen.observed import observe_code
    from .kernels.codegen.source import compile_graph
    from .kernels.memory import keep_freed_memory
    from .kernels.normal_cdf import normal_cdf_kernel
    from .kernels.power import real_power
    from .kernels.registry import native_function
    from .kernels.space import reduces_an_end
    from .kernels.special import real_kernel
    from .ops import derive, library, masked, projection
    from .ops.activation import blockwise_kernel
    from .ops.kinds import (
        Bilinear,
        Elementwise,
        General,
        Linear,
        ensure_batched,
        namespace_function,
        promote_tangent,
    )
    from .ops.masked import Masked
    from .passes import compact
    from .transforms.arguments import restrict_arguments
    from .transforms.callback import pure_callback
    from .transforms.curvature import LinearOperator
    from .transforms.custom.jvp_vjp import custom_jvp
    from .transforms.debug_nans import has_nan
    from .transforms.jacobian import hessian, jacobian, unit_vectors
    from .transforms.jit import closure_convert, jit
    from .transforms.jvp import JVPInterpreter, JVPTracer, jvp, jvp_flat, linearize
    from .transforms.reverse import ReverseTracer
    from .transforms.shape_struct import ShapeDtypeStruct
    from .transforms.sparse_matrix import SparseMatrix
    from .transforms.vjp import grad, linear_transpose, value_and_grad
    from .transforms.vmap import BatchInterpreter, BatchTracer, vmap, vmap_flat

__all__ = [*_HOME, *_NAMESPACES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a name from its home."""
    home = _HOME.get(name) or _NAMESPACES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for path in accumulate(home.split("."), "{}.{}".format):  # a package before its parts: see `core.face`
        module = import_module(f".{path}", __package__)
    return globals().setdefault(name, getattr(module, name) if name in _HOME else module)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
