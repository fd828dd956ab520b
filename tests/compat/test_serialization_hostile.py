"""Files that were made to do something: they do nothing, take little memory, and raise torch's errors."""

from __future__ import annotations

import collections
import io
import os
import pickle
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path
from unittest import mock

import pytest

import fxgrad.compat as torch
from fxgrad.compat import serialization
from fxgrad.compat.serialization import reductions, writer
from fxgrad.compat.serialization.errors import UnpicklingError

ERRORS = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)


def pack(pickled: bytes, compression: int = zipfile.ZIP_STORED, **records: bytes) -> io.BytesIO:
    """An archive with this pickle and these records ("data/0" is `storage_0`)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", b"little")
        for name, data in records.items():
            archive.writestr(f"archive/data/{name.removeprefix('storage_')}", data)
        archive.writestr("archive/version", b"3\n")
    return io.BytesIO(file.getvalue())


def run(pickled: bytes, **records: bytes):
    return torch.load(pack(pickled, **records))


def in_old_format(pickled: bytes) -> io.BytesIO:
    """The same pickle in a file of the old format."""
    head = b"".join(pickle.dumps(x, 2) for x in (0x1950A86A20F9469CFC6C, 1001, {}))
    return io.BytesIO(head + pickled + pickle.dumps([], 2))


# -- pickles that execute ------------------------------------------
ROOT = Path(__file__).parents[2]
TOUCHED = "touched"


class Reduced:
    """An object whose pickle is the call of a function."""

    def __init__(self, *pieces):
        self.pieces = pieces

    def __reduce__(self):
        return self.pieces


def named(module: str, name: str, args: bytes = b")") -> bytes:
    return b"\x80\x02c" + module.encode() + b"\n" + name.encode() + b"\n" + args + b"R."


EXECUTING = {
    "os.system": pickle.dumps(Reduced(os.system, (f"touch {TOUCHED}",)), 2),
    "os.system, protocol 4": pickle.dumps(Reduced(os.system, (f"touch {TOUCHED}",)), 4),
    "eval": pickle.dumps(Reduced(eval, (f"open({TOUCHED!r}, 'w')",)), 2),
    "exec": pickle.dumps(Reduced(exec, (f"open({TOUCHED!r}, 'w')",)), 2),
    "open": pickle.dumps(Reduced(open, (TOUCHED, "w")), 2),
    "getattr": pickle.dumps(Reduced(getattr, (torch.Tensor, "__init__")), 2),
    "import": named("builtins", "__import__", b"X\x02\x00\x00\x00os\x85"),
    "text opcodes": f"cos\nsystem\n(S'touch {TOUCHED}'\ntR.".encode(),
    "INST": f"(S'touch {TOUCHED}'\nios\nsystem\n.".encode(),
    "OBJ": f"(cos\nsystem\nS'touch {TOUCHED}'\no.".encode(),
    "subprocess": named("subprocess", "call", b"]X\x02\x00\x00\x00lsa\x85"),
    "a module of ours": named(
        "fxgrad.compat.serialization.files", "save", b"K\x01X\x07\x00\x00\x00touched\x86"
    ),
    "numpy.load": named("numpy", "load", b"X\x01\x00\x00\x00a\x85"),
    "numpy.memmap": named(
        "numpy", "memmap", b"X\x07\x00\x00\x00touchedX\x02\x00\x00\x00u1X\x02\x00\x00\x00w+\x87"
    ),
    "dotted": named("numpy", "core.os.system", b"X\x01\x00\x00\x00a\x85"),
    "an attribute of what is known": named("torch", "Tensor.__init__"),
    "a class as a function": named("torch", "Tensor"),
    "a dtype as a function": named("torch", "float32"),
    "torch.load": named("torch", "load", b"X\x01\x00\x00\x00a\x85"),
    "torch.hub": named("torch.hub", "load", b"X\x01\x00\x00\x00a\x85"),
    "copyreg": named("copyreg", "_reconstructor", b"N\x85"),
    "partial": named("functools", "partial", b"N\x85"),
    "type": named("builtins", "type", b"X\x01\x00\x00\x00a)}\x87"),
    "object": b"\x80\x02cbuiltins\nobject\n)\x81}X\x01\x00\x00\x00aK\x01sb.",
    "extension": b"\x80\x02\x82\x01.",
    "text that is persistent": b"\x80\x02Pname\n.",
    "a factory": named("collections", "defaultdict", b"cos\nsystem\n\x85"),
    "called data": b"\x80\x02]K\x01\x85R.",
    "called Tensor": b"\x80\x02ctorch\nfloat32\n)R.",
    "rebuilt by a class": named(
        "torch._tensor", "_rebuild_from_type_v2", b"(cbuiltins\nset\nctorch\nTensor\n)}t"
    ),
    "a state for a dict": b"\x80\x02}}X\x01\x00\x00\x00aK\x01sb.",
    "class of an OrderedDict": b"\x80\x02ccollections\nOrderedDict\n)R}X\x09\x00\x00\x00__class__Nsb.",
    "state of a Parameter": b"\x80\x02ctorch.nn.parameter\nParameter\n)\x81}b.",
}


@pytest.mark.parametrize("pickled", EXECUTING.values(), ids=EXECUTING)
def test_nothing_is_executed(pickled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in (pack(pickled), in_old_format(pickled)):
        for options in ({}, {"weights_only": False}, {"weights_only": True}):
            file.seek(0)
            with pytest.raises(UnpicklingError, match="Weights only load failed"):
                torch.load(file, **options)
    assert list(tmp_path.iterdir()) == []


def test_what_is_blocked_cannot_be_allowed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with serialization.safe_globals([(os.system, "os.system"), os.system]):
        for module in ("os", "posix"):
            with pytest.raises(
                UnpicklingError, match=f"GLOBAL {module}.system whose module {module} is blocked"
            ):
                run(named(module, "system", f"X\x0d\x00\x00\x00touch {TOUCHED}".encode() + b"\x85"))
    assert list(tmp_path.iterdir()) == []


def test_the_error_is_pythons_and_torchs_and_says_what_to_do():
    with pytest.raises(pickle.UnpicklingError) as caught:
        run(EXECUTING["eval"])
    first, *rest = str(caught.value).splitlines()
    assert first == (
        "Weights only load failed. WeightsUnpickler error: Unsupported global: GLOBAL eval was not an allowed global "
        "by default. Please use `torch.serialization.add_safe_globals([eval])` or the "
        "`torch.serialization.safe_globals([eval])` context manager to allowlist this global if you trust this "
        "class/function."
    )
    assert any("test_serialization_hostile.py" in line for line in rest) and "state_dict()" in rest[-2]


def test_attributes_that_tensors_have_cannot_be_replaced():
    x = torch.ones(1)
    x.label = 3
    file = io.BytesIO()
    torch.save(x, file, _use_new_zipfile_serialization=False)
    for name in ("_fx_value", "shape", "__class__", "backward", "_grad", "add"):
        text = name.encode()
        changed = file.getvalue().replace(
            b"\x05\x00\x00\x00label", bytes([len(text)]) + b"\x00\x00\x00" + text
        )
        with pytest.raises(UnpicklingError, match="is no attribute that a user would give"):
            torch.load(io.BytesIO(changed))


# -- pickles that are broken, or that build too much ------------------------------------------
BROKEN = {
    "empty": b"",
    "only a stop": b".",
    "no stop": b"\x80\x02}",
    "unknown": b"\x80\x02\xff.",
    "protocol": b"\x80\x09N.",
    "memo": b"\x80\x02h\x05.",
    "mark": b"\x80\x02t.",
    "pop": b"\x80\x020.",
    "append to None": b"\x80\x02N]a.",
    "append to nothing": b"\x80\x02a.",
    "items of a list": b"\x80\x02]K\x01K\x02s.",
    "odd": b"\x80\x02}(K\x01u.",
    "list as key": b"\x80\x02}]Ns.",
    "long text": b"\x80\x02X\xff\xff\xff\x7fa.",
    "long bytes": b"\x80\x05\x8e" + b"\xff" * 8 + b".",
    "negative": b"\x80\x02\x8b\xff\xff\xff\xffa.",
    "frame": b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    "name": b"\x80\x02ctorch",
    "endless name": b"\x80\x02c" + b"a" * 5000 + b"\nb\n.",
    "no text": b"\x80\x02X\x01\x00\x00\x00\xff.",
    "global of numbers": b"\x80\x04K\x01K\x02\x93.",
    "arguments": b"\x80\x02ctorch\nSize\nK\x01R.",
    "name not utf-8": b"\x80\x02c\xff\n\xff\n.",
    "size": b"\x80\x02ctorch\nSize\n]X\x01\x00\x00\x00aa\x85R.",
    "device": b"\x80\x02ctorch\ndevice\nX\x01\x00\x00\x00a\x85R.",
    "persistent": b"\x80\x02K\x01Q.",
    "persistent text": b"\x80\x02X\x01\x00\x00\x00aQ.",
    "layout": named("torch.serialization", "_get_layout", b"N\x85"),
    "encode": named("_codecs", "encode", b"X\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86"),
    "bytes of a number": named("builtins", "bytearray", b"J\xff\xff\xff\x7f\x85"),
    "bytes": named("builtins", "bytes", b"J\xff\xff\xff\x7f\x85"),
    "complex": named("builtins", "complex", b"X\x01\x00\x00\x001\x85"),
    "dtype of an array": named("numpy", "dtype", b"X\x01\x00\x00\x00O\x85"),
    "counts": named("collections", "Counter", b"K\x05\x85"),
    "deque": named("collections", "deque", b")J\xff\xff\xff\xff\x86"),
    "set of a number": named("builtins", "set", b"K\x05\x85"),
    "generator": b"\x80\x02ctorch._C\nGenerator\n)RK\x05b.",
    "state of a generator": b"\x80\x02ctorch._C\nGenerator\n)RNb.",
}


@pytest.mark.parametrize("pickled", BROKEN.values(), ids=BROKEN)
def test_a_broken_pickle(pickled):
    for file in (pack(pickled), in_old_format(pickled)):
        with pytest.raises(ERRORS):
            torch.load(file)


def peak_memory(function) -> int:
    """The greatest number of bytes that were allocated at once."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def text(given: str) -> bytes:
    return b"X" + struct.pack("<I", len(given)) + given.encode()


