"""Five optimizers, among them sharpness-aware minimization.

packages: pytorch-optimizer
tolerance: 1e-3
"""

import pytorch_optimizer as po
import torch


def train(name):
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 2)
    options = {"SAM": {"base_optimizer": torch.optim.SGD}, "Ranger21": {"num_iterations": 10}}.get(name, {})
    optimizer = getattr(po, name)(model.parameters(), lr=1e-2, **options)

    def compute():
        loss = model(torch.ones(4, 3)).square().sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.zero_grad()
        loss = compute()
        optimizer.step(*[compute] * (name == "SAM"))
    print(f"{loss.item():.5g} {model.weight.norm().item():.5g}")


for name in ("Lion", "AdaBelief", "Ranger21", "Adan", "SAM"):
    train(name)
