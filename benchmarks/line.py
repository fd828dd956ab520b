"""What a line of the table is: inputs, and contenders by name.

Adding a line takes one function in a file of `benchmarks/lines/`:

    @line(tolerance=1e-12)
    def sum_of_sines(quick: bool) -> Contenders:
        \"\"\"gradient of a sum of sines, a million numbers\"\"\"
        x = np.linspace(0, 1, 1000 if quick else 1_000_000)
        return functional(lambda lib: lib.grad(lambda v: lib.np.sum(lib.np.sin(v))), x, by="fxgrad jax autograd")

A contender's name begins with what has to be installed for it: `torch:nn` wants torch, `C` a compiler.
"""

import importlib.util
import re
import shutil
from collections.abc import Callable, Mapping
from typing import NamedTuple

Run = Callable[[], object]
# What prepares a contender, and gives what is timed. Preparation imports the library.
Contenders = Mapping[str, Callable[[], Run]]

OURS, PEER, BY_HAND = "ours", "peer", "by hand"


class Line(NamedTuple):
    """A line: what makes the contenders for full or `quick` sizes, and how they are compared."""

    name: str
    title: str
    make: Callable[[bool], Contenders]
    tolerance: float  # of results, relative to their largest entry
    calls: int  # results of so many calls are compared: a training step shows in the next one's loss
    metric: (
        str | None
    )  # None: seconds of a call, many times in one process; otherwise a function of `metrics.py`


LINES: dict[str, Line] = {}


def line(
    tolerance: float, calls: int = 1, metric: str | None = None
) -> Callable[[Callable[[bool], Contenders]], Callable[[bool], Contenders]]:
    """A decorator, which enters a function into the table: its name is the line's, its docstring the title."""

    def enter(make: Callable[[bool], Contenders]) -> Callable[[bool], Contenders]:
        assert make.__doc__, "the docstring is what the table shows"
        LINES[make.__name__] = Line(make.__name__, make.__doc__, make, tolerance, calls, metric)
        return make

    return enter


def library_of(contender: str) -> str:
    """What has to be there for a contender: the beginning of its name."""
    return re.split(r"[.:/]", contender)[0]


def role_of(contender: str) -> str:
    """Whether a contender is ours, a peer, or a derivative that somebody worked out by hand."""
    library = library_of(contender)
    return OURS if library == "fxgrad" else BY_HAND if library in ("numpy", "C") else PEER


def is_there(contender: str) -> bool:
    """Whether what a contender needs is installed."""
    library = library_of(contender)
    if library == "C":
        return shutil.which("cc") is not None
    return importlib.util.find_spec(library) is not None
