"""Linear layers and convolutions with factorized weights, and the gradients of the factors.

packages: tensorly-torch
tolerance: 1e-3
"""

import tltorch
import torch

torch.manual_seed(0)
x, picture = torch.randn(3, 16), torch.randn(2, 4, 8, 8)
for factorization in ("cp", "tucker", "blocktt"):
    factorized = tltorch.FactorizedLinear(
        in_tensorized_features=(4, 4), out_tensorized_features=(3, 3), rank=4, factorization=factorization,
    )  # fmt: skip
    factorized.weight.normal_(0, 0.1)
    out = factorized(x)
    out.square().sum().backward()
    print(factorization, list(factorized.weight.shape), out.norm().item())
    print([p.grad.norm().item() for p in factorized.parameters()])
for factorization in ("cp", "tucker"):
    convolution = tltorch.FactorizedConv(4, 6, 3, order=2, padding=1, rank=0.5, factorization=factorization)
    convolution.weight.normal_(0, 0.1)
    print(list(convolution(picture).shape), convolution(picture).norm().item())
tensor = tltorch.FactorizedTensor.new((4, 5, 6), rank=0.5, factorization="tucker").normal_()
print(tensor.to_tensor().norm().item(), tensor[1].to_tensor().norm().item())
