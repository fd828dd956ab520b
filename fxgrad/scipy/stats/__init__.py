"""`fxgrad.scipy.stats`: distributions, kernel densities and statistics of samples, with the names of scipy.stats.

A distribution is an object with SciPy's methods, which are differentiable in their argument and in all parameters:
`stats.gamma.logpdf(x, a, loc=0, scale=1)`, or frozen `stats.gamma(a, scale=2.0).logpdf(x)`. Results have the common
dtype of the arguments, float64 for integers (SciPy's are always float64).
"""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .betas import *
    from .circular import *
    from .counts import *
    from .density import rv_continuous as rv_continuous
    from .elementary import *
    from .exponential import *
    from .gammas import *
    from .kernel_density import gaussian_kde as gaussian_kde
    from .mass import rv_discrete as rv_discrete
    from .multivariate import *
    from .normal import *
    from .ranks import *
    from .samples import *

LazyPackage.of(
    __name__,
    homes={
        "normal": "norm halfnorm lognorm skewnorm truncnorm johnsonsu johnsonsb",
        "exponential": "expon weibull_min invweibull rayleigh pareto lomax powerlaw gumbel_l gumbel_r laplace",
        "elementary": "uniform loguniform reciprocal triang logistic fisk cauchy halfcauchy hypsecant halflogistic",
        "gammas": "gamma erlang chi2 chi maxwell nakagami invgamma gengamma loggamma levy gennorm",
        "betas": "beta arcsine betaprime f t",
        "circular": "vonmises vonmises_line wrapcauchy",
        "counts": "binom bernoulli poisson geom nbinom betabinom hypergeom randint zipf dlaplace",
        "samples": "gmean hmean pmean moment skew kurtosis variation sem zscore zmap iqr median_abs_deviation "
        "trim_mean entropy",
        "ranks": "rankdata mode pearsonr spearmanr linregress",
        "multivariate": "multivariate_normal multivariate_t dirichlet multinomial wishart",
    },
)
