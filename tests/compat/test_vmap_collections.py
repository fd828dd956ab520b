"""Collections of Tensors that add and remove mapped dimensions themselves, as TensorDicts do, in `vmap`."""

from __future__ import annotations

import pytest

import fxgrad.compat as torch
from fxgrad.compat.func.collections import add_batch_dim, is_batched, maybe_remove_batch_dim
from fxgrad.compat.utils import _pytree


class Batch:
    """Tensors by name, of which the first dimensions are those of `shape`."""

    def __init__(self, shape, **parts):
        self.shape, self.parts = torch.Size(shape), parts

    def copy(self):
        return Batch(self.shape, **self.parts)

    def __getitem__(self, index):
        return Batch(torch.empty(self.shape)[index].shape, **{n: x[index] for n, x in self.parts.items()})

    def _add_batch_dim(self, *, in_dim, vmap_level):
        parts = {name: add_batch_dim(x, in_dim, vmap_level) for name, x in self.parts.items()}
        return Batch([*self.shape[:in_dim], *self.shape[in_dim + 1 :]], **parts)

    def _maybe_remove_batch_dim(self, funcname, vmap_level, batch_size, out_dim):
        parts = {
            name: maybe_remove_batch_dim(funcname, x, vmap_level, batch_size, out_dim)
            for name, x in self.parts.items()
        }
        return Batch([*self.shape[:out_dim], batch_size, *self.shape[out_dim:]], **parts)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        parts, dim = [*args, *(kwargs or {}).values(), 0][:2]
        shape = function([torch.empty(part.shape) for part in parts], dim).shape
        return Batch(shape, **{n: function([p.parts[n] for p in parts], dim) for n in parts[0].parts})


_pytree.register_pytree_node(
    Batch,
    lambda batch: (list(batch.parts.values()), (batch.shape, tuple(batch.parts))),
    lambda parts, rest: Batch(rest[0], **dict(zip(rest[1], parts))),
)


def make():
    return Batch([2, 3], a=torch.arange(24.0).view(2, 3, 4), b=torch.ones(2, 3))


def double(batch):
    assert all(map(is_batched, batch.parts.values()))
    return Batch(batch.shape, **{name: x * 2 for name, x in batch.parts.items()})


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("in_dim", [0, 1, -1])
@pytest.mark.parametrize("out_dim", [0, 1, -1])
def test_the_mapped_dimension_is_among_those_of_the_batch(in_dim, out_dim, chunk_size):
    def map_shape(batch):
        assert batch.shape == make().shape[: in_dim % 2] + make().shape[in_dim % 2 + 1 :]
        return double(batch)

    found = torch.vmap(map_shape, in_dim, out_dim, chunk_size=chunk_size)(make())
    expected = {name: (2 * x).movedim(in_dim % 2, out_dim % 2) for name, x in make().parts.items()}
    assert found.shape == expected["b"].shape
    assert all(torch.equal(found.parts[name], expected[name]) for name in expected)


def test_collections_beside_tensors_and_in_nested_maps():
    def scale(batch, factor):
        return batch.parts["a"].sum() * factor, Batch([], c=batch.parts["b"] * factor)

    total, batch = torch.vmap(torch.vmap(scale, (0, None)), (0, 0))(make(), torch.tensor([1.0, 2.0]))
    assert total.shape == (2, 3) and batch.shape == (2, 3)
    assert batch.parts["c"].tolist() == [[1.0] * 3, [2.0] * 3]


def test_collections_that_are_made_inside_or_not_mapped():
    made = torch.vmap(lambda x: Batch([], a=x))(torch.ones(3, 2))
    assert made.shape == (3,) and made.parts["a"].shape == (3, 2)
    whole = make()
    found = torch.vmap(lambda batch, x: batch.parts["a"] * x, (None, 0))(whole, torch.ones(5))
    assert found.shape == (5, 2, 3, 4)


def test_gradients_and_writes_reach_the_tensors_of_a_collection():
    given = make()
    given.parts["a"].requires_grad_()
    torch.vmap(double)(given).parts["a"].sum().backward()
    assert given.parts["a"].grad.unique().tolist() == [2.0]
    torch.vmap(lambda batch: batch.parts["b"].mul_(3))(given)
    assert given.parts["b"].unique().tolist() == [3.0]


def test_dimensions_that_are_none_of_the_batch_raise():
    with pytest.raises(ValueError, match=r"dimensionality 2"):
        torch.vmap(double, 2)(make())
