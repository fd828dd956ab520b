"""Programs over packages that are written for torch or JAX: each is run as a process, on that or through the door."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
REPEAT = Path(__file__).parent / "repeat.py"
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)\b", re.IGNORECASE)
ONE_THREAD = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
LIMIT = 300  # seconds


@dataclass(frozen=True)
class Library:
    """What packages are written for: its name as a distribution and in texts, and the module that opens its door."""

    name: str
    title: str
    door: str

    @property
    def programs(self) -> list[Program]:
        """Its programs, by their names."""
        folder = Path(__file__).parent / f"{self.name}_programs"
        return [Program(path, self) for path in sorted(folder.glob("*.py"))]


TORCH, JAX = Library("torch", "torch", "fxgrad.compat"), Library("jax", "JAX", "fxgrad")
LIBRARIES = (TORCH, JAX)


@dataclass(frozen=True)
class Program:
    """A file of `torch_programs/` or `jax_programs/`, whose docstring says what it does, the packages that it needs,
    and how closely its numbers agree."""

    path: Path
    library: Library

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def text(self) -> str:
        return ast.get_docstring(ast.parse(self.path.read_text(encoding="utf-8"))) or ""

    def read(self, field: str) -> str:
        """Return what the docstring has behind the name of a field."""
        found = re.search(rf"(?m)^{field}: (.+)$", self.text)
        assert found, f"{self.path.name}: its docstring has no line `{field}: …`"
        return found[1]

    @property
    def subject(self) -> str:
        """What it does: the first paragraph."""
        return " ".join(self.text.partition("\n\n")[0].split())

    @property
    def packages(self) -> list[str]:
        return self.read("packages").split(", ")

    @property
    def tolerance(self) -> float:
        return float(self.read("tolerance"))

    def versions(self) -> dict[str, str | None]:
        """The versions of the packages that are installed: None for one that is not."""
        return {name: installed_version(name) for name in self.packages}

    def missing(self) -> list[str]:
        """The packages that are not installed, and the library if it is not."""
        needed = {**self.versions(), self.library.name: installed_version(self.library.name)}
        return [name for name, found in needed.items() if not found]


def installed_version(package: str) -> str | None:
    """The version of a package that is installed: None if it is not."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def every_program() -> list[Program]:
    """All programs."""
    return [program for library in LIBRARIES for program in library.programs]


def run(arguments: list[str], door: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with a program, through a door if one is named, in a folder of its own: some packages write logs."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            [sys.executable, "-W", "ignore", *(("-m", door) if door else ()), *arguments],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)}, cwd=folder,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip


def split(output: str) -> tuple[list[str], list[float]]:
    """Return the words of an output, and the numbers between them."""
    return NUMBER.sub("#", output).split(), [float(number) for number in NUMBER.findall(output)]


def difference(ours: str, other: str, tolerance: float) -> str | None:
    """Say where two outputs differ by more than a tolerance, relative to numbers above one: None if nowhere."""
    (words, numbers), (their_words, their_numbers) = split(ours), split(other)
    if words != their_words or len(numbers) != len(their_numbers):
        return f"other words: {ours!r}, and the library: {other!r}"
    for mine, theirs in zip(numbers, their_numbers):
        close = abs(mine - theirs) <= tolerance * max(1.0, abs(theirs))
        if not (close or mine == theirs or (mine != mine and theirs != theirs)):
            return f"{mine} where the library has {theirs}, in {ours!r}; the library: {other!r}"
    return None


@dataclass(frozen=True)
class Times:
    """Processor times of a program: of its whole process, and of a later run in one process, nan if it cannot be run
    again."""

    whole: float
    warm: float


def measure(program: Program, *, door: bool) -> tuple[str, Times]:
    """Run a program four times in one process, and return its output and times.

    Raises:
        RuntimeError: it fails, with the last lines of its error.
    """
    done = run([str(REPEAT), str(program.path)], program.library.door if door else None)
    if done.returncode:
        raise RuntimeError("\n".join(done.stderr.strip().splitlines()[-12:]))
    output, _, last = done.stdout.rpartition("\x1e")
    return output, Times(**json.loads(last))
