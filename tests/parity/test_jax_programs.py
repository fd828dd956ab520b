"""Random programs under random stacks of transforms: fxgrad's numbers are JAX's."""

import numpy as np
from hypothesis import given, settings

import fxgrad
import fxgrad.numpy
from tests.parity.oracle import JAX, jax
from tests.programs import X, build, programs, stacks

# JAX compiles each program once as a whole, not each operation of it, and XLA does not look for the fastest code.
IN_HASTE = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


@settings(max_examples=max(settings().max_examples // 4, 1))
@given(programs(), stacks())
def test_random_compositions(source, stack):
    ours = np.asarray(build(source, stack, fxgrad, fxgrad.numpy)(X))
    theirs = np.asarray(jax.jit(build(source, stack, JAX, jax.numpy), compiler_options=IN_HASTE)(X))
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    scale = np.max(np.abs(theirs), initial=1.0)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10 * scale)
