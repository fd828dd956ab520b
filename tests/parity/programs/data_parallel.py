"""A program of torch.distributed, which runs on two processes under torch itself (gloo) and under fxgrad.compat (MPI).

Each process writes what it has got as JSON into the folder that is its argument.
"""

import json
import os
import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as linked
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

warnings.simplefilter("ignore")
FOUND = {}


def note(name, *values):
    FOUND[name] = [v.detach().tolist() if isinstance(v, torch.Tensor) else v for v in values]


def caught(name, function, *args, **options):
    """Note the built-in class of what a call raises."""
    try:
        function(*args, **options)
        note(name, "nothing")
    except Exception as error:
        note(name, next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"))


def make_model():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3)
    )


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def run_collectives(rank, size):
    for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
        x = torch.tensor([rank + 1.5, 2.0, float("nan") if op == "SUM" and rank else 1.0])
        note(f"all_reduce {op}", dist.all_reduce(x, getattr(dist.ReduceOp, op)), x.nan_to_num(7.0))
    x = torch.arange(6.0).reshape(2, 3).T + rank
    work = dist.all_reduce(x, async_op=True)
    note("asynchronous", work.wait(), work.is_completed(), x, work.get_future().wait()[0])
    x = torch.tensor([rank + 1.0])
    note("broadcast", dist.broadcast(x, src=1), x)
    note("reduce", dist.reduce(x, dst=0), x if rank == 0 else None)
    parts = [torch.zeros(2) for _ in range(size)]
    note("all_gather", dist.all_gather(parts, torch.ones(2) * rank), *parts, parts[0]._version > 0)
    note("gather", dist.gather(torch.ones(2) * rank, parts if rank == 0 else None, dst=0), *parts)
    note("scatter", dist.scatter(x, [torch.ones(1) * 5, torch.ones(1) * 6] if rank == 1 else None, src=1), x)
    whole = torch.zeros(4)
    note("all_gather_into_tensor", dist.all_gather_into_tensor(whole, torch.ones(2) * rank), whole)
    note("reduce_scatter", dist.reduce_scatter(x, [torch.ones(1), torch.ones(1) * rank]), x)
    note("reduce_scatter_tensor", dist.reduce_scatter_tensor(x, torch.arange(2.0)), x)
    y = torch.zeros(2 + rank)
    sizes = [1, 1] if rank == 0 else [1, 2]
    sent = [1, 1] if rank == 0 else [1, 2]
    note("all_to_all_single", dist.all_to_all_single(y, torch.arange(2.0 + rank), sizes, sent), y)
    if rank == 0:
        note("send", dist.send(torch.ones(2) * 3, 1))
    else:
        z = torch.zeros(2)
        note("send", dist.recv(z), z)
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    note("objects", objects)
    pair = dist.new_group([1])
    note("group", dist.get_rank(pair), dist.get_world_size(pair), dist.GroupMember.NON_GROUP_MEMBER)
    caught("group of twice", dist.new_group, [0, 0])
    caught("group of strangers", dist.new_group, [7])
    caught("twice", dist.init_process_group, "gloo")
    caught("no Tensor", dist.all_reduce, [1.0])
    caught("complex maximum", dist.all_reduce, torch.ones(1, dtype=torch.complex64), dist.ReduceOp.MAX)
    caught("bits of floats", dist.all_reduce, torch.ones(1), dist.ReduceOp.BAND)
    caught("mean of integers", dist.all_reduce, torch.ones(1, dtype=torch.int64), dist.ReduceOp.AVG)
    caught("other lengths", dist.all_gather, [torch.zeros(1)], torch.ones(1))
    caught("other shapes", dist.all_gather, [torch.zeros(3)] * 2, torch.ones(1))
    caught("other dtypes", dist.all_gather, [torch.zeros(1).double()] * 2, torch.ones(1))
    caught("no root", dist.broadcast, torch.ones(1))
    caught("to itself", dist.send, torch.ones(1), rank)
    caught("no list", dist.gather, torch.ones(1), None if rank == 0 else [torch.ones(1)] * 2, 0)


