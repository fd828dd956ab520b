"""Modules of the losses, declared in one line each."""

from __future__ import annotations

import inspect
from typing import Any

from .. import functional
from .functional_modules import FunctionalModule, functional_module


class Loss(FunctionalModule):
    """The base of losses: `reduction` is "mean", "sum" or "none"."""

    reduction: str
    weight: Any

    def __setattr__(self, name: str, value) -> None:
        if name in ("weight", "pos_weight") and name not in self._buffers:
            self.register_buffer(name, value)
        else:
            super().__setattr__(name, value)


# The functions that Modules call; their options are those of the function.
LOSSES = {
    "SmoothL1Loss": "smooth_l1_loss",
    "NLLLoss": "nll_loss",
    "CrossEntropyLoss": "cross_entropy",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "KLDivLoss": "kl_div",
    "PoissonNLLLoss": "poisson_nll_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss",
    "SoftMarginLoss": "soft_margin_loss",
    "MarginRankingLoss": "margin_ranking_loss",
    "CosineEmbeddingLoss": "cosine_embedding_loss",
    "MultiLabelMarginLoss": "multilabel_margin_loss",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
    "MultiMarginLoss": "multi_margin_loss",
    "CTCLoss": "ctc_loss",
    "TripletMarginLoss": "triplet_margin_loss",
}
# Modules that leave some options out: name, function, parameters.
REDUCTION = "size_average=None, reduce=None, reduction='mean'"
OTHERS = [
    ("L1Loss", "l1_loss", REDUCTION),
    ("MSELoss", "mse_loss", REDUCTION),
    ("HuberLoss", "huber_loss", "reduction='mean', delta=1.0"),
    ("GaussianNLLLoss", "gaussian_nll_loss", "*, full=False, eps=1e-6, reduction='mean'"),
]


def options_of(function: str) -> str:
    """The parameters of a function of nn.functional that have defaults, as text."""
    found = inspect.signature(getattr(functional, function)).parameters.values()
    return ", ".join(f"{p.name}={p.default!r}" for p in found if p.default is not p.empty)


ROWS = OTHERS + [(name, function, options_of(function)) for name, function in LOSSES.items()]
MODULES = {name: functional_module(name, *rest, base=Loss) for name, *rest in ROWS}
globals().update(MODULES)
