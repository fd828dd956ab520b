"""Groups for arrays on a GPU, where launches are expensive: neighbouring operations are always fused if possible."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.graph import Equation
from ..kernels.cuda.functions import covers
from ..kernels.space import REDUCTIONS, REPEATS, reduces_an_end
from .fusion import Target


def is_candidate(equation: Equation) -> bool:
    """Whether an equation computes the entries of its result one by one."""
    primitive = equation.primitive
    entrywise = primitive.entrywise or primitive.name in REPEATS
    return entrywise and len(equation.outputs) == 1 and equation.outputs[0].aval.size > 1


def is_worth_fusing(group: Sequence[Equation]) -> bool:
    """Whether a group saves a launch, and is more than reductions, for which the array library has better ones."""
    steps = [e for e in group if e.primitive.computes not in REPEATS]
    return len(steps) > 1 and any(e.primitive.computes not in REDUCTIONS for e in steps)


CUDA = Target(
    is_candidate,
    is_native=covers,
    makes_code=lambda: True,
    suits_tiles=lambda equation: False,
    fits_in=lambda equation, kind: (
        covers(equation) and reduces_an_end(equation.inputs[0].aval.shape, equation.params["axes"])
    ),
    go_together=lambda first, second: True,
    pays=is_worth_fusing,
)
