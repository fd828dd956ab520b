"""`fx.jit(f, cuda_graph=True)`: what a call launches is captured, and launched as one."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.errors import ConcretizationError, DTypeError
from tests.cupy_stand_in import recording

from .carry_out import needs_compiler

X = np.random.default_rng(0).standard_normal((8, 5))
W = np.random.default_rng(1).standard_normal((5, 3))


def loss(params, x):
    return fnp.mean(fnp.tanh(x @ params["w"] + params["b"]) ** 2)


def step(params, x):
    value, slopes = fx.value_and_grad(loss)(params, x)
    return fx.tree.map(lambda p, g: p - 0.1 * g, params, slopes), value


def put(library, tree):
    return fx.tree.map(library.asarray, tree)


@needs_compiler
def test_a_training_loop_is_that_without_a_graph(stand_in):
    params = {"w": W, "b": np.zeros(3)}
    there, jitted = put(stand_in, params), fx.jit(step, cuda_graph=True)
    kept = []
    for k in range(6):
        params, want = step(params, X + k)
        there, got = jitted(there, stand_in.asarray(X + k))
        kept.append((got, want))
        np.testing.assert_allclose(there["w"].get(), params["w"], rtol=1e-12)
    for got, want in kept:  # no call has written into what others gave
        np.testing.assert_allclose(got.get(), want, rtol=1e-12)


@needs_compiler
def test_a_launch_takes_nothing_but_copies(stand_in):
    jitted = fx.jit(step, cuda_graph=True)
    there, x = put(stand_in, {"w": W, "b": np.zeros(3)}), stand_in.asarray(X)
    for _ in range(2):
        jitted(there, x)
    with recording() as record:
        jitted(there, x)
    assert not record.transfers
    assert len(record.launches) <= 2 * 3 + 3  # to three operands, of three results


@needs_compiler
def test_other_shapes_have_graphs_of_their_own(stand_in):
    jitted = fx.jit(lambda x: fnp.exp(-x * x) * 2, cuda_graph=True)
    for _ in range(3):
        for n in (4, 7):
            x = np.linspace(0, 1, n)
            np.testing.assert_allclose(jitted(stand_in.asarray(x)).get(), np.exp(-x * x) * 2, rtol=1e-14)


@needs_compiler
def test_each_device_and_each_stream(stand_in):
    jitted = fx.jit(lambda x: fnp.exp(-x * x) * 2, cuda_graph=True)
    x = np.linspace(0, 1, 6)
    for device in (0, 1):
        with stand_in.cuda.Device(device):
            there = stand_in.asarray(x)
        for _ in range(3):
            got = jitted(there)
            assert got.device.id == device
            np.testing.assert_allclose(got.get(), np.exp(-x * x) * 2, rtol=1e-14)
    there = stand_in.asarray(x)
    with stand_in.cuda.Stream() as stream, recording() as record:
        jitted(there)
    assert {launch.stream for launch in record.launches} == {stream.ptr}


@needs_compiler
def test_a_profile_sees_the_steps(stand_in):
    jitted = fx.jit(step, cuda_graph=True)
    there, x = put(stand_in, {"w": W, "b": np.zeros(3)}), stand_in.asarray(X)
    for _ in range(3):
        with fx.profile() as p:
            jitted(there, x)
        assert {"contract", "fused"} <= {event.name for event in p.events}
    assert max(event.device_time for event in p.events) > 0


def test_python_numbers_are_refused(stand_in):
    jitted = fx.jit(lambda x, lr: x * lr, cuda_graph=True)
    with pytest.raises(DTypeError, match="Python number"):
        jitted(stand_in.asarray(X), 0.1)


@needs_compiler
def test_what_takes_the_host_is_refused(stand_in):
    jitted = fx.jit(
        lambda x: fx.lax.while_loop(lambda x: fnp.sum(x) < 9, lambda x: x * 2, x), cuda_graph=True
    )
    x = stand_in.ones(3)
    assert float(jitted(x).sum()) == 12
    for _ in range(2):
        with pytest.raises(ConcretizationError, match="CUDA graph"):
            jitted(x)
    assert stand_in.cuda.get_current_stream().ptr == 0  # and the stream in use is as it was


def test_arrays_of_the_processor_need_no_graph():
    jitted = fx.jit(lambda x: x * 2, cuda_graph=True)
    for _ in range(3):
        assert jitted(np.ones(2)).tolist() == [2, 2]
