"""The losses as Modules. One line each."""

from __future__ import annotations

from typing import Any

from .functional_modules import thin
from .module import Module


class Loss(Module):
    """What the losses have in common: `reduction` is "mean", "sum" or "none"."""

    reduction: str
    weight: Any

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("weight", "pos_weight") and name not in self._buffers:
            self.register_buffer(name, value)
        else:
            super().__setattr__(name, value)


OLD = "size_average=None, reduce=None, reduction='mean'"
# name, function, parameters.
LOSSES = [
    ("L1Loss", "l1_loss", OLD),
    ("MSELoss", "mse_loss", OLD),
    ("SmoothL1Loss", "smooth_l1_loss", f"{OLD}, beta=1.0"),
    ("HuberLoss", "huber_loss", "reduction='mean', delta=1.0"),
    (
        "NLLLoss",
        "nll_loss",
        "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'",
    ),
    (
        "CrossEntropyLoss",
        "cross_entropy",
        "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0",
    ),
    ("BCELoss", "binary_cross_entropy", f"weight=None, {OLD}"),
    ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", f"weight=None, {OLD}, pos_weight=None"),
    ("KLDivLoss", "kl_div", f"{OLD}, log_target=False"),
    (
        "PoissonNLLLoss",
        "poisson_nll_loss",
        "log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean'",
    ),
    ("GaussianNLLLoss", "gaussian_nll_loss", "*, full=False, eps=1e-6, reduction='mean'"),
    ("HingeEmbeddingLoss", "hinge_embedding_loss", f"margin=1.0, {OLD}"),
    ("SoftMarginLoss", "soft_margin_loss", OLD),
    ("MarginRankingLoss", "margin_ranking_loss", f"margin=0.0, {OLD}"),
    ("CosineEmbeddingLoss", "cosine_embedding_loss", f"margin=0.0, {OLD}"),
    ("MultiLabelMarginLoss", "multilabel_margin_loss", OLD),
    ("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", f"weight=None, {OLD}"),
    ("MultiMarginLoss", "multi_margin_loss", f"p=1, margin=1.0, weight=None, {OLD}"),
    ("CTCLoss", "ctc_loss", "blank=0, reduction='mean', zero_infinity=False"),
    ("TripletMarginLoss", "triplet_margin_loss", f"margin=1.0, p=2.0, eps=1e-6, swap=False, {OLD}"),
]
MODULES = {name: thin(name, *rest, base=Loss) for name, *rest in LOSSES}
globals().update(MODULES)
