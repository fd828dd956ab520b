"""Stochastic variational inference: a Beta posterior, and a mixture with enumerated assignments.

packages: pyro-ppl
tolerance: 1e-3
"""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDelta, AutoMultivariateNormal

pyro.set_rng_seed(0)
data = torch.tensor([1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0])


def coin(data=None):
    fairness = pyro.sample("fairness", dist.Beta(10.0, 10.0))
    with pyro.plate("data", 7):
        return pyro.sample("obs", dist.Bernoulli(fairness), obs=data)


guide = AutoMultivariateNormal(coin)
svi = SVI(coin, guide, pyro.optim.Adam({"lr": 0.02}), loss=Trace_ELBO())
print([svi.step(data) for _ in range(20)][::5])
print(guide.median()["fairness"].item(), Predictive(coin, guide=guide, num_samples=4)()["obs"].sum().item())

points = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])


@config_enumerate
def mixture(points):
    weights = pyro.sample("weights", dist.Dirichlet(0.5 * torch.ones(2)))
    with pyro.plate("components", 2):
        locs = pyro.sample("locs", dist.Normal(0.0, 10.0))
    with pyro.plate("points", len(points)):
        which = pyro.sample("which", dist.Categorical(weights))
        pyro.sample("obs", dist.Normal(locs[which], 1.0), obs=points)


pyro.clear_param_store()
guide = AutoDelta(pyro.poutine.block(mixture, expose=["weights", "locs"]))
svi = SVI(mixture, guide, pyro.optim.Adam({"lr": 0.1}), loss=TraceEnum_ELBO(max_plate_nesting=1))
print([svi.step(points) for _ in range(12)][::4])
