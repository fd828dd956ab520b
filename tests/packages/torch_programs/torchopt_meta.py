"""Differentiable optimizers, in the style of functions and of objects.

packages: torchopt
tolerance: 1e-4
"""

import torch
import torchopt

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
x = torch.randn(16, 3)
model, params = torch.func.functional_call, dict(net.named_parameters())
optimizer = torchopt.adam(lr=0.1)
state = optimizer.init(params)
for _ in range(3):
    loss = (model(net, params, (x,)) - x.sum(-1, keepdim=True)).square().mean()
    grads = dict(zip(params, torch.autograd.grad(loss, list(params.values()))))
    updates, state = optimizer.update(grads, state, inplace=False)
    params = torchopt.apply_updates(params, updates, inplace=False)
    print(loss.item())

scale = torch.nn.Parameter(torch.tensor(1.5))
inner = torchopt.MetaAdam(net, lr=0.1)
before = torchopt.extract_state_dict(net, by="reference")
for _ in range(2):
    inner.step((net(x) * scale - 1).square().mean())
outer = (net(x) * scale).square().mean()
print(outer.item(), torch.autograd.grad(outer, scale)[0].item())
torchopt.recover_state_dict(net, before)
print(net(x).norm().item())
