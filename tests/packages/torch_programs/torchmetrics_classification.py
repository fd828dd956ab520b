"""Metrics of batches, gathered over an epoch.

packages: torchmetrics
tolerance: 1e-5
"""

import torch
from torchmetrics import MetricCollection
from torchmetrics.classification import (
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassAveragePrecision,
    MulticlassCalibrationError,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
)
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef, R2Score, SpearmanCorrCoef

torch.manual_seed(0)
metrics = MetricCollection(
    {
        "accuracy": MulticlassAccuracy(num_classes=4),
        "f1": MulticlassF1Score(num_classes=4),
        "auroc": MulticlassAUROC(num_classes=4),
        "precision": MulticlassAveragePrecision(num_classes=4, thresholds=20),
        "calibration": MulticlassCalibrationError(num_classes=4),
        "confusion": MulticlassConfusionMatrix(num_classes=4),
    }
)
for _ in range(5):
    metrics.update(torch.randn(32, 4).softmax(-1), torch.randint(4, (32,)))
for name, value in metrics.compute().items():
    print(name, value.tolist())

for metric in (MeanSquaredError(), PearsonCorrCoef(), R2Score(), SpearmanCorrCoef()):
    for _ in range(3):
        target = torch.randn(20)
        metric.update(target + 0.3 * torch.randn(20), target)
    print(type(metric).__name__, metric.compute().item())
