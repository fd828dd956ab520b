"""The functions of scipy.special that CuPy has; imported by those who have SciPy."""

from __future__ import annotations

from cupy._array import run

NAMES = """
bdtr bdtrc bdtri beta betainc betaincinv betaln binom boxcox boxcox1p chdtr chdtrc chdtri cosdg cosm1 cotdg
digamma ellipeinc ellipj ellipk ellipkinc ellipkm1 entr erf erfc erfcinv erfcx erfinv exp1 exp10 expi expit
expn exprel fdtr fdtrc fdtri gamma gammainc gammaincc gammainccinv gammaincinv gammaln gammasgn gdtr gdtrc
huber i0 i0e i1 i1e inv_boxcox inv_boxcox1p j0 j1 k0 k0e k1 k1e kl_div log_expit log_ndtr loggamma logit lpmv
nbdtr nbdtrc nbdtri ndtr ndtri pdtr pdtrc pdtri poch pseudo_huber psi radian rel_entr rgamma shichi sici sindg
tandg wright_bessel xlog1py xlogy y0 y1 yn zeta zetac
"""


def __getattr__(name: str):
    if name not in NAMES.split():
        raise AttributeError(name)
    import scipy.special

    function = getattr(scipy.special, name)
    return lambda *args: run(f"special.{name}", function, *args)
