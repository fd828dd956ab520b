"""Progress bars of loops. They work in staged loops too, by a callback every few steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..transforms.callback import debug_callback
from .control import cond

UPDATES = 100  # of a bar, from end to end


class Bar:
    """A bar that is opened at the first step of each run, and closed at the last."""

    __slots__ = ("bar", "label")

    def __init__(self, label: str):
        self.label = label
        self.bar: Any = None

    def show(self, done: Any, total: Any) -> None:
        """Show that so many steps are done, of so many; of 0, if that is not known."""
        from tqdm import tqdm  # 10 ms, for whoever looks

        if self.bar is None or self.bar.n > done:
            self.bar = tqdm(desc=self.label, total=int(total) or None, unit="step")
        self.bar.update(int(done) - self.bar.n)
        if done >= total > 0:
            self.bar.close()
            self.bar = None


def count_steps(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], most: int | None, progress: bool | str
) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the functions of a while loop of `most` steps at most as those of one that counts and shows its steps."""
    bar = Bar(progress if isinstance(progress, str) else "while_loop")

    def step(state: Any) -> Any:
        done, value = state[0] + 1, body_fun(state[1])
        debug_callback(bar.show, done, ops.where(cond_fun(value), most or 0, done))
        return done, value

    return lambda state: cond_fun(state[1]), step


def reporter(progress: bool | str, name: str, total: Any) -> Callable[[Any], None]:
    """Return a function that a loop of so many steps, a number or a traced one, calls with the steps done."""
    bar = Bar(progress if isinstance(progress, str) else name)
    period = max(total // UPDATES, 1) if isinstance(total, int) else 1

    def report(done: Any) -> None:
        if period == 1:
            debug_callback(bar.show, done, total)
        else:
            due = (done % period == 0) | (done == total)
            cond(due, lambda done: debug_callback(bar.show, done, total), lambda done: None, done)

    return report
