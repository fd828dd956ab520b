"""`python -m tests.packages`: run every program on its library and through the door, and write docs/tables/packages.md
and jax_packages.md. With names only these are run, and the rows of the others kept, which are in …_rows.json."""

import argparse
import json
from pathlib import Path

from tests.tables.pages import WIDE, grid

from .running import LIBRARIES, ROOT, Library, Program, difference, measure

PAGES = {"torch": "packages", "jax": "jax_packages"}
COMMAND = "python -m tests.packages"
INTRO = f"""\
# Packages written for {{title}}

<!-- made by `{COMMAND}`; tests/packages/ has the programs -->

Small programs, as the packages' own introductions use them, run by `python -m {{door}} program.py` and on {{title}}. A
program agrees if it prints the same words and, within the tolerance that it states, the same numbers. The ratios
are processor times through the door to those on {{title}}, with one thread: of the whole process, imports included, and
warm, of a later run in the same process. `nox -s packages` runs the programs as tests.
"""
HEAD = ("package", "version", "program", "what it does", "agrees", "whole", "warm")


def row(program: Program) -> tuple[str, ...]:
    """Run a program, and return its row."""
    versions = program.versions()
    told = tuple(", ".join(words) for words in (versions, [found or "–" for found in versions.values()]))
    name = f"[{program.name}](../../tests/packages/{program.path.parent.name}/{program.path.name})"
    beginning = (*told, name, program.subject)
    if missing := program.missing():
        return *beginning, f"not run: {', '.join(missing)} not installed", "", ""
    try:
        theirs, slow = measure(program, door=False)
    except RuntimeError as error:
        return *beginning, f"not run: on {program.library.title} itself {last_line(error)}", "", ""
    try:
        ours, fast = measure(program, door=True)
    except RuntimeError as error:
        return *beginning, f"no: {last_line(error)}", "", ""
    differs = difference(ours, theirs, program.tolerance)
    agrees = f"to {program.tolerance:g}" if differs is None else f"no: {differs.partition(',')[0]}"
    ratios = fast.whole / slow.whole, fast.warm / slow.warm
    return *beginning, agrees, *("" if ratio != ratio else f"{ratio:.2f}" for ratio in ratios)


def last_line(error: Exception) -> str:
    """What an error says, in one line."""
    return f"`{str(error).splitlines()[-1].strip()}`"


def page(library: Library, rows: dict[str, list[str]]) -> str:
    """The page of the rows of a library's programs."""
    agreeing = [r for r in rows.values() if r[4].startswith("to ")]
    run = [r for r in rows.values() if not r[4].startswith("not run")]
    packages = {name for r in agreeing for name in r[0].split(", ")}
    count = f"{len(agreeing)} of {len(run)} programs that ran agree, over {len(packages)} packages."
    table = grid(HEAD, sorted(rows.values(), key=lambda r: (r[0].lower(), r[2])))
    return (
        WIDE
        + "\n".join([INTRO.format(title=library.title, door=library.door), count, "", *table]).rstrip("\n")
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the programs to run: all by default")
    names = parser.parse_args().names
    for library in LIBRARIES:
        renew(library, names)


def renew(library: Library, names: list[str]) -> None:
    """Run programs of a library, all if none is named, and write their rows and the page."""
    place = Path(__file__).with_name(f"{library.name}_rows.json")
    programs = {program.name: program for program in library.programs}
    known = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    rows = {name: r for name, r in known.items() if name in programs}
    page_path = ROOT / "docs" / "tables" / f"{PAGES[library.name]}.md"
    for name, program in programs.items():
        if names and name not in names:
            continue
        rows[name] = list(row(program))
        print(*rows[name][2:], flush=True)
        place.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        page_path.write_text(page(library, rows), encoding="utf-8")


if __name__ == "__main__":
    main()
