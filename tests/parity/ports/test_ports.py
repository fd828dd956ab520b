"""Programs in the styles of JAX and autograd give the same numbers with the lines that import these as the only
difference."""

import re
import sys
from pathlib import Path
from types import ModuleType

import autograd.numpy  # noqa: F401 - by the programs
import numpy as np
import pytest

import fxgrad
from tests.parity import oracle  # noqa: F401 - 64-bit numbers

HERE = Path(__file__).parent
PROGRAMS = sorted(path for path in HERE.glob("*_programs/*.py") if path.stem != "__init__")
IMPORTS = {
    "jax_programs": (
        (r"^import jax$", "import fxgrad as jax"),
        (r"^(import|from) jax(?=[. ])", r"\1 fxgrad"),
    ),
    "autograd_programs": (
        (r"^(import|from) autograd\.numpy", r"\1 numpy"),
        (r"^from autograd(?=[. ])", "from fxgrad"),
    ),
}


def run(source, name):
    """What `main` of a program returns. It is a module while it runs: dataclasses look it up."""
    module = sys.modules[name] = ModuleType(name)
    try:
        exec(compile(source, name, "exec"), module.__dict__)
        return module.main()
    finally:
        del sys.modules[name]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_only_the_imports_differ(path):
    source = ported = path.read_text(encoding="utf-8")
    for line, other in IMPORTS[path.parent.name]:
        ported = re.sub(line, other, ported, flags=re.MULTILINE)
    assert not re.search(r"^(import|from) (jax|autograd)", ported, flags=re.MULTILINE)
    (ours, structure), (theirs, other) = (
        fxgrad.tree.flatten(run(text, name)) for text, name in ((ported, "port"), (source, "program"))
    )
    assert re.sub("port|program", "", str(structure)) == re.sub("port|program", "", str(other))
    for one, another in zip(ours, theirs):
        if isinstance(another, str):
            assert one == another
        else:  # iterations add up what each operation rounds
            np.testing.assert_allclose(one, another, rtol=1e-6, atol=1e-8)
