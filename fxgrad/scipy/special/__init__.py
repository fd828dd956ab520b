"""`fxgrad.scipy.special`: the special functions of scipy.special, with derivatives of every order.

Each function has the name, the operands and the values of SciPy's, on plain arrays and on traced ones. It is
differentiable in all operands for which a closed form is known; differentiation by any other operand raises
NotDifferentiableError. Functions without any derivative (zeros, nodes of quadrature) are SciPy's own. Complex operands
are accepted where SciPy accepts them. Half precision stays half; other dtypes are SciPy's.

If x is traced, `scipy.special.erf(x)` itself calls the function of this namespace.
"""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ...extend import LazyPackage
from .constants import find_constant

if TYPE_CHECKING:
    from .error_functions import *
    from .gamma_functions import *
    from .elementary import *
    from .rows import *
    from .bessel_functions import *
    from .exponential_integrals import *
    from .hypergeometric import *
    from .distributions import *
    from .elliptic_integrals import *
    from .polynomials import *
    from .airy_functions import *
    from .mathieu_functions import *
    from typing import Any

    def __getattr__(name: str) -> Any: ...  # SciPy's own functions


LazyPackage.of(__name__, find_otherwise=find_constant)
