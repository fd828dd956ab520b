"""The libraries whose names are looked up, and the tables of their names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from .documented import DOCUMENTED, VERSIONS
from .row import Row, Rows, attempt, read, run


@dataclass(frozen=True)
class Peer:
    """A library: what is imported in its place here, and how closely answers agree."""

    library: str
    here: str
    translation: tuple[tuple[str, str], ...]
    tolerance: float

    def translate(self, program: str) -> str:
        """The program with what it imports changed."""
        for theirs, ours in self.translation:
            program = re.sub(rf"(?m)^(\s*){re.escape(theirs)}\b", rf"\1{ours}", program)
        return program

    def load(self) -> Any:
        """The library itself, computing in the precision that programs are compared in."""
        library = import_module(self.library)
        if self is JAX:
            library.config.update("jax_enable_x64", True)
        return library


TORCH = Peer(
    "torch",
    "fxgrad.compat",
    (("import torch", "import fxgrad.compat as torch"), ("from torch", "from fxgrad.compat")),
    1e-5,
)
JAX = Peer(
    "jax",
    "fxgrad",
    (
        ("import jax.numpy as jnp", "import fxgrad.numpy as jnp"),
        ("import jax", "import fxgrad as jax"),
        ("from jax", "from fxgrad"),
    ),
    1e-9,
)
AUTOGRAD = Peer(
    "autograd",
    "fxgrad",
    (
        ("import autograd.numpy as np", "import numpy as np"),
        ("import autograd", "import fxgrad as autograd"),
        ("from autograd", "from fxgrad"),
    ),
    1e-9,
)


@dataclass(frozen=True)
class Table:
    """A page of rows: its name in docs/tables/ and rows/, what it says first, and a column of its own if it has one."""

    page: str
    peer: Peer
    title: str
    intro: str
    space: str = ""  # of the peer, in which the names stand
    noted: str = ""  # the head of the column
    note: Callable[[str], str] = str

    @cached_property
    def rows(self) -> Rows:
        return read(self.page)

    def begin(self) -> str:
        """What every program begins with."""
        return f"import {self.peer.library}\n{self.rows.setup}"

    def begin_here(self) -> str:
        """What it begins with here."""
        return f"import fxgrad as fx\n{self.peer.translate(self.begin())}"

    def ask_here(self, row: Row) -> Any:
        """What the program answers here."""
        return run(self.begin_here(), row.here or self.peer.translate(row.program))

    def ask_there(self, row: Row) -> Any:
        """What it answers in the peer."""
        self.peer.load()
        return attempt(self.begin(), row.program)


TABLES = [
    Table(
        "torch_autograd",
        TORCH,
        "torch.autograd",
        """
        Every name that torch's documents of `torch.autograd` describe from 1.8 to 2.8, and what torch 2.13 makes public
        there besides. Of the four documents those of 1.8 and 2.8 say their version; the other two are of about 1.10 and
        2.0, judged by what they describe.
        """,
        "autograd",
        "described in",
        lambda name: VERSIONS.get(name, "—").replace(", ".join(DOCUMENTED), "all four"),
    ),
    Table("torch_func", TORCH, "torch.func", "Every public name of `torch.func`.", "func"),
    Table(
        "jax",
        JAX,
        "JAX's transforms",
        """
        Every public name of `jax` itself, with its small namespaces. The large ones are [counted](jax_names.md), and
        [control flow](jax_lax.md) has a page of its own. JAX runs with `jax_enable_x64`.
        """,
    ),
    Table(
        "jax_lax",
        JAX,
        "JAX's control flow",
        """
        Loops, branches, solutions and collectives of `jax.lax`. Its operations on arrays are [counted](jax_names.md)
        with the large namespaces.
        """,
        "lax",
    ),
    Table(
        "autograd",
        AUTOGRAD,
        "autograd",
        """
        The public names of HIPS's `autograd`. In the place of its `numpy` stands NumPy itself, which is differentiated
        here as it is.
        """,
    ),
]
