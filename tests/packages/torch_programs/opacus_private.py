"""Training with differential privacy: gradients of each sample, clipped and noised, and the budget spent.

packages: opacus
tolerance: 1e-3
"""

import warnings

import torch
from opacus import GradSampleModule, PrivacyEngine

warnings.filterwarnings("ignore")
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv1d(1, 4, 3),
    torch.nn.GroupNorm(2, 4),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(4 * 6, 2),
)
x, y = torch.randn(32, 1, 8), torch.randint(2, (32,))
each = GradSampleModule(model)
torch.nn.functional.cross_entropy(each(x), y).backward()
print([p.grad_sample.flatten(1).norm(dim=1).sum().item() for p in each.parameters()])
each.zero_grad()
model = each.to_standard_module()

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
engine = PrivacyEngine(accountant="rdp")
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=optimizer,
    data_loader=loader,
    noise_multiplier=1.0,
    max_grad_norm=1.0,
    poisson_sampling=False,
)
for batch, labels in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(batch), labels)
    loss.backward()
    optimizer.step()
    print(loss.item())
print(engine.get_epsilon(delta=1e-5))
