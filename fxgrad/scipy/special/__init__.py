"""`fxgrad.scipy.special`: the special functions of scipy.special, with derivatives of every order.

Each function has the name, the operands and the values of SciPy's, on plain arrays and on traced ones. It is
differentiable in all operands for which a closed form is known; differentiation by any other operand raises
NotDifferentiableError. Functions without any derivative (zeros, nodes of quadrature) are SciPy's own. Complex operands
are accepted where SciPy accepts them. Half precision stays half; other dtypes are SciPy's.

If x is traced, `scipy.special.erf(x)` itself calls the function of this namespace.
"""
# ruff: noqa: F403

from typing import TYPE_CHECKING

from ...extend import LazyPackage
from .constants import find_constant

if TYPE_CHECKING:
    from typing import Any

    from .airy_functions import *
    from .bessel_functions import *
    from .distributions import *
    from .elementary import *
    from .elliptic_integrals import *
    from .error_functions import *
    from .exponential_integrals import *
    from .gamma_functions import *
    from .hypergeometric import *
    from .mathieu_functions import *
    from .polynomials import *
    from .rows import *

    def __getattr__(name: str) -> Any: ...  # SciPy's own functions


_PARTS = (
    "error_functions", "gamma_functions", "elementary", "rows", "bessel_functions", "exponential_integrals",
    "hypergeometric", "distributions", "elliptic_integrals", "polynomials", "airy_functions", "mathieu_functions",
)  # fmt: skip

LazyPackage.of(__name__, parts=_PARTS, find_otherwise=find_constant)
