"""A distance of pictures by features of a network, here of random weights.

packages: lpips
tolerance: 1e-3
"""

import lpips
import torch

torch.manual_seed(0)
metric = lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, lpips=True, verbose=False)
x = torch.rand(2, 3, 64, 64, requires_grad=True)
y = torch.rand(2, 3, 64, 64)
distance = metric(x, y, normalize=True)
(gradient,) = torch.autograd.grad(distance.sum(), x)
print([f"{d:.3e}" for d in distance.flatten().tolist()], list(gradient.shape), gradient.norm().item())
print(lpips.l2(x.detach().numpy(), y.numpy()), lpips.normalize_tensor(x).square().sum(1).mean().item())
