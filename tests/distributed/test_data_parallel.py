"""Data parallelism: gradients over processes are those of one process with all the data."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.pytree import leaves
from fxgrad.distributed import Buckets, Communicator

from .ranks import run_on_ranks

KINDS = [
    ((3, 4), np.float64),
    ((), np.float32),
    ((5,), np.float64),
    ((0, 2), np.float32),
    ((40,), np.complex64),
]
BUCKET_SIZES = (1, 64, 1000, 1 << 20)
SHARES = {
    1: [0, 11],
    2: [0, 4, 11],
    3: [0, 2, 2, 11],
    4: [0, 1, 5, 5, 11],
}  # of examples: some ranks have none

rng = np.random.default_rng(0)
PARAMS = {
    "first": rng.normal(size=(5, 7)),
    "narrow": rng.normal(size=7).astype(np.float32),
    "last": [rng.normal(size=7), 1.5],
    "unused": np.ones((2, 3)),
}
INPUTS, TARGETS = rng.normal(size=(11, 5)), rng.normal(size=11)


def loss(params, x, y):
    hidden = fnp.tanh(x @ params["first"] + params["narrow"])
    weights, scale = params["last"]
    return fnp.mean((hidden @ weights * scale - y) ** 2)


def number(params, x, y):
    return len(x)


def part(world):
    share = slice(*SHARES[world.size][world.rank : world.rank + 2])
    return INPUTS[share], TARGETS[share]


def assert_near(found, wanted, rtol=1e-6):
    assert fx.tree.structure(found) == fx.tree.structure(wanted)
    for a, b in zip(leaves(found), leaves(wanted)):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-7)


def assert_same_bits(found, wanted):
    for a, b in zip(leaves(found), leaves(wanted)):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def same_everywhere(world, tree):
    first, *others = world.gather_objects([np.asarray(leaf).tobytes() for leaf in leaves(tree)])
    return all(other == first for other in others)


# -- on several processes ------------------------------------------------------------------------------------------
def on_ranks_buckets_sum_what_becomes_ready_in_any_order(world):
    order = np.random.default_rng(world.rank)  # another one on each rank
    for bucket_bytes in BUCKET_SIZES:
        buckets = Buckets(world, KINDS, bucket_bytes, average=False)
        for step in range(3):
            for i in map(int, order.permutation(len(KINDS))):
                if i != 2:  # which nobody gives
                    buckets.ready(i, np.full(KINDS[i][0], i + world.rank + step, KINDS[i][1]))
            for i, (total, (shape, dtype)) in enumerate(zip(buckets.finish(), KINDS)):
                wanted = 0 if i == 2 else sum(i + rank + step for rank in range(world.size))
                assert total.shape == shape and total.dtype == dtype and np.all(total == wanted)


def on_ranks_buckets_take_averages_and_arrays_that_only_some_have(world):
    buckets = Buckets(world, KINDS, 100)
    if world.rank == 0:
        buckets.ready(0, np.asfortranarray(np.arange(12.0).reshape(3, 4)))
    np.testing.assert_allclose(buckets.finish()[0], np.arange(12.0).reshape(3, 4) / world.size)


def on_ranks_deterministic_sums_do_not_depend_on_the_buckets(world):
    arrays = [np.random.default_rng([world.rank, i]).normal(size=(30, 7)) for i in range(9)]
    ordered = world.split(0, world.rank)
    ordered.deterministic = True
    wanted = [
        sum(np.random.default_rng([rank, i]).normal(size=(30, 7)) for rank in range(world.size))
        for i in range(9)
    ]
    for bucket_bytes in (1, 3000, 1 << 20):
        buckets = Buckets(ordered, [(a.shape, a.dtype) for a in arrays], bucket_bytes, average=False)
        for i in reversed(range(9)):
            buckets.ready(i, arrays[i])
        assert_same_bits(buckets.finish(), wanted)


def on_ranks_deterministic_training_does_not_depend_on_the_buckets(world):
    ordered = world.split(0, world.rank)
    ordered.deterministic = True

    def train(bucket_bytes):
        step = fx.distributed.grad(loss, comm=ordered, count=number, bucket_bytes=bucket_bytes)
        params = PARAMS
        for _ in range(3):
            params = fx.tree.map(lambda p, g: p - 0.1 * g, params, step(params, *part(world)))
        return params

    first, *others = [train(bucket_bytes) for bucket_bytes in BUCKET_SIZES]
    assert same_everywhere(world, first)
    for other in others:
        assert_same_bits(other, first)


def on_ranks_the_gradient_is_that_of_all_the_data(world):
    wanted = fx.value_and_grad(loss)(PARAMS, INPUTS, TARGETS)
    for bucket_bytes in BUCKET_SIZES:
        step = fx.distributed.value_and_grad(loss, count=number, bucket_bytes=bucket_bytes)
        for function in (step, fx.jit(step)):
            found = function(PARAMS, *part(world))
            assert_near(found, wanted)
            assert same_everywhere(world, found)


def on_ranks_gradients_are_the_callers_own(world):
    gradient = fx.distributed.grad(lambda p, x: fnp.sum(p["a"] + p["b"]) * fnp.sum(x))
    found = gradient({"a": np.ones(3), "b": np.ones(3)}, INPUTS)
    found["a"] += 1
    np.testing.assert_allclose(found["a"], found["b"] + 1)


def on_ranks_sums_and_means_of_equal_parts(world):
    x = INPUTS * (world.rank + 1)
    for op, factor in (("mean", (world.size + 1) / 2), ("sum", world.size * (world.size + 1) / 2)):
        wanted = fx.value_and_grad(lambda w, factor: fnp.sum(INPUTS @ w) * factor)(PARAMS["first"], factor)
        step = fx.distributed.value_and_grad(lambda w, x: fnp.sum(x @ w), op=op)
        assert_near(step(PARAMS["first"], x), wanted)
        assert_near(fx.jit(step)(PARAMS["first"], x), wanted)


def on_ranks_auxiliary_results_are_each_processes_own(world):
    step = fx.distributed.value_and_grad(lambda w, x: (w * x, {"rank": x}), has_aux=True)
    (value, aux), gradient = step(3.0, float(world.rank))
    mean = (world.size - 1) / 2
    assert (value, aux, gradient) == (3 * mean, {"rank": float(world.rank)}, mean)


def on_ranks_several_arguments_are_parameters(world):
    found = fx.distributed.grad(lambda x, a, b: fnp.sum(x) * a * b, argnums=(-1, 1))(
        np.ones(world.rank), 2.0, 5.0
    )
    mean = (world.size - 1) / 2
    assert tuple(map(float, found)) == (2 * mean, 5 * mean)


def on_ranks_other_dtypes_and_programs_with_transforms_inside(world):
    params = {
        "double": np.ones((5, 2)),
        "brain": np.ones(2, ml_dtypes.bfloat16),
        "half": np.ones(2, np.float16),
        "complex": np.ones(2) + 1j,
    }

    def loss(p, x):
        y = x @ p["double"] + p["brain"].astype(float) * p["half"]
        return fnp.mean(fnp.tanh(y) ** 2) + fnp.sum(abs(p["complex"]) ** 2)

    def of_all(p):
        return sum(loss(p, INPUTS + rank) for rank in range(world.size)) / world.size

    wanted, x = fx.value_and_grad(of_all)(params), INPUTS + world.rank
    for inside in (loss, fx.jit(loss), fx.checkpoint(loss)):
        step = fx.distributed.value_and_grad(inside)
        assert_near(step(params, x), wanted, rtol=0.02)  # of half precisions
        assert_near(fx.jit(step)(params, x), wanted, rtol=0.02)
        with fx.distributed.Mesh(None, {"data": -1}):
            assert_near(step(params, x), wanted, rtol=0.02)
    for quiet in (fx.profile(), fx.debug_nans()):
        with quiet:
            assert_near(step(params, x), wanted, rtol=0.02)


def on_ranks_a_tensor_has_a_gradient_that_is_one(world):
    import fxgrad.compat as torch

    step = fx.distributed.grad(lambda t: (t**2).sum() * (world.rank + 1), op="sum")
    found = step(torch.tensor([1.0, 2.0]))
    total = world.size * (world.size + 1)
    assert isinstance(found, torch.Tensor) and found.tolist() == [total, 2 * total]


def on_ranks_inside_shard_map_the_other_gradient_is_named(world):
    mesh, everywhere = fx.distributed.Mesh(None, {"data": -1}), fx.distributed.P()
    inside = fx.distributed.shard_map(
        fx.distributed.grad(lambda w: fnp.sum(w)), mesh, in_specs=everywhere, out_specs=everywhere
    )
    with pytest.raises(fx.UnsupportedError, match=r"try: fx\.grad"):
        inside(np.ones(2))


def on_ranks_large_parameters_whose_elementwise_work_is_deferred(world):
    w = {"a": np.linspace(0, 1, 150_000), "b": np.linspace(1, 2, 150_000)}

    def loss(w, x):
        return fnp.sum(fnp.sin(w["a"] * x) * fnp.exp(-w["b"]) + w["a"])

    wanted = fx.value_and_grad(lambda w: sum(loss(w, float(r)) for r in range(world.size)) / world.size)(w)
    assert_near(fx.distributed.value_and_grad(loss)(w, float(world.rank)), wanted)


def on_ranks_the_second_derivative_is_that_of_all_the_data(world):
    x, y = INPUTS[world.rank :: world.size], TARGETS[world.rank :: world.size]

    def size_of(gradient):
        return lambda params, x, y: fnp.sum(gradient(params, x, y)["last"][0] ** 2)

    of_all, of_ranks = size_of(fx.grad(loss)), size_of(fx.distributed.grad(loss, count=number))
    wanted = fx.grad(of_all)(PARAMS, INPUTS, TARGETS)
    assert_near(fx.grad(of_ranks)(PARAMS, x, y), wanted)
    assert_near(fx.jit(fx.grad(of_ranks))(PARAMS, x, y), wanted)
    direction = fx.tree.map(np.ones_like, PARAMS)
    _, wanted = fx.jvp(lambda p: of_all(p, INPUTS, TARGETS), (PARAMS,), (direction,))
    _, found = fx.jvp(lambda p: of_ranks(p, x, y), (PARAMS,), (direction,))
    np.testing.assert_allclose(found, wanted)


def on_ranks_an_ensemble_is_trained_by_vmap(world):
    ensemble = rng_weights = np.random.default_rng(1).normal(size=(4, 5))

    def loss(w, x):
        return fnp.mean((x @ w) ** 2)

    x = INPUTS[world.rank :: world.size]
    step = fx.vmap(fx.distributed.grad(loss, count=lambda w, x: len(x)), (0, None))
    assert_near(step(ensemble, x), fx.vmap(fx.grad(loss), (0, None))(rng_weights, INPUTS))


def on_ranks_a_gradient_is_on_its_way_before_the_backward_pass_ends(world):
    started = []

    class Watched(type(world)):
        def start_all_reduce(self, x, *args, **kwargs):
            started.append(len(passed))
            return super().start_all_reduce(x, *args, **kwargs)

    passed = []

    @fx.custom_vjp
    def layer(x, w):
        return fnp.tanh(w @ x)

    def forward(x, w):
        return layer(x, w), (x, w)

    def backward(residuals, ct):
        passed.append(None)
        _, pullback = fx.vjp(lambda x, w: fnp.tanh(w @ x), *residuals)
        return pullback(ct)

    layer.defvjp(forward, backward)

    def loss(weights, x):
        for w in weights:
            x = layer(x, w)
        return fnp.sum(x)

    weights = [np.eye(5) * (i + 1) for i in range(4)]
    watched = world.split(0, world.rank)
    watched.__class__ = Watched
    found = fx.distributed.grad(loss, comm=watched, bucket_bytes=200)(weights, np.ones(5))
    assert started == [1, 2, 3, 4]  # each layer's as soon as its part of the backward pass is done
    assert_near(found, fx.grad(loss)(weights, np.ones(5)))


def on_ranks_processes_that_go_on_after_a_failure_meet_in_the_next_step(world):
    """The backward pass fails in another layer of each rank, and not at all on the last."""
    broken = []

    @fx.custom_vjp
    def layer(x, w, number):
        return x * w

    def backward(residuals, ct):
        x, w, number = residuals
        if number in broken:
            raise ValueError("broken")
        return ct * w, ct * x, None

    layer.defvjp(lambda x, w, number: (x * w, (x, w, number)), backward)

    def loss(weights, x):
        for number, w in enumerate(weights):
            x = layer(x, w, number)
        return x

    weights = [np.float64(i + 1) for i in range(4)]
    step = fx.distributed.value_and_grad(loss, bucket_bytes=1)
    broken.append(world.rank + 1 if world.rank < world.size - 1 else None)
    try:
        value, gradient = step(weights, 1.0)
    except ValueError:
        assert world.rank < world.size - 1
    else:
        assert world.rank == world.size - 1
        assert value == 24 and np.isnan(gradient[0]) and np.isfinite(gradient[3])
    broken.clear()
    assert_near(step(weights, 1.0), fx.value_and_grad(loss)(weights, 1.0))


def on_ranks_parameters_that_are_not_alike_are_found(world):
    with pytest.raises(fx.StructureError, match=r"float64\[2\] on rank 0 is float64\[3\] there"):
        fx.distributed.grad(lambda w: fnp.sum(w))(np.ones(2 + (world.rank == 1)))
    fx.distributed.check_replicated(PARAMS)
    other = {**PARAMS, "last": [PARAMS["last"][0], 1.5 + (world.rank == 1) * 1e-15]}
    with pytest.raises(fx.StructureError, match=r"the array \['last'\]\[1\] of rank 1 is not that of rank 0"):
        fx.distributed.check_replicated(other)
    same = fx.distributed.replicate(other)
    fx.distributed.check_replicated(same)


def on_ranks_no_examples_anywhere_are_an_error(world):
    with pytest.raises(fx.ShapeError, match="no process has an example"):
        fx.distributed.grad(loss, count=number)(PARAMS, INPUTS[:0], TARGETS[:0])


def on_ranks_training_gives_what_one_process_gives(world):
    """Batches that cannot be divided evenly, the last one smaller than the number of processes."""

    def train(gradient, batches):
        params = {"first": PARAMS["first"], "narrow": PARAMS["narrow"], "last": PARAMS["last"]}
        for epoch in range(3):
            for chosen in batches(epoch):
                update = gradient(params, INPUTS[chosen], TARGETS[chosen])
                params = fx.tree.map(lambda p, g: p - 0.05 * g, params, update)
        return params

    key = fx.random.key(5)
    alone = Communicator()
    wanted = train(
        fx.grad(loss), lambda epoch: fx.distributed.shard_batches(11, 5, key=key, epoch=epoch, comm=alone)
    )
    step = fx.distributed.grad(loss, count=number)
    found = train(step, lambda epoch: fx.distributed.shard_batches(11, 5, key=key, epoch=epoch))
    assert_near(found, wanted, rtol=1e-5)
    assert same_everywhere(world, found)


def on_ranks_examples_are_divided(world):
    key = fx.random.key(3)
    orders = []
    for epoch in (0, 1):
        mine = fx.distributed.shard_indices(11, key=key, epoch=epoch)
        parts = world.gather_objects(mine.tolist())
        order = list(itertools.chain(*parts))
        assert sorted(order) == list(range(11))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        orders.append(order)
    assert orders[0] != orders[1]
    for drop_last, count in ((False, 3), (True, 2)):
        assert len(list(fx.distributed.shard_batches(11, 5, drop_last=drop_last))) == count


@pytest.mark.parametrize("count", [2, 3])
def test_on_ranks(count):
    run_on_ranks(__name__, count)


# -- on one process -----------------------------------------------------------------------------------------------
@pytest.fixture
def alone():
    return Communicator()


def test_on_one_process_it_is_the_gradient(alone):
    for transform, ours in (
        (fx.grad, fx.distributed.grad),
        (fx.value_and_grad, fx.distributed.value_and_grad),
    ):
        wanted = transform(loss)(PARAMS, INPUTS, TARGETS)
        assert_same_bits(ours(loss, comm=alone)(PARAMS, INPUTS, TARGETS), wanted)
        assert_same_bits(ours(loss, comm=alone, count=number)(PARAMS, INPUTS, TARGETS), wanted)


def test_gradients_are_on_the_device_of_the_parameters(alone, stand_in):
    params = {"w": stand_in.ones((3, 2)), "b": stand_in.zeros(2, dtype=np.float32)}
    x = stand_in.asarray(INPUTS[:, :3])

    def loss(params, x):
        return fnp.mean((x @ params["w"] + params["b"]) ** 2)

    step = fx.distributed.value_and_grad(loss, comm=alone, count=lambda params, x: len(x))
    for found, wanted in zip(leaves(step(params, x)), leaves(fx.value_and_grad(loss)(params, x))):
        assert isinstance(found, stand_in.ndarray) and found.dtype == wanted.dtype
        np.testing.assert_allclose(found.get(), wanted.get())


def test_a_parameter_that_is_used_often_and_one_that_is_the_result(alone):
    def recurrent(p, x):
        for _ in range(5):
            x = fnp.tanh(p["w"] @ x + p["b"])
        return fnp.sum(x) + fnp.sum(p["w"] * p["w"])

    p = {"b": np.ones(3), "w": np.arange(9.0).reshape(3, 3) / 10}
    found = fx.distributed.grad(recurrent, comm=alone, bucket_bytes=1)(p, np.ones(3))
    assert_same_bits(found, fx.grad(recurrent)(p, np.ones(3)))
    assert fx.distributed.grad(lambda w: w, comm=alone)(2.0) == 1.0
    assert fx.distributed.grad(lambda w: 3.0, comm=alone)(2.0) == 0.0


def test_the_masked_cotangent_of_a_maximum_and_of_a_selection(alone):
    w = np.arange(6.0).reshape(2, 3)

    def picked(w):
        return fnp.max(w) + fnp.sum(fnp.where(w > 2, w, 0.0)) + w[1, 1]

    assert_same_bits(fx.distributed.grad(picked, comm=alone)(w), fx.grad(picked)(w))


def test_it_is_a_transform_that_pickles(alone):
    import cloudpickle

    step = cloudpickle.loads(cloudpickle.dumps(fx.distributed.grad(loss, count=number)))
    assert repr(step).startswith("<fx.grad of")
    assert step.options["count"](None, [1, 2], None) == 2


def test_wrong_arguments_are_refused(alone):
    with pytest.raises(fx.StructureError, match="op is 'max'"):
        fx.distributed.grad(loss, op="max")
    with pytest.raises(fx.StructureError, match="by which means are weighted"):
        fx.distributed.grad(loss, op="sum", count=number)
    with pytest.raises(fx.StructureError, match="takes a function"):
        fx.distributed.grad(3)
    with pytest.raises(fx.StructureError, match="comm is a str"):
        fx.distributed.grad(loss, comm="gloo")
    with pytest.raises(fx.NonScalarError):
        fx.distributed.grad(lambda w: w, comm=alone)(np.ones(3))
    with pytest.raises(fx.ShapeError, match="count gives -1"):
        fx.distributed.grad(lambda w: w, comm=alone, count=lambda w: -1)(1.0)


def test_no_examples_inside_another_derivative_are_refused(alone):
    step = fx.distributed.grad(loss, comm=alone, count=number)
    with pytest.raises(fx.UnsupportedError, match="give every process an example"):
        fx.jvp(lambda p: step(p, INPUTS[:0], TARGETS[:0])["last"][1], (PARAMS,), (PARAMS,))


def test_buckets_refuse_what_they_have_no_place_for(alone):
    buckets = Buckets(alone, KINDS)
    with pytest.raises(fx.IndexingError, match="no array 5 among 5"):
        buckets.ready(5, np.ones(3))
    with pytest.raises(fx.ShapeError, match=r"array 0 has the shape \(4, 3\), expected \(3, 4\)"):
        buckets.ready(0, np.ones((4, 3)))
    with pytest.raises(fx.DTypeError, match="array 0 has dtype float32, expected float64"):
        buckets.ready(0, np.ones((3, 4), np.float32))
    buckets.ready(0, np.ones((3, 4)))
    with pytest.raises(fx.StructureError, match="array 0 is ready a second time"):
        buckets.ready(0, np.ones((3, 4)))
    with pytest.raises(fx.DTypeError, match="there is no average"):
        Buckets(alone, [((3,), np.int64)])
    with pytest.raises(fx.StructureError, match="below one"):
        Buckets(alone, KINDS, 0)
    assert np.all(buckets.finish()[0] == 1)


def test_integers_are_summed(alone):
    buckets = Buckets(alone, [((3,), np.int64)], average=False)
    buckets.ready(0, np.arange(3))
    assert buckets.finish()[0].tolist() == [0, 1, 2]


def test_batches_are_refused_that_are_none(alone):
    with pytest.raises(fx.ShapeError, match="a batch of 0 examples"):
        fx.distributed.shard_batches(3, 0)
    with pytest.raises(fx.ShapeError, match="-1 examples"):
        fx.distributed.shard_indices(-1)
    assert fx.distributed.shard_indices(0, comm=alone).size == 0
