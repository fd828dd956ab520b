"""What tests/compat knows of the attributes of torch's classes is what they have."""

from __future__ import annotations

import json

import pytest
import torch

import fxgrad.compat as fxt
from tests.compat.attributes import FILE, PREFIX, torch_attributes

from .test_every_module import MODULES


@pytest.mark.filterwarnings("ignore")
def test_the_file_says_what_torch_has():
    """`python -m tests.compat.attributes` writes it anew."""
    assert json.loads(FILE.read_text()) == torch_attributes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", sorted({row[0] for row in MODULES}))
def test_a_module_has_what_that_of_torch_has(code):
    found = []
    for T in (fxt, torch):
        module = eval(code if code.startswith("T.") else f"T.nn.{code}", {"T": T})
        found.append([(name, {*dir(type(part)), *vars(part)}) for name, part in module.named_modules()])
    for (name, ours), (_, theirs) in zip(*found, strict=True):
        assert {n for n in ours - theirs if not n.startswith((PREFIX, "__"))} == set(), name
