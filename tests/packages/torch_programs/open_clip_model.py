"""A model of texts and pictures of OpenCLIP, made from a configuration, and its contrastive loss.

packages: open_clip_torch
tolerance: 1e-3
"""

import open_clip
import torch
from open_clip.loss import ClipLoss, SigLipLoss
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg

torch.manual_seed(0)
model = CLIP(
    embed_dim=16,
    vision_cfg=CLIPVisionCfg(layers=2, width=32, head_width=16, patch_size=8, image_size=32),
    text_cfg=CLIPTextCfg(context_length=12, vocab_size=100, width=32, heads=2, layers=2),
)
images, texts = torch.randn(3, 3, 32, 32), torch.randint(1, 100, (3, 12))
image, text, scale = model(images, texts)
loss = ClipLoss()(image, text, scale)
loss.backward()
print(
    loss.item(), torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm().item()
)
print(SigLipLoss()(image, text, scale, torch.tensor(-10.0)).item(), open_clip.tokenize(["a cat"]).shape)
