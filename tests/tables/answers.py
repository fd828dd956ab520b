"""The peers' answers to the programs, kept in answers.json: what is compared with them needs no peer."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from .peers import TABLES, Table
from .row import ABSENT, Row, is_same

FILE = Path(__file__).with_name("answers.json")
COMMAND = "python -m tests.tables --ask"


def ask_peers() -> None:
    """Ask every peer anew, and keep the answers."""
    kept = {table.page: {row.name: table.ask_there(row) for row in programs(table)} for table in TABLES}
    lines = {
        page: "{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
        + "\n }"
        for page, answers in kept.items()
    }
    text = "{\n" + ",\n".join(f" {json.dumps(page)}: {answers}" for page, answers in lines.items()) + "\n}\n"
    FILE.write_text(text, encoding="utf-8")
    read.cache_clear()


@cache
def read() -> dict[str, dict[str, Any]]:
    """The answers by page and name."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def programs(table: Table) -> list[Row]:
    """The rows that have a program."""
    return [row for row in table.rows.every() if row.state != ABSENT]


def check(table: Table, row: Row) -> None:
    """Raise unless what the row says is what a run gives."""
    theirs = read()[table.page].get(row.name)
    if theirs is None:
        raise AssertionError(f"nobody asked {table.peer.library} for {row.name} yet: {COMMAND}")
    ours = table.ask_here(row)
    refused = isinstance(theirs, dict) and "raises" in theirs
    same = is_same(ours, theirs, table.peer.tolerance) and not refused
    # What is written otherwise gives the peer's answer, unless the peer refuses; what differs as it stands does not.
    expected = not row.differs or (bool(row.here) and not refused)
    if same != expected:
        raise AssertionError(
            f"{row.name}: the row says that it {row.state}, but the answers are {'the same' if same else 'different'}\n"
            f"here {ours}\n{table.peer.library} {theirs}"
        )