# Programs that copy the same list, text or number again and again.
COPY = {
    "sets": b"\x80\x02](" + b"K\x01" * 2000 + b"eq\x000]" + b"cbuiltins\nset\nh\x00\x85Ra" * 2000 + b".",
    "bytes": b"\x80\x02"
    + text("a" * 2000)
    + b"q\x000]"
    + (b"c_codecs\nencode\nh\x00" + text("latin1") + b"\x86Ra") * 2000
    + b".",
    "counters": b"\x80\x02}("
    + b"".join(b"M" + struct.pack("<H", i) + b"N" for i in range(2000))
    + b"uq\x000]"
    + b"ccollections\nCounter\nh\x00\x85Ra" * 5000
    + b".",
    "hashes": b"\x80\x02\x8b"
    + struct.pack("<i", 100_000)
    + b"\x01" * 100_000
    + b"q\x000}"
    + b"h\x00Ns" * 30_000
    + b".",
    "deep key": b"\x80\x02)" + b"\x85" * 100_000 + b"q\x000}h\x00Ns.",
    "wide key": b"\x80\x02K\x01" + b"".join(b"q\x000h\x00h\x00\x86" for _ in range(60)) + b"q\x000}h\x00Ns.",
    "wide member": b"\x80\x04\x8fK\x01"
    + b"".join(b"q\x000h\x00h\x00\x86" for _ in range(60))
    + b"q\x000\x8f(h\x00\x90.",
}


