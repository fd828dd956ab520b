"""The examples of `fxgrad.compat.texts` print with torch what they print here."""

from __future__ import annotations

import contextlib
import doctest
import io
import warnings

import numpy as np
import pytest
import torch

import fxgrad.compat
from fxgrad.compat.texts import Entry, read_entries

# Where torch has it not, or has more.
DIFFERENT = {
    "Tensor.record_stream": "torch takes a stream only",
    "Tensor.to_sparse_bsc": "the layout is not here",
    "sparse_bsc_tensor": "the layout is not here",
    "get_printoptions": "torch has no such name",
    "Tensor.cuda": "it is about the device at hand",
}


def entries_with_examples() -> dict[str, Entry]:
    """The entries with an example, each by the first of its names."""
    found = {id(entry): (name, entry) for name, entry in reversed(read_entries().items()) if entry.example}
    return {name: entry for name, entry in found.values() if name not in DIFFERENT}


ENTRIES = entries_with_examples()


def run_example(entry: Entry, library) -> list[str]:
    """What each statement of an example prints."""
    names = {"torch": library, "F": library.nn.functional, "np": np}
    printed = []
    for example in doctest.DocTestParser().get_examples("\n".join([*entry.example, ""])):
        with contextlib.redirect_stdout(io.StringIO()) as output, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(example.source, "<example>", "single"), names)
        printed.append(output.getvalue())
    return printed


@pytest.mark.parametrize("name", ENTRIES)
def test_torch_prints_the_same(name):
    assert run_example(ENTRIES[name], torch) == run_example(ENTRIES[name], fxgrad.compat)


def test_what_differs_has_an_example():
    assert all(read_entries()[name].example for name in DIFFERENT)
