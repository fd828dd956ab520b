"""What JAX refuses by the kind of an argument, ours refuses: for every function of `random` and `lax`, one argument of
a valid call is replaced by one of another kind, as if arguments had been exchanged."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fxgrad as fx

jax = pytest.importorskip("jax")

VECTOR, COUNTS = np.array([0.2, 0.3, 0.5], np.float32), np.array([1, 2, 3], np.int32)
MATRIX = np.eye(2, dtype=np.float32)
# What parameters of these names are in a valid call; the others are tried.
BY_NAME: dict[str, list[Any]] = {
    "shape": [(3,), (3, 2)], "dtype": [np.float32, np.int32], "new_dtype": [np.float32], "axis": [0], "size": [3],
    "minval": [0], "maxval": [2], "p": [0.5], "replace": [True], "dimension": [0], "index_dtype": [np.int32],
    "fill_value": [1.0], "num": [2], "dimensions": [(0,)], "reps": [(2,)], "new_sizes": [(3,)], "data": [3],
}  # fmt: skip
CANDIDATES = [VECTOR, 2.0, COUNTS, MATRIX, 2, (0,), [VECTOR, VECTOR]]
WRONG = {"a shape": (3,), "a dtype": np.float32, "a text": "x", "a fraction": 0.5, "an integer": 3}
# Functions of functions, of open axes, and of files: their arguments are exchanged elsewhere.
OTHERS = {
    "all_gather", "all_to_all", "associative_scan", "axis_index", "axis_size", "cond", "custom_linear_solve",
    "custom_root", "fori_loop", "map", "pmax", "pmean", "pmin", "ppermute", "pshuffle", "psum",
    "psum_scatter", "pswapaxes", "reduce",
    "reduce_window", "scan", "switch", "while_loop", "optimization_barrier", "stop_gradient",
}  # fmt: skip
# What is taken here on purpose: sequences for arrays, NumPy's promotion where lax wants equal dtypes, sizes for shapes.
LENIENT = {"lax": {"a shape", "a fraction", "an integer"}, "random": {"a fraction", "an integer"}}
DTYPES = {"dtype", "new_dtype", "index_dtype"}


def functions() -> list[tuple[str, str]]:
    """The functions that both have."""
    rows = []
    for module in ("random", "lax"):
        ours, theirs = getattr(fx, module), getattr(jax, module)
        for name in dir(theirs):
            function = getattr(theirs, name)
            if name.startswith("_") or name in OTHERS or isinstance(function, type) or not callable(function):
                continue
            if hasattr(ours, name):
                rows.append((module, name))
    return rows


def answer(module: str, name: str, args: list[Any], library: Any) -> Exception | None:
    """What a call raises: JAX's is traced only."""
    function = getattr(getattr(library, module), name)
    try:
        if library is fx:
            function(*args)
        else:
            jax.eval_shape(lambda: function(*args))
    except Exception as error:
        return error
    return None


def valid_calls(module: str, name: str) -> Iterator[tuple[list[str], list[Any], list[Any]]]:
    """Names and arguments of a call that both answer: ours, and JAX's with a key of its own."""
    parameters = [
        p
        for p in inspect.signature(getattr(getattr(jax, module), name)).parameters.values()
        if p.kind in (0, 1)
    ]
    takes_key = module == "random" and bool(parameters) and parameters[0].name == "key"
    rest = [p for p in parameters[takes_key:] if p.default is p.empty or p.name in BY_NAME][:4]
    rows: list[list[Any]] = [[]]
    for p in rest:
        rows = [[*row, v] for row in rows for v in BY_NAME.get(p.name, CANDIDATES)]
    for row in rows[:200]:
        ours = [fx.random.key(0), *row] if takes_key else row
        theirs = [jax.random.key(0), *row] if takes_key else row
        if answer(module, name, ours, fx) is None and answer(module, name, theirs, jax) is None:
            yield [p.name for p in rest], ours, theirs
            return


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module, name", functions(), ids=[".".join(row) for row in functions()])
def test_what_jax_refuses_by_its_kind_is_refused(module, name):
    accepted = []
    for names, ours, theirs in valid_calls(module, name):
        first = len(ours) - len(names)
        for place, parameter in enumerate(names, first):
            for what, wrong in WRONG.items():
                if what in LENIENT[module] and parameter not in DTYPES:
                    continue
                exchanged = [[*args[:place], wrong, *args[place + 1 :]] for args in (ours, theirs)]
                if (
                    answer(module, name, exchanged[1], jax) is not None
                    and answer(module, name, exchanged[0], fx) is None
                ):
                    accepted.append(f"{what} for {parameter}")
    assert not accepted
