"""A variational quantum circuit with the interface of torch: expectations, gradients, a hybrid layer.

packages: pennylane
tolerance: 1e-4
"""

import pennylane as qml
import torch

torch.manual_seed(0)
device = qml.device("default.qubit", wires=2)


@qml.qnode(device, interface="torch", diff_method="backprop")
def circuit(inputs, weights):
    qml.AngleEmbedding(inputs, wires=range(2))
    qml.BasicEntanglerLayers(weights, wires=range(2))
    return [qml.expval(qml.PauliZ(k)) for k in range(2)]


weights = torch.rand(3, 2, requires_grad=True)
value = torch.stack(circuit(torch.tensor([0.3, 0.7]), weights)).sum()
value.backward()
print(value.item(), weights.grad.flatten().tolist())

model = torch.nn.Sequential(
    torch.nn.Linear(4, 2), qml.qnn.TorchLayer(circuit, {"weights": (2, 2)}), torch.nn.Linear(2, 1)
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
x = torch.randn(6, 4)
for _ in range(3):
    optimizer.zero_grad()
    loss = (model(x).squeeze(-1) - x.sum(-1)).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
