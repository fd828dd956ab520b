"""What SciPy's own functions do with traced values: every call of tests/scipy/calls.py, measured by a run.

    python -m tests.tables.protocols              measures, and writes what is kept in protocols.json
    python -m tests.tables.protocols --print      measures in this process alone, and prints it

SciPy reads SCIPY_ARRAY_API when it is imported, so that either setting has a process of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import fxgrad as fx
from tests.scipy import calls

ROOT = Path(__file__).parent.parent.parent
FILE = Path(__file__).with_name("protocols.json")
SETTINGS = {"plain": {}, "SCIPY_ARRAY_API=1": {"SCIPY_ARRAY_API": "1"}}
WORKS, OURS, OTHER, UNHELPFUL = "works", "ours", "other", "unhelpful"
DIRECTION = np.random.default_rng(5).normal(size=calls.X.shape)


def path_of(namespace: str, call: str) -> str:
    """The public name that a call is of, without `scipy.`: `stats.norm`."""
    name = re.match(r"(?:list\()?(\w+)", call)
    if name is None:
        raise ValueError(f"{call}: it begins with no name of scipy.{namespace}")
    return f"{namespace}.{name[1]}"


def parts(value: Any) -> list[Any]:
    """The arrays of a result."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    if isinstance(value, tuple | list):
        return [part for item in value for part in parts(item)]
    return [] if value is None else [value]


def differences(function: Callable[[Any], list[Any]]) -> list[np.ndarray] | None:
    """The derivative along DIRECTION by finite differences; None where two steps disagree, as they do at jumps."""

    def central(step: float) -> list[np.ndarray]:
        ends = [[np.asarray(y) * 1.0 for y in function(calls.X + h * DIRECTION)] for h in (step, -step)]
        return [(a - b) / (2 * step) for a, b in zip(*ends, strict=True)]

    found, check = central(1e-5), central(3e-6)
    if all(close(a, b, 1e-4) and np.isfinite(a).all() for a, b in zip(found, check)):
        return found
    return None


def close(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two results agree, relative to the largest entry."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if "O" in (a.dtype.kind, b.dtype.kind) or a.dtype.kind in "USb":
        return bool((a == b).all())
    scale = max(1.0, float(np.nanmax(np.abs(b[np.isfinite(b)]), initial=0.0)))
    return bool(np.allclose(a, b, tolerance, tolerance * scale, equal_nan=True))


def state_of(namespace: str, call: str) -> tuple[str, str]:
    """What a call of a function of SciPy's with traced values is, and what shows it."""

    def function(x: Any) -> list[Any]:
        return parts(calls.evaluate(namespace, call, calls.operands(x)))

    wanted = function(calls.X)
    slopes = differences(function)

    def values_agree(found: list[Any]) -> str:
        if len(found) != len(wanted) or not all(map(close, found, wanted, [1e-6] * len(wanted))):
            return f"gives {found}, not {wanted}"
        return ""

    def under_jvp() -> str:
        values, tangents = fx.jvp(function, (calls.X,), (DIRECTION,))
        told = values_agree(values)
        for tangent, slope in zip(tangents, slopes or ()):
            tangent = np.zeros(np.shape(slope)) if np.asarray(tangent).dtype == fx.float0 else tangent
            if not told and not close(tangent, slope, 2e-3):
                told = f"has the derivative {tangent}, not {slope}"
        return told

    def under_jit() -> str:
        return values_agree(fx.jit(function)(calls.X))

    states = [judge(transform, path_of(namespace, call)) for transform in (under_jvp, under_jit)]
    return next(s for state in (UNHELPFUL, OURS, OTHER, WORKS) for s in states if s[0] == state)


def judge(run: Callable[[], str], path: str) -> tuple[str, str]:
    """What a run is: one that works returns "", and others say by their errors what to write."""
    try:
        told = run()
    except Exception as error:
        told = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])
        if re.search(rf"\bfx\.scipy\.{re.escape(path)}(\.\w+)*, which", told):
            return OURS, told
        if f"scipy.{path}" in told and re.search(r"\b(fx|fnp)\.\w", told):
            return OTHER, told
        return UNHELPFUL, told
    return (UNHELPFUL, told) if told else (WORKS, "")


