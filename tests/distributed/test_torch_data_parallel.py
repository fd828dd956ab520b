"""DistributedDataParallel: processes train one model, and it is that of a single process on all data."""

import copy

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.compat import distributed as dist
from fxgrad.compat.distributed.algorithms.ddp_comm_hooks import default_hooks
from fxgrad.compat.distributed.algorithms.join import Join, Joinable, JoinHook
from fxgrad.compat.nn.parallel import DistributedDataParallel
from fxgrad.compat.optim.zero_redundancy import ZeroRedundancyOptimizer
from fxgrad.compat.utils.checkpoint import checkpoint
from fxgrad.compat.utils.data import DataLoader, TensorDataset
from fxgrad.compat.utils.data.distributed import DistributedSampler

from .ranks import run_on_ranks

nn = torch.nn


def begin(world):
    """Make the group of all where there is none, and return this process's number and how many there are."""
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    return world.rank, world.size


def make_model(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2))


def make_batch(size, seed=1):
    torch.manual_seed(seed)
    return torch.randn(4 * size, 3), torch.randn(4 * size, 2)


def loss_of(model, x, y):
    return ((model(x) - y) ** 2).mean()


def gradients(model):
    return [p.grad.numpy().copy() for p in model.parameters()]


def reference(size, passes=1):
    """The gradients of one process on all data."""
    model = make_model()
    for seed in range(1, passes + 1):
        loss_of(model, *make_batch(size, seed)).backward()
    return gradients(model)


