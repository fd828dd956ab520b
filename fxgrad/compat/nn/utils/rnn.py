"""torch.nn.utils.rnn: batches of sequences of several lengths, packed for recurrent networks or padded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ... import _surface  # noqa: F401  Tensors have all their methods
from ..._core import dtypes
from ..._core.tensor import Tensor
from ..._declare.spaces import SPACES
from ..._make.creation import as_tensor, empty_like
from ..._make.creation import tensor as make_tensor
from ..._make.sequences import arange
from ...errors import ArgumentValueError, RequirementError, TensorError
from ...ops.joining import cat, stack


class PackedSequenceFields(NamedTuple):
    """The fields of a PackedSequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequenceFields):
    """Sequences of several lengths: the entries of all at the first time, then those at the second, …; the longest
    sequence comes first. `pack_sequence` and `pack_padded_sequence` make it.

    Args:
        data: (entries, …), all entries.
        batch_sizes: int64 (time,) on the CPU, how many sequences have an entry at each time.
        sorted_indices: int64 (sequences,), which of the user's sequences stands at each place, or None.
        unsorted_indices: the inverse permutation, made where it is not given.

    Raises:
        ValueError: `batch_sizes` are not on the CPU.
        AssertionError: without `batch_sizes`, `data` is no pair of data and sizes.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 3, 2]), tensor([2, 1]))
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None) -> PackedSequence:
        if batch_sizes is None:
            if not (isinstance(data, list | tuple) and len(data) == 2):
                raise RequirementError(
                    "Expected data to be a list or tuple of length 2",
                    hint="torch.nn.utils.rnn.pack_sequence(sequences)",
                )
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ArgumentValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn.",
                hint="batch_sizes.cpu(), or pack_padded_sequence",
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs) -> PackedSequence:
        """Convert the entries as `Tensor.to` does; return the same object if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if t is None else t.to(data.device) for t in self[2:]]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self, *args, **kwargs) -> PackedSequence:
        """The sequences on the CPU."""
        return self.to("cpu", *args, **kwargs)

    def cuda(self, *args, **kwargs) -> PackedSequence:
        """The sequences on a CUDA device."""
        return self.to(*args, **kwargs) if args or "device" in kwargs else self.to(device="cuda", **kwargs)

    def pin_memory(self) -> PackedSequence:
        """Return the sequences in pinned memory, which exists only with CUDA."""
        return type(self)(*[None if t is None else t.pin_memory() for t in self])

    @property
    def is_cuda(self) -> bool:
        """Whether the entries are on a CUDA device."""
        return self.data.device.type == "cuda"

    def is_pinned(self) -> bool:
        """Whether the entries are in pinned memory."""
        return self.data.is_pinned()

    def double(self) -> PackedSequence:
        """The entries in float64."""
        return self.to(dtype=dtypes.float64)

    def float(self) -> PackedSequence:
        """The entries in float32."""
        return self.to(dtype=dtypes.float32)

    def half(self) -> PackedSequence:
        """The entries in float16."""
        return self.to(dtype=dtypes.float16)

    def long(self) -> PackedSequence:
        """The entries in int64."""
        return self.to(dtype=dtypes.int64)

    def int(self) -> PackedSequence:
        """The entries in int32."""
        return self.to(dtype=dtypes.int32)

    def short(self) -> PackedSequence:
        """The entries in int16."""
        return self.to(dtype=dtypes.int16)

    def char(self) -> PackedSequence:
        """The entries in int8."""
        return self.to(dtype=dtypes.int8)

    def byte(self) -> PackedSequence:
        """The entries in uint8."""
        return self.to(dtype=dtypes.uint8)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation of 0 … n − 1, or None.

    Returns:
        A vector of the same length, or None.

    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = arange(0, permutation.numel(), device=permutation.device)
    return empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(
    input: Tensor, lengths, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences.

    Args:
        input: (time, sequences, …), or (sequences, time, …) where `batch_first`.
        lengths: a list of integers or an int64 Tensor (sequences,): how many entries of each count.
        enforce_sorted: the longest sequence comes first, and so on; otherwise they are sorted here.

    Raises:
        RuntimeError: lengths that are not positive, not as many as there are sequences, or not sorted where they should
            be.

    >>> x = torch.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> packed = torch.nn.utils.rnn.pack_padded_sequence(x, [2, 1, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes
    (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    sizes = as_tensor(lengths).long()
    order = None
    if not enforce_sorted:
        sizes, order = sizes.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = SPACES["function"]["_pack_padded_sequence"](input, sizes, batch_first)
    return PackedSequence(data, batch_sizes, order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Pad packed sequences: the inverse of `pack_padded_sequence`.

    Args:
        sequence: the packed sequences.
        batch_first: the result is (sequences, time, …) and not (time, sequences, …).
        padding_value: what stands behind the end of a sequence.
        total_length: the size of the time axis, where it is not that of the longest sequence.

    Returns:
        (the padded sequences in the user's order, their lengths as an int64 Tensor).

    Raises:
        ValueError: `total_length` is less than the length of the longest sequence.

    >>> from fxgrad.compat.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> packed = pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    (tensor([[ 1,  2],
            [ 3, -1]]), tensor([2, 1]))
    """
    longest = sequence.batch_sizes.shape[0]
    if total_length is not None and total_length < longest:
        raise ArgumentValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}",
            hint=f"total_length={longest}, or more",
        )
    pad = SPACES["function"]["_pad_packed_sequence"]
    padded, lengths = pad(sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length)
    places = sequence.unsorted_indices
    if places is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, places), lengths[places.cpu()]


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences (length, …) padded to the length of the longest one.

    Args:
        sequences: Tensors of one dtype, which differ in their first size only.
        batch_first: the result is (sequences, time, …) and not (time, sequences, …).
        padding_value: what is filled in.
        padding_side: "right", behind the end of a sequence, or "left", before its start.

    Raises:
        RuntimeError: there is nothing to stack, or `padding_side` is another word.

    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise TensorError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}",
            hint="a list of Tensors",
        )
    parts = list(sequences)
    if not parts:
        raise TensorError("received an empty list of sequences", hint="only where there is a sequence")
    if padding_side not in ("left", "right"):
        raise TensorError(
            f"Expected padding_side to be one of left or right, but got {padding_side}.",
            hint='padding_side="right"',
        )
    longest = max(x.shape[0] for x in parts)
    rows = []
    for x in parts:
        if x.shape[0] < longest:
            padding = x.new_full((longest - x.shape[0], *x.shape[1:]), padding_value)
            x = cat([x, padding] if padding_side == "right" else [padding, x])
        rows.append(x)
    return stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences that `pad_sequence` padded at their ends.

    Args:
        padded_sequences: (time, sequences, …), or (sequences, time, …) where `batch_first`.
        lengths: int64 (sequences,).

    Returns:
        A list of Tensors (length, …).

    >>> torch.nn.utils.rnn.unpad_sequence(torch.tensor([[1, 3], [2, 0]]), torch.tensor([2, 1]))
    [tensor([1, 2]), tensor([3])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(rows, lengths, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (length, …); see `pack_padded_sequence`.

    Args:
        enforce_sorted: whether the longest sequence has to come first.

    Returns:
        A PackedSequence.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = make_tensor([x.shape[0] for x in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences (length, …) of packed ones.

    Args:
        packed_sequences: a PackedSequence.

    Returns:
        A list of Tensors.

    >>> from fxgrad.compat.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
