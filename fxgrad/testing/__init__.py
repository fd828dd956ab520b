"""Checks of derivatives and of `vmap`, for programs written with fxgrad and for fxgrad itself.

* `check_grads`, `check_jvp`, `check_vjp`: against numerical derivatives, with the signatures of `jax.test_util`.
* `check_vmap`: against the loop.
* `measured_jvp`, `random_like`, `inner`: what these are made of.
* `coverage`: the table of operations and their rules.
* `strategies`: for property-based tests with hypothesis.
"""

from ..checking.finite_differences import inner, measured_jvp, random_like
from ..core.face import show_public_names
from . import strategies
from .gradients import check_grads, check_jvp, check_vjp, check_vmap
from .table import coverage

__all__ = [
    "check_grads",
    "check_jvp",
    "check_vjp",
    "check_vmap",
    "coverage",
    "inner",
    "measured_jvp",
    "random_like",
    "strategies",
]

show_public_names(__name__)
