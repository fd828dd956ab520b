"""torch's profiler where Tensors are on a device: times by its events, and its memory, in columns of their own."""

import fxgrad.compat as torch


def test_times_and_memory_of_the_device(stand_in):
    from fxgrad.compat.profiler import ProfilerActivity, profile

    x = torch.ones(50, 20, device="cuda", requires_grad=True)
    here = torch.ones(10)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as p:
        y = torch.exp(x)
        y.sum().backward()
        z = here + 1  # noqa: F841
    found = {event.key: event for event in p.key_averages()}
    for name in ("aten::exp", "aten::sum"):
        assert found[name].self_device_time_total > 0
    assert found["aten::exp"].device_memory_usage >= 50 * 20 * 4
    assert found["aten::exp"].cpu_memory_usage == 0
    assert found["aten::add"].device_time_total == 0 and found["aten::add"].cpu_memory_usage >= 40
    head = p.key_averages().table(sort_by="self_cuda_time_total").splitlines()[1]
    assert all(column in head for column in ("Self CUDA", "CUDA total", "CUDA Mem", "CPU Mem"))
