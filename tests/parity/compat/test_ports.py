"""Programs in PyTorch's style give the same numbers with the lines that import it as the only difference."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch  # noqa: F401 - by the programs

PORTS = sorted(path for path in (Path(__file__).parent / "ports").glob("*.py") if path.stem != "__init__")
IMPORTS = (
    (r"^import torch$", "import fxgrad.compat as torch"),
    (r"^(import|from) torch(?=[. ])", r"\1 fxgrad.compat"),
)


def results(source: str, name: str) -> dict:
    """What `main` of a program returns. It is a module while it runs: classes are pickled by its name."""
    module = sys.modules[name] = ModuleType(name)
    try:
        exec(compile(source, name, "exec"), module.__dict__)
        return module.main()
    finally:
        del sys.modules[name]


def check_same(ours: Any, theirs: Any, place: str) -> None:
    assert type(ours) is type(theirs), place
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), place
        for key, value in theirs.items():
            check_same(ours[key], value, f"{place}[{key!r}]")
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), place
        for i, value in enumerate(theirs):
            check_same(ours[i], value, f"{place}[{i}]")
    elif isinstance(theirs, np.ndarray | float | complex):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-10, err_msg=place)
    else:
        assert ours == theirs, place


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch's own forward mode uses it,
@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr:UserWarning")  # and this is its linearize
@pytest.mark.parametrize("path", PORTS, ids=lambda path: path.stem)
def test_only_the_imports_differ(path):
    source = path.read_text(encoding="utf-8")
    ported = source
    for line, other in IMPORTS:
        ported = re.sub(line, other, ported, flags=re.MULTILINE)
    assert "fxgrad.compat as torch" in ported
    check_same(results(ported, "port"), results(source, "program"), path.stem)
