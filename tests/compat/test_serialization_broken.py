"""Files whose storages, records and bytes are wrong: torch's errors, and no more memory than there is data."""

from __future__ import annotations

import io
import pickle
import pickletools
import random
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad.compat as torch
from fxgrad.compat.serialization.errors import UnpicklingError
from tests.compat.test_serialization_hostile import ERRORS, in_old_format, pack, peak_memory, run


# -- storages ------------------------------------------
def tensor_pickle(size=(3,), stride=(1,), offset=0, count=3, key="0", kind="FloatStorage", **more) -> bytes:
    """The pickle of a Tensor."""
    storage = ("storage", Global("torch", kind), key, "cpu", count)
    args = (Persistent(storage), offset, size, stride, more.get("grad", False), more.get("hooks", {}))
    writer = Pickler()
    writer.write(Call(Global("torch._utils", "_rebuild_tensor_v2"), args))
    return b"\x80\x02" + writer.data + b"."


class Global(tuple):
    def __new__(cls, *parts):
        return tuple.__new__(cls, parts)


class Persistent(Global):
    pass


class Call(Global):
    pass


class Pickler:
    """A writer of whatever is wanted, right or not."""

    def __init__(self):
        self.data = b""

    def write(self, thing):
        if type(thing) is Global:
            self.data += b"c%s\n%s\n" % (thing[0].encode(), thing[1].encode())
        elif type(thing) is Persistent:
            self.write(thing[0])
            self.data += b"Q"
        elif type(thing) is Call:
            self.write(thing[0])
            self.write(thing[1])
            self.data += b"R"
        elif type(thing) is tuple:
            self.data += b"("
            for part in thing:
                self.write(part)
            self.data += b"t"
        else:
            self.data += pickle.dumps(thing, 2)[2:-1]


DATA = np.arange(3, dtype="<f4").tobytes()


def test_the_pickle_of_a_tensor_is_what_is_read():
    assert run(tensor_pickle(), storage_0=DATA).tolist() == [0, 1, 2]
    assert run(tensor_pickle((2, 2), (1, 1)), storage_0=DATA).tolist() == [[0, 1], [1, 2]]
    assert run(tensor_pickle((10**9, 2), (0, 1), 1), storage_0=DATA).shape == (
        10**9,
        2,
    )  # no entry takes memory


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": (4,)},
        {"offset": 1},
        {"offset": 10**18},
        {"offset": -1},
        {"size": (-1,)},
        {"stride": (-1,)},
        {"stride": (2,)},
        {"size": (2, 2)},
        {"size": (10**30,)},
        {"stride": (10**30,)},
        {"size": ("a",)},
        {"size": (True,)},
        {"size": 3.0},
        {"count": 4},
        {"count": 10**15},
        {"count": -3},
        {"count": 2},
        {"count": 3.0},
        {"key": "1"},
        {"key": 0},
        {"key": "../data.pkl"},
        {"key": "../../../etc/passwd"},
        {"kind": "DoubleStorage"},
        {"kind": "NoStorage"},
        {"kind": "float32"},
        {"offset": 0.5},
        {"size": (1,) * 100, "stride": (1,) * 100},
        {"size": (10**9,) * 3, "stride": (0,) * 3},
        {"kind": "LongStorage", "grad": True},
    ],
    ids=str,
)
def test_wrong_sizes_are_refused_and_cost_nothing(wrong):
    def load():
        with pytest.raises(ERRORS):
            run(tensor_pickle(**wrong), storage_0=DATA * (2 if "grad" in wrong else 1))

    assert peak_memory(load) < 5_000_000


def test_the_old_format_takes_memory_only_where_there_is_data():
    def load():
        storage = ("storage", Global("torch", "FloatStorage"), "0", "cpu", 10**9, None)
        writer = Pickler()
        writer.write(
            Call(
                Global("torch._utils", "_rebuild_tensor_v2"), (Persistent(storage), 0, (3,), (1,), False, {})
            )
        )
        with pytest.raises(EOFError, match="unexpected EOF"):
            torch.load(in_old_format(b"\x80\x02" + writer.data + b"."))

    assert peak_memory(load) < 5_000_000


