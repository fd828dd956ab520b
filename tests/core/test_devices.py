"""Devices of the functional API, on the stand-in for CuPy: where arrays are, and how they get elsewhere."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.cupy_stand_in import recording

X = np.array([1.0, -2.0, 3.0])


def kind(x):
    return type(x).__module__.partition(".")[0]


# -- without a GPU ------------------------------------------------------------------------------------------
def test_the_processor_is_always_there():
    assert fx.devices("cpu") == [fx.Device("cpu")] == fx.devices()[:1]
    assert len({fx.Device("cuda"), fx.Device("cuda", 0), fx.Device("cpu")}) == 2
    assert fx.device_put(X, "cpu") is X


def test_what_is_not_there_is_refused():
    if not fx.devices("cuda"):
        with pytest.raises((fx.MissingLibraryError, fx.DeviceError), match="cuda"):
            fx.device_put(X, "cuda")
    for name in ("tpu", "cuda:x", "cpu:3"):
        with pytest.raises(fx.DeviceError, match="there is no device"):
            fx.device_put(X, name)
    with pytest.raises(fx.DeviceError, match="no devices of the kind 'tpu'"):
        fx.devices("tpu")


def test_moving_nowhere_is_differentiable():
    f = lambda x: fnp.sum(fx.device_put(x, "cpu") ** 3)  # noqa: E731
    for g in (fx.grad(f), fx.jit(fx.grad(f)), fx.grad(fx.jit(f)), fx.jacfwd(f)):
        np.testing.assert_allclose(g(X), 3 * X**2)


# -- on the stand-in ----------------------------------------------------------------------------------------
def test_devices_are_listed(stand_in):
    assert [str(d) for d in fx.devices()] == ["cpu:0", "cuda:0", "cuda:1"]
    assert repr(fx.devices("cuda")[1]) == "Device('cuda:1')"
    with pytest.raises(fx.DeviceError, match="there is no device cuda:2") as caught:
        fx.device_put(X, "cuda:2")
    assert "cpu:0, cuda:0, cuda:1" in str(caught.value)


def test_pytrees_go_there_and_back(stand_in):
    tree = {"w": X, "b": 0.5, "n": np.arange(3)}
    there = fx.device_put(tree, "cuda:1")
    assert all(isinstance(x, stand_in.ndarray) and x.device.id == 1 for x in there.values())
    assert there["n"].dtype == np.int64 and there["b"].shape == ()
    assert fx.device_put(there, "cuda:1")["w"] is there["w"]
    back = fx.device_get(there)
    assert {kind(x) for x in back.values()} == {"numpy"}
    np.testing.assert_array_equal(back["w"], X)
    split = fx.device_put((X, X), ("cuda:0", "cpu"))
    assert [kind(x) for x in split] == ["cupy", "numpy"]
    assert fx.device_put(there["w"], stand_in.cuda.Device(0)).device.id == 0


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_cotangents_go_back_to_where_the_value_came_from(stand_in, device):
    def f(x):
        return fx.device_get(fnp.sum(fx.device_put(x, device) ** 3))

    for g in (fx.grad(f), fx.jit(fx.grad(f)), fx.grad(fx.jit(f)), lambda x: fx.vjp(f, x)[1](np.ones(()))[0]):
        for _ in range(2):
            gradient = g(X)
            assert kind(gradient) == "numpy"
            np.testing.assert_allclose(gradient, 3 * X**2)
    there = fx.device_put(X, "cuda:1")
    gradient = fx.grad(f)(there)
    assert gradient.device.id == 1
    np.testing.assert_allclose(gradient.get(), 3 * X**2)
    with stand_in.cuda.Device(int(device[-1])):  # forward mode computes on the device in use
        _, tangent = fx.jvp(f, (X,), (np.ones(3),))
        second = fx.jvp(fx.grad(f), (X,), (np.ones(3),))[1]
    np.testing.assert_allclose(tangent, np.sum(3 * X**2))
    np.testing.assert_allclose(second, 6 * X)


def test_moves_are_mapped_and_staged(stand_in):
    xs = np.arange(6.0).reshape(2, 3)
    moved = fx.vmap(lambda x: fx.device_put(x, "cuda"))(xs)
    assert moved.device.id == 0 and moved.shape == (2, 3)
    per_sample = fx.vmap(fx.grad(lambda x: fnp.sum(fx.device_put(x, "cuda") ** 2)))(xs)
    np.testing.assert_allclose(fx.device_get(per_sample), 2 * xs)
    staged = fx.jit(lambda x: fx.device_put(x, "cuda") * 2)
    assert kind(staged(X)) == "cupy" and kind(staged(fx.device_put(X, "cuda:1"))) == "cupy"


def test_operations_run_where_their_operands_are(stand_in):
    x = fx.device_put(X, "cuda:1")
    with recording() as record:
        y = fx.grad(lambda x: fnp.sum(fnp.sin(x) * x))(x)
    assert y.device.id == 1 and not record.transfers
    assert {launch.device for launch in record.launches} == {1}
    with pytest.raises(fx.DeviceError, match="different devices: cuda:1, cuda:0"):
        fnp.add(x, fx.device_put(X, "cuda:0"))
    with pytest.raises(fx.DTypeError) as caught:
        fnp.add(x, X)
    assert "fx.device_put" in str(caught.value)


def test_operations_run_in_the_stream_in_use(stand_in):
    x = fx.device_put(X, "cuda")
    stream = stand_in.cuda.Stream(non_blocking=True)
    with recording() as record, stream:
        fx.grad(lambda x: fnp.sum(fnp.exp(x)))(x)
    assert {launch.stream for launch in record.launches} == {stream.ptr}


def test_new_arrays_are_on_the_default_device(stand_in):
    with fx.default_device("cuda:1") as device:
        assert str(device) == "cuda:1"
        with recording() as record:
            made = [
                fnp.zeros(2),
                fnp.ones((2, 2)),
                fnp.arange(3),
                fnp.eye(2),
                fnp.linspace(0, 1, 3),
                fnp.full(2, 7.0),
            ]
        assert {x.device.id for x in made} == {1}
        assert not record.transfers
        assert fnp.asarray([1.0, 2.0]).device.id == fx.device_put(3).device.id == 1
        assert kind(fnp.zeros(2, device="cpu")) == "numpy"
        with fx.default_device("cpu"):
            assert kind(fnp.zeros(2)) == "numpy"
    assert kind(fnp.zeros(2)) == "numpy"
    assert fnp.zeros(2, device="cuda").device.id == 0
    try:
        fx.default_device.set("cuda")
        assert fnp.ones(1).device.id == 0
    finally:
        fx.default_device.set(None)


def test_random_numbers_are_where_their_key_is(stand_in):
    expected = fx.random.normal(fx.random.key(3), (4,))
    with fx.default_device("cuda"):
        key = fx.random.key(3)
        drawn = fx.random.normal(key, (4,))
        children = fx.random.split(key)
    assert kind(key) == kind(drawn) == kind(children) == "cupy"
    np.testing.assert_allclose(fx.device_get(drawn), expected, rtol=1e-14)
    np.testing.assert_array_equal(fx.device_get(children), fx.random.split(fx.random.key(3)))


def test_code_is_staged_for_each_default_device(stand_in):
    f = fx.jit(lambda scale: scale * fnp.ones(2))
    assert kind(f(2.0)) == "numpy"
    with fx.default_device("cuda"):
        assert kind(f(2.0)) == kind(f(2.0)) == "cupy"
    assert kind(f(2.0)) == "numpy"


def test_pinned_arrays_are_arrays(stand_in):
    x = fx.pinned_empty((2, 3), np.float32)
    x[...] = 1
    assert type(x) is np.ndarray and x.dtype == np.float32
    assert fx.device_put(x, "cuda").shape == (2, 3)
    assert fx.pinned_empty(0).shape == (0,)


def test_traced_values_know_their_device(stand_in):
    seen = []
    fx.grad(lambda x: (seen.append(x.device), fnp.sum(x.to_device("cpu")))[1])(fx.device_put(X, "cuda:1"))
    assert seen == ["cuda:1"]


def test_counts_and_the_backend_have_jaxs_words(stand_in):
    assert fx.local_device_count() == len(fx.devices()) == fx.device_count()
    assert fx.local_device_count("cpu") == 1 and fx.process_count() == 1 and fx.process_index() == 0
    assert fx.default_backend() == "cpu"
    with fx.default_device("cuda"):
        assert fx.default_backend() == "gpu"
    with pytest.raises(fx.DeviceError, match="tpu"):
        fx.device_count("tpu")
