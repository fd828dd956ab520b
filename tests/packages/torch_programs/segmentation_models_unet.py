"""U-Net and feature pyramids over encoders without weights, and losses of masks.

packages: segmentation-models-pytorch
tolerance: 1e-6
"""

import segmentation_models_pytorch as smp
import torch

torch.set_default_dtype(torch.float64)  # norms over batches of two lose half of the digits
for kind, encoder in ((smp.Unet, "resnet18"), (smp.FPN, "mobilenet_v2"), (smp.DeepLabV3Plus, "resnet18")):
    torch.manual_seed(0)
    model = kind(encoder, encoder_weights=None, in_channels=3, classes=1)
    x, y = torch.rand(2, 3, 64, 64), (torch.rand(2, 1, 64, 64) > 0.5).double()
    logits = model(x)
    dice, focal = smp.losses.DiceLoss("binary"), smp.losses.FocalLoss("binary")
    loss = dice(logits, y) + focal(logits, y)
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    print(kind.__name__, loss.item(), norm.item())
    tp, fp, fn, tn = smp.metrics.get_stats(logits.sigmoid(), y.long(), mode="binary", threshold=0.5)
    print(smp.metrics.iou_score(tp, fp, fn, tn, reduction="micro").item())
