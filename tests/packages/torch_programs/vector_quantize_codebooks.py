"""Codebooks learnt by moving averages, residual codes, finite scalar and lookup-free quantization.

packages: vector-quantize-pytorch
tolerance: 1e-3
"""

import torch
from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

torch.manual_seed(0)
x = torch.randn(2, 20, 8, requires_grad=True)
vq = VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0)
residual = ResidualVQ(dim=8, num_quantizers=3, codebook_size=8)
for layer in (vq, residual):
    for _ in range(3):
        quantized, indices, loss = layer(x)
    (quantized.square().mean() + loss.sum()).backward()
    print(quantized.norm().item(), indices.sum().item(), loss.flatten().tolist(), x.grad.norm().item())
quantized, indices = FSQ([5, 5, 4], dim=8)(x)
print(quantized.norm().item(), indices.sum().item())
quantized, indices, loss = LFQ(codebook_size=16, dim=8, entropy_loss_weight=0.1)(x)
print(quantized.norm().item(), indices.sum().item(), loss.item())
