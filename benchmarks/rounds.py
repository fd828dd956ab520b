"""Rounds of measurements by worker processes, and what they say of a line."""

import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from .line import OURS, PEER, Line, role_of
from .measure import limit_threads

ROOT = Path(__file__).resolve().parent.parent
MOST_ROUNDS, FEWEST_ROUNDS = 40, 3


# Label → the tree whose fxgrad is measured. A label is a contender's name; of another tree, `TREE/name`.
Plan = Mapping[str, Path]


def contender_of(label: str) -> str:
    """The contender's name in a label."""
    return label.rpartition("/")[2]


class Limits(NamedTuple):
    """How long a line is measured, when its processes are given up, and how many threads each library has."""

    seconds: float
    patience: float
    threads: int = 1


class Measurement(NamedTuple):
    """What was measured of a line: numbers by contender, one a round, and why others have none."""

    line: Line
    rounds: Mapping[str, list[float]]
    failures: Mapping[str, str]

    def median(self, contender: str) -> float:
        """The contender's middle round."""
        return statistics.median(self.rounds[contender])

    def best(self, role: str) -> str | None:
        """Who is fastest of ours, of the peers, or of what was worked out by hand."""
        return min((name for name in self.rounds if role_of(name) == role), key=self.median, default=None)

    def ratio(self, to: str = PEER) -> float | None:
        """The median over rounds of our best contender's number to theirs; None where there is no such ratio."""
        ours, theirs = self.best(OURS), self.best(to)
        if ours is None or theirs is None or self.line.metric == "memory_growth":
            return None
        return statistics.median(a / b for a, b in zip(self.rounds[ours], self.rounds[theirs]))

    @property
    def unit(self) -> str:
        """Seconds or bytes."""
        return "B" if self.line.metric in ("peak_memory", "memory_growth") else "s"


class Worker:
    """A process of `worker.py`, which answers in lines of JSON."""

    def __init__(
        self, line: Line, contenders: Iterable[str], quick: bool, deadline: float, threads: int, tree: Path
    ) -> None:
        # Byte code is cached, as users have it.
        environment = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment |= limit_threads(threads)
        command = [
            sys.executable,
            "-m",
            "benchmarks.worker",
            line.name,
            " ".join(contenders),
            str(quick),
            str(threads),
            str(tree),
        ]
        self.deadline = deadline
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        # Threads read both ends, so that a worker that waits or writes much can be given up.
        self.answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.complaints: list[str] = []
        for target in (self._read_answers, self._read_complaints):
            threading.Thread(target=target, daemon=True).start()

    def _read_answers(self) -> None:
        for text in self.process.stdout or ():
            if text.startswith(("[", "{")):
                self.answers.put(text)
        self.answers.put("")

    def _read_complaints(self) -> None:
        for text in self.process.stderr or ():
            self.complaints = [*self.complaints[-20:], text.strip()]

    def ask(self, question: str = "round") -> Any:
        """The worker's next answer."""
        if question:
            assert self.process.stdin
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
        try:
            answer = self.answers.get(timeout=max(0.0, self.deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError("gave no answer within the time limit") from None
        if not answer:
            raise ChildProcessError(self.complaints[-1] if self.complaints else "ended without a word")
        return json.loads(answer)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(timeout=30)


def measure_line(line: Line, plan: Plan, quick: bool, limits: Limits) -> Measurement:
    """Rounds of a line's contenders, who take turns, for as long as the limits say."""
    return (_measure_alone if line.metric else _measure_together)(line, plan, quick, limits)


def _turns(seconds: float) -> Iterable[int]:
    """Numbers of rounds until the time is over."""
    end = time.monotonic() + seconds
    for number in range(MOST_ROUNDS):
        if number >= FEWEST_ROUNDS and time.monotonic() > end:
            return
        yield number


def _measure_together(line: Line, plan: Plan, quick: bool, limits: Limits) -> Measurement:
    """Each tree has one process, in which its contenders take turns; the processes take turns as well."""
    deadline = time.monotonic() + limits.patience
    failures: dict[str, str] = {}
    rounds: list[dict[str, float]] = []
    try:
        with ExitStack() as stack:
            workers: list[tuple[Worker, dict[str, str]]] = []
            for tree in sorted(set(plan.values()), key=lambda tree: tree != ROOT):
                labels = {contender_of(label): label for label in plan if plan[label] == tree}
                worker = stack.enter_context(Worker(line, labels, quick, deadline, limits.threads, tree))
                ready = worker.ask("")
                failures |= {labels[name]: why for name, why in ready["failures"].items()}
                if ready["runs"]:
                    workers.append((worker, labels))
            for number in _turns(limits.seconds) if workers else ():
                found = {}
                for worker, labels in workers[:: -1 if number % 2 else 1]:
                    found |= {labels[name]: value for name, value in worker.ask().items()}
                rounds.append(found)
    except (TimeoutError, ChildProcessError, BrokenPipeError) as error:
        return Measurement(line, {}, dict.fromkeys(plan, str(error)))
    names = rounds[0] if rounds else ()
    return Measurement(line, {name: [found[name] for found in rounds] for name in names}, failures)


def _measure_alone(line: Line, plan: Plan, quick: bool, limits: Limits) -> Measurement:
    """Each contender has a process of its own in every round. The first round fills caches of files."""
    deadline = time.monotonic() + limits.patience
    found: dict[str, list[float]] = {label: [] for label in plan}
    failures: dict[str, str] = {}
    expected: tuple[str, list[float]] | None = None
    for number in (
        _turns(limits.seconds) if line.metric == "first_call" else (1,)
    ):  # memory is the same in every round
        for label, tree in plan.items():
            if label in failures:
                continue
            try:
                with Worker(line, [contender_of(label)], quick, deadline, limits.threads, tree) as worker:
                    value, norms = worker.ask("")
            except (TimeoutError, ChildProcessError) as error:
                failures[label] = str(error)
                continue
            expected = expected or (label, norms)
            if len(norms) != len(expected[1]) or any(
                abs(a - b) > line.tolerance * abs(b) for a, b in zip(norms, expected[1])
            ):
                failures[label] = f"is not what {expected[0]} gives: norms {norms}, not {expected[1]}"
            elif number:
                found[label].append(value)
    return Measurement(
        line, {label: values for label, values in found.items() if label not in failures}, failures
    )
