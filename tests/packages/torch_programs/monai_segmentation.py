"""A three-dimensional U-Net of medical pictures: dice loss, sliding windows, transforms and metrics.

packages: monai
tolerance: 1e-3
"""

import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.transforms import Compose, NormalizeIntensity, RandFlip, RandGaussianNoise

torch.manual_seed(0)
model = UNet(
    spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1
)
prepare = Compose([NormalizeIntensity(), RandFlip(prob=0.5, spatial_axis=0), RandGaussianNoise(prob=0.5)])
prepare.set_random_state(seed=0)
x = torch.stack([torch.as_tensor(prepare(torch.rand(1, 16, 16, 16))) for _ in range(2)])
y = (torch.rand(2, 1, 16, 16, 16) > 0.7).float()
loss = DiceCELoss(to_onehot_y=True, softmax=True)(model(x), y)
loss.backward()
print(
    loss.item(), torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm().item()
)
model.eval()
with torch.no_grad():
    whole = sliding_window_inference(torch.rand(1, 1, 24, 24, 24), (16, 16, 16), 2, model, overlap=0.25)
print(whole.shape, whole.mean().item())
metric = DiceMetric(include_background=False)
metric(y_pred=torch.cat([1 - y, y], 1), y=torch.cat([1 - y.flip(2), y.flip(2)], 1))
print(metric.aggregate().item())
