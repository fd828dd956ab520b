"""torch's answers to the questions about the cases, kept: what is compared with them needs no torch.

    python -m tests.parity.compat.answers      asks torch anew, and writes answers.npz

answers.npz holds the entries of all Tensors, one array for each dtype, equal ones once; and as JSON what the answers
are made of, in which a Tensor is its dtype, its shape, and where its entries begin.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from math import prod
from pathlib import Path

import numpy as np

from tests.parity.compat.case import Case, gathered
from tests.parity.compat.comparison import Entries, attempt, entries, is_tensor
from tests.parity.compat.questions import QUESTIONS

FILE = Path(__file__).with_name("answers.npz")
COMMAND = "python -m tests.parity.compat.answers"


def ask(case: Case, library) -> dict:
    """The answers of a library to all that is asked about a case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: attempt(lambda question=question: question(case, library))
            for name, (question, of) in QUESTIONS.items()
            if of(case)
        }


def write(answers: dict) -> None:
    """Keep answers, which are by the spelling of the case and the question."""
    pools: dict[str, bytearray] = {}
    places: dict[tuple[str, bytes], int] = {}

    def place(tensor: Entries) -> dict:
        name, data = tensor.values.dtype.name, tensor.values.tobytes()
        pool = pools.setdefault(name, bytearray())
        if (name, data) not in places:
            places[name, data] = len(pool) // tensor.values.itemsize
            pool.extend(data)
        return {"dtype": tensor.dtype, "shape": tensor.values.shape, "pool": name, "at": places[name, data]}

    def spell(answer):
        if is_tensor(answer):
            return place(entries(answer))
        if isinstance(answer, dict):
            return {key: spell(part) for key, part in answer.items()}
        return [spell(part) for part in answer] if isinstance(answer, list | tuple) else answer

    text = json.dumps(spell(answers)).encode()
    arrays = {name: np.frombuffer(pool, name) for name, pool in pools.items()}
    np.savez_compressed(FILE, json=np.frombuffer(text, np.uint8), **arrays)


@cache
def read() -> dict:
    """What was written."""
    with np.load(FILE) as file:
        arrays = dict(file)

    def tensor(found: dict):
        if "pool" not in found:
            return found
        values = arrays[found["pool"]][found["at"] :][: prod(found["shape"])]
        return Entries(found["dtype"], values.reshape(found["shape"]))

    return json.loads(arrays["json"].tobytes(), object_hook=tensor)


def answer(case: Case, question: Callable):
    """torch's answer to a question about a case."""
    answers = read().get(case.spelling(), {})
    if question.__name__ not in answers:
        raise LookupError(f"nobody asked torch for {question.__name__} of {case} yet: {COMMAND}")
    return answers[question.__name__]


def main() -> None:
    """Ask torch all there is to ask."""
    import torch

    write({case.spelling(): ask(case, torch) for case in gathered()})
    print(f"{len(gathered())} cases, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
