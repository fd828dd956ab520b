"""save and load: the classes that are allowed, the files, where memory is put."""

from __future__ import annotations

import collections
import copy
import datetime
import io
import json
import mmap
import pickle
import sys
import threading
import zipfile

import ml_dtypes
import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.compat import serialization
from tests.compat.test_serialization import FORMATS, save, there_and_back


# -- what the user allows ------------------------------------------
class Config:
    """A class of the user's with attributes."""

    def __init__(self, width):
        self.width = width


class Point(collections.namedtuple("Point", "x y")):
    """A class with arguments of `__new__`."""

    __slots__ = ()


class Slotted:
    __slots__ = ("a", "b")


class Counted:
    """A class that restores itself."""

    def __getstate__(self):
        return {"n": 3}

    def __setstate__(self, state):
        self.n = state["n"] + 1


class Failing:
    def __setstate__(self, state):
        raise KeyError("mine")

    def __getstate__(self):
        return {"a": 1}


class Stack(list):
    """A list of the user's."""


class Table(dict):
    """A dict of the user's."""


@FORMATS
def test_classes_that_are_allowed(archive):
    slotted, stack, table = Slotted(), Stack([1, 2]), Table(a=1)
    slotted.a, stack.name = 5, "s"
    things = [Config(4), Point(1, 2), slotted, Counted(), stack, table, datetime.datetime(2020, 1, 2), abs]
    allowed = [Config, Point, Slotted, Counted, Stack, Table, datetime.datetime, abs]
    with serialization.safe_globals(allowed):
        back = there_and_back(things, archive)
    assert [type(x) for x in back] == [type(x) for x in things]
    assert back[0].width == 4 and back[1] == (1, 2) and back[2].a == 5 and back[3].n == 4
    assert (
        back[4] == [1, 2]
        and back[4].name == "s"
        and back[5] == {"a": 1}
        and back[6] == things[6]
        and back[7] is abs
    )
    assert serialization.get_safe_globals() == []
    for thing in things:
        with pytest.raises(serialization.errors.UnpicklingError):
            there_and_back(thing, archive)


def test_errors_of_the_user_are_the_users():
    with serialization.safe_globals([Failing]), pytest.raises(KeyError, match="mine"):
        there_and_back(Failing())


def test_names_are_allowed_and_forgotten():
    serialization.add_safe_globals([Config])
    try:
        with serialization.safe_globals([Config, (Counted, "elsewhere.Name")]):
            assert serialization.get_safe_globals() == [Config, (Counted, "elsewhere.Name")]
        assert serialization.get_safe_globals() == [Config]  # it was there before
        assert there_and_back(Config(2)).width == 2
    finally:
        serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


@pytest.mark.parametrize(
    "wrong, error", [([3], TypeError), ([(Config,)], ValueError), ([(Config, 3)], TypeError)], ids=str
)
def test_what_cannot_be_allowed(wrong, error):
    with pytest.raises(error):
        serialization.add_safe_globals(wrong)


def test_what_cannot_be_saved(tmp_path):
    class Local:
        pass

    for thing, error in (
        (lambda: 3, torch.errors.PicklingError),
        (Local(), torch.errors.PicklingError),
        (sys, TypeError),
        ((x for x in ()), TypeError),
        (threading.Lock(), TypeError),
    ):
        path = tmp_path / "x.pt"
        with pytest.raises(error):
            torch.save([torch.ones(2), thing], path)
        assert not path.exists()  # nothing is begun that cannot be ended


# -- files ------------------------------------------
@FORMATS
def test_paths_and_files(tmp_path, archive):
    x = torch.arange(4)
    for path in (tmp_path / "x.pt", str(tmp_path / "y.pt")):
        torch.save(x, path, _use_new_zipfile_serialization=archive)
        assert torch.equal(torch.load(path), x)
        with open(path, "rb") as file:
            assert torch.equal(torch.load(file), x)
            assert not file.closed
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")


