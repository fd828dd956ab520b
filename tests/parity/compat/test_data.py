"""torch.utils.data: the same batches in the same order, but for what is drawn at random, and the same errors."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in

Pair = collections.namedtuple("Pair", "a b")


def datasets(T):
    """Names for the expressions below."""

    class Stream(T.utils.data.IterableDataset):
        def __init__(self, count):
            self.count = count

        def __iter__(self):
            return iter(range(self.count))

    class Rows(T.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return np.full(2, i, dtype=np.float32), i

    class Several(Rows):
        def __getitems__(self, numbers):
            return [10 * i for i in numbers]

    return {
        "T": T,
        "D": T.utils.data,
        "np": np,
        "Pair": Pair,
        "Stream": Stream,
        "Rows": Rows,
        "Several": Several,
    }


def plain(x):
    """What can be compared, of Tensors in containers."""
    if isinstance(x, torch.Tensor | fxt.Tensor):
        return x.tolist(), str(x.dtype)
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return type(x).__name__, [plain(value) for value in x]
    return x


LOADED = [
    "list(D.DataLoader(Rows(), 2))",
    "list(D.DataLoader(Rows(), batch_size=None))",
    "list(D.DataLoader(Rows(), 2, drop_last=True))",
    "list(D.DataLoader(Rows(), batch_sampler=[[0, 1], [4]]))",
    "list(D.DataLoader(Rows(), 2, sampler=[3, 1, 0]))",
    "list(D.DataLoader(Rows(), 3, collate_fn=len))",
    "list(D.DataLoader(Several(), 2))",
    "list(D.DataLoader(Stream(5), 2))",
    "list(D.DataLoader(Stream(5), 2, drop_last=True))",
    "list(D.DataLoader(Stream(3), batch_size=None))",
    "list(D.DataLoader(np.arange(5), 2))",
    "list(D.DataLoader(np.ones((4, 2)), 3))",
    "[len(D.DataLoader(Rows(), size)) for size in (1, 2, 3, None)]",
    "sorted(i for _, batch in D.DataLoader(Rows(), 2, shuffle=True) for i in batch.tolist())",
    "D.default_collate([Pair(1, 2.0), Pair(3, 4.0)])",
    "D.default_collate([{'a': 1, 'b': 'x', 'c': [1, 2]}, {'a': 2, 'b': 'y', 'c': [3, 4]}])",
    "D.default_collate([True, False])",
    "D.default_collate([np.float32(1), np.float32(2)])",
    "D.default_convert({'a': np.ones(2), 'b': ('x', np.zeros(1)), 'c': Pair(1, 2)})",
    "[(Rows() + Rows())[i][1] for i in (0, 4, 5, 9, -1)]",
    "D.TensorDataset(T.arange(4), T.ones(4))[1:3]",
    "D.Subset(Rows(), [3, 4])[1]",
    "[D.StackDataset([1, 2], [3, 4])[1], D.StackDataset(a=[1, 2], b=[3, 4]).__getitems__([0, 1])]",
    "len(D.StackDataset([1, 2], [3, 4]))",
    "list(D.ChainDataset([Stream(2), Stream(1)])) + list(Stream(1) + Stream(2))",
    "[list(D.DistributedSampler(range(10), 3, i, shuffle=False)) for i in range(3)]",
    "[list(D.DistributedSampler(range(10), 3, i, shuffle=False, drop_last=True)) for i in range(3)]",
    "[list(D.DistributedSampler(range(2), 5, i, shuffle=False)) for i in range(5)]",
    "sorted(i for r in range(2) for i in D.DistributedSampler(range(8), 2, r, seed=3))",
    "D.get_worker_info()",
    "[len(part) for part in D.random_split(range(10), [0.33, 0.33, 0.34])]",
    "sorted(i for part in D.random_split(range(10), [7, 3]) for i in part)",
    "sorted(D.RandomSampler(range(4), num_samples=8))",
    "len(list(D.RandomSampler(range(4), replacement=True, num_samples=9)))",
    "list(D.WeightedRandomSampler([0.0, 0.0, 1.0], 4))",
    "sorted(D.SubsetRandomSampler([4, 2]))",
    "list(D.BatchSampler(D.SequentialSampler(range(5)), 2, True))",
]
MISUSE = [
    "D.default_collate([object()])",
    "D.default_collate([[1], [1, 2]])",
    "D.DataLoader(Rows(), sampler=D.SequentialSampler(Rows()), shuffle=True)",
    "D.DataLoader(Rows(), 2, batch_sampler=[[0]])",
    "D.DataLoader(Rows(), 0)",
    "D.DataLoader(Rows(), None, drop_last=True)",
    "D.DataLoader(Rows(), num_workers=-1)",
    "D.DataLoader(Stream(3), shuffle=True)",
    "D.DataLoader(Stream(3), sampler=[1])",
    "len(D.DataLoader(Stream(3), 2))",
    "(Rows() + Rows())[-11]",
    "D.TensorDataset(T.ones(2), T.ones(3))",
    "D.random_split(range(10), [3, 3])",
    "D.random_split(range(10), [-0.5, 1.5])",
    "D.RandomSampler([])",
    "D.Dataset()[0]",
    "D.StackDataset()",
    "D.StackDataset([1], [1, 2])",
    "D.StackDataset([1], a=[1])",
    "D.DistributedSampler(range(3), 2, 2)",
    "list(D.ChainDataset([[1]]))",
]


@pytest.mark.parametrize("code", LOADED)
def test_batches(code):
    ours, theirs = (plain(eval(code, datasets(T))) for T in (fxt, torch))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    failures = []
    for T in (fxt, torch):
        with pytest.raises((RuntimeError, TypeError, ValueError, AssertionError)) as info:
            eval(code, datasets(T))
        message = str(info.value).split("\n")[0].replace(".<locals>", "")
        failures.append((built_in(info.value), message))
    assert failures[0] == failures[1]


def test_the_generator_fixes_the_order():
    def orders(seed):
        generator = fxt.Generator().manual_seed(seed)
        loader = fxt.utils.data.DataLoader(range(20), 20, shuffle=True, generator=generator)
        return [batch.tolist() for _ in range(2) for batch in loader]

    first, second = orders(1)
    assert first != second and [first, second] == orders(1) and orders(2) != orders(1)
