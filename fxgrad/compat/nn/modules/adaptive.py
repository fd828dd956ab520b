"""Adaptive softmax over many classes, in which rare classes cost less."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..._core.tensor import Tensor
from ...errors import ArgumentValueError, TensorError
from ...ops.joining import cat
from .. import functional
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _ASMoutput(NamedTuple):
    """The log-probabilities of the targets, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes in clusters, the frequent classes first. Source: Grave et al., 2016,
    arXiv:1609.04309.

    The head decides between the classes of the first cluster and the other clusters, each of which has a linear map of
    its own through fewer dimensions.

    Args:
        in_features: the size of an input.
        n_classes: how many classes there are.
        cutoffs: the first class of every cluster but the first, in order.
        div_value: cluster i goes through in_features / div_valueⁱ dimensions.
        head_bias: whether the head has a bias.
        device, dtype: those of the parameters.

    Raises:
        ValueError: cutoffs that are no increasing integers between 1 and n_classes − 1.

    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, [2, 5])
    >>> layer.log_prob(torch.zeros(3, 16)).shape
    torch.Size([3, 10])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ArgumentValueError(
                "cutoffs should be a sequence of length larger than 0",
                hint=f"cutoffs=[{max(n_classes // 10, 1)}]",
            )
        increasing = all(a < b for a, b in pairwise([0, *cutoffs, n_classes]))
        if not increasing or any(int(c) != c for c in cutoffs):
            raise ArgumentValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1",
                hint=f"cutoffs={sorted({int(c) for c in cutoffs if 0 < c < n_classes})}",
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs), 1):
            width = int(in_features // div_value**i)
            first = Linear(in_features, width, bias=False, **place)
            self.tail.append(Sequential(first, Linear(width, high - low, bias=False, **place)))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in (self.head, *[linear for maps in self.tail for linear in maps]):
            module.reset_parameters()

    def forward(self, input_, target_) -> _ASMoutput:
        """The log-probabilities of targets.

        Args:
            input_: (batch, in_features), or (in_features,).
            target_: int64 (batch,), or ().

        Returns:
            (output: the log-probability of each target; loss: minus their mean).

        Raises:
            RuntimeError: shapes that do not fit, or a target that is no class.
        """
        rank = target_.dim()
        if rank > 1:
            raise TensorError(
                "0D or 1D target tensor expected, multi-target not supported",
                hint="target.flatten(), with input.flatten(0, -2)",
            )
        if rank == 1 and input_.shape[0] != target_.shape[0]:
            raise TensorError(
                "Input and target should have the same size in the batch dimension.",
                hint=f"a target of shape ({input_.shape[0]},)",
            )
        if input_.dim() != rank + 1:
            raise TensorError(
                f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with size "
                f"{input_.shape}",
                hint=f"input.reshape({[-1] * rank + [input_.shape[-1]] if input_.dim() else [1] * (rank + 1)})",
            )
        single = rank == 0
        input, target = (x.unsqueeze(0) if single else x for x in (input_, target_))
        outside = (target < 0) | (target >= self.n_classes)
        if bool(outside.any()):
            raise TensorError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. ",
                hint=f"n_classes={int(target.max()) + 1}, or target.clamp(0, {self.n_classes - 1})",
            )
        head = functional.log_softmax(self.head(input), 1)
        place, output = target.clone(), head.new_zeros(target.shape[0])
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if not rows.numel():
                continue
            place[rows] = self.shortlist_size + i
            own = functional.log_softmax(self.tail[i](input[rows]), 1)
            chosen = own.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            output = output.index_add(0, rows, chosen)
        output = output + head.gather(1, place.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output.squeeze(0) if single else output, -output.mean())

    def _get_full_log_prob(self, input, head_output) -> Any:
        """The log-probabilities of all classes, computed from the input and the output of the head."""
        head = functional.log_softmax(head_output, 1)
        parts = [head[:, : self.shortlist_size]]
        for i, maps in enumerate(self.tail):
            own = functional.log_softmax(maps(input), 1)
            parts.append(own + head[:, self.shortlist_size + i].unsqueeze(1))
        return cat(parts, 1)

    def log_prob(self, input) -> Any:
        """The log-probabilities (batch, n_classes) of all classes, for an input (batch, in_features)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input) -> Any:
        """The likeliest class of each input, int64 (batch,): of the first cluster where the head finds one of these
        likeliest, of all otherwise."""
        head = self.head(input)
        found = head.argmax(1)
        rest = (found >= self.shortlist_size).nonzero().squeeze(1)
        if rest.numel():
            found[rest] = self._get_full_log_prob(input[rest], head[rest]).argmax(1)
        return found
