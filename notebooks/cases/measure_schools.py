"""Case 13: eight schools by Hamiltonian Monte Carlo in fxgrad, and by NUTS in NumPyro.

Needs numpyro: pip install numpyro
"""

from .measuring import digits, in_process, milliseconds, store  # isort: skip  (it sets the number of threads)

import json
import sys
import time

import numpy as np

import fxgrad as fx

from . import eight_schools as schools
from .measuring import memory

WAYS = ("fxgrad, HMC", "NumPyro, NUTS")


def sampler(way):
    """A function of a seed to draws of μ, log τ and θ: (4, draws), (4, draws), (4, draws, 8)."""
    if way == "fxgrad, HMC":

        def draw(seed):
            states, _ = schools.four_chains(fx.random.key(seed))
            z = np.asarray(states)
            mu, tau = schools.SCALE * z[..., 0], np.exp(z[..., 1])
            return mu, z[..., 1], mu[..., None] + tau[..., None] * z[..., 2:]

        return draw
    import jax
    import numpyro
    import numpyro.distributions as dist

    numpyro.enable_x64()

    def model():
        mu = numpyro.sample("mu", dist.ImproperUniform(dist.constraints.real, (), ()))
        tau = numpyro.sample("tau", dist.ImproperUniform(dist.constraints.positive, (), ()))
        eta = numpyro.sample("eta", dist.Normal(0, 1).expand([8]).to_event(1))
        theta = numpyro.deterministic("theta", mu + tau * eta)
        numpyro.sample("y", dist.Normal(theta, schools.ERRORS), obs=schools.EFFECTS)

    options = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}

    @jax.jit  # `run` alone compiles anew in each call
    def sample(key):
        run = numpyro.infer.MCMC(numpyro.infer.NUTS(model), num_warmup=500, num_samples=2000, **options)
        run.run(key)
        return run.get_samples(group_by_chain=True)

    def draw(seed):
        found = jax.tree.map(np.asarray, sample(jax.random.key(seed)))
        return found["mu"], np.log(found["tau"]), found["theta"]

    return draw


def first_call(way):
    """Seconds of processor time until the first draws are there, after imports, and megabytes."""
    draw = sampler(way)
    start = time.process_time()
    draw(0)
    return time.process_time() - start, memory("VmHWM")


def main():
    if sys.argv[1:2] == ["first"]:
        print(json.dumps(first_call(sys.argv[2])))
        return
    samplers = {way: sampler(way) for way in WAYS}
    times = milliseconds({way: lambda f=f: f(1) for way, f in samplers.items()}, rounds=5)
    header = [
        "four chains of 2000 draws",
        "first, s",
        "later, ms",
        "MB",
        "R-hat",
        "ESS μ",
        "ESS log τ",
        "ESS log τ / s",
    ]
    rows, quantiles = [header], {}
    for way, draw in samplers.items():
        mu, log_tau, theta = draw(1)
        sizes = [schools.effective_size(v) for v in (mu, log_tau)]
        worst = max(schools.r_hat(v) for v in (mu, log_tau, *np.moveaxis(theta, -1, 0)))
        seconds, peak = in_process(__spec__.name, "first", way)
        per_second = sizes[1] / times[way] * 1e3
        cost = map(digits, (seconds, times[way], peak))
        rows.append([way, *cost, f"{worst:.4f}", *map(digits, (*sizes, per_second))])
        quantiles[way] = np.quantile(theta, [0.025, 0.25, 0.5, 0.75, 0.975], axis=(0, 1)).T.round(2).tolist()
    store("schools", "jax numpyro", {"samplers": rows}, quantiles=quantiles)


if __name__ == "__main__":
    main()
