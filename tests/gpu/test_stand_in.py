"""CuPy's stand-in is as strict as CuPy, and sees what moves."""

import copy
import pickle
import sys
import zipfile

import numpy as np
import pytest

from tests import cupy_stand_in
from tests.cupy_stand_in import compare, recording

X = np.arange(6.0).reshape(2, 3)


def test_it_is_there_only_while_it_is_installed():
    before = sys.modules.get("cupy")
    with cupy_stand_in.install() as library:
        import cupy

        assert cupy is library and cupy.ndarray.__module__.startswith("cupy")
    assert sys.modules.get("cupy") is before
    with cupy_stand_in.install() as again:
        assert again is library


@pytest.mark.parametrize(
    "mix",
    [
        np.asarray,
        lambda x: x + X,
        lambda x: X + x,
        lambda x: np.add(x, X),
        lambda x: X @ x.T,
        lambda x: sys.modules["cupy"].concatenate([x, X]),
        lambda x: sys.modules["cupy"].where(X > 1, x, 0),
        lambda x: np.copyto(np.empty((2, 3)), x),
        lambda x: range(x[0, 1]),
    ],
)
def test_arrays_do_not_become_those_of_numpy(stand_in, mix):
    with pytest.raises(TypeError):
        mix(stand_in.asarray(X))


def test_functions_of_numpy_give_arrays_of_the_device(stand_in):
    x = stand_in.asarray(X)
    for y in (np.sin(x), np.sum(x), np.linalg.norm(x), x.sum(), x[0, 1], x.T @ x, 2 - x, abs(-x), x == 1):
        assert type(y) is stand_in.ndarray
    assert x.sum().shape == () and x[0, 1].shape == ()


def test_there_is_only_what_cupy_has(stand_in):
    x = stand_in.asarray(X)
    assert not hasattr(stand_in, "spacing") and not hasattr(stand_in.linalg, "svdvals")
    with pytest.raises(TypeError):
        stand_in.sum(x, initial=0.0)
    with pytest.raises(ValueError, match="Unsupported dtype"):
        stand_in.asarray(np.array(["a"]))
    with pytest.raises(ValueError, match="kind can only be None or 'stable'"):
        stand_in.sort(x, kind="quicksort")
    with pytest.raises(TypeError, match="complex"):
        stand_in.logical_and(x + 1j, x)
    assert not hasattr(x.flags, "writeable") and not hasattr(x, "__index__")


def test_transfers_are_recorded(stand_in):
    with recording() as record:
        x = stand_in.asarray(X)
        y = x * 2.0 + x[0]
        assert [(t.kind, t.nbytes) for t in record.transfers] == [("host→device", 48)]
        assert float(y[0, 1]) == 3.0 and bool(y.any()) and y.tolist()[0][0] == 0
        stand_in.asnumpy(y), y.get(), stand_in.nonzero(y), y[y > 1], repr(y)
    assert [t.by for t in record.to_host] == [
        *("float", "bool", "tolist", "get", "get", "nonzero", "nonzero", "repr")
    ]
    assert {launch.name for launch in record.launches} >= {"multiply", "add"}


def test_a_device_takes_arrays_of_its_own_only(stand_in):
    x = stand_in.asarray(X)
    with stand_in.cuda.Device(1):
        y = stand_in.ones((2, 3))
        assert y.device.id == 1 and stand_in.asarray(x).device.id == 1
        with pytest.raises(ValueError, match="array device = 0 while current = 1"):
            x + y
    assert y.reshape(-1).device.id == 1
    with pytest.raises(stand_in.cuda.runtime.CUDARuntimeError):
        stand_in.cuda.Device(2)


def test_launches_are_in_the_stream_that_is_in_use(stand_in):
    x, stream = stand_in.asarray(X), stand_in.cuda.Stream(non_blocking=True)
    with recording() as record:
        with stream:
            stand_in.sin(x)
        stand_in.cos(x)
    assert [(launch.name, launch.stream) for launch in record.launches] == [("sin", stream.ptr), ("cos", 0)]
    begin, end = stand_in.cuda.Event(), stand_in.cuda.Event()
    begin.record(), end.record()
    assert stand_in.cuda.get_elapsed_time(begin, end) >= 0


