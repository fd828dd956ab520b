"""A small diffusion model: a training step of the U-Net, and samples by DDPM and DDIM steps.

packages: diffusers
tolerance: 1e-3
"""

import torch
from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(16, 32), norm_num_groups=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)  # fmt: skip
scheduler = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
clean = torch.rand(2, 1, 16, 16) * 2 - 1
for _ in range(2):
    noise, t = torch.randn_like(clean), torch.randint(100, (2,))
    loss = torch.nn.functional.mse_loss(model(scheduler.add_noise(clean, noise, t), t).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
for kind in (DDPMScheduler, DDIMScheduler):
    scheduler = kind(num_train_timesteps=100)
    x = torch.randn(1, 1, 16, 16, generator=torch.Generator().manual_seed(4))
    scheduler.set_timesteps(3)
    generator = torch.Generator().manual_seed(1)
    for t in scheduler.timesteps:
        with torch.no_grad():
            x = scheduler.step(model(x, t).sample, t, x, generator=generator).prev_sample
    print(kind.__name__, x.mean().item(), x.std().item())
