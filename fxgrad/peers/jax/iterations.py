"""`jax.scipy.sparse.linalg`: the solvers. They do not report convergence; only `gmres` returns a number, which is 0."""

from __future__ import annotations

from functools import wraps
from typing import Any

from ...scipy.sparse import linalg as here
from .programs import lift_solver

__all__ = ["bicgstab", "cg", "gmres"]

gmres = lift_solver(here.gmres)


def without_number(solver: Any) -> Any:
    """Return a solver with None in the place of its number."""
    solve = lift_solver(solver)

    @wraps(solve)
    def solved(*args: Any, **options: Any) -> tuple[Any, None]:
        return solve(*args, **options)[0], None

    return solved


bicgstab, cg = without_number(here.bicgstab), without_number(here.cg)
