"""The pages of docs/tables/: what rows, namespaces, rules and measurements are written as."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import dedent

from .namespaces import OPERATIONS_THAT_DIFFER, kept_names, missing_names, reasons
from .peers import TABLES, Table
from .row import ABSENT, DIFFERS, WORKS, Row

LONGEST = 76  # of a program that stands in its row
WIDE = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"  # room for the columns
MADE = "<!-- made by `python -m tests.tables`; tests/tables/ has what it is made of -->\n"
STATES = {
    WORKS: "the program gives the peer's answer, with no change but that of the import",
    DIFFERS: "it is written otherwise, or gives another answer, as the row says",
    ABSENT: "there is no such name, for the reason in the row",
}


def line(cells: Iterable[str]) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [line(head), "|" + "---|" * len(head), *(line(row) for row in rows), ""]


def page_of_names(table: Table) -> str:
    """The page of a table: its counts, and its sections with their programs."""
    count = Counter(row.state for row in table.rows.every())
    text = [f"# {table.title}", "", MADE, dedent(table.intro).strip(), ""]
    text += [
        f"A row has a smallest program, which was run by {table.peer.library} and is run here; the answers are "
        "compared, so the states are results.",
        "",
    ]
    text += grid(["state", "rows", "means"], [(state, str(count[state]), STATES[state]) for state in STATES])
    for section, rows in table.rows.sections.items():
        text += [f"## {section}", ""]
        head = ["name", *([table.noted] if table.noted else []), "state", "program, or what is different"]
        text += grid(head, [cells(table, row) for row in rows])
        text += folded(table, [row for row in rows if row.program and not fits(row)])
    text += ["## What every program begins with", "", *code(table.begin_here())]
    return "\n".join(text)


def cells(table: Table, row: Row) -> list[str]:
    """The cells of a row."""
    told = row.absent or row.differs or (f"`{row.program}`" if fits(row) else "below")
    return [f"`{row.name}`", *([table.note(row.name)] if table.noted else []), row.state, told]


def fits(row: Row) -> bool:
    """Whether the program stands in the row."""
    return not row.differs and len(row.program) <= LONGEST and len(ast.parse(row.program).body) == 1


def folded(table: Table, rows: list[Row]) -> list[str]:
    """The programs that do not stand in their rows."""
    if not rows:
        return []
    text = ["<details>", "<summary>The programs</summary>", ""]
    for row in rows:
        text += [f"`{row.name}`" + f" in {table.peer.library}" * bool(row.here), "", *code(row.program)]
        if row.here:
            text += ["and here", "", *code(row.here)]
    return [*text, "</details>", ""]


def code(program: str) -> list[str]:
    return ["```python", program, "```", ""]


SPACES = {
    "jax": (
        "JAX's large namespaces",
        """
        How many of JAX's public names stand under the same name in `fxgrad`, and why the others do not. JAX's
        primitives (names that end in `_p`) are not counted. That the values are the same is what `tests/parity` checks.
        """,
        "jax",
    ),
    "torch": (
        "torch's namespaces",
        """
        How many of torch 2.13's public names stand under the same name in `fxgrad.compat`, in the namespaces that are
        meant to be complete, and why the others do not. That they answer the same is what `tests/parity/compat` checks,
        by torch's kept answers.
        """,
        "torch",
    ),
}


def page_of_namespaces(peer: str) -> str:
    """The page that counts the names of large namespaces, and gives the reasons of those that are absent."""
    title, intro, library = SPACES[peer]
    text = [f"# {title}", "", MADE, dedent(intro).strip(), ""]
    counts = []
    for space, names in kept_names(peer).items():
        missing = missing_names(peer, space)
        counts.append(
            (
                f"`{library}{'.' * bool(space)}{space}`",
                str(len(names)),
                str(len(names) - len(missing)),
                str(len(missing)),
            )
        )
    text += grid(["namespace", "names", "here", "absent"], counts)
    for space, named in reasons(peer).items():
        text += [f"## `{library}{'.' * bool(space)}{space}`", ""]
        text += grid(["absent", "why"], [(listed(names), why) for why, names in named.items()])
    return "\n".join(text + (operations_that_differ() if peer == "torch" else []))


def operations_that_differ() -> list[str]:
    """How operations of torch that are here differ, which tests/parity/compat checks."""
    text = ["## Operations that differ", ""]
    for told, by_reason in OPERATIONS_THAT_DIFFER.items():
        text += [told, "", *grid(["operations", "why"], [(listed(n), why) for why, n in by_reason.items()])]
    return text


def listed(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def pages() -> dict[str, str]:
    """The text of every page by its name."""
    from .features import page_of_features
    from .measurements import page_of_measurements
    from .numpy_functions import page_of_numpy
    from .protocols import page_of_protocols
    from .rules import page_of_rules

    made = {table.page: page_of_names(table) for table in TABLES}
    made |= {f"{peer}_names": page_of_namespaces(peer) for peer in SPACES}
    made["features"] = page_of_features()
    made |= {"numpy": page_of_numpy(), "scipy": page_of_protocols()}
    made |= {"rules": page_of_rules(), "benchmarks": page_of_measurements()}
    return {name: WIDE + text.rstrip("\n") + "\n" for name, text in made.items()}
