"""What the reference says: the names of fxgrad's public namespaces, as the pages of `reference/` group them.

A page has blocks of names, each in its section, with a sentence on each that is repeated from its docstring
(`repeated.py`):

    ```{names} fxgrad
    grad: The gradient of a scalar function, as a function of the same arguments.
    value_and_grad: The value and the gradient of a scalar function.
    ```

A block may be about a class, `fxgrad.compat.Tensor`; its names are attributes then. There is no other list of names:
the extension of Sphinx reads these blocks, and so does the test that holds the pages and the package together, which
needs no Sphinx.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

REFERENCE = Path(__file__).parent.parent / "reference"
BLOCK = re.compile(r"^```\{names\} (?P<namespace>\S+)\n(?P<names>.*?)^```$", re.MULTILINE | re.DOTALL)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULE = re.compile(r"^```\{py:module\} (\S+)$", re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)

# Names without an underscore in front that are for the library's own use.
INTERNAL = {
    "fxgrad.compat": "NAMESPACES PUBLIC SPACES from_name",
    "fxgrad.compat.Tensor": """
        accumulator attach aval gives_its_class has_own_dispatch history_version is_box is_grad_retained memory_layout
        node origin_tape tape value value_version version_counter view_meta was_replaced_with_grad
    """,
    "fxgrad.compat.nn.init": """
        check_matrix divisors empty_like initializer kaiming_std linalg_qr randperm under_older_name warn_if_empty
    """,
}


class Block(NamedTuple):
    """Names of a namespace, or of a class, that stand together on a page."""

    page: str
    section: str
    namespace: str
    names: tuple[str, ...]


@cache
def blocks() -> tuple[Block, ...]:
    """The blocks of all pages, in the order of the tables of contents."""
    return tuple(block for page in pages(REFERENCE / "index.md") for block in read_page(page))


def pages(page: Path) -> list[Path]:
    """A page and those below it, which its table of contents names."""
    tables = TOCTREE.findall(page.read_text(encoding="utf-8"))
    listed = [line.strip() for table in tables for line in table.splitlines()]
    below = [page.parent / f"{name}.md" for name in listed if name and not name.startswith(":")]
    return [page, *(further for each in below for further in pages(each))]


def read_page(page: Path) -> list[Block]:
    """Read the blocks of a page."""
    text = page.read_text(encoding="utf-8")
    path = page.relative_to(REFERENCE).with_suffix("").as_posix()
    return [
        Block(
            path,
            HEADING.findall(text[: match.start()])[-1],
            match["namespace"],
            names_in(match["names"]),
        )
        for match in BLOCK.finditer(text)
    ]


def names_in(block: str) -> tuple[str, ...]:
    """The names in the text of a block, of which each is the first word of a line."""
    return tuple(line.split()[0].rstrip(":") for line in block.splitlines() if line.strip())


@cache
def documented() -> frozenset[str]:
    """The full names that the reference has, those of namespaces among them."""
    names = {f"{block.namespace}.{name}" for block in blocks() for name in block.names}
    modules = {
        name
        for page in pages(REFERENCE / "index.md")
        for name in MODULE.findall(page.read_text(encoding="utf-8"))
    }
    return frozenset(names | modules | {block.namespace for block in blocks()})


@cache
def homes() -> dict[int, str]:
    """The name under which each object is described, if it has several: its own, in the outermost namespace."""
    found: dict[int, tuple[int, bool, str]] = {}
    for block in blocks():
        for name in block.names:
            value = find(f"{block.namespace}.{name}")
            if callable(value):
                other = name != getattr(value, "__name__", name)
                place = (block.namespace.count("."), other, f"{block.namespace}.{name}")
                found.setdefault(id(value), place)
                if place[:2] < found[id(value)][:2]:
                    found[id(value)] = place
    return {key: place[2] for key, place in found.items()}


def find(name: str) -> Any:
    """Find what a full name means: a module, or an attribute of a module or of a class."""
    home, _, attribute = name.rpartition(".")
    if not home:
        return import_module(name)
    owner = find(home)
    try:
        return getattr(owner, attribute)
    except AttributeError:
        if isinstance(owner, ModuleType):
            return import_module(name)
        raise


def public_names(namespace: str) -> list[str]:
    """The public names of a module, without its submodules, or of a class."""
    owner = find(namespace)
    listed = getattr(owner, "__all__", None)
    if listed is None:
        listed = [name for name in dir(owner) if isinstance(owner, type) or is_ours(getattr(owner, name))]
    return [
        name
        for name in dict.fromkeys(listed)
        if not name.startswith("_")
        and name not in INTERNAL.get(namespace, "").split()
        and not isinstance(getattr(owner, name), ModuleType)
    ]


def is_ours(value: Any) -> bool:
    """Whether a function or class is this library's, and not one that a module imports."""
    home = getattr(value, "__module__", None) or ""
    return callable(value) and home.partition(".")[0] in ("fxgrad", "torch")
