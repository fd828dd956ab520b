"""A U-Net with attention and a process of Gaussian diffusion: the loss, its gradient, and samples.

packages: denoising-diffusion-pytorch
tolerance: 1e-3
"""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet

torch.manual_seed(0)
model = Unet(dim=16, dim_mults=(1, 2), flash_attn=False, channels=1)
diffusion = GaussianDiffusion(model, image_size=16, timesteps=20, sampling_timesteps=3)
images = torch.rand(2, 1, 16, 16)
optimizer = torch.optim.Adam(diffusion.parameters(), lr=1e-3)
for _ in range(2):
    loss = diffusion(images)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(diffusion.sample(batch_size=1).mean().item())
