"""The page of measurements: the README's table, and the reports that benchmarks/results/ keeps."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TABLE = re.compile(r"(?m)^\|[^\n]*best peer[^\n]*\|\n(?:\|[^\n]*\n)+")


def page_of_measurements() -> str:
    """The page: nothing is measured here."""
    from .pages import MADE

    found = TABLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found, "the README has no table with a column `best peer`"
    text = [
        "# Benchmarks",
        "",
        MADE,
        "What was measured, and is kept in the repository. `python -m benchmarks` measures the first table anew;",
        "[benchmarks/README.md](../../benchmarks/README.md) says how, and what else there is.",
        "",
        "## Beside the peers",
        "",
        "A ratio is fxgrad's time, or memory, to that of the fastest peer that differentiates: below 1, fxgrad takes",
        "less. Eager programs are compared with eager ones, jitted ones with `jax.jit`; one thread, medians of",
        "interleaved rounds.",
        "",
        found[0],
    ]
    for report in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        text.append(re.sub(r"(?m)^#", "##", report.read_text(encoding="utf-8")))
    return "\n".join(text)
