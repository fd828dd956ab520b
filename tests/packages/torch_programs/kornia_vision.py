"""Colours, filters, warps, augmentations and features of pictures.

packages: kornia
tolerance: 1e-4
"""

import kornia as K
import torch

torch.manual_seed(0)
image = torch.rand(2, 3, 24, 32, requires_grad=True)
grey = K.color.rgb_to_grayscale(image)
blurred = K.filters.gaussian_blur2d(image, (5, 5), (1.5, 1.5))
edges = K.filters.sobel(grey)
turned = K.geometry.transform.rotate(image, torch.tensor([20.0, -35.0]))
hsv = K.color.rgb_to_hsv(image)
(blurred.mean() + edges.mean() + turned.square().mean() + hsv[:, 1].mean()).backward()
print(blurred.sum().item(), edges.sum().item(), turned.sum().item(), image.grad.norm().item())

augment = K.augmentation.AugmentationSequential(
    K.augmentation.RandomHorizontalFlip(p=0.5),
    K.augmentation.RandomAffine(degrees=15.0, p=1.0),
    K.augmentation.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0),
    data_keys=["input"],
)
print(augment(image.detach()).sum().item())
points = torch.rand(1, 4, 2) * 20
H = K.geometry.get_perspective_transform(points, points + torch.rand(1, 4, 2))
print(H.flatten().tolist())
print(K.feature.harris_response(grey.detach()).sum().item(), K.metrics.psnr(image, image * 0.9, 1.0).item())
