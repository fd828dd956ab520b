"""The table of JAX's module paths: of what each is made, and why others are absent.

A row has parts `how path names`, separated by semicolons; the first part that has a name gives it. `own` is a file of
`fxgrad.peers`; others are modules of `fxgrad` itself, whose names are seen as `plain` (as they are), `value` (functions
of arrays), `strict` (those that accept some dtypes), `transform` (f → g), `program` (functions that call functions of
the user's) or `solver` (those that compute with what these return). `a=b` is b under the name a.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

LIBRARY = "jax"

STATS = [
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gennorm",
    "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial", "multivariate_normal", "nbinom",
    "norm", "pareto", "poisson", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy",
]  # fmt: skip
TREES = (
    " ".join(
        f"tree_{name}={name}"
        for name in ["flatten", "flatten_with_path", "map", "map_with_path", "structure"]
    )
    + " PyTreeDef treedef_tuple"
)
INTERPRETERS = ["ad", "batching", "mlir", "partial_eval", "xla"]
CALLING = "apply_along_axis apply_over_axes fromfunction frompyfunc piecewise vectorize"
LOOPS = """
    associative_scan cond custom_linear_solve custom_root fori_loop map reduce reduce_window scan switch while_loop
"""

MIRRORS = {
    "jax": """
        own jax.api; own jax.jaxprs eval_shape make_jaxpr;
        own jax.refs Ref empty_ref free_ref freeze new_ref;
        own jax.avals ShapeDtypeStruct typeof=shaped_of;
        own jax.sharding NamedSharding P=PartitionSpec make_array_from_callback
            make_array_from_process_local_data make_array_from_single_device_arrays make_mesh reshard set_mesh
            shard_map smap;
        own jax.devices Shard;
        transform . hessian jacfwd jacobian=jacrev jacrev remat=checkpoint checkpoint;
        program . closure_convert linear_transpose linearize vjp;
        own jax.callbacks pure_callback; value . block_until_ready;
        plain . checkpoint_policies default_device disable_jit float0
            named_scope process_count process_index""",
    "jax.ad_checkpoint": "transform . checkpoint remat=checkpoint; plain ad_checkpoint",
    "jax.api_util": "own jax.api_util",
    "jax.core": """
        own jax.core AbstractValue Atom ShapedArray pytype_aval_mappings Trace Tracer Value
            ensure_compile_time_eval eval_context eval_jaxpr""",
    "jax.custom_batching": "transform custom_batching",
    "jax.custom_derivatives": """
        own jax.custom_rules;
        program custom_derivatives closure_convert; plain custom_derivatives""",
    "jax.debug": "own jax.debug",
    "jax.dtypes": "own jax.dtypes",
    "jax.errors": "own jax.errors",
    "jax.example_libraries": "plain typing",
    "jax.example_libraries.optimizers": "own jax.optimizers",
    "jax.experimental": "own jax.api enable_x64 disable_x64; own jax.callbacks io_callback",
    "jax.experimental.hijax": "own jax.hijax",
    "jax.experimental.jet": "program experimental.jet",
    "jax.experimental.mesh_utils": "own jax.meshes create_device_mesh",
    "jax.experimental.ode": "solver experimental.ode",
    "jax.experimental.pjit": "own jax.api pjit=jit",
    "jax.experimental.shard_map": "own jax.sharding shard_map",
    "jax.extend": "plain typing",
    "jax.extend.core": "own jax.core",
    "jax.extend.linear_util": "own jax.linear_util",
    "jax.extend.source_info_util": "own jax.traceback_util register_exclusion",
    "jax.flatten_util": "own jax.api ravel_pytree",
    "jax.image": "own jax.image",
    "jax.interpreters": "plain typing",
    **{f"jax.interpreters.{name}": f"own jax.interpreters.{name}" for name in INTERPRETERS},
    "jax.lax": f"own jax.lax; own jax.bits; program lax {LOOPS}; strict lax",
    "jax.lax.linalg": "value lax.linalg",
    "jax.nn": "own jax.nn; strict nn",
    "jax.nn.initializers": "own jax.initializers",
    "jax.numpy": f"own jax.numpy; own jax.kinks; own jax.places; program numpy {CALLING}; value numpy",
    "jax.numpy.fft": "value numpy.fft",
    "jax.numpy.linalg": "own jax.linalg; value numpy.linalg",
    "jax.ops": "value ops segment_max segment_min segment_prod segment_sum",
    "jax.profiler": "own jax.profiler",
    "jax.random": "own jax.random",
    "jax.ref": "own jax.refs",
    "jax.scipy": "plain typing",
    **{f"jax.scipy.{name}": f"value scipy.{name}" for name in ("fft", "signal")},
    "jax.scipy.linalg": "own jax.systems; value scipy.linalg",
    "jax.scipy.ndimage": "own jax.ndimage",
    "jax.scipy.special": "own jax.special; strict scipy.special",
    "jax.scipy.cluster": "plain typing",
    "jax.scipy.cluster.vq": "value scipy.cluster.vq",
    "jax.scipy.integrate": "value scipy.integrate trapezoid",
    "jax.scipy.interpolate": "plain scipy.interpolate RegularGridInterpolator",
    "jax.scipy.optimize": "solver scipy.optimize",
    "jax.scipy.sparse": "plain typing",
    "jax.scipy.sparse.linalg": "own jax.iterations",
    "jax.scipy.spatial": "plain typing",
    "jax.scipy.spatial.transform": "own jax.rotations",
    "jax.scipy.stats": "value scipy.stats",
    **{f"jax.scipy.stats.{name}": f"law scipy.stats.{name}" for name in STATS},
    "jax.sharding": "own jax.sharding",
    "jax.stages": "own jax.stages",
    "jax.test_util": "program testing check_grads",
    "jax.tree": """
        own jax.trees flatten flatten_with_path map map_with_path structure;
        plain tree all broadcast flatten flatten_with_path leaves leaves_with_path map map_with_path reduce
            reduce_associative static structure transpose unflatten""",
    "jax.tree_util": f"own jax.trees {TREES} register_static; plain tree_util",
    "jax.typing": "own jax.typing",
    "jax.version": "own jax.version",
}  # fmt: skip

ELSEWHERE: dict[str, str] = {}
PRIVATE = {
    "api": "jax", "array": "jax", "core": "jax.extend.core", "custom_batching": "jax.custom_batching",
    "custom_derivatives": "jax.custom_derivatives", "dtypes": "jax.dtypes", "flatten_util": "jax.flatten_util",
    "lax.control_flow": "jax.lax", "lax.lax": "jax.lax", "linear_util": "jax.extend.linear_util",
    "nn.functions": "jax.nn", "nn.initializers": "jax.nn.initializers", "numpy": "jax.numpy",
    "numpy.lax_numpy": "jax.numpy", "prng": "jax.random", "random": "jax.random", "tree_util": "jax.tree_util",
    "typing": "jax.typing", "sharding_impls": "jax.sharding", "mesh": "jax.sharding",
}  # fmt: skip
MIRRORS |= {f"jax._src.{path}": MIRRORS[public] for path, public in PRIVATE.items()}
MIRRORS["jax._src.tree_util"] += "; own jax.trees _registry=registry"
MIRRORS["jax._src.dtypes"] += "; own jax.dtypes ExtendedDType"
MIRRORS["jax._src.api"] += "; own jax.api_util _infer_argnums_and_argnames=infer_argnums_and_argnames"
MIRRORS |= {
    "jax._src": "plain typing",
    "jax._src.traceback_util": "own jax.traceback_util",
    "jax._src.lax": MIRRORS["jax.lax"],
    "jax._src.nn": MIRRORS["jax.nn"],
}


def by_path(reasons: dict[str, str]) -> dict[str, str]:
    """Return the reason for each of JAX's paths, from the paths for each reason."""
    return {f"jax.{path}": reason for reason, paths in reasons.items() for path in paths.split()}


