"""The table of autograd's module paths, in the form of `jax_layout`; `outside` are other libraries' modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

LIBRARY = "autograd"
OPERATORS = """
    deriv elementwise_grad grad grad_and_aux grad_named hessian hessian_tensor_product hessian_vector_product
    holomorphic_grad jacobian make_ggnvp make_hvp make_jvp make_vjp multigrad_dict value_and_grad
    tensor_jacobian_product vector_jacobian_product checkpoint make_jvp_reversemode
"""
LAWS = ["beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"]

MIRRORS = {
    "autograd": f"own autograd.differential_operators {OPERATORS}",
    "autograd.builtins": "own autograd.builtins",
    "autograd.core": "own autograd.tracer; own autograd.differential_operators make_jvp make_vjp",
    "autograd.differential_operators": "own autograd.differential_operators",
    "autograd.extend": "own autograd.tracer",
    "autograd.misc": "own autograd.misc flatten",
    "autograd.misc.flatten": "own autograd.misc flatten flatten_func",
    "autograd.misc.optimizers": "own autograd.misc adam rmsprop sgd unflatten_optimizer",
    "autograd.numpy": "plain numpy; outside numpy",
    "autograd.numpy.fft": "plain numpy.fft; outside numpy.fft",
    "autograd.numpy.linalg": "plain numpy.linalg; outside numpy.linalg",
    "autograd.numpy.numpy_boxes": "own autograd.tracer ArrayBox=Box",
    "autograd.numpy.random": "outside numpy.random",
    "autograd.scipy": "outside scipy __version__",
    **{f"autograd.scipy.{name}": f"plain scipy.{name}; outside scipy.{name}"
       for name in ("integrate", "linalg", "signal", "special", "stats")},
    **{f"autograd.scipy.stats.{name}": f"plain scipy.stats.{name}" for name in LAWS},
    "autograd.test_util": "own autograd.test_util",
    "autograd.tracer": "own autograd.tracer",
    "autograd.util": "own autograd.wrap_util subvals; own autograd.test_util quick_grad_check",
    "autograd.wrap_util": "own autograd.wrap_util",
}  # fmt: skip
ELSEWHERE: dict[str, str] = {}
ABSENT = {
    "autograd.misc.fixed_points": "fixed points are fx.lax.custom_root here",
    "autograd.misc.tracers": "a program is staged by fx.make_graph here",
    "autograd.numpy.numpy_jvps": "rules are those of fxgrad's primitives",
    "autograd.numpy.numpy_vjps": "rules are those of fxgrad's primitives",
    "autograd.numpy.numpy_vspaces": "arguments are pytrees here",
    "autograd.numpy.numpy_wrapper": "functions are NumPy's and fxgrad.numpy's",
}
LACKING = {
    "autograd.builtins": "containers are pytrees here",
    "autograd.core": "traced values belong to levels here, which fxgrad.extend describes",
    "autograd.extend": "traced values belong to levels here, which fxgrad.extend describes",
    "autograd.tracer": "traced values belong to levels here, which fxgrad.extend describes",
}
UNLISTED: frozenset[str] = frozenset()


def load_lifts() -> Mapping[str, Callable[[Any], Any]]:
    """Return how names of this library are seen: as they are."""
    return {}
