"""fxgrad.scipy.stats against jax.scipy.stats: its names, and values and derivatives of densities.

Everything that is compared is one program, because JAX compiles it: distribution functions and quantiles are compared
with SciPy in tests/scipy.
"""

import numpy as np

import fxgrad as fx
from fxgrad.scipy import stats
from fxgrad.scipy.cluster import vq

import jax  # isort: skip
import jax.scipy.cluster.vq
import jax.scipy.stats

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(0)
COUNTS = np.array([1, 2, 3])
LAWS = {
    "beta": (0.4, 2.0, 3.0, 0.1, 1.5), "gamma": (0.7, 2.3, 0.1, 1.5), "nbinom": (4.5, 0.4), "vonmises": (0.7, 2.0),
    "t": (0.7, 5.0, 0.1, 1.5), "truncnorm": (0.7, -1.0, 2.0, 0.1, 1.5),
}  # fmt: skip
FIRST = {"nbinom": (3,)}  # counts, which are no variables
VECTORS = {
    "multivariate_normal": (rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=(3, 3))),
    "dirichlet": (rng.dirichlet([1.0, 2.0, 3.0], 4).T, np.array([1.5, 2.0, 3.0])),
    "multinomial": (np.array([0.2, 0.3, 0.5]),),
    "gaussian_kde": (rng.normal(size=(3, 9)), rng.normal(size=(3, 5))),
}


def total_density(s, laws, vectors):
    """The sum of the logarithms of all densities."""
    densities = []
    for name, args in laws.items():
        law = getattr(s, name)
        densities.append((law.logpmf if name in FIRST else law.logpdf)(*FIRST.get(name, ()), *args))
    x, mean, root = vectors["multivariate_normal"]
    densities.append(s.multivariate_normal.logpdf(x, mean, root @ root.T).sum())
    densities.append(s.dirichlet.logpdf(*vectors["dirichlet"]).sum())
    densities.append(s.multinomial.logpmf(COUNTS, 6, *vectors["multinomial"]))
    sample, points = vectors["gaussian_kde"]
    densities.append(s.gaussian_kde(sample).logpdf(points).sum())
    return sum(densities)


def test_every_name_of_jax_is_here():
    for name in dir(jax.scipy.stats):
        if not name.startswith("_"):
            theirs, ours = getattr(jax.scipy.stats, name), getattr(stats, name)
            if type(theirs) is type(jax):
                assert not {method for method in dir(theirs) if not method.startswith("_")} - set(
                    dir(ours)
                ), name


def test_derivatives_of_densities_are_those_of_jax():
    ours, theirs = (
        transform(lambda *args, s=s: total_density(s, *args), argnums=(0, 1))
        for transform, s in ((fx.value_and_grad, stats), (jax.value_and_grad, jax.scipy.stats))
    )
    quick = {"xla_backend_optimization_level": 0}  # to compile takes longer than to run
    found = ours(LAWS, VECTORS)
    expected = jax.jit(theirs).lower(LAWS, VECTORS).compile(compiler_options=quick)(LAWS, VECTORS)
    names = [*LAWS, *VECTORS]
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
    for name in names:
        table = name in VECTORS
        for x, y in zip(found[1][table][name], expected[1][table][name], strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-12, err_msg=name)


def test_ranks_the_most_common_value_and_codes_are_those_of_jax():
    sample, points = rng.integers(0, 3, size=(6, 4)), VECTORS["multivariate_normal"][0]
    np.testing.assert_allclose(stats.rankdata(sample, axis=0), jax.scipy.stats.rankdata(sample, axis=0))
    np.testing.assert_allclose(stats.mode(sample).mode, jax.scipy.stats.mode(sample).mode)
    for ours, theirs in zip(
        vq.vq(points, points[:2]), jax.scipy.cluster.vq.vq(points, points[:2]), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
