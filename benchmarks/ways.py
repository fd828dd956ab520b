"""How far a call goes: Python calls, files, and hops between files of eight warm calls.

    python -m benchmarks.ways [--write]        --write stores the table in results/ways.md

Numbers of calls are the same on every machine, whatever else it does, so that they can be compared between versions.
A hop is a call of a function in another file; functions that are generated count as files of their own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp

RESULTS = Path(__file__).parent / "results" / "ways.md"
WARM = 40  # calls after which nothing is compiled any more


class Way(NamedTuple):
    """What one call does: Python calls, files, hops between files."""

    calls: int
    files: int
    hops: int


def count(call: Callable[[], Any]) -> Way:
    """Count what a warm call does, without `call` itself."""
    for _ in range(WARM):
        call()
    calls, hops, files = -1, 0, set()

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal calls, hops
        if event == "call":
            calls += 1
            files.add(frame.f_code.co_filename)
            hops += frame.f_code.co_filename != frame.f_back.f_code.co_filename

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return Way(calls, len(files) - 1, hops - 1)


def ways() -> dict[str, Callable[[], Any]]:
    """Return the eight calls, each with arguments of a few numbers."""
    w, x, xs = np.ones(3), np.arange(3.0), np.arange(12.0).reshape(4, 3)
    t = torch.ones(3, requires_grad=True)
    mesh = fx.distributed.Mesh(None, {"data": -1})
    P = fx.distributed.PartitionSpec

    def loss(w: Any, x: Any) -> Any:
        return (x * w).sum()

    def write_to_a_view() -> None:
        y = t * 1
        y[1:].mul_(2)
        y.sum().backward()

    def f(x: Any) -> Any:
        return fnp.sin(x) * x

    derivative, compiled = fx.grad(f), fx.jit(f)
    batched, norms = fx.vmap(fx.grad(f)), fx.per_sample.norms(loss)
    summed = fx.distributed.shard_map(
        lambda x: fx.lax.psum(x * x, "data"), mesh, in_specs=P("data"), out_specs=P()
    )
    slope = fx.grad(lambda x: fnp.sum(summed(x)))
    return {
        "grad(f)(2.0)": lambda: derivative(2.0),
        "jit(f)(x)": lambda: compiled(x),
        "vmap(grad(f))(x)": lambda: batched(x),
        "t.exp().sum().backward()": lambda: t.exp().sum().backward(),
        "write to a view, backward": write_to_a_view,
        "shard_map of psum": lambda: summed(x),
        "its gradient": lambda: slope(x),
        "per_sample.norms(loss)(w, xs)": lambda: norms(w, xs),
    }


def table() -> str:
    """Return the numbers of all ways as text."""
    rows = [f"| {name} | {' | '.join(map(str, count(call)))} |" for name, call in ways().items()]
    return "\n".join(["| warm call | calls | files | hops |", "|---|--:|--:|--:|", *rows, ""])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    text = table()
    print(text)
    if "--write" in sys.argv:
        version = ".".join(map(str, sys.version_info[:2]))
        head = f"# Ways\n\n`python -m benchmarks.ways`, Python {version}: Python calls, files, hops between files.\n\n"
        RESULTS.write_text(head + text, encoding="utf-8")
