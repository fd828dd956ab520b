"""Names that programs written for JAX or autograd look for in `fxgrad`, and what to write instead."""

from __future__ import annotations

from .numpy import missing

# (reason, what to write instead, names)
_GROUPS = [
    # of JAX
    (
        "the devices of one process are not shared out",
        "fx.vmap(f, axis_name=…) in one process, fx.distributed.shard_map over several",
        "pmap",
    ),
    (
        "arrays are not sharded over devices",
        "fxgrad.distributed, which shards over processes: shard, gather, shard_map(f, mesh, …)",
        "Shard reshard set_mesh",
    ),
    ("the classes stand at the top", "fx.ConcretizationError, fx.EscapedTracerError, …", "errors"),
    ("profiles are a context manager", "with fx.profile() as p: …; p.table(), p.picture()", "profiler"),
    ("checks have a module of their own", "fx.testing.check_grads(f, args)", "test_util"),
    ("images are SciPy's or torch's", "fxgrad.scipy.ndimage.zoom, fxgrad.compat.nn.functional.interpolate", "image"),
    ("layers and optimizers are others", "fxgrad.optim, fxgrad.nn.initializers", "example_libraries"),
    ("dtypes are NumPy's", "leave it out: float64 is the default", "enable_x64 numpy_dtype_promotion"),
    ("products are NumPy's", "leave it out", "default_matmul_precision numpy_rank_promotion"),
    ("an escaped value raises wherever it is used", "leave it out", "check_tracer_leaks checking_leaks"),
    ("nothing goes from device to device by itself", "leave it out", "transfer_guard"),
    ("a jitted function takes its code along when it goes", "leave it out, or jit the function anew", "clear_caches"),
    ("it has another name", "fx.devices()", "local_devices"),
    ("it has another name", "fx.debug_nans(nans=False)", "debug_infs"),
    ("it is a decorator as well", "fx.named_scope(name)(f)", "named_call"),
    ("it has another name", "fx.vjp, whose pullback is a pytree", "fwd_and_bwd"),
    ("programs are written as NumPy code", "fx.to_source(f)(x)", "export stages"),
    ("pytrees have a module of their own", "fx.tree.map, fx.tree.leaves, …", "tree_leaves tree_map tree_structure"),
    # of HIPS's autograd
    ("it has another name", "fx.vmap(fx.grad(f))", "egrad elementwise_grad"),
    ("it has another name", "fx.grad(f, has_aux=True)", "grad_and_aux"),
    ("it has another name", "fx.grad(f, holomorphic=True)", "holomorphic_grad"),
    ("it has another name", "value, pullback = fx.vjp(f, x); pullback(ct)[0]", "make_vjp vector_jacobian_product"),
    ("it has another name", "fx.jvp(f, (x,), (t,))", "deriv make_jvp"),
    ("it has another name", "fx.hvp(f, (x,), (t,))", "hessian_tensor_product hessian_vector_product make_hvp"),
    ("it has another name", "fx.vjp(f, x)[1](ct)[0]", "tensor_jacobian_product"),
    ("it has another name", "fx.ggn_product(f, loss)(x) @ t", "make_ggnvp"),
    ("arguments are told by position", "fx.grad(f, argnums)", "grad_named multigrad_dict"),
]  # fmt: skip
MISSING_NAMES = {name: (reason, hint) for reason, hint, names in _GROUPS for name in names.split()}


def missing_name_error(name: str) -> AttributeError:
    """Return the error for a name that is not there."""
    return missing.missing_name_error(name, "fxgrad", MISSING_NAMES)
