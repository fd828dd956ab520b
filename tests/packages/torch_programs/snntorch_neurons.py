"""Spiking neurons with surrogate gradients.

packages: snntorch
tolerance: 1e-3
"""

import snntorch as snn
import torch
from snntorch import spikegen, surrogate

torch.manual_seed(0)
first, second = torch.nn.Linear(6, 10), torch.nn.Linear(10, 3)
leaky = snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(slope=25))
synaptic = snn.Synaptic(alpha=0.8, beta=0.9)
spikes = spikegen.rate(torch.rand(4, 6), num_steps=8)
memory = leaky.init_leaky()
current, potential = synaptic.init_synaptic()
total = 0
for step in range(8):
    spike, memory = leaky(first(spikes[step]), memory)
    out, current, potential = synaptic(second(spike), current, potential)
    total = total + potential
loss = torch.nn.functional.cross_entropy(total, torch.tensor([0, 1, 2, 0]))
loss.backward()
print(spikes.sum().item(), loss.item(), first.weight.grad.norm().item(), second.weight.grad.norm().item())