def test_captured_work_is_done_again_in_the_same_memory(stand_in):
    x, stream = stand_in.asarray(X), stand_in.cuda.Stream()
    with stream:
        stream.begin_capture()
        y = stand_in.sin(x) + 1
        graph = stream.end_capture()
        stream.begin_capture()
        with pytest.raises(stand_in.cuda.runtime.CUDARuntimeError, match="capturing"):
            float(y[0, 0])
    x[...] = 0
    graph.launch()
    assert (y.get() == 1).all()


def test_memory_is_counted_and_shared_by_views(stand_in):
    pool = stand_in.get_default_memory_pool()
    before = pool.used_bytes()
    x = stand_in.zeros(1024)
    view = x[512:].reshape(2, 256)
    assert pool.used_bytes() - before == 8192 and view.base is x
    assert view.data.ptr - x.data.ptr == 4096
    del x
    view[0, 0] = 1
    assert pool.used_bytes() - before == 8192
    del view
    assert pool.used_bytes() == before
    pool.set_limit(size=before + 100)
    with pytest.raises(MemoryError):
        stand_in.zeros(1024)


def test_a_device_leaves_open_what_numpy_does_not(stand_in):
    x = stand_in.asarray(np.zeros(3))
    x[stand_in.asarray(np.array([0, 0, 5]))] = stand_in.asarray(np.array([1.0, 2.0, 3.0]))
    assert x.tolist() == [1, 0, 3]  # another order than NumPy's, and a position beyond the end
    assert stand_in.isnan(stand_in.linalg.inv(stand_in.zeros((2, 2)))).all()


def test_copies_and_pickles_stay_arrays_of_the_device(stand_in):
    x = stand_in.asarray(X)
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.copy()):
        assert type(y) is stand_in.ndarray and (y.get() == X).all() and y.data.ptr != x.data.ptr


def test_scipys_functions_are_cupyx(stand_in):
    import cupyx.scipy.linalg
    import cupyx.scipy.special

    a, b = stand_in.asarray(np.array([[2.0, 0], [1, 4]])), stand_in.asarray(np.array([2.0, 9]))
    assert cupyx.scipy.linalg.solve_triangular(a, b, lower=True).tolist() == [1, 2]
    assert cupyx.scipy.linalg.lu_solve(cupyx.scipy.linalg.lu_factor(a), b).tolist() == [1, 2]
    assert cupyx.scipy.special.erf(b * 0).tolist() == [0, 0]


@pytest.mark.parametrize(
    "name, function, told",
    [
        ("sum", lambda a, axis=None: a, []),
        ("sum", lambda a: a, []),
        ("sum", lambda x: x, ["sum has the parameters (x), CuPy's (a, axis=…, **options=…)"]),
        ("sum", lambda a, dim=None, /: a, []),  # one of any options
        ("dot", lambda a, b, out=None: a, []),
        ("dot", lambda b, a: a, ["dot has the parameters (b, a), CuPy's (a, b, out=…)"]),
    ],
)
def test_parameters_that_are_not_cupys_are_told(tmp_path, name, function, told):
    with zipfile.ZipFile(tmp_path / "cupy.whl", "w") as wheel:
        wheel.writestr(
            "cupy/__init__.py", "from cupy._sums import total as sum\nfrom cupy._core import dot\n"
        )
        wheel.writestr("cupy/_sums.py", "def total(a, axis=None, **options): pass")
        wheel.writestr("cupy/_core.cpython-311.so", b"\x00\x01dot(a, ndarray b, out=None) -> ndarray\x00")
    wheel = compare.Wheel(tmp_path / "cupy.whl")
    found = compare.parameters_of(wheel.find("cupy", name)[1])
    assert list(compare.compare(name, function, found)) == told
    with pytest.raises(LookupError):
        wheel.find("cupy", "prod")
