"""Modules of the losses, declared in one line each."""

from __future__ import annotations

from typing import Any

from .functional_modules import functional_module
from .module import Module


class Loss(Module):
    """The base of losses: `reduction` is "mean", "sum" or "none"."""

    reduction: str
    weight: Any

    def __setattr__(self, name: str, value) -> None:
        if name in ("weight", "pos_weight") and name not in self._buffers:
            self.register_buffer(name, value)
        else:
            super().__setattr__(name, value)


REDUCTION_ARGUMENTS = "size_average=None, reduce=None, reduction='mean'"
# name, function, parameters.
LOSSES = [
    ("L1Loss", "l1_loss", REDUCTION_ARGUMENTS),
    ("MSELoss", "mse_loss", REDUCTION_ARGUMENTS),
    ("SmoothL1Loss", "smooth_l1_loss", f"{REDUCTION_ARGUMENTS}, beta=1.0"),
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
    ("BCELoss", "binary_cross_entropy", f"weight=None, {REDUCTION_ARGUMENTS}"),
    (
        "BCEWithLogitsLoss",
        "binary_cross_entropy_with_logits",
        f"weight=None, {REDUCTION_ARGUMENTS}, pos_weight=None",
    ),
    ("KLDivLoss", "kl_div", f"{REDUCTION_ARGUMENTS}, log_target=False"),
    (
        "PoissonNLLLoss",
        "poisson_nll_loss",
        "log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean'",
    ),
    ("GaussianNLLLoss", "gaussian_nll_loss", "*, full=False, eps=1e-6, reduction='mean'"),
    ("HingeEmbeddingLoss", "hinge_embedding_loss", f"margin=1.0, {REDUCTION_ARGUMENTS}"),
    ("SoftMarginLoss", "soft_margin_loss", REDUCTION_ARGUMENTS),
    ("MarginRankingLoss", "margin_ranking_loss", f"margin=0.0, {REDUCTION_ARGUMENTS}"),
    ("CosineEmbeddingLoss", "cosine_embedding_loss", f"margin=0.0, {REDUCTION_ARGUMENTS}"),
    ("MultiLabelMarginLoss", "multilabel_margin_loss", REDUCTION_ARGUMENTS),
    ("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", f"weight=None, {REDUCTION_ARGUMENTS}"),
    ("MultiMarginLoss", "multi_margin_loss", f"p=1, margin=1.0, weight=None, {REDUCTION_ARGUMENTS}"),
    ("CTCLoss", "ctc_loss", "blank=0, reduction='mean', zero_infinity=False"),
    (
        "TripletMarginLoss",
        "triplet_margin_loss",
        f"margin=1.0, p=2.0, eps=1e-6, swap=False, {REDUCTION_ARGUMENTS}",
    ),
]
MODULES = {name: functional_module(name, *rest, base=Loss) for name, *rest in LOSSES}
globals().update(MODULES)
