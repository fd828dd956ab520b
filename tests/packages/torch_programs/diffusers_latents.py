"""An autoencoder of pictures, a U-Net with cross-attention, a transformer, and many schedulers.

packages: diffusers
tolerance: 1e-3
"""

import torch
from diffusers import (
    AutoencoderKL,
    DPMSolverMultistepScheduler,
    EulerAncestralDiscreteScheduler,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    HeunDiscreteScheduler,
    PNDMScheduler,
    UNet2DConditionModel,
    UniPCMultistepScheduler,
)

torch.manual_seed(0)
vae = AutoencoderKL(
    block_out_channels=(8, 16), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    latent_channels=4, norm_num_groups=4, sample_size=16,
)  # fmt: skip
x = torch.rand(1, 3, 16, 16)
posterior = vae.encode(x).latent_dist
decoded = vae.decode(posterior.mode()).sample
loss = (decoded - x).square().mean() + 1e-3 * posterior.kl().mean()
loss.backward()
print(loss.item(), torch.stack([p.grad.norm() for p in vae.parameters() if p.grad is not None]).norm().item())
unet = UNet2DConditionModel(
    sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    cross_attention_dim=12, attention_head_dim=4,
).eval()  # fmt: skip
states = torch.randn(1, 5, 12)
kinds = (
    DPMSolverMultistepScheduler, EulerDiscreteScheduler, EulerAncestralDiscreteScheduler, HeunDiscreteScheduler,
    PNDMScheduler, UniPCMultistepScheduler, FlowMatchEulerDiscreteScheduler,
)  # fmt: skip
for kind in kinds:
    scheduler, generator = kind(), torch.Generator().manual_seed(0)
    scheduler.set_timesteps(4)
    latents = torch.randn(1, 4, 8, 8, generator=generator) * getattr(scheduler, "init_noise_sigma", 1.0)
    for t in scheduler.timesteps:
        given = (
            scheduler.scale_model_input(latents, t) if hasattr(scheduler, "scale_model_input") else latents
        )
        with torch.no_grad():
            noise = unet(given, t, encoder_hidden_states=states).sample
        options = {"generator": generator} if "Ancestral" in kind.__name__ else {}
        latents = scheduler.step(noise, t, latents, **options).prev_sample
    print(kind.__name__, latents.mean().item(), latents.std().item())