def measure() -> dict[str, list[str]]:
    """The state of every call, and what shows it, in this process."""
    found = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for namespace, call in calls.every_call():
            try:
                calls.evaluate(namespace, call, calls.operands(calls.X))
            except (
                TypeError
            ):  # of arrays, too, as with SCIPY_ARRAY_API=1 where SciPy's masked arrays meet its `special`
                continue
            found[f"{namespace}: {call}"] = [*state_of(namespace, call)]
    return found


def measure_apart(setting: str) -> dict[str, list[str]]:
    """`measure` in a process of its own, under one of SETTINGS."""
    environment = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    command = [sys.executable, "-m", "tests.tables.protocols", "--print"]
    run = subprocess.run(
        command, cwd=ROOT, env=environment | SETTINGS[setting], capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise RuntimeError(run.stderr)
    return json.loads(run.stdout.splitlines()[-1])


def keep_measurements() -> None:
    """Measure under all SETTINGS, and keep the states."""
    states = {
        setting: {call: state for call, (state, _) in measure_apart(setting).items()} for setting in SETTINGS
    }
    kept = {"scipy": import_module("scipy").__version__, "states": states}
    FILE.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")


def read() -> dict[str, Any]:
    """What is kept: the version of SciPy, and the states of the calls under each setting."""
    return json.loads(FILE.read_text(encoding="utf-8"))


MEANINGS = {
    WORKS: "the value is that of plain arrays and the derivative right, and the same holds under `jit`",
    OURS: "the error names the function of `fx.scipy` of the same name, which takes traced values",
    OTHER: "the error names another function that does, or says that there is none, and how to call SciPy's "
    "where no derivative is needed",
}


def page_of_protocols() -> str:
    """The page that counts the calls of SciPy's functions by what becomes of them, and lists those that work."""
    from .pages import MADE, grid, listed

    kept = read()
    text = [
        "# SciPy's own functions",
        "",
        MADE,
        "What becomes of a call of a function of SciPy's own with a traced value, inside `fx.jvp` and `fx.jit`: plain,",
        "and in a process with `SCIPY_ARRAY_API=1`, where some of SciPy's functions ask a value for its namespace.",
        f"The calls are of `tests/scipy/calls.py`, of functions of SciPy {kept['scipy']} that have an operand which",
        "can be traced. No call gives a wrong number, and none an error that does not say what to write.",
        "[NumPy's own functions](numpy.md) have a table of their own.",
        "",
    ]
    counts = {setting: Counter(states.values()) for setting, states in kept["states"].items()}
    text += grid(
        ["a call", *counts, "means"],
        [
            (state, *(str(count[state]) for count in counts.values()), told)
            for state, told in MEANINGS.items()
        ],
    )
    rows: dict[str, list[str]] = {}
    for states in kept["states"].values():
        for call in states:
            rows.setdefault(call.partition(":")[0], [])
    for namespace, row in rows.items():
        for states in kept["states"].values():
            found = Counter(state for call, state in states.items() if call.startswith(f"{namespace}:"))
            row += [str(found[state]) for state in MEANINGS]
    head = [f"{setting}: {state}" for setting in counts for state in MEANINGS]
    text += ["## By namespace", "", *grid(["", *head], [(f"`scipy.{n}`", *row) for n, row in rows.items()])]
    for setting, states in kept["states"].items():
        text += [f"## What works, {setting}", ""]
        working: dict[str, dict[str, None]] = {}
        for call, state in states.items():
            namespace, _, call = call.partition(": ")
            if state == WORKS:
                working.setdefault(namespace, {})[path_of(namespace, call).rpartition(".")[2]] = None
        text += grid(["", "functions"], [(f"`scipy.{n}`", listed(names)) for n, names in working.items()])
    return "\n".join(text)


if __name__ == "__main__":
    if "--print" in sys.argv:
        print(json.dumps(measure()))
    else:
        keep_measurements()
