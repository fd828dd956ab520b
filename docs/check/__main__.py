"""Checks a built site: `python -m docs.check FOLDER`. Each mistake is a line; there has to be none."""

import sys
from collections.abc import Iterator
from pathlib import Path

from docs.check import browser, pages


def list_mistakes(site: Path) -> Iterator[str]:
    """What is wrong, a line each."""
    yield from pages.list_mistakes(site)
    found = browser.programs()
    if found is None:
        print("There is no chromium with chromedriver here: nothing was checked in a browser.")
    else:
        yield from browser.list_mistakes(site, *found)


def main() -> int:
    status = 0
    for mistake in list_mistakes(Path(sys.argv[1])):
        print(mistake, flush=True)
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