def run_linked(rank, size):
    def gradient(name, function):
        x = torch.tensor([1.0 + rank, 2.0], requires_grad=True)
        function(x * x).backward()
        note(f"gradient of {name}", x.grad)

    gradient("all_reduce", lambda x: (rank + 1) * linked.all_reduce(x).sum())
    gradient("all_gather", lambda x: (rank + 1) * linked.all_gather(x)[1].sum())
    gradient("broadcast", lambda x: (rank + 1) * linked.broadcast(x, 1).sum())
    gradient("reduce", lambda x: (rank + 1) * linked.reduce(x, 1).sum())
    scale = torch.arange(1.0, 5.0).reshape(
        2, 2
    )  # so that the gradients of the parts have memory of their own
    gradient("gather", lambda x: (scale * torch.stack(linked.gather(x, 1))).sum())
    gradient("scatter", lambda x: (rank + 1) * linked.scatter([x, 3 * x], 1).sum())
    gradient(
        "reduce_scatter", lambda x: (rank + 1) * linked.reduce_scatter(x.detach().clone(), [x, 3 * x]).sum()
    )


def run_training(rank, size):
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(22, 4), torch.randint(3, (22,)))
    for name, options in {
        "default": {},
        "small buckets": {"bucket_cap_mb": 0.0001},
        "views": {"gradient_as_bucket_view": True},
        "unused": {"find_unused_parameters": True},
        "static": {"static_graph": True},
        "own buffers": {"broadcast_buffers": False},
        "hook": {},
    }.items():
        sampler = DistributedSampler(data, seed=5)
        loader = DataLoader(data, batch_size=3, sampler=sampler)
        model = DistributedDataParallel(make_model(), **options)
        if name == "hook":
            model.register_comm_hook(None, default_hooks.allreduce_hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        losses = []
        for epoch in range(2):
            sampler.set_epoch(epoch)
            note(f"order {epoch}", list(sampler))
            for step, (x, y) in enumerate(loader):
                if step % 3 == 1:
                    with model.no_sync():
                        nn.functional.cross_entropy(model(x), y).backward()
                    continue
                loss = nn.functional.cross_entropy(model(x), y)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
        note(f"training, {name}", losses, weights(model), *model.module[1].buffers())
        note(f"state, {name}", list(model.state_dict()))


def run_uneven(rank, size):
    torch.manual_seed(1)
    for divides in (True, False):
        model = DistributedDataParallel(make_model(), broadcast_buffers=divides)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with Join([model], divide_by_initial_world_size=divides):
            for x in torch.arange(24.0).sin().reshape(6, 4).split(2)[: 2 + rank]:
                optimizer.zero_grad()
                model(x).square().sum().backward()
                optimizer.step()
        note(f"uneven {divides}", weights(model))


def run_sparse(rank, size):
    torch.manual_seed(4)
    model = DistributedDataParallel(
        nn.Sequential(nn.Embedding(10, 3, sparse=True), nn.Flatten(), nn.Linear(6, 2))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for words in ([[1, 2], [3, 3 + rank]], [[rank, 5], [7, 8]]):
        optimizer.zero_grad()
        model(torch.tensor(words)).square().sum().backward()
        gradient = model.module[0].weight.grad
        note(f"sparse {words[0][1]}", gradient.is_sparse, gradient.to_dense())
        optimizer.step()
    note("table", weights(model))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))

    def forward(self, x, which):
        return sum(self.layers[i](x) for i in which)


def run_unused(rank, size):
    torch.manual_seed(2)
    model = DistributedDataParallel(Branches(), find_unused_parameters=True)
    for _ in range(2):
        model(torch.ones(1, 2), [0, 1] if rank == 0 else [0]).sum().backward()
    note("unused", *[layer.weight.grad for layer in model.module.layers])
    model = DistributedDataParallel(Branches())
    model(torch.ones(1, 2), [0, 1]).sum().backward()
    caught("unused and not allowed", model, torch.ones(1, 2), [0])
    caught("nothing to train", DistributedDataParallel, nn.Tanh())
    caught("devices of the CPU", DistributedDataParallel, nn.Linear(1, 1), device_ids=[0])


def main(folder):
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    for part in (run_collectives, run_linked, run_training, run_uneven, run_unused, run_sparse):
        part(rank, size)
    with open(os.path.join(folder, f"{rank}.json"), "w", encoding="utf-8") as file:
        json.dump(FOUND, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
