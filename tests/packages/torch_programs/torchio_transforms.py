"""Volumes of medicine: transforms, drawn at random, and patches.

packages: torchio
tolerance: 1e-3
"""

import torch
import torchio as tio

torch.manual_seed(0)
subject = tio.Subject(
    scan=tio.ScalarImage(tensor=torch.rand(1, 16, 16, 12)),
    label=tio.LabelMap(tensor=(torch.rand(1, 16, 16, 12) > 0.7).float()),
)
transforms = (
    tio.ZNormalization(), tio.RescaleIntensity((0, 1)), tio.RandomNoise(std=0.1), tio.RandomFlip(axes=(0, 1)),
    tio.RandomGamma(), tio.RandomBlur(), tio.CropOrPad((12, 12, 10)), tio.RandomBiasField(), tio.RandomSpike(),
)  # fmt: skip
for transform in transforms:
    changed = transform(subject)
    print(
        type(transform).__name__,
        list(changed.scan.shape),
        changed.scan.data.float().mean().item(),
        changed.label.data.float().mean().item(),
    )
sampler = tio.GridSampler(subject, patch_size=8, patch_overlap=2)
aggregator = tio.GridAggregator(sampler, overlap_mode="average")
for patch in sampler:
    aggregator.add_batch(patch["scan"][tio.DATA][None], patch[tio.LOCATION][None])
print(len(sampler), (aggregator.get_output_tensor() - subject.scan.data).abs().max().item() < 1e-5)