def close(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def same_everywhere(world, arrays):
    flat = np.concatenate([np.asarray(a).ravel() for a in arrays])
    assert np.ptp(world.all_gather(flat), axis=0).max() == 0


def part(rank, size, seed=1):
    x, y = make_batch(size, seed)
    return x[rank::size], y[rank::size]


def on_ranks_gradients_are_those_of_one_process(world):
    rank, size = begin(world)
    for options in (
        {},
        {"bucket_cap_mb": 1e-5},
        {"gradient_as_bucket_view": True, "bucket_cap_mb": 1e-4},
        {"find_unused_parameters": True},
        {"static_graph": True},
    ):
        model = DistributedDataParallel(make_model(seed=rank), **options)  # that of the first process
        assert {name.split(".")[0] for name in model.state_dict()} == {"module"}
        for _ in range(3):
            model.zero_grad()
            loss_of(model, *part(rank, size)).backward()
            close(gradients(model), reference(size))
            same_everywhere(world, gradients(model))


def on_ranks_gradients_add_up_without_synchronization(world):
    rank, size = begin(world)
    model = DistributedDataParallel(make_model())
    with model.no_sync():
        loss_of(model, *part(rank, size, 1)).backward()
    own = make_model()
    loss_of(own, *part(rank, size, 1)).backward()
    close(gradients(model), gradients(own))
    loss_of(model, *part(rank, size, 2)).backward()
    close(gradients(model), reference(size, 2))


def on_ranks_several_passes_of_one_iteration_are_averaged(world):
    rank, size = begin(world)
    model = DistributedDataParallel(make_model())
    losses = [loss_of(model, *part(rank, size, seed)) for seed in (1, 2)]
    for loss in losses:
        loss.backward()
    close(gradients(model), reference(size, 2))
    model.zero_grad()
    sum(loss_of(model, *part(rank, size, seed)) for seed in (1, 2)).backward()
    close(gradients(model), reference(size, 2))


class Branches(nn.Module):
    """Two layers, of which a pass uses those that it is told, and one that none uses."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))

    def forward(self, x, which):
        return sum(self.layers[i](x) for i in which)


def on_ranks_parameters_may_be_unused(world):
    rank, size = begin(world)
    x = torch.ones(1, 2)
    for megabytes in (25, 1e-5):
        model = DistributedDataParallel(Branches(), find_unused_parameters=True, bucket_cap_mb=megabytes)
        for _ in range(2):
            model.zero_grad()
            model(x, [0, 1] if rank == 0 else [0]).sum().backward()
            first, second, third = (layer.weight.grad for layer in model.module.layers)
            assert first.tolist() == [[1, 1], [1, 1]] and third is None
            np.testing.assert_allclose(second.numpy(), np.full((2, 2), 1 / size), rtol=1e-6)


def on_ranks_tables_have_sparse_gradients(world):
    rank, size = begin(world)
    alone, table = nn.Embedding(9, 2), nn.Embedding(9, 2, sparse=True)
    table.load_state_dict(alone.state_dict())
    words = torch.arange(4 * size).reshape(size, 4) % 9
    model = DistributedDataParallel(table)
    for _ in range(2):
        alone.zero_grad()
        model.zero_grad()
        (alone(words) ** 2).mean().backward()
        (model(words[rank]) ** 2).mean().backward()
        assert table.weight.grad.is_sparse
        close([table.weight.grad.to_dense().numpy()], [alone.weight.grad.numpy()])
    with model.join():
        for _ in range(rank + 1):
            model.zero_grad()
            model(words[rank]).sum().backward()


def on_ranks_an_unused_parameter_is_an_error_unless_it_was_allowed(world):
    begin(world)
    model = DistributedDataParallel(Branches(), bucket_cap_mb=1e-5)
    x = torch.ones(1, 2)
    model(x, [0]).sum().backward()
    with pytest.raises(RuntimeError, match="Expected to have finished reduction in the prior iteration"):
        model(x, [0])
    with pytest.raises(RuntimeError, match="doesn't have any parameter that requires a gradient"):
        DistributedDataParallel(nn.Tanh())
    with pytest.raises(ValueError, match="device_ids"):
        DistributedDataParallel(make_model(), device_ids=[0])
    with pytest.raises(RuntimeError, match="not to match those in process 0"):
        DistributedDataParallel(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2 + world.rank, affine=False)))
    with pytest.raises(RuntimeError, match=r"inconsistent|not to match sizes"):
        DistributedDataParallel(nn.Linear(2 + world.rank, 1))


def on_ranks_checkpoints_are_trained_through(world):
    rank, size = begin(world)

    class Checkpointed(nn.Module):
        def __init__(self, reentrant):
            super().__init__()
            self.inner, self.reentrant = make_model(), reentrant

        def forward(self, x):
            return checkpoint(self.inner, x, use_reentrant=self.reentrant)

    for reentrant in (False, True):
        model = DistributedDataParallel(Checkpointed(reentrant))
        x, y = part(rank, size)
        loss_of(model, x.requires_grad_(), y).backward()
        close(gradients(model), reference(size))

    class Twice(Checkpointed):
        def __init__(self, *layers):
            super().__init__(True)
            self.outer = nn.Sequential(*layers)

        def forward(self, x):
            once = checkpoint(self.inner, x, use_reentrant=True)
            return self.outer(once + checkpoint(self.inner, x, use_reentrant=True))

    def make_twice(*layers):
        torch.manual_seed(4)
        return Twice(*layers, nn.Linear(2, 2))

    x, y = part(rank, size)
    x.requires_grad_()
    with pytest.raises(RuntimeError, match="ready only once"):
        loss_of(DistributedDataParallel(make_twice()), x, y).backward()
    model, alone = DistributedDataParallel(make_twice(), static_graph=True), make_twice()
    whole, wanted = make_batch(size)
    loss_of(alone, whole.requires_grad_(), wanted).backward()
    for _ in range(3):
        model.zero_grad()
        loss_of(model, x, y).backward()
        close(gradients(model), gradients(alone))

    for reentrant in (False, True):
        model = DistributedDataParallel(make_model())
        x, y = part(rank, size)
        result = checkpoint(model, x.requires_grad_(), use_reentrant=reentrant)
        ((result - y) ** 2).mean().backward()
        close(gradients(model), reference(size))


def on_ranks_the_module_inside_is_for_one_process_alone(world):
    rank, size = begin(world)
    model = DistributedDataParallel(make_model())
    loss_of(model, *part(rank, size)).backward()
    if rank == 0:
        before = gradients(model)
        loss_of(model.module, *make_batch(size)).backward()
        close(gradients(model), [2 * g for g in before])
    world.barrier()


class Result:
    """What a module may return: an object of a class of its own."""

    def __init__(self, prediction):
        self.prediction, self.other = [prediction], {"name": "result"}


def on_ranks_modules_may_return_objects(world):
    rank, size = begin(world)

    class Returning(nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.inner, self.kind = make_model(), kind

        def forward(self, x):
            return self.kind(self.inner(x))

    for kind, unpack in (
        (Result, lambda r: r.prediction[0]),
        (lambda y: {"y": (y,)}, lambda r: r["y"][0]),
        (lambda y: lambda: y, lambda r: r()),
    ):
        model = DistributedDataParallel(Returning(kind))
        for _ in range(2):
            model.zero_grad()
            loss_of(lambda x, model=model, unpack=unpack: unpack(model(x)), *part(rank, size)).backward()
            close(gradients(model), reference(size))


def on_ranks_optimizers_make_the_same_steps(world):
    rank, size = begin(world)
    model, alone = DistributedDataParallel(make_model()), make_model()
    for trained, data in ((model, part(rank, size)), (alone, make_batch(size))):
        optimizer = torch.optim.AdamW(trained.parameters(), lr=0.01)
        for _ in range(5):
            optimizer.zero_grad()
            loss_of(trained, *data).backward()
            nn.utils.clip_grad_norm_(trained.parameters(), 0.1)
            optimizer.step()
    close([p.detach().numpy() for p in model.parameters()], [p.detach().numpy() for p in alone.parameters()])
    same_everywhere(world, [p.detach().numpy() for p in model.parameters()])


def on_ranks_hooks_decide_how_gradients_are_sent(world):
    rank, size = begin(world)
    seen = []

    def spy(state, bucket):
        seen.append((state, bucket.index(), bucket.is_last(), len(bucket.parameters())))
        assert all(g.shape == p.shape for g, p in zip(bucket.gradients(), bucket.parameters(), strict=True))
        return default_hooks.allreduce_hook(None, bucket)

    for hook, tolerance in (
        (default_hooks.allreduce_hook, 1e-6),
        (default_hooks.fp16_compress_hook, 2e-3),
        (default_hooks.bf16_compress_hook, 2e-2),
        (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 2e-3),
        (spy, 1e-6),
    ):
        model = DistributedDataParallel(make_model(), bucket_cap_mb=1e-4)
        model.register_comm_hook(None if hook is not spy else "state", hook)
        with pytest.raises(RuntimeError, match="can only be called once"):
            model.register_comm_hook(None, hook)
        loss_of(model, *part(rank, size)).backward()
        for a, b in zip(gradients(model), reference(size), strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    assert [entry[:3] for entry in seen] == [
        ("state", i, i + 1 == len(seen)) for i in range(len(seen))
    ] and sum(entry[3] for entry in seen) == 6


def on_ranks_buffers_are_those_of_the_first_process(world):
    rank, size = begin(world)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))
    for seed in range(3):
        loss_of(model, *part(rank, size, seed)).backward()
    model.eval()(torch.ones(1, 3))
    same_everywhere(world, [b.numpy() for b in model.buffers()])
    assert model.module[1].num_batches_tracked.item() == 3
    kept = DistributedDataParallel(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), broadcast_buffers=False)
    loss_of(kept, *part(rank, size, rank)).backward()
    loss_of(kept, *part(rank, size, rank)).backward()
    means = world.all_gather(kept.module[1].running_mean.numpy())
    assert np.ptp(means, axis=0).max() > 0


def on_ranks_batch_norm_can_be_that_of_all_data(world):
    rank, size = begin(world)
    x, weights = make_batch(size)
    weights = weights[:, :1] * torch.arange(3.0)
    alone = nn.BatchNorm1d(3)
    alone.weight.data[:], alone.bias.data[:] = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, 0.0, -1.0])
    model = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(alone))
    whole = x.clone().requires_grad_()
    expected = alone(whole)
    (expected * weights).sum().backward()
    bounds = [*range(size), 4 * size]  # parts of different lengths
    mine = slice(bounds[rank], bounds[rank + 1])
    own = x[mine].clone().requires_grad_()
    result = model(own)
    (result * weights[mine]).sum().backward()
    dist.all_reduce(model.weight.grad)
    for found, wanted in (
        (result, expected[mine]),
        (own.grad, whole.grad[mine]),
        (model.weight.grad, alone.weight.grad),
        (model.running_mean, alone.running_mean),
        (model.running_var, alone.running_var),
        (model.eval()(x), alone.eval()(x)),
    ):
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)


def on_ranks_inputs_may_be_uneven(world):
    rank, size = begin(world)
    steps = 2 + rank
    for divides_by_all in (True, False):
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        model.module.weight.data.fill_(0.0)
        with model.join(divide_by_initial_world_size=divides_by_all):
            for step in range(steps):
                model.zero_grad()
                model(torch.ones(1, 1)).sum().backward()
                active = size if divides_by_all is False else sum(step < 2 + r for r in range(size))
                np.testing.assert_allclose(model.module.weight.grad.item(), active / size, rtol=1e-6)
                with torch.no_grad():
                    model.module.weight += 1
        assert model.module.weight.item() == 2 + size - 1  # the last one's
        with pytest.raises(RuntimeError, match="exhausted"), model.join(throw_on_early_termination=True):
            for _ in range(steps):
                model(torch.ones(1, 1)).sum().backward()


class Counter(Joinable):
    """How many steps all processes have made together."""

    def __init__(self):
        super().__init__()
        self.total, self.last = 0, None

    def __call__(self):
        work = Join.notify_join_context(self)
        if work is not None:
            self.total += int(work.result()[0].item())

    def join_hook(self, **kwargs):
        counter = self

        class Hook(JoinHook):
            def post_hook(self, is_last_joiner):
                counter.last = is_last_joiner

        return Hook()

    join_device = property(lambda self: torch.device("cpu"))
    join_process_group = property(lambda self: dist.group.WORLD)


def on_ranks_whatever_is_joinable_can_be_joined(world):
    rank, size = begin(world)
    counter = Counter()
    with Join([counter]):
        for _ in range(rank + 1):
            counter()
    assert counter.last == (rank == size - 1)
    assert counter.total == sum(size - step for step in range(rank + 1))


def on_ranks_the_tutorial_trains_saves_and_loads(world):
    import os
    import tempfile

    rank, size = begin(world)
    objects = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(objects, src=0)
    path = os.path.join(objects[0], "model.pt")
    data = TensorDataset(*make_batch(size))
    sampler = DistributedSampler(data, seed=3)
    loader = DataLoader(data, batch_size=2, sampler=sampler)
    model = DistributedDataParallel(make_model(seed=rank))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = loss_of(model, *make_batch(size)).item()
    for epoch in range(5):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            optimizer.step()
    if rank == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
    loaded = DistributedDataParallel(make_model(seed=5))
    loaded.load_state_dict(torch.load(path, map_location="cpu"))
    for a, b in zip(model.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(a, b)
    assert loss_of(model, *make_batch(size)).item() < before
    same_everywhere(world, [p.detach().numpy() for p in model.parameters()])
    seen = [None] * size
    dist.all_gather_object(seen, list(sampler))
    assert sorted(i for part in seen for i in part) == list(range(4 * size))


def on_ranks_the_state_of_an_optimizer_can_be_spread(world):
    rank, size = begin(world)
    model, alone = DistributedDataParallel(make_model()), make_model()
    spread = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    whole = torch.optim.Adam(alone.parameters(), lr=0.01)
    schedulers = [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5) for optimizer in (spread, whole)]
    assert len(spread.optim.param_groups[0]["params"]) in (1, 2)

    def train(steps):
        for _ in range(steps):
            for trained, data, optimizer in (
                (model, part(rank, size), spread),
                (alone, make_batch(size), whole),
            ):
                optimizer.zero_grad()
                loss_of(trained, *data).backward()
                optimizer.step()
            for scheduler in schedulers:
                scheduler.step()
        close(
            [p.detach().numpy() for p in model.parameters()], [p.detach().numpy() for p in alone.parameters()]
        )

    train(3)
    spread.consolidate_state_dict(to=1)
    if rank != 1:
        with pytest.raises(RuntimeError, match="has not been consolidated"):
            spread.state_dict()
    state = [spread.state_dict() if rank == 1 else None]
    dist.broadcast_object_list(state, src=1)
    assert state[0]["param_groups"][0]["lr"] == whole.param_groups[0]["lr"]
    assert sorted(state[0]["state"]) == list(range(6))
    spread = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=7.0)
    spread.load_state_dict(state[0])
    schedulers.clear()
    train(2)


def on_ranks_a_module_can_be_wrapped_anew(world):
    rank, size = begin(world)
    module = make_model()
    for _ in range(3):
        model = DistributedDataParallel(module)
        module.zero_grad()
        loss_of(model, *part(rank, size)).backward()
        close(gradients(module), reference(size))
    hooks = module[0].weight._fx_accumulator.hooks.post_accumulate_hooks
    del model
    assert len(hooks) == 0
    with pytest.raises(RuntimeError, match="uninitialized"):
        DistributedDataParallel(nn.LazyLinear(2))


def on_ranks_a_copy_trains_as_well(world):
    rank, size = begin(world)
    model = copy.deepcopy(DistributedDataParallel(make_model()))
    loss_of(model, *part(rank, size)).backward()
    close(gradients(model), reference(size))


def test_training_on_four_processes():
    run_on_ranks(__name__, 4)
