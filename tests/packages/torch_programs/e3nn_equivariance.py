"""Tensor products, spherical harmonics and gates that turn with their inputs.

packages: e3nn
tolerance: 1e-4
"""

import torch
from e3nn import o3

torch.manual_seed(0)
irreps_in, irreps_sh, irreps_out = (
    o3.Irreps("4x0e + 2x1o"),
    o3.Irreps.spherical_harmonics(2),
    o3.Irreps("3x0e + 2x1o + 1x2e"),
)
product = o3.FullyConnectedTensorProduct(irreps_in, irreps_sh, irreps_out)
linear = o3.Linear(irreps_out, irreps_out)
x, position = irreps_in.randn(6, -1), torch.randn(6, 3, requires_grad=True)
harmonics = o3.spherical_harmonics(irreps_sh, position, normalize=True, normalization="component")
y = linear(product(x, harmonics))
y.square().sum().backward()
print(y.norm().item(), position.grad.norm().item(), product.weight.grad.norm().item())
R = o3.rand_matrix()
D_in, D_sh, D_out = (i.D_from_matrix(R) for i in (irreps_in, irreps_sh, irreps_out))
turned = linear(product(x @ D_in.T, harmonics.detach() @ D_sh.T))
print((turned - y @ D_out.T).abs().max().item() < 1e-4, o3.wigner_3j(1, 1, 2).norm().item())
