"""A rollout of an actor, advantages, and the clipped loss of PPO.

packages: torchrl
tolerance: 1e-3
"""

import os

os.environ["RL_WARNINGS"] = "False"

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from tensordict.nn.distributions import NormalParamExtractor
from torchrl.modules import ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4), NormalParamExtractor()
)
actor = ProbabilisticActor(
    TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"]),
    in_keys=["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True,
)  # fmt: skip
critic = ValueOperator(torch.nn.Linear(3, 1), in_keys=["observation"])
done = torch.zeros(1, 10, 1, dtype=torch.bool)
data = TensorDict(
    {
        "observation": torch.randn(1, 10, 3),
        "next": {
            "observation": torch.randn(1, 10, 3),
            "reward": torch.rand(1, 10, 1),
            "done": done,
            "terminated": done,
        },
    },
    batch_size=[1, 10],
)
actor(data)
GAE(gamma=0.99, lmbda=0.95, value_network=critic, shifted=True)(data)
loss = ClipPPOLoss(actor, critic)
values = loss(data.detach())
total = values["loss_objective"] + values["loss_critic"]
total.backward()
print(data["action"].sum().item(), data["advantage"].mean().item(), total.item())
print([p.grad.norm().item() for p in net.parameters()])
