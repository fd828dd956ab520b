"""Functions under JAX's door beside JAX, as `jax_sweep.json` keeps it: dtypes, weak types, shapes, and sums of entries,
for calls with every dtype, and as which class of Python's the errors for what JAX refuses can be caught."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.peers.calls import CALLS
from tests.peers.differences import DIFFERENCES, REFUSALS

ROOT = Path(__file__).parent.parent.parent
KEPT = json.loads(Path(__file__).with_name("jax_sweep.json").read_text())
LETTERS = {
    "b": "b1",
    "s": "i1",
    "u": "u1",
    "i": "i4",
    "h": "f2",
    "t": "bf",
    "f": "f4",
    "c": "c8",
    "l": "i8",
    "d": "f8",
}
FLOATING = "htfd"
TOLERANCE = 2e-4  # of five digits that are kept, and of single precision
# Calls of Python's numbers alone, whose results are weak; those of arrays are not here, where a Python number decides.
OF_NUMBERS = re.compile(r"^(?!.*\b[xysaemMhi]\b)")
# Neither truth values nor arrays with axes are weak.
WEAK_OTHERWISE = re.compile(r"(?<=b1)\*|\*(?=\[)")
NUMBERS = re.compile(r"\b(?:Typed)?(int|float|complex|bool)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def given(request, tmp_path_factory) -> dict[str, Any]:
    """What is given here for the functions that this run asks about."""
    path = tmp_path_factory.mktemp("sweep") / "answers.json"
    test = "test_calls_give_what_jax_gives"
    items = [item for item in request.session.items if getattr(item, "originalname", None) == test]
    names = [item.callspec.params["name"] for item in items]
    command = [sys.executable, "-m", "fxgrad", "-m", "tests.peers.sweep", "--to", str(path), *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())


def unpack(text: str, call: str) -> dict[str, tuple[str, float | None]]:
    """The outcomes of a call by the letters of dtypes, with their numbers, from the text of `sweep.pack`."""
    rows, _, sums = text.partition("; ")
    common, *others = rows.split("|")
    outcomes = {letter: common for letter in LETTERS if "total(" not in call or letter in FLOATING}
    for row in others:
        letters, _, outcome = row.partition(" ")
        outcomes |= dict.fromkeys(letters, outcome)
    numbers = {part[0]: float(part[1:]) for part in sums.split()}
    return {letter: (outcome, numbers.get(letter)) for letter, outcome in outcomes.items()}


def settle(outcome: str, letter: str, call: str) -> str:
    """An outcome with every dtype written out, and weak ones where they are compared."""
    wide = "8" if letter in "ld" else "4"
    kinds = {"int": f"i{wide}*", "float": f"f{wide}*", "bool": "b1", "complex": "c8*"}
    outcome = NUMBERS.sub(lambda found: kinds[found[1].lower()], outcome).replace("=", LETTERS[letter])
    outcome = WEAK_OTHERWISE.sub("", outcome)
    return outcome if letter != "b" and OF_NUMBERS.match(call) else outcome.replace("*", "")


def find_differences(name: str, calls: dict[str, Any]) -> dict[str, str]:
    """The calls of a function whose outcome is not JAX's, of those for which no reason is given."""
    found = {}
    for call, text in KEPT[name].items():
        for letter, (outcome, number) in unpack(text, call).items():
            own, summed = calls[call][letter]
            want, have = settle(outcome, letter, call), settle(own, letter, call)
            is_caught = outcome.startswith("!") and outcome[1:] in own[1:].split("|")
            if is_caught or want == have == "absent":
                continue
            where = f"{name}: {call}: {letter}"
            known = DIFFERENCES | (REFUSALS if outcome.startswith("!") else {})
            if any(pattern.fullmatch(where) for pattern in known):
                continue
            if want != have:
                found[where] = f"{want}, here {have}"
            elif number is not None and summed and abs(number - summed[0]) > TOLERANCE * max(summed[1], 1e-3):
                found[where] = f"{number}, here {summed[0]:.5g}"
    return found


@pytest.mark.parametrize("name", CALLS)
def test_calls_give_what_jax_gives(name, given):
    assert find_differences(name, given[name]) == {}


def test_every_call_has_an_answer_of_jax():
    asked = {name: list(calls) for name, calls in KEPT.items()}
    assert asked == CALLS, "python -m tests.peers.sweep NAME … asks JAX"
