"""Rearrangements, reductions and layers by patterns of axes.

packages: einops
tolerance: 1e-5
"""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 6, 5),
    Reduce("b c (h h2) (w w2) -> b c h w", "max", h2=2, w2=2),
    torch.nn.ReLU(),
    Rearrange("b c h w -> b (c h w)"),
    torch.nn.Linear(6 * 6 * 6, 10),
)
x = torch.randn(4, 3, 16, 16, requires_grad=True)
y = net(x)
y.square().mean().backward()
print(y.sum().item(), x.grad.norm().item())

patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
mix = EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=48, d=8)
print(mix(patches).norm().item(), reduce(patches, "b t c -> b", "mean").tolist())
print(repeat(y, "b n -> b n k", k=3).shape, einsum(y, y, "b n, c n -> b c").trace().item())
packed, shapes = pack([torch.ones(2, 3), torch.ones(2, 4, 5)], "b *")
print(packed.shape, [tuple(part.shape) for part in unpack(packed, shapes, "b *")])