def test_one_storage_as_two_types():
    storages = [
        ("storage", Global("torch", kind), "0", "cpu", n)
        for kind, n in (("FloatStorage", 3), ("IntStorage", 3))
    ]
    writer = Pickler()
    writer.write(tuple(Persistent(storage) for storage in storages))
    with pytest.raises(UnpicklingError, match="two types or sizes"):
        run(b"\x80\x02" + writer.data + b".", storage_0=DATA)


def rebuilt(*args, name: str = "_rebuild_tensor_v2") -> bytes:
    writer = Pickler()
    writer.write(Call(Global("torch._utils", name), args))
    return b"\x80\x02" + writer.data + b"."


def test_conjugates_are_computed_only_of_what_is_there():
    storage = Persistent(("storage", Global("torch", "ComplexFloatStorage"), "0", "cpu", 2))
    data = np.array([1j, 2], np.complex64).tobytes()
    assert run(rebuilt(storage, 0, (2,), (1,), False, {}, {"conj": True}), storage_0=data).tolist() == [
        -1j,
        2,
    ]

    def load():
        with pytest.raises(UnpicklingError, match="much more than it holds"):
            run(rebuilt(storage, 0, (10**10,), (0,), False, {}, {"conj": True}), storage_0=data)

    assert peak_memory(load) < 5_000_000


def test_truth_values_are_0_and_1_in_memory():
    """NumPy counts them by adding bytes: others would have it write outside of its arrays."""
    storage = Persistent(("storage", Global("torch", "BoolStorage"), "0", "cpu", 600))
    mask = run(rebuilt(storage, 0, (600,), (1,), False, {}), storage_0=b"\xff" * 600)
    assert mask._fx_value.view(np.uint8).tolist() == [1] * 600 and torch.arange(600)[mask].shape == (600,)
    raw = Persistent(("storage", Global("torch", "ByteStorage"), "0", "cpu", 600))
    pickled = rebuilt(raw, 0, (600,), (1,), False, {}, Global("torch", "bool"), name="_rebuild_tensor_v3")
    with pytest.raises(UnpicklingError, match="Truth values"):
        run(pickled, storage_0=b"\xff" * 600)
    file = io.BytesIO()
    torch.save(torch.ones(600, dtype=torch.bool), file, _use_new_zipfile_serialization=False)
    old = torch.load(io.BytesIO(file.getvalue().replace(b"\x01" * 600, b"\xff" * 600)))
    assert old._fx_value.view(np.uint8).tolist() == [1] * 600
    array = pickle.dumps(np.ones(600, bool), 2).replace(b"\x01" * 600, b"\x02" * 600)
    with pytest.raises(UnpicklingError, match="truth values"):
        run(array)


def test_hooks_in_a_file_are_not_taken_over():
    with pytest.warns(UserWarning, match="backward hooks"):
        assert run(tensor_pickle(hooks={1: 2}), storage_0=DATA).tolist() == [0, 1, 2]


# -- archives ------------------------------------------
def valid_file(archive: bool = True) -> bytes:
    file = io.BytesIO()
    torch.save(
        {"a": torch.arange(3.0), "b": torch.ones(2, 3).t(), "c": [1, "x"]},
        file,
        _use_new_zipfile_serialization=archive,
    )
    return file.getvalue()


def test_compressed_entries_are_refused():
    pickled = b"\x80\x02" + b"]" * 1000 + b"."
    for file in (
        pack(pickled, zipfile.ZIP_DEFLATED),
        pack(tensor_pickle(), zipfile.ZIP_BZIP2, storage_0=DATA),
    ):
        with pytest.raises(RuntimeError, match="compressed"):
            torch.load(file)


