"""Sparse Tensors as text, in torch's format."""

from __future__ import annotations

from .._core.dtypes import get_default_dtype
from .._core.sparse_tensor import SparseTensor
from .._core.tensor import Tensor, refresh
from .._make.devices import device_of
from .._read.printing import history_texts, join_parts, tensor_text
from .construction import make_indices

PREFIX = "tensor("


def part_text(name: str, part: Tensor) -> str:
    """The entries of a part under its name."""
    start = f"{name}=tensor("
    text = tensor_text(part.detach(), start)
    kept = text if part.numel() else join_parts(f"{start}[]", [f"size={tuple(part.shape)}"], len(start))
    if ", dtype=" in kept and part.numel():
        kept = kept[: kept.rindex("dtype=")].rstrip().rstrip(",") + ")"
    return kept.replace("\n", "\n" + " " * len(PREFIX))


def sparse_text(x: SparseTensor) -> str:
    """The text of a sparse Tensor, as `repr` gives it."""
    if x.compressed:
        parts = [
            part_text("crow_indices", x.crow_indices()),
            part_text("col_indices", x.col_indices()),
        ]
    else:
        parts = [part_text("indices", make_indices(x.places))]
    body = PREFIX + ",\n       ".join([*parts, part_text("values", x.entries)])
    remarks = [f"size={tuple(x.shape)}", f"nnz={x.places.shape[1]}"]
    place = device_of(refresh(x.entries)._fx_value)
    if place.type != "cpu":
        remarks.insert(0, f"device='{place}'")
    if x.dtype not in (get_default_dtype(), get_default_dtype().to_complex()) and x.dtype.name not in (
        "int64",
        "bool",
    ):
        remarks.append(f"dtype={x.dtype}")
    remarks += [f"layout={x.layout}", *history_texts(x)]
    if x.compressed:
        return join_parts(body, remarks, len(PREFIX))
    return join_parts(f"{body},\n       {remarks[0]}", remarks[1:], len(PREFIX))
