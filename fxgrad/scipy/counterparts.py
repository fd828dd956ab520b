"""Replacements for functions of SciPy that were given traced values: ours of the same name, or another.

Errors that SciPy's functions raise inside transforms name them (`core.scipy_calls`).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


def find(path: str) -> str:
    """Return the longest beginning of a path that `fx.scipy` has as well; "" if that is a namespace at most.

    >>> from fxgrad.scipy.counterparts import find
    >>> find("stats.norm.logpdf"), find("stats.norm.nnlf"), find("stats.ansari")
    ('stats.norm.logpdf', 'stats.norm', '')
    """
    found: Any = import_module("fxgrad.scipy")
    known = ""
    for name in path.split("."):
        if name not in dir(found):  # other names of `special` are SciPy's functions
            break
        found = getattr(found, name)
        known = f"{known}.{name}".lstrip(".")
    return "" if isinstance(found, ModuleType) else known


def advise(path: str) -> str:
    """Return what to write instead of `scipy.<path>` of traced values.

    >>> from fxgrad.scipy.counterparts import advise
    >>> advise("linalg.solve_triangular")
    'fx.scipy.linalg.solve_triangular, which takes traced values'
    >>> advise("optimize.broyden1")
    'fx.scipy.optimize.root (fx.scipy has no optimize.broyden1), which takes traced values'
    """
    known = find(path)
    if known == path:
        return f"fx.scipy.{path}, which takes traced values"
    other = OTHERS.get(path) or parent_path(path)
    if other:
        return f"{other} (fx.scipy has no {path}), which takes traced values"
    if known:
        return f"fx.scipy.{known} takes traced values, and has no {path.rpartition('.')[2]}"
    return (
        f"fx.scipy has no {path}: fx.pure_callback(scipy.{path}, …) calls it where no derivative is needed, and "
        "fx.custom_jvp around that gives it one"
    )


def parent_path(path: str) -> str:
    """Return the function of ours of the same name in the namespace around that of SciPy's."""
    namespace, _, name = path.rpartition(".")
    around = f"{namespace.rpartition('.')[0]}.{name}"
    return f"fx.scipy.{around}" if "." in namespace and find(around) == around else ""


# What else takes traced values, and the names in SciPy of what it does.
_GROUPS = {
    "fx.grad or fx.jacobian": """
        optimize.approx_fprime differentiate.derivative differentiate.jacobian optimize.rosen_der
    """,
    "fx.hessian": "differentiate.hessian optimize.rosen_hess",
    "fx.hvp": "optimize.rosen_hess_prod",
    "fx.testing.check_grads": "optimize.check_grad",
    "fx.scipy.optimize.minimize": """
        optimize.fmin optimize.fmin_bfgs optimize.fmin_cg optimize.fmin_cobyla optimize.fmin_l_bfgs_b optimize.fmin_ncg
        optimize.fmin_powell optimize.fmin_slsqp optimize.fmin_tnc
    """,
    "fx.scipy.optimize.minimize_scalar": "optimize.brent optimize.golden optimize.fminbound",
    "fx.vmap of fx.scipy.optimize.minimize_scalar": "optimize.elementwise.find_minimum",
    "fx.vmap of fx.scipy.optimize.root_scalar": "optimize.elementwise.find_root",
    "fx.scipy.optimize.root": """
        optimize.anderson optimize.broyden1 optimize.broyden2 optimize.diagbroyden
        optimize.newton_krylov optimize.excitingmixing optimize.linearmixing
    """,
    "fx.scipy.optimize.least_squares": "optimize.leastsq optimize.lsq_linear optimize.nnls",
    "fx.scipy.integrate.solve_ivp": """
        integrate.RK23 integrate.RK45 integrate.DOP853 integrate.Radau integrate.BDF integrate.LSODA integrate.ode
        integrate.OdeSolver integrate.complex_ode
    """,
    "fx.scipy.integrate.quad": "integrate.tanhsinh",
    "fx.scipy.integrate.nquad": "integrate.cubature integrate.qmc_quad",
    "fx.vmap of fx.scipy.integrate.quad": "integrate.quad_vec",
    "fx.scipy.interpolate.make_interp_spline": "interpolate.splrep interpolate.InterpolatedUnivariateSpline",
    "fx.scipy.interpolate.PchipInterpolator": "interpolate.pchip_interpolate",
    "fx.scipy.interpolate.RBFInterpolator": "interpolate.Rbf",
    "fx.scipy.ndimage.spline_filter1d": "signal.cspline1d",
    "fx.lax.reduce_window": """
        ndimage.maximum_filter ndimage.maximum_filter1d ndimage.minimum_filter ndimage.minimum_filter1d
        ndimage.grey_dilation ndimage.grey_erosion
    """,
    "fx.ops.segment_sum": "ndimage.sum ndimage.sum_labels",
    "fx.scipy.sparse.coo_array": """
        sparse.bsr_array sparse.dia_array sparse.dok_array sparse.lil_array sparse.coo_matrix sparse.bsr_matrix
        sparse.dia_matrix sparse.dok_matrix sparse.lil_matrix
    """,
    "fx.scipy.sparse.csr_array": "sparse.csr_matrix",
    "fx.scipy.sparse.csc_array": "sparse.csc_matrix",
    "fx.scipy.sparse.block_array": "sparse.bmat",
    "fx.scipy.sparse.diags": "sparse.spdiags",
    "fx.scipy.sparse.linalg.factorized": "sparse.linalg.splu sparse.linalg.spilu",
    "fnp.linalg.norm of an array": "sparse.linalg.norm sparse.linalg.onenormest spatial.minkowski_distance",
    "fx.scipy.stats.norm": "stats.Normal",
    "fx.scipy.stats.uniform": "stats.Uniform",
    "fx.scipy.stats.logistic": "stats.Logistic",
    "fx.scipy.stats.binom": "stats.Binomial",
    "fnp.mean": "stats.tmean",
    "fnp.var": "stats.tvar",
    "fnp.std": "stats.tstd",
    "fnp.quantile": "stats.quantile stats.scoreatpercentile stats.mstats.mquantiles",
}
OTHERS = {path: other for other, paths in _GROUPS.items() for path in paths.split()}
