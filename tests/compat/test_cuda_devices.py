"""torch.cuda, and Tensors on several CUDA devices, on the stand-in for CuPy."""

import copy

import numpy as np
import pytest

import fxgrad.compat as torch
from tests.cupy_stand_in import recording

pytestmark = pytest.mark.usefixtures("stand_in")


def on_device(*entries, device="cuda", **options):
    return torch.tensor(entries, device=device, **options)


# -- devices ------------------------------------------------------------------------------------------------
def test_what_there_is():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2 and torch.cuda.current_device() == 0
    assert torch.cuda.get_device_name(1) == "NumPy standing in for a GPU"
    assert torch.cuda.get_device_capability() == (8, 0)
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        torch.zeros(1, device="cuda:2")


def test_a_device_without_a_number_is_the_one_in_use():
    x = torch.ones(2, device="cuda")
    with torch.cuda.device(1):
        assert torch.ones(1, device="cuda").device == torch.device("cuda:1")
        assert x.to("cuda").device.index == x.cuda().device.index == 1
    assert x.cuda() is x and x.to("cuda:0") is x
    with torch.cuda.device_of(torch.ones(1, device="cuda:1")):
        assert torch.cuda.current_device() == 1


def test_the_default_device_is_that_of_all_that_is_made():
    with torch.device("cuda:1"):
        made = [
            torch.zeros(1),
            torch.arange(2),
            torch.rand(1),
            torch.tensor([1]),
            torch.eye(2),
            torch.randperm(3),
        ]
        layer = torch.nn.Linear(2, 2)
    assert {str(x.device) for x in [*made, *layer.parameters()]} == {"cuda:1"}
    try:
        torch.set_default_device("cuda")
        assert torch.get_default_device() == torch.device("cuda") and torch.empty(1).is_cuda
    finally:
        torch.set_default_device(None)
    assert torch.zeros(1).is_cpu


def test_operations_run_where_their_operands_are_whatever_device_is_in_use():
    x = on_device(1.0, 2.0, device="cuda:1")
    with recording() as record:
        y = (x * 2 + x[0]).exp()
        x.add_(1)[0] = 5
        x[1:].mul_(2)
    assert str(y.device) == "cuda:1" and x.tolist() == [5, 6]
    assert {launch.device for launch in record.launches} == {1} and not record.to_host


# -- operands on different devices --------------------------------------------------------------------------
def test_operands_on_different_devices_are_refused():
    x = on_device(1.0, 2.0)
    both = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
    for call in (
        lambda y: x + y,
        lambda y: torch.dot(x, y),
        lambda y: torch.cat([x, y]),
        lambda y: x.add_(y),
    ):
        with pytest.raises(RuntimeError, match=both + "cpu!"):
            call(torch.ones(2))
        with pytest.raises(RuntimeError, match=both + "cuda:1!"):
            call(torch.ones(2, device="cuda:1"))
    assert x.tolist() == [1, 2]


def test_numbers_without_dimensions_go_with_every_device():
    x = on_device(1.0, 2.0)
    assert (x + torch.tensor(1.0)).tolist() == (torch.tensor(1.0) + x).tolist() == [2, 3]
    assert (x + torch.tensor(1.0)).is_cuda
    with pytest.raises(RuntimeError, match="same device"):
        x.sum() + torch.ones(2)


def test_places_may_be_on_the_host():
    x = on_device(1.0, 2.0, 3.0)
    assert x[torch.tensor([2, 0])].tolist() == x[on_device(2, 0)].tolist() == [3, 1]
    x[torch.tensor([True, False, False])] = 7.0
    assert x.tolist() == [7, 2, 3] and x[x > 2.5].is_cuda


def test_copies_cross_devices_with_their_gradients():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.zeros(2, device="cuda")
    y.copy_(w)
    (y * 3).to("cuda:1").sum().backward()
    assert w.grad.is_cpu and w.grad.tolist() == [3, 3]
    assert torch.zeros(2).copy_(y.detach()).tolist() == [1, 2]


