"""Checks of derivatives and of `vmap`, for programs written with fxgrad and for fxgrad itself.

* `check_grads`, `check_jvp`, `check_vjp`: against numerical derivatives, with the signatures of `jax.test_util`.
* `check_vmap`: against the loop.
* `measured_jvp`, `random_like`, `inner`: what these are made of.
* `coverage`: the table of operations and their rules.
* `strategies`: for property-based tests with hypothesis.
"""

from ..checking.finite_differences import inner as inner
from ..checking.finite_differences import measured_jvp as measured_jvp
from ..checking.finite_differences import random_like as random_like
from ..core.face import show_public_names
from . import strategies as strategies
from .gradients import check_grads as check_grads
from .gradients import check_jvp as check_jvp
from .gradients import check_vjp as check_vjp
from .gradients import check_vmap as check_vmap
from .table import coverage as coverage

show_public_names(__name__)
