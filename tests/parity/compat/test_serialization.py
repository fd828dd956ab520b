"""Files go both ways: what torch saves is loaded here as torch loads it, and the other way round."""

from __future__ import annotations

import collections
import io
import pickle
import warnings
import zipfile

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import as_numpy

FORMATS = pytest.mark.parametrize("archive", [True, False], ids=["archive", "legacy"])
WAYS = pytest.mark.parametrize(
    "here, there", [(torch, fxt), (fxt, torch), (fxt, fxt)], ids=["in", "out", "own"]
)


@pytest.fixture(autouse=True)
def without_warnings():
    """torch warns of its own storages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def written(T, thing, archive: bool = True, **options) -> io.BytesIO:
    """The file in which a library saves an object."""
    file = io.BytesIO()
    T.save(thing, file, _use_new_zipfile_serialization=archive, **options)
    return io.BytesIO(file.getvalue())


def described(x):
    """An object in terms that do not depend on the library."""
    if isinstance(x, torch.Tensor | fxt.Tensor):
        memory = x.untyped_storage().nbytes()
        kind = type(x).__name__, str(x.dtype), tuple(x.shape), x.stride(), x.storage_offset(), memory
        return *kind, x.requires_grad, x.is_conj(), x.is_neg(), as_numpy(x).tobytes()
    if isinstance(x, dict):
        attributes = described(getattr(x, "_metadata", None))
        return type(x).__name__, [(described(k), described(v)) for k, v in x.items()], attributes
    if isinstance(x, list | tuple) and type(x) not in (torch.Size, fxt.Size):
        return type(x).__name__, [described(part) for part in x]
    return repr(x)


# -- Tensors ------------------------------------------
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
]  # fmt: skip


def tensors(T, dtype: str) -> list:
    """Tensors of one memory, and others."""
    x = T.arange(6).reshape(2, 3).to(getattr(T, dtype))
    y = T.arange(4).to(getattr(T, dtype))
    return [
        x,
        x.t(),
        x[1:, 1],
        x[1, 2],
        x[:, :1].expand(2, 5),
        y,
        y[:0],
        T.zeros(0, 3, dtype=x.dtype),
        T.tensor(1).to(x.dtype),
    ]


@FORMATS
@WAYS
@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors(here, there, dtype, archive):
    if not archive and dtype.startswith("uint") and dtype != "uint8" and there is torch:
        pytest.skip("torch does not read the bytes of these in its old format")
    saved = tensors(here, dtype)
    back = there.load(written(here, saved, archive))
    assert described(back) == described(saved)
    if dtype != "bool":
        back[0][1, 0] = 0
        assert back[1][0, 1] == 0  # it is the same memory


def values(T) -> dict:
    """Whatever torch loads without being allowed to."""
    leaf = T.ones(2, requires_grad=True)
    marked = T.nn.Parameter(T.zeros(1))
    marked.label = "mine"
    z = T.tensor([1 + 2j, 3j])
    return {
        "parameter": T.nn.Parameter(T.ones(2)),
        "frozen": T.nn.Parameter(T.ones(2), requires_grad=False),
        "leaf": leaf,
        "result": leaf * 2,
        "marked": marked,
        "conj": z.conj(),
        "neg": z.clone().conj().imag,
        "size": T.Size([2, 3]),
        "none": None,
        "dtypes": [T.float32, T.bfloat16, T.complex64, T.uint16],
        "device": T.device("cpu"),
        "layout": [T.strided],
        "cuda": T.device("cuda:1"),
        "true": True,
        "numbers": [0, 255, 256, 65536, -1, 2**40, -(2**70), 0.5, float("inf"), 2j],
        "text": ["", "é\ud800", "x" * 300],
        "bytes": [b"", b"\x00\xff", bytearray(b"ab")],
        "set": {3},
        ("a", 1): ((), (1,), (1, 2)),
        "counter": collections.Counter("aab"),
        "ordered": collections.OrderedDict(b=1, a=T.ones(1)),
    }


@FORMATS
@WAYS
@pytest.mark.parametrize("protocol", [2, 4])
def test_values(here, there, archive, protocol):
    saved = values(here)
    if protocol == 4 and here is torch and there is torch:
        pytest.skip("torch's own")
    back = there.load(written(here, saved, archive, pickle_protocol=protocol))
    assert [described(part) for part in back.items()] == [described(part) for part in saved.items()]


def test_values_beyond_torch():
    """What torch loads only if it is allowed to."""
    saved = {
        "array": np.arange(6.0).reshape(2, 3).T,
        "number": np.float32(2.5),
        "texts": np.array(["a", "bc"]),
        "default": collections.defaultdict(list, {1: [2]}),
        "deque": collections.deque([1], 3),
        "frozen": frozenset([1]),
    }
    for archive in (True, False):
        assert described(fxt.load(written(torch, saved, archive))) == described(saved)
    file = written(fxt, saved)
    assert described(torch.load(file, weights_only=False)) == described(saved)


def test_records_are_those_of_torch():
    """Names, order and pickled text are the same, but for what torch notes about its own writer."""
    names, pickles = [], []
    for T in (torch, fxt):
        with zipfile.ZipFile(written(T, {"a": T.arange(3), "b": T.ones(2)})) as archive:
            names.append([n for n in archive.namelist() if "/." not in n])
            pickles.append(archive.read("archive/data.pkl"))
    assert names[0] == names[1] and pickles[0] == pickles[1]


def test_the_map_of_a_file(tmp_path):
    for here, there in ((torch, fxt), (fxt, torch)):
        path = tmp_path / f"{here.__name__}.pt"
        here.save(tensors(here, "float32"), path)
        assert described(there.load(path, mmap=True)) == described(here.load(path))


# -- modules, optimizers, schedulers ------------------------------------------
def model(T):
    """A module with parameters, buffers and parts of many kinds."""
    return T.nn.Sequential(
        T.nn.Conv2d(1, 2, 3),
        T.nn.BatchNorm2d(2),
        T.nn.ReLU(),
        T.nn.Flatten(),
        T.nn.Linear(8, 3),
        T.nn.LayerNorm(3),
    )


@FORMATS
@pytest.mark.parametrize("here, there", [(torch, fxt), (fxt, torch)], ids=["in", "out"])
def test_the_state_of_a_module(here, there, archive):
    first, second = model(here), model(there)
    first(here.randn(5, 1, 4, 4))  # which moves the averages
    state = there.load(written(here, first.state_dict(), archive))
    assert described(state) == described(first.state_dict())
    assert str(second.load_state_dict(state)) == "<All keys matched successfully>"
    x = np.cos(np.arange(16.0)).reshape(1, 1, 4, 4).astype(np.float32)
    results = [as_numpy(m.eval()(T.from_numpy(x))) for T, m in ((here, first), (there, second))]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)


def test_a_whole_module_of_torch():
    saved = written(torch, model(torch))
    names = fxt.serialization.get_unsafe_globals_in_checkpoint(saved)
    saved.seek(0)
    assert names == sorted(torch.serialization.get_unsafe_globals_in_checkpoint(saved))
    saved.seek(0)
    classes = [getattr(fxt.nn, name.rpartition(".")[2]) for name in names]
    with fxt.serialization.safe_globals(classes):
        back = fxt.load(saved)
    assert back(fxt.ones(2, 1, 4, 4)).shape == (2, 3) and repr(back) == repr(model(torch))


OPTIMIZERS = {
    "SGD": {"momentum": 0.9},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Adagrad": {},
    "Adadelta": {},
    "Adamax": {},
    "ASGD": {},
    "NAdam": {},
    "RAdam": {},
    "Rprop": {},
    "LBFGS": {"max_iter": 4},
    "Adafactor": {},
}


def train(T, optimizer, params, steps: int = 3) -> list[np.ndarray]:
    """Make steps; return the parameters."""

    def closure():
        optimizer.zero_grad()
        loss = sum(((p - i) ** 2).sum() + p.sin().sum() for i, p in enumerate(params))
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return [as_numpy(p) for p in params]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("here, there", [(torch, fxt), (fxt, torch)], ids=["in", "out"])
def test_training_goes_on_in_the_other_library(here, there, name):
    def start(T, values):
        params = [T.nn.Parameter(v.clone()) for v in values]
        optimizer = getattr(T.optim, name)(params, lr=0.05, **OPTIMIZERS[name])
        return params, optimizer, T.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    params, optimizer, scheduler = start(here, [here.arange(6.0).reshape(2, 3), here.ones(2)])
    train(here, optimizer, params)
    scheduler.step()
    saved = [[p.detach() for p in params], optimizer.state_dict(), scheduler.state_dict()]
    values, options, schedule = there.load(written(here, saved))
    again = start(there, values)
    again[1].load_state_dict(options)
    again[2].load_state_dict(schedule)
    again[2].step()
    scheduler.step()
    assert scheduler.get_last_lr() == pytest.approx(again[2].get_last_lr())
    for a, b in zip(train(here, optimizer, params), train(there, again[1], again[0])):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


# -- errors ------------------------------------------
class Mine:
    """A class that nobody has allowed."""


ERRORS = {
    "a class": lambda T: written(T, Mine()),
    "a function": lambda T: written(T, [len]),
    "text": lambda T: io.BytesIO(b"<html>"),
    "nothing": lambda T: io.BytesIO(b""),
    "half an archive": lambda T: io.BytesIO(written(T, T.ones(100)).getvalue()[:300]),
    "an archive of nothing": lambda T: zip_of({}),
    "an archive without a pickle": lambda T: zip_of({"a/version": b"3", "a/x": b"1"}),
    "an archive whose storage is missing": lambda T: zip_of(without(written(T, T.ones(3)), "data/0")),
    "an order of bytes": lambda T: zip_of(without(written(T, 1), "") | {"archive/byteorder": b"middle"}),
    "wrong magic": lambda T: io.BytesIO(pickle.dumps(3, 2)),
    "blocked": lambda T: zip_of(without(written(T, 1), "") | {"archive/data.pkl": b"\x80\x02cos\nsystem\n."}),
}


def zip_of(records: dict[str, bytes]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    return io.BytesIO(file.getvalue())


def without(file: io.BytesIO, name: str) -> dict[str, bytes]:
    """The records of an archive but one."""
    with zipfile.ZipFile(file) as archive:
        return {n: archive.read(n) for n in archive.namelist() if n != f"archive/{name}"}


@pytest.mark.parametrize("make", ERRORS.values(), ids=ERRORS)
def test_errors_have_torchs_class(make):
    caught = []
    for T in (torch, fxt):
        with pytest.raises(Exception) as info:
            T.load(make(T))
        caught.append(info.value)
    theirs = type(caught[0])
    if theirs.__module__ in ("builtins", "_pickle"):
        assert isinstance(caught[1], theirs)
    else:
        assert isinstance(caught[1], RuntimeError)
    sentence = "was not an allowed global by default. Please use `torch.serialization.add_safe_globals(["
    for part in (
        "Weights only load failed",
        "WeightsUnpickler error: Unsupported global: GLOBAL ",
        sentence,
        "is blocked",
        "Unknown endianness type: middle",
        "Ran out of input",
    ):
        assert (part in str(caught[0])) <= (part in str(caught[1])), part


@pytest.mark.parametrize(
    "scenario",
    [
        lambda T: T.save(3, 3),
        lambda T: T.load(3),
        lambda T: T.load(written(T, 3), mmap=True),
        lambda T: T.load(written(T, 3, False), mmap=True),
        lambda T: T.load(written(T, 3), pickle_module=pickle, weights_only=True),
        lambda T: T.load("/nowhere/x.pt"),
        lambda T: T.save(lambda: 3, io.BytesIO()),
        lambda T: T.save((x for x in ()), io.BytesIO()),
        lambda T: T.save([T.ones(2), T.ones(2)].__iter__, io.BytesIO()) or 1 / 0,
        lambda T: T.save(view_twice(T), io.BytesIO()),
        lambda T: T.serialization.add_safe_globals([(Mine,)]) or T.load(written(T, Mine())),
    ],
)
def test_mistakes(scenario):
    caught = []
    for T in (torch, fxt):
        with pytest.raises(Exception) as info:
            scenario(T)
        caught.append(info.value)
        T.serialization.clear_safe_globals()
    kind = next(c for c in type(caught[0]).__mro__ if c.__module__ in ("builtins", "_pickle"))
    assert isinstance(caught[1], kind)


def view_twice(T) -> list:
    """One memory as two types."""
    x = T.ones(2)
    return [x, x.view(T.int32)]


def test_allowing_is_done_as_in_torch():
    for T in (torch, fxt):
        T.serialization.clear_safe_globals()
        T.serialization.add_safe_globals([Mine])
        assert T.serialization.get_safe_globals() == [Mine]
        assert type(T.load(written(T, Mine()))) is Mine
        T.serialization.clear_safe_globals()
        with T.serialization.safe_globals([(Mine, f"{__name__}.Mine")]):
            assert type(T.load(written(T, Mine()))) is Mine
        assert T.serialization.get_safe_globals() == []


def test_endianness_and_maps_are_chosen_as_in_torch():
    for T in (torch, fxt):
        assert T.serialization.get_default_load_endianness() is None
        T.serialization.set_default_load_endianness(T.serialization.LoadEndianness.BIG)
        assert T.serialization.get_default_load_endianness() == T.serialization.LoadEndianness.BIG
        T.serialization.set_default_load_endianness(None)
        before = T.serialization.get_default_mmap_options()
        with T.serialization.set_default_mmap_options(1):
            assert T.serialization.get_default_mmap_options() == 1
        assert T.serialization.get_default_mmap_options() == before == 2


def test_the_location_of_a_storage():
    for T in (torch, fxt):
        seen = []

        def place(storage, location, seen=seen):
            seen.append((storage.nbytes(), location))
            return storage

        x = T.load(written(T, [T.ones(3), T.ones(2)]), place)
        assert seen == [(12, "cpu"), (8, "cpu")] and x[0].tolist() == [1, 1, 1]
        assert T.serialization.location_tag(T.ones(1).untyped_storage()) == "cpu"
        for location in ("cpu", T.device("cpu"), {"cuda": "cpu"}, {}):
            assert T.load(written(T, T.ones(1)), map_location=location).tolist() == [1]


@FORMATS
def test_the_device_meta(archive):
    """Nothing is read for it; what is on it is saved without entries."""
    for T in (torch, fxt):
        p = T.nn.Parameter(T.ones(2, device="meta"))
        for x in (
            T.load(written(T, T.ones(2, 3), archive), "meta"),
            T.load(written(T, [T.empty(2, 3, device="meta"), p]))[0],
        ):
            assert x.is_meta and x.shape == (2, 3) and x.dtype == T.float32 and not x.requires_grad
        assert T.load(written(T, p, archive)).requires_grad
    assert fxt.load(written(torch, torch.empty(2, 3, device="meta"))).is_meta
    assert torch.load(written(fxt, fxt.empty(2, 3, device="meta"))).is_meta


def sparse_tensors(T):
    x = T.sparse_coo_tensor(T.tensor([[0, 1, 0], [1, 0, 1]]), T.tensor([2.0, 3.0, 4.0]), (2, 2))
    rows = T.sparse_coo_tensor(T.tensor([[0, 2]]), T.ones(2, 3, dtype=T.float64), (4, 3))
    nothing = T.sparse_coo_tensor(T.zeros(2, 0, dtype=T.int64), T.zeros(0), (3, 3))
    return [x, x.coalesce(), x.coalesce().to_sparse_csr(), rows, nothing]


@FORMATS
@WAYS
def test_sparse_tensors(here, there, archive):
    for found, expected in zip(
        there.load(written(here, sparse_tensors(here), archive)), sparse_tensors(there)
    ):
        assert (found.layout, found.dtype, found.shape) == (expected.layout, expected.dtype, expected.shape)
        assert found.to_dense().tolist() == expected.to_dense().tolist()
        if found.is_sparse:
            assert found.is_coalesced() == expected.is_coalesced()
            assert found._indices().tolist() == expected._indices().tolist()
        assert not found.requires_grad
    layouts = there.load(written(here, [here.sparse_coo, here.sparse_csr, here.strided], archive))
    assert layouts == [there.sparse_coo, there.sparse_csr, there.strided]


def test_layouts_that_are_not_here_are_refused_by_name():
    with pytest.raises(pickle.UnpicklingError, match=r"The layout 'torch\.sparse_csc' is not known"):
        fxt.load(written(torch, torch.eye(2).to_sparse_csc()))
