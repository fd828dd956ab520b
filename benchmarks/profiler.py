"""What a profile costs for each operation that it sees, and how much of that comes from what it records.

Decides whether times in a profile mean something, and what is recorded unless it is asked for. The aim: 3 microseconds
at most for an operation with its shapes and the user's line. (That there is no cost without a profile is for the other
programs here to say: they are compared before and after.)
"""

import measure  # isort: skip  (it sets the number of threads)

import statistics
from collections.abc import Callable

import numpy as np

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp

CALLS = 100
NOTHING = {"shapes": False, "lines": False, "flops": False}
RECORDED = {
    "times": NOTHING,
    "and shapes": NOTHING | {"shapes": True},
    "and lines, FLOPs": {},
    "and memory": {"memory": True},
}


def chain(x: np.ndarray) -> np.ndarray:
    """Ten operations."""
    for _ in range(5):
        x = fnp.sin(fnp.cos(x))
    return fnp.sum(x)


def programs() -> dict[str, Callable[[], object]]:
    """The programs, by what they consist of."""
    x = np.random.default_rng(0).standard_normal(64)
    w = torch.from_numpy(x).requires_grad_()
    compiled, gradient = fx.jit(chain), fx.grad(chain)

    def torch_chain() -> None:
        y = w
        for _ in range(10):
            y = torch.softmax(y, 0)
        y.sum().backward()

    return {
        "fnp.sin": lambda: fnp.sin(x),
        "a chain of 10, jitted": lambda: compiled(x),
        "its gradient": lambda: gradient(x),
        "10 torch.softmax, backward": torch_chain,
    }


def overhead(run: Callable[[], object], options: dict) -> float:
    """Seconds for each event: the median, over the rounds, of what a profiled program takes more."""

    def repeat() -> None:
        for _ in range(CALLS):
            run()

    def profiled() -> None:
        with fx.profile(**options):
            repeat()

    with fx.profile(**options) as p:
        run()
    times = measure.take_turns({"profiled": profiled, "plain": repeat}, rounds=21)
    paired = [a - b for a, b in zip(times["profiled"], times["plain"])]
    return statistics.median(paired) / (CALLS * len(p.events))


def main() -> None:
    print(f"µs an event{'':17}" + "".join(f"{name:>18}" for name in RECORDED))
    for name, run in programs().items():
        run()
        seconds = [overhead(run, options) for options in RECORDED.values()]
        print(f"  {name:26}" + "".join(f"{1e6 * s:18.2f}" for s in seconds))


if __name__ == "__main__":
    main()
