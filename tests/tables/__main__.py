"""`python -m tests.tables`: run every program, and write the pages of docs/tables/. `--ask` asks the peers first."""

import argparse
from pathlib import Path

from .answers import ask_peers, check, programs
from .features import ask_for_features
from .modules import ask_for_modules
from .namespaces import ask_for_names
from .numpy_functions import keep_numpy
from .pages import pages
from .peers import TABLES
from .protocols import keep_measurements
from .signatures import ask_for_signatures

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs" / "tables"
COMMAND = "python -m tests.tables"


def main() -> None:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument(
        "--ask",
        action="store_true",
        help="ask torch, JAX, autograd and SciPy anew, which have to be installed",
    )
    parser.add_argument("--to", type=Path, default=DOCS, metavar="FOLDER", help="write the pages there")
    options = parser.parse_args()
    if options.ask:
        ask_peers()
        ask_for_features()
        ask_for_names()
        ask_for_signatures()
        ask_for_modules()
        keep_measurements()
        keep_numpy()
    for table in TABLES:
        for row in programs(table):
            check(table, row)
    for name, text in pages().items():
        (options.to / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"{name}.md: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