DEQUE = b"ccollections\ndeque\n)R"
NEST = DEQUE * 20_000 + b"a" * 19_999
NESTS = {
    "deques": b"\x80\x02" + NEST + b".",
    "broken": b"\x80\x02" + NEST + b"\xff",
    "defaultdicts": b"\x80\x02" + b"ccollections\ndefaultdict\n)RN" * 20_000 + b"Ns" + b"s" * 19_999 + b".",
    "made from outside": b"\x80\x02" + DEQUE + b"q\x00" + (DEQUE + b"q\x01ah\x01") * 20_000 + b"h\x00.",
}


@pytest.mark.parametrize("pickled", COPY.values(), ids=COPY)
def test_a_file_that_would_grow(pickled):
    def load():
        with pytest.raises(UnpicklingError, match=r"much more than it holds|too many parts"):
            run(pickled)

    start = time.process_time()
    assert peak_memory(load) < 200 * len(pickled) + 10_000_000
    assert time.process_time() - start < 20


def test_depth_alone_is_no_harm():
    made = run(b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b".")
    for _ in range(49_999):
        (made,) = made
    assert made == []


def test_what_python_frees_by_recursion_is_not_deep(tmp_path):
    """The interpreter would run out of stack: it is tried in another one."""
    for name, program in NESTS.items():
        (tmp_path / name).write_bytes(pack(program).getvalue())
    source = """if True:
        import sys, fxgrad.compat as torch
        for path in sys.argv[1:]:
            try:
                torch.load(path)
            except torch.serialization.errors.UnpicklingError:
                print("refused")
    """
    paths = [str(tmp_path / name) for name in NESTS]
    run = subprocess.run(
        [sys.executable, "-c", source, *paths], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert run.stdout.split() == ["refused"] * len(NESTS), run.stderr[-500:]


def test_a_wide_or_circular_nest_is_none():
    wide = collections.defaultdict(dict, {i: collections.defaultdict(int, a=i) for i in range(3000)})
    circle = collections.deque([1])
    circle.append(circle)
    file = io.BytesIO()
    torch.save([wide, circle], file)
    back = torch.load(io.BytesIO(file.getvalue()))
    assert back[0] == wide and back[1][1] is back[1]


# -- sparse Tensors ------------------------------------------
class Sparse:
    """An object whose pickle is that of a sparse Tensor with these parts."""

    def __init__(self, layout: str, *parts):
        self.layout, self.parts = layout, parts


def sparse_file(layout: str, *parts) -> io.BytesIO:
    """A file with a sparse Tensor of any parts."""
    file = io.BytesIO()
    reduce = reductions.REDUCTIONS | {
        Sparse: lambda x, storages: (reductions.REBUILD_SPARSE, (getattr(torch, x.layout), x.parts))
    }
    with mock.patch.object(writer, "REDUCTIONS", reduce):
        torch.save(Sparse(layout, *parts), file)
    return io.BytesIO(file.getvalue())


def test_parts_of_sparse_tensors_are_looked_at():
    places, entries = torch.tensor([[0, 1], [1, 0]]), torch.tensor([2.0, 3.0])
    shape = torch.Size([2, 2])
    assert torch.load(sparse_file("sparse_coo", places, entries, shape, True)).to_dense().tolist() == [
        [0, 2],
        [3, 0],
    ]
    starts, columns = torch.tensor([0, 1, 2]), torch.tensor([1, 0])
    assert torch.load(sparse_file("sparse_csr", starts, columns, entries, shape)).values().tolist() == [2, 3]
    for parts in (
        ("sparse_coo", places, entries, torch.Size([1, 2]), False),  # a place outside
        ("sparse_coo", places - 1, entries, shape, False),
        ("sparse_coo", places, torch.ones(3), shape, False),
        ("sparse_coo", places.flip(1), entries, shape, True),  # not in order
        ("sparse_coo", places[:, [0, 0]], entries, shape, True),  # twice
        ("sparse_coo", places.float(), entries, shape, False),
        ("sparse_coo", places, entries, torch.Size([1 << 40, 1 << 40]), True),
        ("sparse_coo", places, entries, (2, -2), False),
        ("sparse_coo", places, entries, "ab", False),
        ("sparse_coo", places, entries),
        ("sparse_coo", [[0], [0]], entries, shape, False),
        ("sparse_csr", starts + 1, columns, entries, shape),
        ("sparse_csr", torch.tensor([0, 2, 1]), columns, entries, shape),
        ("sparse_csr", starts, columns + 1, entries, shape),
        ("sparse_csr", starts, columns, entries, shape, True),
        ("strided", places, entries, shape, True),
    ):
        with pytest.raises(UnpicklingError, match="Weights only load failed"):
            torch.load(sparse_file(*parts))
