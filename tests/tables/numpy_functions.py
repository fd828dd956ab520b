"""What NumPy's own functions do with traced values: every call of tests/numpy/test_plain_numpy_names.py, and of those
that write, print and read memory, measured by a run.

    python -m tests.tables.numpy_functions        measures, and writes what is kept in numpy_functions.json
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.numpy.test_plain_numpy_names import TABLE, TRANSFORMS, X, is_static, numbers, program, split_calls

FILE = Path(__file__).with_name("numpy_functions.json")
WORKS, SAYS, OTHER = "works", "says", "other"
MEANINGS = {
    WORKS: "the values and dtypes are those of plain arrays under `vjp`, `jvp`, `vmap` and `jit`",
    SAYS: "under one of these at least an error says what to write: results without entries (text, matrices), shapes "
    "that hang on values under `jit`, writes into plain arrays, files",
    OTHER: "an error that does not, or other numbers",
}
# Functions that are called there under no transform: those that write, print, or are about memory and files.
FURTHER = split_calls("""
np.array2string(x) np.array_repr(x) np.array_str(x) np.asarray_chkfinite(x) np.asmatrix(x) np.bmat([[x, x]])
np.common_type(x) np.copyto(x.copy(), Y) np.copyto(Y.copy(), x) np.fill_diagonal(x.copy(), 0.)
np.fill_diagonal(EYE.copy(), s) np.from_dlpack(x) np.fromiter(v, float) np.isfortran(x) np.min_scalar_type(s)
np.place(x.copy(), M, v) np.place(Y.copy(), M, v) np.put(x.copy(), [0], [s]) np.put(Y.copy(), [0], [s])
np.put_along_axis(x.copy(), I[:, None], 1., 1) np.put_along_axis(Y.copy(), I[:, None], v[:3, None], 1)
np.putmask(x.copy(), M, Y) np.putmask(Y.copy(), M, x) np.shares_memory(x, x) np.may_share_memory(x, x) np.require(x)
np.nested_iters([x],[[0],[1]]) np.frombuffer(x) np.base_repr(n[0, 0]) np.binary_repr(n[0, 0])
np.format_float_positional(s) np.format_float_scientific(s) np.savetxt('/dev/null', x) np.save('/dev/null', x)
np.savez('/dev/null', x) np.savez_compressed('/dev/null', x) np.asfortranarray(x) np.empty((2,), like=x)*0
list(np.ndenumerate(x))[0][1] [1.*i for i in np.nditer(x)] np.broadcast(x, V).shape np.poly1d(v)(2.)
np.poly1d([1., 2])(x) np.lib.stride_tricks.as_strided(x, (2, 2))
""")


def state_of(call: str) -> tuple[str, str] | None:
    """What a call with traced values is, and what shows it; None where this NumPy has not the function."""
    compute = program(call)
    try:
        plain = compute(X)
    except AttributeError:
        return None
    wanted, about_kinds = numbers(plain), is_static(plain) and not isinstance(plain, str)
    states = []
    for name, transform in TRANSFORMS.items():
        try:
            found = numbers(seen_by(transform, compute) if about_kinds else transform(compute))
        except Exception as error:
            told = "\n".join([str(error), *getattr(error, "__notes__", [])])
            advises = getattr(error, "hint", "") or "of a traced value" in told
            states.append((SAYS if advises else OTHER, f"{name}: {type(error).__name__}: {told}"))
            continue
        same = len(found) == len(wanted) and all(map(is_same, found, wanted))
        states.append((WORKS, "") if same else (OTHER, f"{name}: {found}, not {wanted}"))
    return next(s for state in (OTHER, SAYS, WORKS) for s in states if s[0] == state)


def seen_by(transform: Callable[[Any], Any], compute: Callable[[Any], Any]) -> Any:
    """What a program sees that asks for shapes, dtypes and the like, which are no results of a transformed function."""
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.append(compute(x))
        return x

    transform(look)
    return seen[0]


def is_same(found: Any, wanted: Any) -> bool:
    """Whether two results are the same."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return False
    if wanted.dtype.kind not in "fciub":
        return bool(np.all(found == wanted))
    return bool(np.allclose(found, wanted, 1e-10, 1e-12, equal_nan=True))


def measure() -> dict[str, tuple[str, str]]:
    """The state of every call, and what shows it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = {call: state_of(call) for call in [*TABLE, *FURTHER]}
    return {call: state for call, state in found.items() if state is not None}


def keep_numpy() -> None:
    """Measure, and keep the states."""
    kept = {"numpy": np.__version__, "states": {call: state for call, (state, _) in measure().items()}}
    FILE.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def read() -> dict[str, Any]:
    """What is kept: the version of NumPy, and the states of the calls."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def space_of(call: str) -> str:
    """Where what a call is of stands: `numpy.linalg`, or `methods, indices` of an array."""
    name = re.search(r"np\.((?:[a-z_]+\.)*)\w+", call)
    if name is None:
        return "methods, indices"
    space = name[1].rstrip(".")
    return (
        f"`numpy.{space}`" if space.startswith(("linalg", "fft", "emath", "polynomial", "lib")) else "`numpy`"
    )


def page_of_numpy() -> str:
    """The page that counts the calls by what becomes of them, and lists those that do not work."""
    from .pages import MADE, grid, listed

    kept = read()
    states: dict[str, str] = kept["states"]
    count = Counter(states.values())
    text = [
        "# NumPy's own functions",
        "",
        MADE,
        "What becomes of a call of a function of NumPy's own with a traced value: under `fx.vjp`, `fx.jvp`,",
        f"`fx.vmap` and `fx.jit`. The calls are of all public functions of NumPy {kept['numpy']}, its `linalg`, `fft`",
        "and `emath`, that have an operand which can be traced, and of what arrays have.",
        "",
    ]
    text += grid(["a call", "calls", "means"], [(s, str(count[s]), told) for s, told in MEANINGS.items()])
    spaces: dict[str, list[str]] = {}
    for call in states:
        spaces.setdefault(space_of(call), []).append(call)
    rows = []
    for space, calls in spaces.items():
        found = Counter(states[call] for call in calls)
        rows.append((space, *(str(found[state]) for state in MEANINGS)))
    text += ["## By namespace", "", *grid(["", *MEANINGS], rows)]
    text += ["## What says what to write", ""]
    rows = [(space, listed(c for c in calls if states[c] != WORKS)) for space, calls in spaces.items()]
    return "\n".join(text + grid(["", "calls"], [row for row in rows if row[1]]))


if __name__ == "__main__":
    keep_numpy()
