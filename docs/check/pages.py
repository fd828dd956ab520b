"""What is wrong in the files of a site: links that lead nowhere, formulas that are TeX, what needs a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

UNREAD = {"script", "style", "pre", "code", "math", "annotation"}  # elements whose text is no prose
TEX = re.compile(r"\\(?:frac|sum|int|partial|mathbb|mathrm|left|cdot|begin)\b|\$[^$\s][^$]*[\\^_][^$]*\$")
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """The links, the targets of links, and the prose of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.targets: set[str] = set()
        self.prose: list[str] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.targets |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        if LOADED.get(tag) in given:
            self.loaded.add(given[LOADED[tag]])
        if tag in UNREAD:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.prose.append(data)


def files(site: Path) -> list[Path]:
    """The files of the pages of a site; the theme's are no pages."""
    return [file for file in sorted(site.rglob("*.html")) if "_static" not in file.parts]


def read(site: Path) -> dict[Path, Page]:
    """The pages of a site."""
    return {file.resolve(): Page(file.read_text(encoding="utf-8")) for file in files(site)}


def list_mistakes(site: Path) -> Iterator[str]:
    """What is wrong, a line each."""
    pages = read(site)
    for file, page in pages.items():
        name = file.relative_to(site.resolve())
        for link in sorted(page.links | page.loaded):
            if is_dead(link, file, pages):
                yield f"{name}: {link} leads nowhere"
        for address in sorted(page.loaded):
            if urlsplit(address).netloc:
                yield f"{name}: {address} needs a network"
        for formula in TEX.findall(" ".join(page.prose)):
            yield f"{name}: {formula} is TeX"


def is_dead(link: str, file: Path, pages: dict[Path, Page]) -> bool:
    """Whether a link of a page to another file of the site, or to a place in one, leads nowhere."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return True
    place = unquote(parts.fragment)
    return bool(place) and target in pages and place not in pages[target].targets