def test_a_gradient_is_on_the_device_of_its_tensor():
    w = on_device(1.0, 2.0, requires_grad=True)
    (w * w).sum().backward()
    assert w.grad.is_cuda
    with pytest.raises(RuntimeError, match="device type 'cpu' to a tensor with device type 'cuda'"):
        w.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="device with index 1 to a tensor located on device with index 0"):
        w.grad = torch.ones(2, device="cuda:1")


def test_gradients_share_no_memory():
    a, b = on_device(1.0, requires_grad=True), on_device(2.0, requires_grad=True)
    (a + b).sum().backward()
    a.grad.mul_(5)
    assert b.grad.item() == 1
    before = a.grad
    (a * 2).sum().backward()
    assert a.grad is before and before.item() == 7


# -- memory -------------------------------------------------------------------------------------------------
def test_views_share_memory_and_versions():
    x = torch.arange(12.0, device="cuda").view(3, 4)
    v = x.t()[1:].unsqueeze(0)
    assert v.stride() == (3, 1, 4) and v._base is not None and v.storage_offset() == 1
    version = x._version
    v.zero_()
    assert x[:, 1:].sum().item() == 0 and x._version == v._version == version + 1
    d = x.as_strided((2, 2), (1, 4), 4)
    assert d.tolist() == [[4, 8], [0, 0]]
    w = x.clone().requires_grad_()
    y = w * 1
    z = y.exp()
    y.add_(1)
    z.sum().backward()
    y = (w * 1).exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_strides_are_kept_on_the_way():
    x = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert x.cuda().stride() == x.stride() == x.cuda().cpu().stride()
    assert x.cuda().is_contiguous(memory_format=torch.channels_last)


def test_storages_are_there():
    x = on_device(1.0, 2.0)
    storage = x.untyped_storage()
    assert storage.device == "cuda:0" and storage.is_cuda and storage.nbytes() == 8
    storage.fill_(0)
    assert x.tolist() == [0, 0] and not storage.cpu().is_cuda and storage.cpu().cuda().is_cuda
    assert x.data_ptr() == storage.data_ptr()
    assert x.set_(torch.ones(3, device="cuda").untyped_storage()).tolist() == [1, 1, 1]


def test_copies_stay_where_they_are():
    layer = torch.nn.Linear(2, 2, device="cuda:1")
    twin = copy.deepcopy(layer)
    assert str(twin.weight.device) == "cuda:1" and twin.weight.data_ptr() != layer.weight.data_ptr()
    host = torch.nn.Linear(2, 2)
    host.load_state_dict(layer.state_dict())
    assert host.weight.is_cpu and host.weight.tolist() == layer.weight.tolist()


def test_entries_are_read_by_copies_to_the_host():
    x = on_device(1.5, 2.5)
    with recording() as record:
        assert x.tolist() == [1.5, 2.5] and x[0].item() == 1.5 and bool(x.sum() > 3)
        assert repr(x) == "tensor([1.5000, 2.5000], device='cuda:0')"
    assert len(record.to_host) == 4
    with pytest.raises(
        TypeError, match=r"can't convert cuda:0 device type tensor to numpy\. Use Tensor.cpu\(\)"
    ):
        x.numpy()


def test_pinned_memory():
    x = torch.arange(3.0)
    pinned = x.pin_memory()
    assert (
        pinned.is_pinned() and pinned[1:].is_pinned() and not x.is_pinned() and pinned.pin_memory() is pinned
    )
    assert pinned.cuda(non_blocking=True).tolist() == [0, 1, 2]
    assert torch.zeros(2, pin_memory=True).is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        pinned.cuda().pin_memory()
    data = torch.utils.data.TensorDataset(torch.ones(4, 2), torch.arange(4))
    for batch in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True):
        assert all(part.is_pinned() for part in batch)


def test_bytes_are_counted():
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    x = torch.ones(1024, device="cuda")
    y = x + 1
    del y
    assert torch.cuda.memory_allocated() - before == 4096
    assert torch.cuda.max_memory_allocated() - before == 8192
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()


