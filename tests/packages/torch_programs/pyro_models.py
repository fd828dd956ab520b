"""A hidden Markov model by enumeration, mean-field guides, importance sampling, and a Gaussian process.

packages: pyro-ppl
tolerance: 2e-3
"""

import pyro
import pyro.contrib.gp as gp
import pyro.distributions as dist
import torch
from pyro.infer import (  # noqa: F401
    SVI,
    Importance,
    JitTrace_ELBO,
    Trace_ELBO,
    TraceEnum_ELBO,
    TraceMeanField_ELBO,
    config_enumerate,
)
from pyro.infer.autoguide import AutoDiagonalNormal, AutoLowRankMultivariateNormal, AutoNormal
from pyro.optim import ClippedAdam

pyro.set_rng_seed(0)
sequence = torch.tensor([0.1, 1.9, 2.2, -0.1, 2.0])


@config_enumerate
def chain(sequence):
    change = pyro.sample("change", dist.Beta(2.0, 2.0))
    means = pyro.sample("means", dist.Normal(torch.tensor([0.0, 2.0]), 1.0).to_event(1))
    state = torch.tensor(0)
    for t in pyro.markov(range(len(sequence))):
        state = pyro.sample(f"state_{t}", dist.Bernoulli(torch.where(state == 1, 1 - change, change))).long()
        pyro.sample(f"obs_{t}", dist.Normal(means[state], 0.5), obs=sequence[t])


guide = AutoNormal(pyro.poutine.block(chain, expose=["change", "means"]))
svi = SVI(chain, guide, ClippedAdam({"lr": 0.05}), TraceEnum_ELBO())
print([svi.step(sequence) for _ in range(4)])


def regression(x, y):
    weight = pyro.sample("weight", dist.Normal(torch.zeros(3), 1.0).to_event(1))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.StudentT(4.0, x @ weight, scale), obs=y)


x = torch.randn(20, 3)
y = x @ torch.tensor([1.0, -1.0, 0.5])
for kind in (AutoDiagonalNormal, AutoLowRankMultivariateNormal):
    pyro.clear_param_store()
    guide = kind(regression)
    svi = SVI(regression, guide, ClippedAdam({"lr": 0.02}), Trace_ELBO(num_particles=2))
    print(kind.__name__, [svi.step(x, y) for _ in range(4)], guide.median()["weight"].tolist())
posterior = Importance(regression, num_samples=5).run(x, y)
print(posterior.log_weights[0].item())
model = gp.models.GPRegression(x[:, :1], y, gp.kernels.RBF(1), noise=torch.tensor(0.1))
print(gp.util.train(model, num_steps=4))