def test_a_file_that_only_writes():
    class Sink:
        def __init__(self):
            self.parts = []

        def write(self, data):
            self.parts.append(bytes(data))

        def flush(self):
            pass

    sink = Sink()
    torch.save({"a": torch.arange(3)}, sink)
    assert torch.load(io.BytesIO(b"".join(sink.parts)))["a"].tolist() == [0, 1, 2]


def test_a_file_without_readinto():
    class Plain:
        def __init__(self, data):
            self.file = io.BytesIO(data)
            for name in ("read", "readline", "seek", "tell", "seekable"):
                setattr(self, name, getattr(self.file, name))

    for archive in (True, False):
        assert torch.load(Plain(save(torch.arange(3), archive))).tolist() == [0, 1, 2]


def test_several_objects_in_one_file():
    file = io.BytesIO()
    for i in range(3):
        torch.save(torch.full((2,), i), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [torch.load(file).tolist() for _ in range(3)] == [[0, 0], [1, 1], [2, 2]]
    file = io.BytesIO(b"before")
    file.seek(6)
    torch.save(torch.ones(1), file)
    file.seek(6)
    assert torch.load(file).tolist() == [1]


def test_an_archive_is_a_zip_file_of_aligned_records():
    file = save({"a": torch.arange(3), "b": torch.ones(5)})
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [
            f"archive/{n}" for n in ("data.pkl", "byteorder", "data/0", "data/1", "version")
        ]
        assert (
            archive.read("archive/version") == b"3\n"
            and archive.read("archive/byteorder") == sys.byteorder.encode()
        )
        assert archive.read("archive/data/0") == torch.arange(3)._fx_value.tobytes()
    assert file == save({"a": torch.arange(3), "b": torch.ones(5)})  # nothing of time or chance is in it
    start = file.index(torch.arange(3)._fx_value.tobytes())
    assert start % 64 == 0


def test_mapped(tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(4.0), "e": torch.ones(0)}, path)
    before = path.read_bytes()
    back = torch.load(path, mmap=True)
    assert back["a"].tolist() == [0, 1, 2, 3] and back["e"].tolist() == []
    back["a"] += 1
    assert path.read_bytes() == before
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        shared = torch.load(path, mmap=True)["a"]
        shared += 1
        shared.untyped_storage()._fx_owner.base.flush()
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert torch.load(path, mmap=True)["a"].tolist() == [1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="checksum"):
        torch.load(path)
    with pytest.raises(ValueError, match="f must be a file path"):
        torch.load(io.BytesIO(before), mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        torch.load(io.BytesIO(save(1, False)), mmap=True)
    with pytest.raises(ValueError, match=r"expected mmap\.MAP_PRIVATE"):
        serialization.set_default_mmap_options(77)


# -- devices ------------------------------------------
def relocate(location: str) -> bytes:
    """The file of a Tensor that was on another device."""
    found = save(torch.arange(3.0), False)
    return found.replace(b"\x03\x00\x00\x00cpu", bytes([len(location)]) + b"\x00\x00\x00" + location.encode())


def test_map_location():
    file = relocate("cuda:3")
    for location in (
        "cpu", b"cpu", torch.device("cpu"), {"cuda:3": "cpu"}, lambda storage, location: storage,
    ):  # fmt: skip
        assert torch.load(io.BytesIO(file), location).tolist() == [0, 1, 2]
    seen = []
    torch.load(
        io.BytesIO(file),
        lambda storage, location: (seen.append((type(storage).__name__, location)), storage)[1],
    )
    assert seen == [("TypedStorage", "cuda:3")]
    for location in (None, {"cpu": "cuda"}, lambda storage, location: None):
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
            torch.load(io.BytesIO(file), location)
    for location in (3, lambda storage, location: 3):
        with pytest.raises(TypeError, match="map_location must"):
            torch.load(io.BytesIO(file), location)


def test_the_other_order_of_bytes():
    dtypes = [torch.bool, torch.int16, torch.float64, torch.complex64, torch.bfloat16]
    tensors = [torch.tensor([0, 1, 300]).to(dtype) for dtype in dtypes]
    with zipfile.ZipFile(io.BytesIO(save(tensors))) as archive:
        records = {name.removeprefix("archive/"): archive.read(name) for name in archive.namelist()}
    other = {"little": b"big", "big": b"little"}[sys.byteorder]
    for i, x in enumerate(tensors):
        array = x._fx_value.view(np.uint16) if x._fx_value.dtype == ml_dtypes.bfloat16 else x._fx_value
        records[f"data/{i}"] = array.byteswap().tobytes()

    def pack(records):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name, data in records.items():
                archive.writestr(f"archive/{name}", data)
        return io.BytesIO(file.getvalue())

    assert all(torch.equal(a, b) for a, b in zip(torch.load(pack({**records, "byteorder": other})), tensors))
    records.pop("byteorder")
    serialization.set_default_load_endianness(serialization.LoadEndianness[other.decode().upper()])
    try:
        assert all(torch.equal(a, b) for a, b in zip(torch.load(pack(records)), tensors))
    finally:
        serialization.set_default_load_endianness(None)
    with pytest.raises(ValueError, match="Unknown endianness type: middle"):
        torch.load(pack({**records, "byteorder": b"middle"}))
    with pytest.raises(TypeError, match="set_default_load_endianness"):
        serialization.set_default_load_endianness("little")


# -- arguments ------------------------------------------
def test_arguments():
    assert there_and_back(3, pickle_module=pickle, weights_only=False) == 3
    assert torch.load(io.BytesIO(save("a", pickle_protocol=4)), encoding="bytes") == "a"
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        there_and_back(3, pickle_module=pickle, weights_only=True)
    with pytest.raises(NotImplementedError, match="pickle_module='json'"):
        save(3, pickle_module=json)
    with pytest.raises(ValueError, match="pickle protocol must be <= 5"):
        save(3, pickle_protocol=6)
    with pytest.raises(TypeError, match="pickle_protocol"):
        save(3, pickle_protocol="2")
    with pytest.raises(TypeError, match="unexpected keyword argument 'fix_imports'"):
        there_and_back(3, fix_imports=True)
    with pytest.raises(AttributeError, match="expected 'f' to be string, path"):
        torch.save(3, 3)
    with pytest.raises(AttributeError, match="seekable"):
        torch.load(3)


def test_several_threads():
    file = save({"a": torch.arange(50.0), "b": [torch.ones(3)] * 3})
    wrong = []

    def work():
        for _ in range(20):
            with serialization.safe_globals([Config]):
                back = torch.load(io.BytesIO(file))
            if back["a"].tolist() != list(range(50)) or save(back) != file:
                wrong.append(back)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    serialization.clear_safe_globals()


def test_copies_and_pickles_of_python_still_work():
    model = torch.nn.Linear(2, 2)
    model.register_state_dict_post_hook(note_hook)
    for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(made.weight, model.weight) and made.state_dict()["noted"] is True


def test_generators_are_copied():
    generator = torch.Generator().manual_seed(3)
    torch.rand(2, generator=generator)
    for made in (copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))):
        assert made.initial_seed() == 3 and torch.equal(made.get_state(), generator.get_state())


def note_hook(module, state, prefix, metadata):
    state["noted"] = True


# -- safetensors ------------------------------------------
def test_safetensors(tmp_path):
    pytest.importorskip("safetensors")
    x = torch.arange(6.0).reshape(2, 3)
    tensors = {"a": x.t(), "b": torch.ones(2, dtype=torch.bfloat16), "p": torch.nn.Parameter(torch.zeros(1))}
    path = tmp_path / "x.safetensors"
    serialization.safetensors.save_file(tensors, path, {"made by": "a test"})
    for back in (torch.load(path), torch.load(path, "cpu"), serialization.safetensors.load_file(path)):
        assert all(torch.equal(back[name], x) and back[name].dtype == x.dtype for name, x in tensors.items())
    assert (
        serialization.safetensors.load(serialization.safetensors.save(tensors))["a"].tolist()
        == x.t().tolist()
    )
    with pytest.raises(RuntimeError, match="map_location is not supported"):
        torch.load(path, {"cpu": "cpu"})
    with pytest.raises(TypeError, match="expected torch"):
        serialization.safetensors.save({"a": 3})
