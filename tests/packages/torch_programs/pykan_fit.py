"""A Kolmogorov-Arnold network, fitted to a function of two variables.

packages: pykan
tolerance: 1e-2
"""

import torch
from kan import KAN, create_dataset

torch.manual_seed(0)
model = KAN(width=[2, 3, 1], grid=3, k=3, seed=1, auto_save=False)
data = create_dataset(
    lambda x: torch.exp(torch.sin(torch.pi * x[:, [0]]) + x[:, [1]] ** 2), n_var=2, train_num=40, test_num=20
)
print(data["train_input"][0].tolist(), model(data["train_input"])[:3].flatten().tolist())
results = model.fit(data, opt="Adam", steps=5, lr=0.01, lamb=0.001, log=10, batch=-1)
print([float(x) for x in results["train_loss"]], [float(x) for x in results["test_loss"]])
print(
    model(data["test_input"])[:3].flatten().tolist(),
    model.get_reg("edge_forward_spline_n", 1.0, 2.0, 0.0, 0.0).item(),
)
