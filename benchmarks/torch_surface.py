"""fxgrad.compat against torch eager: the same programs in both, forward and backward.

Decides what the tape may cost: its fast path (`_declare.entry.format_fast_path`), the recording of operations that are
no single primitive, the engine. The aims: a chain of 100 elementwise operations on 64 numbers in 0.8 of torch's time, a
training step of a small MLP in 0.9, of a medium one in 1.05.
"""

import measure  # isort: skip  (it sets the number of threads)

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import fxgrad.compat


def chain(torch: Any) -> Callable[[], np.ndarray]:
    """25 times four operations, and a sum."""
    x = torch.from_numpy(np.random.default_rng(0).standard_normal(64).astype("float32")).requires_grad_()

    def run() -> np.ndarray:
        x.grad = None
        y = x
        for _ in range(25):
            y = torch.tanh(torch.sin(y) * x) + x
        torch.sum(y).backward()
        return x.grad.numpy()

    return run


def mlp(torch: Any, batch: int, *sizes: int) -> Callable[[], np.ndarray]:
    """A training step: forward, cross entropy, backward, SGD with momentum."""
    rng = np.random.default_rng(1)
    layers: list = []
    for a, b in pairwise(sizes):
        layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    start = [
        torch.from_numpy((rng.standard_normal(tuple(p.shape)) / sizes[0] ** 0.5).astype("float32"))
        for p in model.parameters()
    ]
    x = torch.from_numpy(rng.standard_normal((batch, sizes[0])).astype("float32"))
    labels = torch.from_numpy(rng.integers(0, sizes[-1], batch))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    with torch.no_grad():
        for p, value in zip(model.parameters(), start):
            p.copy_(value)

    def run() -> np.ndarray:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss.detach().numpy()

    return run


PROGRAMS = {
    "chain of 100 elementwise operations on 64 numbers": (chain, ()),
    "training step of an MLP 64-64-10, batch 32": (mlp, (32, 64, 64, 10)),
    "training step of an MLP 784-512-512-10, batch 256": (mlp, (256, 784, 512, 512, 10)),
}


def main() -> None:
    libraries = {"fxgrad.compat": fxgrad.compat, **measure.peers("torch")}
    for title, (program, sizes) in PROGRAMS.items():
        runs = {name: program(library, *sizes) for name, library in libraries.items()}
        values = {name: run() for name, run in runs.items()}
        for value in values.values():
            np.testing.assert_allclose(value, values["fxgrad.compat"], rtol=1e-3, atol=1e-5)
        print(f"{title}:")
        measure.report(measure.medians(runs, rounds=40, calls=5), "fxgrad.compat")


if __name__ == "__main__":
    main()