# -- streams ------------------------------------------------------------------------------------------------
def test_work_goes_to_the_stream_in_use():
    x = on_device(1.0, 2.0, requires_grad=True)
    stream = torch.cuda.Stream()
    with recording() as record, torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        (x * x).sum().backward()
    assert {launch.stream for launch in record.launches} == {stream.cuda_stream}
    assert torch.cuda.current_stream() == torch.cuda.default_stream() != stream
    torch.cuda.current_stream().wait_stream(stream)
    stream.synchronize()
    assert stream.query()
    assert torch.cuda.ExternalStream(stream.cuda_stream) == stream


def test_events_measure_time():
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    torch.ones(2, device="cuda")
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 0 and end.query()
    end.wait(torch.cuda.Stream())


# -- programs -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
@pytest.mark.parametrize(
    "make", [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
        lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True),
        lambda p: torch.optim.AdamW(p, lr=0.1),
        lambda p: torch.optim.RMSprop(p, lr=0.1, centered=True),
    ], ids=["SGD", "Adam", "AdamW", "RMSprop"],
)  # fmt: skip
def test_training_gives_the_same_numbers_as_on_the_host(make, device):
    def train(place):
        torch.manual_seed(0)
        # No bias before a normalization, which takes it away: its gradient is nothing but rounding errors.
        model = torch.nn.Sequential(
            torch.nn.Linear(3, 4, bias=False),
            torch.nn.BatchNorm1d(4),
            torch.nn.Dropout(0.2),
            torch.nn.Linear(4, 2),
        ).to(place)
        optimizer = make(model.parameters())
        x, target = torch.randn(8, 3).to(place), torch.randint(0, 2, (8,)).to(place)
        for _ in range(4):
            optimizer.zero_grad(set_to_none=False)
            torch.nn.functional.cross_entropy(model(x), target).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        state = optimizer.state_dict()["state"][0].values()
        assert {str(v.device) for v in state if v.shape} <= {str(p.device) for p in model.parameters()}
        return [p.detach().cpu().numpy() for p in model.parameters()]

    for there, here in zip(train(device), train("cpu"), strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-6)


def test_a_seed_gives_the_same_numbers_on_every_device():
    def draw(device):
        torch.cuda.manual_seed_all(3)
        x = torch.ones(4, device=device)
        return [torch.randn(3, device=device), torch.nn.functional.dropout(x), torch.empty_like(x).uniform_(),
                torch.bernoulli(x / 2), torch.multinomial(x, 2), torch.poisson(x)]  # fmt: skip

    there, here = draw("cuda"), draw("cpu")
    assert all(x.is_cuda for x in there)
    assert [x.tolist() for x in there] == [x.tolist() for x in here]
    state = torch.cuda.get_rng_state()
    again = torch.rand(2, device="cuda").tolist()
    torch.cuda.set_rng_state(state)
    assert torch.rand(2, device="cuda").tolist() == again
    generator = torch.Generator(device="cuda").manual_seed(0)
    assert torch.rand(2, generator=generator, device="cuda").is_cuda


def test_transforms_stay_on_the_device():
    x = on_device(1.0, 2.0)
    f = lambda x: (x**3).sum()  # noqa: E731
    with recording() as record:
        found = [
            torch.func.grad(f)(x), torch.func.hessian(f)(x), torch.func.jacfwd(torch.sin)(x),
            torch.func.vmap(torch.func.grad(f))(torch.stack([x, x])), torch.autograd.functional.hessian(f, x),
            torch.func.jvp(f, (x,), (x,))[1], torch.func.vjp(f, x)[1](on_device(1.0)[0])[0],
        ]  # fmt: skip
    assert all(y.is_cuda for y in found) and not record.to_host
    assert found[0].tolist() == [3, 12] and found[1].tolist() == [[6, 0], [0, 12]]


def test_checkpoints_and_functions_stay_on_the_device():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert g.is_cuda and ctx.saved_tensors[0].is_cuda
            return g * 2

    x = on_device(1.0, 2.0, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda x: Twice.apply(x).exp(), x, use_reentrant=False)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), 2 * np.exp([2.0, 4.0]), rtol=1e-6)
