"""The gamma function's kin: its logarithm and derivatives, the incomplete gamma functions, and the zeta function."""

from __future__ import annotations

import math
from typing import Any

from ...extend import ops
from .._core.tensor import Tensor
from .._declare.operation import operation
from .._declare.spaces import expose
from ..errors import TensorError
from .declarers import add_aliases, binary, unary

lgamma = unary(
    "lgamma", ops.log_gamma, "The logarithm of the gamma function's modulus, of each entry: `log |Γ(x)|`."
)
digamma = unary(
    "digamma",
    lambda x: ops.polygamma(x, n=0),
    "The digamma function of each entry: the derivative of log Γ(x).",
)


@operation("input", inplace=True, promote="float", entrywise=True)
def mvlgamma(input, p: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension p."""
    if p < 1:
        raise TensorError("p has to be greater than or equal to 1", hint="p=1, or more")
    total: Any = p * (p - 1) / 4 * math.log(math.pi)
    for j in range(p):
        total = total + ops.log_gamma(input - 0.5 * j)
    return total


@operation("input", spaces="method", inplace=True, promote="float", entrywise=True)
def polygamma(input, n: int) -> Any:
    """The derivative of order n of digamma."""
    if n < 0:
        raise TensorError("polygamma(n, x) does not support negative n.", hint=f"n={-n}")
    return ops.polygamma(input, n=n)


@expose("function special", "polygamma")
def polygamma_function(n: int, input: Tensor, *, out=None) -> Tensor:
    """The derivative of order n of digamma."""
    return polygamma(input, n, out=out)


@operation(
    "input other",
    name="special_zeta",
    spaces="special",
    promote="float",
    numbers="input other",
    entrywise=True,
)
def zeta(input, other) -> Any:
    """Hurwitz' zeta function Σ (other + k)⁻ⁱⁿᵖᵘᵗ."""
    return ops.zeta(input, other, power=0)


def regularized_gamma(upper: bool) -> Any:
    """Make a regularised incomplete gamma function, the upper or the lower one."""
    return lambda a, x: ops.incomplete_gamma(a, x, upper=upper)


igamma = binary("igamma", regularized_gamma(False), "The regularised lower incomplete gamma function.")
igammac = binary("igammac", regularized_gamma(True), "The regularised upper incomplete gamma function.")
add_aliases("special", digamma=digamma, psi=digamma, gammaln=lgamma, multigammaln=mvlgamma)
add_aliases("special", gammainc=igamma, gammaincc=igammac)
