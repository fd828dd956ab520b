"""A stand-in for CuPy, for machines without a GPU: `cupy` and `cupyx` over NumPy's arrays.

It computes what NumPy computes, and is as strict as CuPy is:

* an array is no NumPy array and does not become one by itself: `numpy.asarray(x)` raises TypeError, and so does an
  operation with an array of NumPy's;
* there are the functions of CuPy 14, with its parameters, and no others (`cupy/signatures.txt`);
* there are two devices without access to each other; an operation takes arrays of the current device only. There are
  streams, events, graphs, pools of memory, pinned memory, and `RawModule`, whose sources NVRTC compiles where it is
  installed and the C++ compiler makes run;
* what a GPU does otherwise happens here as well: positions beyond the end wrap around, singular matrices give NaN, and
  of several values for one entry it is not the last one that stays.

`recording()` gives all transfers and launches. A test takes the fixture `stand_in` of `tests.conftest`, which is this
`cupy`, or says

    with install() as cupy, recording() as record:
        ...
    assert not record.to_host

A process of its own has the stand-in when this folder is on its path: `PYTHONPATH=tests/cupy_stand_in python …`.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent
ROOMS = ("cupy", "cupyx")
MODULES: dict[str, ModuleType] = {}  # the stand-in's modules, the same whenever it is installed


def is_of_cupy(name: str) -> bool:
    return name.partition(".")[0] in ROOMS


@contextmanager
def install():
    """Let `import cupy` give the stand-in, and take it away afterwards; fxgrad remembers nothing of it but its array
    class."""
    before = {name: module for name, module in sys.modules.items() if is_of_cupy(name)}
    for name in before:
        del sys.modules[name]
    sys.modules.update(MODULES)
    sys.path.insert(0, str(FOLDER))
    try:
        import cupy
        import cupyx  # noqa: F401

        MODULES.update({name: module for name, module in sys.modules.items() if is_of_cupy(name)})
        yield cupy
    finally:
        MODULES["cupy.cuda"].reset()
        sys.path.remove(str(FOLDER))
        for name in [name for name in sys.modules if is_of_cupy(name)]:
            del sys.modules[name]
        sys.modules.update(before)


def recording():
    """Open a `Record` of the stand-in that is installed: its transfers and launches."""
    return MODULES["cupy._record"].recording()
