"""Random numbers in the steps of loops: calls of the functions of `streams` with the keys of a step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.graph import Equation, Literal
from .. import philox
from . import lanes
from .entries import operand_of, write_entries
from .ir import Function, Value
from .steps import StepWriter, step_rule
from .streams import chunk_count, log_gamma_function, stream_function, write_block


def shared_function(w: StepWriter, name: str, make: Callable[[str], Function]) -> str:
    """Return the name of a function of the steps, which is made once."""
    found = next((f for f in w.functions if f.name == name), None)
    if found is None:
        found = make(name)
        found.local = True
        w.functions.append(found)
    return name


@step_rule("random_bits", "random_real")
def write_draw(w: StepWriter, e: Equation) -> None:
    """Write a call of the function of streams."""
    (key,), (result,) = e.inputs, e.outputs
    domain, law = e.params.get("domain", philox.DRAW), e.params.get("law", "bits")
    name = shared_function(
        w, f"stream_{domain}_{law}", lambda name: stream_function(name, "double", domain, law)
    )
    target = w.target(result)
    count = result.aval.size // key.aval.size
    w.call(name, 0, key.aval.size * chunk_count(count), count, w.place(key), target)
    w.settle(result, target)


@step_rule(
    "random_log_gamma",
    admits=lambda e: type(e.inputs[1]) is not Literal and e.inputs[1].aval.dtype == np.float64,
)
def write_gamma_draw(w: StepWriter, e: Equation) -> None:
    (key, shapes), (result,) = e.inputs, e.outputs
    name = shared_function(w, "log_gamma_stream", lambda name: log_gamma_function(name, "double"))
    target = w.target(result)
    count = result.aval.size // key.aval.size
    w.call(name, 0, result.aval.size, count, w.place(key), w.place(shapes), target)
    w.settle(result, target)


@step_rule("fold_in")
def write_fold(w: StepWriter, e: Equation) -> None:
    """Write a block of Philox for each entry."""
    (result,) = e.outputs
    operands = [operand_of(w, e, a) for a in e.inputs]

    def entry(position: tuple) -> Value:
        words = []
        for operand, atom in zip(operands, e.inputs):
            shape = atom.aval.shape
            at = [0 if n == 1 else i for i, n in zip(position[len(position) - len(shape) :], shape)]
            words.append(lanes.convert(operand.at(tuple(at)), atom.aval.dtype, result.aval.dtype))
        return write_block(words[0], philox.FOLD, (1, words[1], 0))[0]

    write_entries(w, e, entry)
