"""Storages: their bytes, files that are mapped, and what reads them, under torch and fxgrad.compat."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import ERRORS

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")

# Each text is evaluated in turn; `s` maps 16 bytes of a file, `x` has two numbers of 16 bits.
PROGRAM = """
    (len(s), s.size(), s.nbytes(), s.element_size(), s.filename, s.is_shared(), s.is_cuda, s.is_pinned())
    (s[3], s[-1], s[2:5].tolist(), s[2:9][1:3].tolist(), list(s)[:3])
    (s[16], )
    s[::2]
    str(s[:2])
    T.asarray(s[4:12], dtype=T.uint8).view(T.float32).tolist()
    T.asarray(s[4:12], dtype=T.int32).tolist()
    T.asarray(s[4:4], dtype=T.uint8).shape
    (s.__setitem__(0, 7), s[0], read(path)[0])
    (s.__setitem__(slice(2, 4), 9), s.tolist())
    T.UntypedStorage.from_file(path, False, 400)
    T.UntypedStorage.from_file(path).size()
    T.UntypedStorage.from_file(path + "/none", False, 4)
    w.__setitem__(0, 9), len(w), read(path)[:1], w.filename == path
    T.UntypedStorage([1, 2]).fill_(5).tolist()
    T.UntypedStorage(2).copy_(T.UntypedStorage([3, 4])).tolist()
    T.UntypedStorage(3).copy_(T.UntypedStorage(4))
    (x.untyped_storage()[2:].fill_(1).tolist(), x.tolist())
    x.storage()[0:1]
    x.storage()[1], x.storage()[7]
    (x.storage().untyped().size(), x.storage().size(), x.storage().element_size())
    (x.storage().clone().fill_(3).tolist(), x.tolist())
    copy.deepcopy(x.untyped_storage()).data_ptr() == x.untyped_storage().data_ptr()
    T.empty(0, dtype=T.int16).set_(x.untyped_storage()[2:4]).tolist()
    T.TypedStorage([1.0, 2.0], dtype=T.float64).tolist()
    T.TypedStorage(wrap_storage=x.untyped_storage(), dtype=T.int32).tolist()
    (T.asarray(x.untyped_storage(), dtype=T.int16).add_(1).tolist(), x.tolist())
"""


def answers(T, path: str) -> list[str]:
    with open(path, "wb") as file:
        file.write(bytes(range(16)))
    names = {
        "T": T,
        "copy": copy,
        "read": lambda p: Path(p).read_bytes(),
        "path": path,
        "x": T.zeros(2, dtype=T.int16),
    }
    names["s"] = T.UntypedStorage.from_file(path, False, 16)
    names["w"] = T.UntypedStorage.from_file(path, shared=True, nbytes=20)
    found = []
    for text in PROGRAM.strip().splitlines():
        try:
            found.append(repr(eval(text.strip(), names)))
        except ERRORS as error:
            kind = next(cls for cls in ERRORS if isinstance(error, cls))
            found.append(f"{kind.__name__}: {str(error).splitlines()[0]}")
    return found


def test_storages(tmp_path):
    texts = PROGRAM.strip().splitlines()
    for text, ours, theirs in zip(texts, *(answers(T, str(tmp_path / "file")) for T in (fxt, torch))):
        assert ours == theirs, text


def test_safetensors_files_are_read_where_torch_is_answered(tmp_path):
    pytest.importorskip("safetensors")
    program = """
import sys, torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
x = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(3, dtype=torch.bfloat16), "c": torch.zeros(0, 2)}
save_file(x, sys.argv[1])
with safe_open(sys.argv[1], framework="pt") as file:
    print([(k, torch.equal(file.get_tensor(k), x[k]), file.get_tensor(k).dtype) for k in sorted(file.keys())])
    print(file.get_slice("a")[:, 1:].tolist())
print(all(torch.equal(v, x[k]) for k, v in load_file(sys.argv[1]).items()))
"""
    path = str(tmp_path / "file.safetensors")
    printed = [
        subprocess.run(
            [sys.executable, *way, "-c", program, path],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for way in ([], ["-m", "fxgrad.compat"])
    ]
    assert printed[0] == printed[1]
