"""Cases of torch's operations: what to call, with what. Run under torch and under fxgrad.compat alike.

    case("lerp", T(2, 3), T(3), 0.3)              torch.lerp(…)
    case("linalg.inv", T(3, 3))                   torch.linalg.inv(…)
    case(".view", T(2, 3), 3, 2)                  x.view(3, 2)
    case(".lerp_", T(2, 3), T(3), 0.3)            on a copy of x

`T` describes a Tensor; one that is floating requires a gradient unless it says otherwise. Each case is compared in
its value (dtype, shape), also with other layouts, precisions and sizes, gradients, second derivatives, forward mode,
vmap, in place and with `out=`, where torch has these; a flag turned off says why in a comment beside it, and always
means that torch has no such derivative.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class T:
    """A Tensor of entries uniform in [low, high), or the given values; `of` makes what is wanted out of these, such as
    definite matrices, in the last axes. `layout` is NumPy's: "C" or "F"."""

    shape: tuple[int, ...] = ()
    dtype: str = "float64"
    low: float = -1.0
    high: float = 1.0
    grad: bool = True
    values: Any = None
    of: Callable | None = None
    layout: str = "C"

    def __init__(
        self, *shape, dtype="float64", low=-1.0, high=1.0, grad=True, values=None, of=None, layout="C"
    ):
        floating = dtype.startswith(("float", "complex", "bfloat"))
        if not floating and (low, high) == (-1.0, 1.0):
            low, high = (0, 2) if dtype == "bool" else (0, 5)
        if values is not None:
            shape = np.shape(values)
        fields = dict(
            shape=shape, dtype=dtype, low=low, high=high, grad=grad and floating, values=values, of=of
        )
        for name, value in (fields | {"layout": layout}).items():
            object.__setattr__(self, name, value)

    def but(self, **changes) -> T:
        """The same with other fields."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__} | changes
        return T(*fields.pop("shape"), **fields)

    def batched(self, size: int) -> T:
        """Several of them, along a new leading axis."""
        if self.values is not None:
            return self.but(values=np.stack([self.values] * size))
        return self.but(shape=(size, *self.shape))

    def array(self, seed: int) -> np.ndarray:
        """Its data, the same for every library."""
        data = self.entries(seed)
        if self.of is None:
            return data
        return self.of(data if data.dtype.kind in "fc" else data.astype(float)).astype(data.dtype)

    def entries(self, seed: int) -> np.ndarray:
        """Its data before `of`."""
        rng = np.random.default_rng(seed)
        dtype = np.dtype("float32" if self.dtype == "bfloat16" else self.dtype)
        if self.values is not None:
            return np.array(self.values).astype(dtype)
        data = rng.uniform(self.low, self.high, self.shape)
        if dtype.kind == "c":
            data = data + 1j * rng.uniform(self.low, self.high, self.shape)
        elif dtype.kind != "f":
            data = np.floor(data)
        return np.asarray(data).astype(dtype)

    def make(self, torch, seed: int):
        made = torch.from_numpy(np.array(self.array(seed), order=self.layout))
        return made.to(torch.bfloat16) if self.dtype == "bfloat16" else made


@dataclass(frozen=True)
class Case:
    """One call of one operation."""

    name: str
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    backward: bool = True
    double: bool = True
    forward: bool = True
    vmap: bool = True
    tol: float = 1e-9
    then: Callable | None = None  # of the results: what is compared, where torch leaves a sign or phase open

    def __str__(self) -> str:
        def shown(a):
            if isinstance(a, T):
                short = a.dtype.replace("float", "f").replace("complex", "c").replace("int", "i")
                form = "" if a.of is None else a.of.__name__ + "-"
                return f"{form}{short}[{','.join(map(str, a.shape))}]"
            if isinstance(a, list | tuple):
                return "(" + ",".join(map(shown, a)) + ")"
            return str(a) if not callable(a) else "f"

        parts = [*map(shown, self.args), *(f"{k}={shown(v)}" for k, v in self.kwargs.items())]
        return f"{self.name}({','.join(parts)})".replace(" ", "")

    def spelling(self) -> str:
        """All that decides how the operation is called and compared; functions by their names."""
        return re.sub(r"<function (.+?) at 0x\w+>", r"\1", repr(self))

    def changed(self, change: Callable[[T], T]) -> Case:
        """The call with other Tensors."""

        def visit(a):
            if isinstance(a, T):
                return change(a)
            return type(a)(map(visit, a)) if isinstance(a, list | tuple) else a

        return replace(self, args=visit(self.args), kwargs={k: visit(v) for k, v in self.kwargs.items()})

    def tensors(self, torch) -> list:
        """The Tensors of the call, of torch or fxgrad.compat; in a fixed order, none requiring a gradient yet."""
        return [t.make(torch, seed) for seed, t in self.specifications()]

    def specifications(self) -> list:
        """(seed, T) in order."""
        found: list = []
        first = zlib.crc32(str(self).encode())

        def visit(a):
            if isinstance(a, T):
                found.append((first + len(found), a))
            elif isinstance(a, list | tuple):
                for b in a:
                    visit(b)

        visit((*self.args, *self.kwargs.values()))
        return found

    def filled(self, torch, tensors) -> tuple[list, dict]:
        """(args, kwargs) with these Tensors. Strings such as "torch.float32" are looked up in the library."""
        rest = iter(tensors)

        def filled(a):
            if isinstance(a, T):
                return next(rest)
            if isinstance(a, list | tuple):
                return type(a)(map(filled, a))
            if isinstance(a, str) and a.startswith("torch."):
                return getattr(torch, a.removeprefix("torch."))
            return a

        return [filled(a) for a in self.args], {k: filled(v) for k, v in self.kwargs.items()}

    def call(self, torch, tensors, **extra):
        """Apply the operation to these Tensors."""
        args, kwargs = self.filled(torch, tensors)
        kwargs |= extra
        if self.name.startswith("."):
            first, *args = args
            if self.name.endswith("_") and not self.name.endswith("__"):
                first = first.clone()
            function = getattr(first, self.name[1:])
        else:
            function = torch
            for part in self.name.split("."):
                function = getattr(function, part)
        results = function(*args, **kwargs)
        return results if self.then is None else self.then(results)

    @property
    def specs(self) -> list[T]:
        """Its Tensors' descriptions in order."""
        return [spec for _, spec in self.specifications()]


def case(
    name: str, *args, backward=True, double=True, forward=True, vmap=True, tol=1e-9, then=None, **kwargs
) -> Case:
    """A Case; the keywords named here are its flags, all others go to the operation."""
    return Case(name, args, kwargs, backward, double, forward, vmap, tol, then)


@cache
def gathered() -> list[Case]:
    """The CASES of all files cases_*.py beside this one."""
    cases: list[Case] = []
    for path in sorted(Path(__file__).parent.glob("cases_*.py")):
        assert not (stray := re.findall(r"^case\(.*", path.read_text(encoding="utf-8"), re.MULTILINE)), (
            f"{path.name}: in no list, so that nobody asks about it: {stray}; write it into CASES"
        )
        cases += import_module(f"{__package__}.{path.stem}").CASES
    return cases
