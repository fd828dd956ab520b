"""A convolutional spiking network, trained over several steps of time.

packages: spikingjelly
tolerance: 1e-3
"""

import torch
from spikingjelly.activation_based import functional, layer, neuron, surrogate

torch.manual_seed(0)
net = torch.nn.Sequential(
    layer.Conv2d(1, 4, 3, padding=1, bias=False),
    layer.BatchNorm2d(4),
    neuron.IFNode(surrogate_function=surrogate.ATan()),
    layer.MaxPool2d(2, 2),
    layer.Flatten(),
    layer.Linear(4 * 4 * 4, 6),
    neuron.ParametricLIFNode(init_tau=2.0, surrogate_function=surrogate.Sigmoid()),
    layer.Linear(6, 3),
    neuron.LIFNode(tau=2.0, surrogate_function=surrogate.PiecewiseQuadratic()),
)
functional.set_step_mode(net, "m")
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = 4 * torch.rand(4, 1, 8, 8), torch.tensor([0, 1, 2, 0])
for _ in range(3):
    optimizer.zero_grad()
    rate = net(x.unsqueeze(0).repeat(5, 1, 1, 1, 1)).mean(0)
    loss = torch.nn.functional.mse_loss(rate, torch.nn.functional.one_hot(y, 3).float())
    loss.backward()
    optimizer.step()
    functional.reset_net(net)
    print(loss.item(), rate.sum().item(), net[0].weight.grad.norm().item(), net[6].w.grad.item())
