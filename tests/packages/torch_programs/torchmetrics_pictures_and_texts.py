"""Metrics of pictures, texts and retrieval.

packages: torchmetrics
tolerance: 1e-4
"""

import torch
from torchmetrics.image import (
    MultiScaleStructuralSimilarityIndexMeasure,
    PeakSignalNoiseRatio,
    StructuralSimilarityIndexMeasure,
    TotalVariation,
)
from torchmetrics.retrieval import RetrievalMAP, RetrievalNormalizedDCG
from torchmetrics.text import BLEUScore, CharErrorRate, Perplexity, WordErrorRate

torch.manual_seed(1)
target = torch.rand(2, 3, 192, 192)
preds = (target + 0.1 * torch.randn_like(target)).clamp(0, 1).requires_grad_()
ssim = StructuralSimilarityIndexMeasure(data_range=1.0)(preds, target)
ssim.backward()
print(ssim.item(), preds.grad.norm().item())
print(MultiScaleStructuralSimilarityIndexMeasure(data_range=1.0)(preds, target).item())
print(PeakSignalNoiseRatio(data_range=1.0)(preds, target).item(), TotalVariation()(preds).item())

indexes = torch.tensor([0, 0, 0, 1, 1, 1, 1])
scores, relevant = torch.rand(7), torch.tensor([0, 1, 0, 1, 0, 1, 0])
print(RetrievalMAP()(scores, relevant, indexes=indexes).item())
print(RetrievalNormalizedDCG()(scores, relevant, indexes=indexes).item())

said, meant = ["the cat sat on the mat"], ["the cat is on the mat"]
print(WordErrorRate()(said, meant).item(), CharErrorRate()(said, meant).item())
print(BLEUScore(n_gram=2)(said, [meant]).item())
print(Perplexity()(torch.randn(2, 8, 5), torch.randint(5, (2, 8))).item())
