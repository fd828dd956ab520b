"""Nested dictionaries of tensors as batches, and modules that read and write their keys.

packages: tensordict
tolerance: 1e-5
"""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential

torch.manual_seed(0)
data = TensorDict(
    {"obs": torch.randn(6, 4), "next": {"obs": torch.randn(6, 4), "reward": torch.rand(6, 1)}}, batch_size=[6]
)
print(data[:2]["next", "reward"].flatten().tolist(), data.reshape(2, 3).batch_size)
net = TensorDictSequential(
    TensorDictModule(torch.nn.Linear(4, 8), in_keys=["obs"], out_keys=["hidden"]),
    TensorDictModule(torch.nn.Tanh(), in_keys=["hidden"], out_keys=["hidden"]),
    TensorDictModule(torch.nn.Linear(8, 2), in_keys=["hidden"], out_keys=["value"]),
)
net(data)
data["value"].square().mean().backward()
print(data["value"].sum().item(), [p.grad.norm().item() for p in net.parameters()])
both = torch.stack([data.detach(), data.detach()], 0)
print(both.shape, both["obs"].mean().item(), torch.cat([both[0], both[1]], 0)["value"].std().item())
params = TensorDict.from_module(net)
doubled = params.data * 2
print([value.norm().item() for value in doubled.values(include_nested=True, leaves_only=True)])
means = torch.vmap(lambda row: row.apply(torch.exp))(data.detach())
print(means.batch_size, means["next"].batch_size, means["hidden"].mean().item())
print(torch.vmap(lambda column: column.clone(), in_dims=1)(both).batch_size)