def write_archive(names: list[str]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, pickle.dumps(3, 2))
    return io.BytesIO(file.getvalue())


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "names, message",
    [
        (["a/data.pkl", "a/data.pkl"], "there twice"),
        (["a/data.pkl", "../../b"], "outside of 'a'"),
        (["a/data.pkl", "/etc/passwd"], "outside of 'a'"),
        (["a/other"], r"locating file data\.pkl"),
        (["data.pkl"], "outside of"),
        (["a/data.pkl", "a/constants.pkl"], "TorchScript"),
        ([], "reading zip archive"),
    ],
    ids=str,
)
def test_names_of_records(names, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = write_archive(names)
    if not names:
        file = io.BytesIO(b"PK\x03\x04" + file.getvalue())
    with pytest.raises(RuntimeError, match=message):
        torch.load(file)
    assert list(tmp_path.iterdir()) == []


def test_entries_that_share_bytes_are_refused():
    """The trick of zip bombs: the list of entries refers to the same bytes many times."""
    file = bytearray(valid_file())
    first = file.index(b"PK\x01\x02")
    second = file.index(b"PK\x01\x02", first + 4)
    file[second + 42 : second + 46] = file[first + 42 : first + 46]
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
        torch.load(io.BytesIO(bytes(file)))


def test_a_changed_byte_of_data_is_found():
    file = bytearray(valid_file())
    place = file.index(np.arange(3, dtype="f4").tobytes())
    file[place + 5] ^= 1
    with pytest.raises(RuntimeError, match="CRC"):
        torch.load(io.BytesIO(bytes(file)))


@pytest.mark.parametrize("archive", [True, False])
def test_truncated(archive):
    whole = valid_file(archive)
    for size in [*range(0, 60), *range(60, len(whole) - 1, 37), len(whole) - 1]:
        with pytest.raises(ERRORS):
            torch.load(io.BytesIO(whole[:size]))
    with pytest.raises(EOFError, match="Ran out of input"):
        torch.load(io.BytesIO(b""))


# -- changed at random ------------------------------------------
def outcome(data: bytes):
    """What a file holds, as text; or that it is refused."""
    try:
        found = torch.load(io.BytesIO(data))
    except ERRORS:
        return None
    return repr(found)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_changed_archive_is_refused_or_the_same(data):
    whole = bytearray(valid_file())
    expected = outcome(bytes(whole))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    assert outcome(bytes(whole)) in (None, expected)


@pytest.mark.filterwarnings("ignore:the file holds backward hooks")
@pytest.mark.parametrize("seed", range(3))
def test_a_changed_pickle_is_refused_or_builds_something_harmless(seed, tmp_path, monkeypatch):
    """Bytes replaced, taken out, put in, and whole instructions exchanged."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    with zipfile.ZipFile(io.BytesIO(valid_file())) as archive:
        pickled = archive.read("archive/data.pkl")
        records = {f"storage_{i}": archive.read(f"archive/data/{i}") for i in range(2)}
    starts = [place for _, _, place in pickletools.genops(pickled)]
    opcodes = [op.code.encode("latin-1") for op in pickletools.opcodes]
    for _ in range(1000):
        changed = bytearray(pickled)
        for _ in range(rng.randint(1, 4)):
            place = rng.choice(starts) if rng.random() < 0.7 else rng.randrange(len(changed))
            place = min(place, len(changed) - 1)
            what = rng.randrange(4)
            if what == 0:
                changed[place] = rng.randrange(256)
            elif what == 1:
                del changed[place : place + rng.randint(1, 9)]
            elif what == 2:
                changed[place:place] = rng.choice(opcodes)
            else:
                start = rng.choice(starts)
                changed[place:place] = changed[start : start + rng.randint(1, 30)]
        outcome(pack(bytes(changed), **records).getvalue())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:the file holds backward hooks")
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_changed_file_of_the_old_format_is_refused_or_loads(data):
    whole = bytearray(valid_file(archive=False))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    outcome(bytes(whole))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data):
    for start in (b"", b"PK\x03\x04", b"\x80\x02"):
        outcome(start + data)
