"""Modules that look up vectors in a table."""

from __future__ import annotations

from typing import Any

from ..._declare.constructors import make_constructor, parameters_of
from ..._declare.packages import complete_module
from ..._make.creation import empty
from ...errors import RequirementError
from ...ops.nn.embedding import padding_row
from .. import functional, init
from ..parameter import Parameter
from .module import Module

# The options that `repr` shows, where they are not these.
REPR_DEFAULTS = {
    "padding_idx": None,
    "max_norm": None,
    "norm_type": 2,
    "scale_grad_by_freq": False,
    "mode": ...,
    "sparse": False,
}


class TableModule(Module):
    """The base of tables of vectors, the rows of `weight`. A subclass is declared with its options, which are those of
    the function of nn.functional that looks vectors up."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    _fx_names: list[str]  # of the options

    def __init_subclass__(cls, options: str = "", **rest):
        """`options`: the parameters after the size of the table."""
        super().__init_subclass__(**rest)
        if options:
            parameters = f"num_embeddings, embedding_dim, {options}, device=None, dtype=None"
            cls.__init__ = make_constructor(parameters, TableModule._fx_start)  # type: ignore[assignment]
            cls._fx_names = [n for n in parameters_of(cls.__init__)[2:-2] if not n.startswith("_")]

    def _fx_start(self, given: dict[str, Any]) -> None:
        super().__init__()
        place = {name: given.pop(name) for name in ("device", "dtype")}
        weight, frozen = given.pop("_weight"), given.pop("_freeze", False)
        for name, value in given.items():
            setattr(self, name, value)
        count = self.num_embeddings
        self.padding_idx = padding_row(self.padding_idx, count)
        entries = empty(count, self.embedding_dim, **place) if weight is None else weight
        self.weight = Parameter(entries, requires_grad=not frozen)
        if weight is None:
            self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings, freeze: bool = True, **options) -> Any:
        """A table of the rows of a matrix.

        Args:
            embeddings: the matrix.
            freeze: whether it requires no gradient.

        Raises:
            AssertionError: `embeddings` is no matrix.
        """
        if embeddings.dim() != 2:
            raise RequirementError(
                "Embeddings parameter is expected to be 2-dimensional",
                hint="a row for each entry: x.flatten(1), or x.unsqueeze(-1)",
            )
        made = cls(*embeddings.shape, _weight=embeddings, **options)
        made.weight.requires_grad_(not freeze)
        return made

    def reset_parameters(self) -> None:
        """Draw the vectors anew from the normal distribution, and set the vector of the padding to zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.detach()[self.padding_idx])

    def _fx_options(self) -> dict[str, Any]:
        """The options, by name."""
        return {name: getattr(self, name) for name in self._fx_names}

    def extra_repr(self) -> str:
        given = self._fx_options().items()
        shown = [
            f"{name}={value!r}"
            for name, value in given
            if name in REPR_DEFAULTS and value != REPR_DEFAULTS[name]
        ]
        return ", ".join([str(self.num_embeddings), str(self.embedding_dim), *shown])


class Embedding(
    TableModule,
    options="padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False, _weight=None, "
    "_freeze=False",
):
    """A table of vectors, looked up by their numbers.

    It maps integers (…) to (…, embedding_dim). The table starts with normal numbers of mean 0 and variance 1.

    Args:
        padding_idx: the vector that stays as it is, at first zero; or None.

    >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2], [4, 5]])).shape
    torch.Size([2, 2, 3])
    """

    def forward(self, input) -> Any:
        return functional.embedding(input, self.weight, **self._fx_options())


class EmbeddingBag(
    TableModule,
    options="max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', sparse=False, _weight=None, "
    "include_last_offset=False, padding_idx=None",
):
    """Sums, means or maxima (`mode`) of bags of vectors of a table.

    Args:
        mode: "mean", "sum" or "max".
        include_last_offset: whether the offsets end with the length of the input.
        padding_idx: the number that is passed over; or None.

    >>> bag = torch.nn.EmbeddingBag.from_pretrained(torch.eye(3), mode="sum")
    >>> bag(torch.tensor([0, 2, 1]), torch.tensor([0, 2]))
    tensor([[1., 0., 1.],
            [0., 1., 0.]])
    """

    def forward(self, input, offsets=None, per_sample_weights=None) -> Any:
        """The sum, mean or greatest of the rows of each bag.

        Args:
            input: numbers of rows: a matrix of bags, or a vector with `offsets`.
            offsets: where each bag begins in the vector.
            per_sample_weights: a factor for each row of a sum.
        """
        return functional.embedding_bag(
            input, self.weight, offsets, per_sample_weights=per_sample_weights, **self._fx_options()
        )


complete_module(globals(), "nn.modules")
