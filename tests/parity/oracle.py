"""One program, run by fxgrad and by JAX: the same names, the same structure, dtypes and numbers.

A program is a function of (fx, np): the transforms and the array namespace of either library.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import fxgrad
import fxgrad.numpy

import jax  # isort: skip
import jax.numpy

jax.config.update("jax_enable_x64", True)

# JAX's names where they differ from ours.
JAX = SimpleNamespace(
    **{
        name: getattr(jax, name)
        for name in (
            "checkpoint",
            "closure_convert",
            "custom_jvp",
            "custom_vjp",
            "eval_shape",
            "freeze",
            "grad",
            "hessian",
            "jacfwd",
            "jacrev",
            "jit",
            "jvp",
            "linear_transpose",
            "linearize",
            "new_ref",
            "tree",
            "value_and_grad",
            "vjp",
            "vmap",
            "ShapeDtypeStruct",
        )
    },
    jacobian=jax.jacrev,
    lax=jax.lax,
    stop_gradient=jax.lax.stop_gradient,
    hvp=lambda f, primals, tangents: jax.jvp(jax.grad(f), primals, tangents)[1],
    float0=jax.dtypes.float0,
)
TOLERANCE = {
    "float64": 1e-12,
    "complex128": 1e-12,
    "float32": 2e-6,
    "complex64": 2e-6,
    "float16": 2e-3,
    "bfloat16": 2e-2,
}


def by_fxgrad(program):
    return program(fxgrad, fxgrad.numpy)


def by_jax(program):
    return program(JAX, jax.numpy)


def same(ours, theirs, dtypes=True, path="result"):
    """Raise unless both libraries gave the same containers with the same arrays in them."""
    if isinstance(theirs, dict):
        assert type(ours) is dict and ours.keys() == theirs.keys(), path
        for key in theirs:
            same(ours[key], theirs[key], dtypes, f"{path}[{key!r}]")
    elif isinstance(theirs, tuple | list):
        assert type(ours) is type(theirs) and len(ours) == len(theirs), path
        for index, (a, b) in enumerate(zip(ours, theirs)):
            same(a, b, dtypes, f"{path}[{index}]")
    elif theirs is None or isinstance(theirs, str | bool):
        assert ours == theirs, path
    elif isinstance(theirs, jax.ShapeDtypeStruct):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), path
    else:
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert ours.shape == theirs.shape, f"{path}: shape {ours.shape}, JAX has {theirs.shape}"
        if dtypes:
            assert ours.dtype == theirs.dtype, f"{path}: dtype {ours.dtype}, JAX has {theirs.dtype}"
        if theirs.dtype == jax.dtypes.float0:
            return
        tolerance = TOLERANCE.get(theirs.dtype.name, 0)
        wide = complex if theirs.dtype.kind == "c" else float
        scale = np.max(np.abs(theirs), initial=0, where=np.isfinite(theirs)) if theirs.size else 0
        np.testing.assert_allclose(
            ours.astype(wide),
            theirs.astype(wide),
            rtol=tolerance,
            atol=tolerance * float(scale),
            err_msg=path,
        )


def agree(program, dtypes=True):
    same(by_fxgrad(program), by_jax(program), dtypes)


def both_refuse(program):
    """Both libraries raise; who catches JAX's error by its built-in class catches ours."""
    with pytest.raises(Exception) as theirs:
        by_jax(program)
    with pytest.raises(fxgrad.FxgradError) as ours:
        by_fxgrad(program)
    builtin = next(c for c in theirs.type.__mro__ if c.__module__ == "builtins")
    assert isinstance(ours.value, builtin), f"{ours.typename} is no {builtin.__name__}"
