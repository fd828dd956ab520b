"""Modules of the losses, declared in one line each."""

from __future__ import annotations

import inspect
import math
import warnings
from dataclasses import dataclass
from typing import Any

from ...errors import ArgumentValueError, TensorError
from ...ops.nn.loss import legacy_reduction
from .. import functional
from .functional_modules import MODULES as MODULES_OF_FUNCTIONS
from .functional_modules import FunctionalModule, functional_module
from .linear import Linear

LEGACY = ("size_average", "reduce")  # arguments which say what `reduction` is


class _Loss(FunctionalModule):
    """The base of losses: `reduction` is "mean", "sum" or "none". Those of one's own begin with
    `super().__init__(size_average, reduce, reduction)` and define `forward`.

    Args:
        size_average, reduce: deprecated; where given, they decide `reduction`.
        reduction: "mean", "sum" or "none".
    """

    reduction: str
    weight: Any  # of those that have one for each class: a buffer, like `pos_weight`
    _fx_names = ()

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean"):
        self._fx_start({"size_average": size_average, "reduce": reduce, "reduction": reduction})

    def _fx_start(self, given: dict[str, Any]) -> None:
        size_average, reduce = (given.pop(name, None) for name in LEGACY)
        given["reduction"] = legacy_reduction(size_average, reduce, given["reduction"])
        tables = {name: given.pop(name) for name in ("weight", "pos_weight") if name in given}
        super()._fx_start(given)
        for name, table in tables.items():
            self.register_buffer(name, table)

    def _fx_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fx_names if name not in LEGACY}


class _WeightedLoss(_Loss):
    """The base of losses with a weight for each class, a buffer.

    Args:
        weight: (classes,), or None.
        size_average, reduce, reduction: see `_Loss`.
    """

    def __init__(self, weight=None, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


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


WEIGHTED = {"NLLLoss", "CrossEntropyLoss", "BCELoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss"}
ROWS = OTHERS + [(name, function, options_of(function)) for name, function in LOSSES.items()]
MODULES = {
    name: functional_module(name, *rest, base=_WeightedLoss if name in WEIGHTED else _Loss, place=__name__)
    for name, *rest in ROWS
}
globals().update(MODULES)


class NLLLoss2d(MODULES["NLLLoss"]):
    """NLLLoss under a former name, which is deprecated.

    Args:
        args: those of `NLLLoss`.
        kwargs: those of `NLLLoss`.

    >>> loss = torch.nn.NLLLoss2d()
    >>> loss(torch.tensor([[-0.5, -1.0]]), torch.tensor([1]))
    tensor(1.)
    """

    def __init__(self, *args, **kwargs):
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class TripletMarginWithDistanceLoss(_Loss):
    """The loss of triplets: max(d(anchor, positive) − d(anchor, negative) + margin, 0) with a distance of one's own.

    Args:
        distance_function: a function of two Tensors; the Euclidean distance where none is given.
        margin: how much farther the negative is to be.
        swap: the negative is as near as it is to the nearer of the other two.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: the margin is not positive.

    >>> loss = torch.nn.TripletMarginWithDistanceLoss()
    >>> loss(torch.tensor([[0.0]]), torch.tensor([[1.0]]), torch.tensor([[1.5]]))
    tensor(0.5000)
    """

    def __init__(
        self, *, distance_function=None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"
    ):
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ArgumentValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead",
                hint="margin=1.0",
            )
        self.distance_function = distance_function or MODULES_OF_FUNCTIONS["PairwiseDistance"]()
        self.margin, self.swap = margin, swap

    def forward(self, anchor, positive, negative) -> Any:
        """The loss.

        Args:
            anchor, positive, negative: Tensors of one shape, a row each.
        """
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How torch computes `linear_cross_entropy` in pieces, to save memory. It is accepted here, and changes nothing.

    Args:
        allow_retain_graph, batch_chunk_size, chunking_method, acc_policy, acc_dtype: see torch's documents.

    >>> options = torch.nn.LinearCrossEntropyOptions()
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of classes whose scores are a linear map of the input.

    Args:
        in_features: the size of an input.
        num_classes: how many classes there are.
        out_features: further dimensions of the scores, each place of which has a class of its own.
        bias: whether the linear map has a bias.
        device, dtype: those of its parameters.
        reduction, weight, ignore_index, label_smoothing: see `nn.functional.linear_cross_entropy`.
        options: accepted; they concern the memory that torch needs.

    Raises:
        RuntimeError: a weight of another shape, or smoothing that is not between 0 and 1.

    >>> loss = torch.nn.LinearCrossEntropyLoss(3, 5)
    >>> round(loss(torch.zeros(2, 3), torch.tensor([1, 4])).item(), 4)
    1.6094
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device=None,
        dtype=None,
        reduction: str = "mean",
        weight=None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options=None,
    ):
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise TensorError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}",
                hint=f"one weight for each class: torch.ones({num_classes})",
            )
        if not 0 <= label_smoothing <= 1:
            raise TensorError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}",
                hint="label_smoothing=0.1",
            )
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        size = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, size, bias=bias, device=device, dtype=dtype)

    def forward(self, input, target) -> Any:
        """The loss.

        Args:
            input: features (N, in_features).
            target: classes (N), int64.
        """
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return functional.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        shown = [
            "num_classes",
            "out_features",
            "bias",
            "reduction",
            "ignore_index",
            "label_smoothing",
            "options",
        ]
        values = {name: getattr(self, name, None) for name in shown} | {"bias": self.linear.bias is not None}
        return f"in_features={self.linear.in_features}, " + ", ".join(f"{n}={values[n]}" for n in shown)