XLA = "there is no XLA below this library, which computes with NumPy and with machine code of its own"
DEVICES = "programs run on one device here"
TRACING = "it belongs to JAX's own tracing, for which fxgrad has Graphs and interpreters"
SWITCH = "nothing depends on it here: JAX directs its compiler or its tracing by it"
PROFILE = "a program is measured by fx.profile"
ABSENT = by_path(
    {
        XLA: """
            cloud_tpu_init experimental.buffer_callback experimental.compilation_cache experimental.custom_partitioning
            experimental.fused experimental.jax2tf experimental.layout experimental.mosaic experimental.pallas
            experimental.roofline experimental.serialize_executable experimental.topologies experimental.transfer
            experimental.xla_metadata export extend.backend extend.ifrt_programs extend.lowering extend.mlir extend.xla
            ffi interpreters.pxla lib memory tools collect_profile
        """,
        DEVICES: """
            distributed experimental.array_serialization experimental.colocated_python
            experimental.multihost_utils experimental.shard_alike extend.sharding
            experimental.compute_on
        """,
        PROFILE: "experimental.profiler monitoring",
        "layers are in libraries of neural networks": "example_libraries.stax experimental.rnn",
        "errors are raised where they occur, as in NumPy": "experimental.checkify",
        "sparse matrices are in fxgrad.scipy.sparse": "experimental.sparse",
        "it is experimental in JAX": """
            experimental.control_deps experimental.key_reuse experimental.random experimental.scheduling_groups
            experimental.source_mapper extend.random
        """,
        "arrays are exchanged as NumPy's arrays: np.asarray(x), jnp.asarray(x)": "dlpack",
        "it is a part of JAX itself": "_src",
    }
)
LACKING = by_path(
    {
        "primitives are fxgrad's own, which fxgrad.ops names": "lax extend.core.primitives ad random.random_gamma_p",
        "dtypes are those of NumPy, and bfloat16": "numpy dtypes",
        DEVICES: "sharding experimental.mesh_utils debug.visualize_array_sharding debug.visualize_sharding",
        "mutable arrays are those of jax.new_ref": "ref ds",
        XLA: """
            extend.pallas interpreters.xla nn.get_scaled_dot_general_config nn.scaled_dot_general nn.scaled_matmul
            stages
        """,
        TRACING: """
            _deprecations api_util core custom_derivatives experimental.EArray experimental.cur_qdd experimental.hijax
            experimental.primal_tangent_dtype extend.core extend.linear_util extend.source_info_util interpreters.ad
            interpreters.batching interpreters.partial_eval make_user_context tree_util
        """,
        SWITCH: """
            allow_f16_reductions auto_pcast checking_leaks jax2tf_associative_scan_reductions no_execution no_tracing
            remove_size_one_mesh_axis_from_type
        """,
        "keys are Threefry's: jax.random.key makes typed ones, jax.random.PRNGKey words": """
            default_prng_impl enable_custom_prng legacy_prng_key
        """,
        PROFILE: "profiler",
        "what is kept is said by jax.checkpoint_policies": "ad_checkpoint",
        "effects are a property of primitives": "debug.DebugEffect debug.OrderedDebugEffect",
        "jax.debug.print prints, and jax.debug.callback calls logging": "debug.log",
        "no error of this kind arises": "errors",
        "optimizers are in fxgrad.optim, types for annotations in JAX's file alone": "example_libraries.optimizers",
        "derivatives by series are those of fxgrad.experimental.jet.jet": "experimental.jet",
        "it is a step inside of odeint": "experimental.ode",
        "use jax.jit": "experimental.pjit",
        "use jax.shard_map": "experimental.shard_map",
        "results have the attributes x, success, fun, jac and nit": "scipy.optimize",
        "rotations are interpolated by fxgrad.scipy.spatial.transform": "scipy.spatial",
        "both modes are checked by jax.test_util.check_grads": "test_util",
        "it is of JAX's releases": "version",
    }
)
# Modules for JAX itself and for its compilers, of which the inventory lists nothing: programs may import any.
MACHINERY = """
    _src experimental.array_serialization experimental.colocated_python experimental.jax2tf experimental.mosaic
    experimental.pallas extend.mlir interpreters.mlir lib tools
"""
UNLISTED = frozenset(f"jax.{path}" for path in MACHINERY.split())


def load_lifts() -> Mapping[str, Callable[..., Any]]:
    """Return how names of this library are seen, by the words of the table."""
    from ..jax import places  # noqa: F401  (which gives arrays methods)
    from ..jax.acceptance import accept
    from ..jax.keywords import in_order
    from ..jax.lifting import lift
    from ..jax.programs import lift_program, lift_solver, lift_transform

    return {
        "value": lambda function: in_order(lift(function)),
        "strict": lambda name, function: accept(name, in_order(lift(function))),
        "law": lift,
        "transform": lift_transform,
        "program": lift_program,
        "solver": lift_solver,
    }
