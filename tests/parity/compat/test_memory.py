"""Strides, memory formats and storage under torch and fxgrad.compat."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# Of a contiguous Tensor of shape (2, 3, 4, 5).
VIEWS = {
    "itself": lambda t, x: x,
    "transposed": lambda t, x: x.transpose(1, 2),
    "permuted": lambda t, x: x.permute(0, 2, 3, 1),
    "selected": lambda t, x: x[:, 1],
    "sliced": lambda t, x: x[:, 1:, ::2],
    "expanded": lambda t, x: x[:, :1].expand(2, 3, 4, 5),
    "none": lambda t, x: x[:, 0, None],
    "unsqueezed": lambda t, x: x[0].transpose(0, 2).unsqueeze(-1),
    "diagonal": lambda t, x: x.diagonal(1, 1, 2),
    "unfolded": lambda t, x: x.unfold(2, 3, 1),
    "strided": lambda t, x: x.as_strided((3, 2), (7, 3), 5),
    "flat": lambda t, x: x.view(6, 20),
    "number": lambda t, x: x[0, 0, 0, 1],
    "channels_last": lambda t, x: x.contiguous(memory_format=t.channels_last),
    "clone of channels_last": lambda t, x: x.contiguous(memory_format=t.channels_last).clone(),
    "contiguous clone": lambda t, x: x.transpose(0, 1).clone(memory_format=t.contiguous_format),
    "preserved clone": lambda t, x: x.transpose(0, 1).clone(),
    "channels_last_3d": lambda t, x: x[None].clone(memory_format=t.channels_last_3d),
    "resized": lambda t, x: x.clone().resize_(3, 7),
    "resized in channels_last": lambda t, x: x.clone().resize_(1, 2, 3, 4, memory_format=t.channels_last),
    "resized as": lambda t, x: x.clone().resize_as_(t.zeros(5, 2)),
    "grown": lambda t, x: x[:1, :1, :1, :3].clone().resize_(1, 3),
    "set": lambda t, x: t.zeros(2, dtype=t.float64).set_(x[1]),
    "set by storage": lambda t, x: t.zeros(2, dtype=t.float64).set_(x.untyped_storage(), 3, (2, 2), (4, 1)),
    "set to nothing": lambda t, x: x.clone().set_(),
}


def described(library, view):
    x = library.from_numpy(np.arange(120.0).reshape(2, 3, 4, 5))
    y = VIEWS[view](library, x)
    formats = [library.contiguous_format] + [library.channels_last] * (y.dim() == 4)
    return (
        tuple(y.shape),
        y.stride(),
        y.storage_offset(),
        [y.is_contiguous(memory_format=f) for f in formats],
        y.element_size(),
        y.nbytes,
        y.data_ptr() - x.data_ptr()
        if y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        else None,
        y.is_set_to(x),
        y.tolist(),
    )


@pytest.mark.parametrize("view", VIEWS)
def test_layout(view):
    assert described(fxt, view) == described(torch, view)


def test_storage():
    def program(library):
        x = library.arange(6, dtype=library.int32).view(2, 3)
        storage = x[1].storage()
        bytes_of = x.untyped_storage()
        return (
            [
                storage.size(),
                len(storage),
                storage.nbytes(),
                storage.element_size(),
                storage.tolist(),
                storage[4],
            ],
            [bytes_of.size(), len(bytes_of), bytes_of.nbytes(), bytes_of.tolist()],
            x.share_memory_() is x,
            repr(bytes_of),
            repr(library.channels_last),
        )

    assert program(fxt) == program(torch)


def test_dense_memory_is_kept_by_elementwise_operations():
    def program(library):
        x = library.from_numpy(np.arange(6.0).reshape(2, 3)).t()
        return [y.stride() for y in (x * 2, x.sin(), x + x, x.clone(), x.contiguous())]

    assert program(fxt) == program(torch)
