"""Attributions of a network's answer to its inputs and to a layer.

packages: captum
tolerance: 1e-4
"""

import numpy as np
import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GradientShap,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    Occlusion,
    Saliency,
)

torch.manual_seed(0)
np.random.seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 3)
).eval()
x = torch.randn(2, 1, 8, 8, requires_grad=True)
gradients, delta = IntegratedGradients(model).attribute(
    x, target=1, n_steps=20, return_convergence_delta=True
)
print(gradients.sum().item(), delta.tolist())
print(Saliency(model).attribute(x, target=0).sum().item())
print(DeepLift(model).attribute(x, baselines=torch.zeros_like(x), target=2).sum().item())
print(GradientShap(model).attribute(x, baselines=torch.randn(4, 1, 8, 8), target=0, n_samples=3).sum().item())
print(
    FeatureAblation(model)
    .attribute(x, target=0, feature_mask=torch.arange(64).reshape(1, 1, 8, 8) // 16)
    .sum()
    .item()
)
print(
    Occlusion(model).attribute(x, target=0, sliding_window_shapes=(1, 4, 4), strides=(1, 4, 4)).sum().item()
)
print(LayerConductance(model, model[0]).attribute(x, target=1, n_steps=10).sum().item())
print(LayerGradCam(model, model[0]).attribute(x, target=1).flatten()[:4].tolist())
