"""Real NVP fitted to a target density by the forward Kullback-Leibler divergence.

packages: normflows
tolerance: 1e-3
"""

import normflows as nf
import torch

torch.manual_seed(0)
base = nf.distributions.base.DiagGaussian(2)
layers = []
for _ in range(4):
    layers.append(nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 16, 16, 2], init_zeros=True)))
    layers.append(nf.flows.Permute(2, mode="swap"))
model = nf.NormalizingFlow(base, layers)
target = nf.distributions.TwoMoons()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
for _ in range(5):
    optimizer.zero_grad()
    loss = model.forward_kld(target.sample(64))
    loss.backward()
    optimizer.step()
    print(loss.item())
z, log_q = model.sample(3)
print(z.tolist(), log_q.tolist(), model.log_prob(z).tolist())
