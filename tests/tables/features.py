"""The page of features: what each library makes of the same task, in the words of its own manual.

A feature in features.txt has a program for every library, whose last line is the answer. A library has the feature if
it gives fxgrad's answer; else the page says what it raises. Where a library has nothing of the kind, its program is
what a user would try. What the peers give is kept in features.json.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

from .row import attempt, is_same

OURS, *PEERS = LIBRARIES = ("fxgrad", "jax", "torch", "autograd")
ROWS = Path(__file__).with_name("features.txt")
ANSWERS = Path(__file__).with_name("features.json")
TOLERANCE = 1e-6


@cache
def read() -> tuple[dict[str, str], dict[str, dict[str, dict[str, str]]]]:
    """What programs of each library begin with, and section → feature → library → program."""
    setups: dict[str, str] = {}
    sections: dict[str, dict[str, dict[str, str]]] = {}
    features: dict[str, dict[str, str]] = {}
    for block in re.split(r"(?m)^(?=\S)", ROWS.read_text(encoding="utf-8")):
        head, _, body = block.partition("\n")
        if head.startswith("# "):
            features = sections.setdefault(head[2:], {})
        elif head.startswith("setup "):
            setups[head.removeprefix("setup ")] = dedent(body).strip()
        elif head:
            parts = [part.partition("\n") for part in re.split(r"(?m)^(?=\S)", dedent(body)) if part]
            features[head] = {name: dedent(program).strip() for name, _, program in parts}
    return setups, sections


def every() -> dict[str, dict[str, str]]:
    """The programs of all features."""
    return {name: programs for features in read()[1].values() for name, programs in features.items()}


def ask_for_features() -> None:
    """Run the peers' programs, and keep the answers."""
    from .peers import JAX

    JAX.load()
    setups = read()[0]
    kept = {
        name: {peer: attempt(setups[peer], programs[peer]) for peer in PEERS}
        for name, programs in every().items()
    }
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(answers)}" for name, answers in kept.items())
    ANSWERS.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    answers.cache_clear()


@cache
def answers() -> dict[str, dict[str, Any]]:
    """What the peers gave, by feature and library."""
    return json.loads(ANSWERS.read_text(encoding="utf-8"))


def cells(name: str) -> list[str]:
    """What a feature is in each library, ours first."""
    ours = attempt(read()[0][OURS], every()[name][OURS])
    return [cell(ours, ours), *(cell(answers()[name][peer], ours) for peer in PEERS)]


def cell(answer: Any, ours: Any) -> str:
    """What a library's answer says of the feature; where fxgrad has none, any answer will do."""
    if raised(answer):
        return f"no: `{raised(answer)}`"
    return "yes" if raised(ours) or is_same(numbers(answer), numbers(ours), TOLERANCE) else "another answer"


def code(parts: dict[str, str]) -> list[str]:
    """The programs of all libraries; a directive, as these are no programs that a formatter would arrange."""
    return [
        "```{code-block} python",
        "\n\n".join(f"# {library}\n{parts[library]}" for library in LIBRARIES),
        "```",
        "",
    ]


def raised(answer: Any) -> str | None:
    return answer.get("raises") if isinstance(answer, dict) else None


def numbers(answer: Any) -> Any:
    """An answer without the names of dtypes, which the libraries choose differently."""
    if isinstance(answer, dict) and len(answer) == 1:
        return numbers(*answer.values())
    if isinstance(answer, list):
        return [numbers(entry) for entry in answer]
    return float(answer) if isinstance(answer, int | float) and not isinstance(answer, bool) else answer


def page_of_features() -> str:
    """The page: a table for each section, and the programs."""
    from .pages import MADE, grid

    setups, sections = read()
    text = ["# Features", "", MADE, *dedent(INTRO).strip().splitlines(), ""]
    for section, features in sections.items():
        text += [f"## {section}", "", *grid(["", *LIBRARIES], [[name, *cells(name)] for name in features])]
        text += ["<details>", "<summary>The programs</summary>", ""]
        for name, programs in features.items():
            text += [f"{name}:", "", *code(programs)]
        text += ["</details>", ""]
    return "\n".join([*text, "## What every program begins with", "", *code(setups)])


INTRO = """
Each row is one task, programmed for each library as its manual would, and run. "yes" means that the program gives the
same answer as the others; else the table says what it raises. A library that says "no" may have another way, or a
package for it: [the comparison](../explanation/compared.md) says which. The libraries are JAX 0.10, torch 2.13 and
autograd 1.9, on a CPU.
"""
