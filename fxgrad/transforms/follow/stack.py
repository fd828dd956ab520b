"""What a frame of Python holds on its stack of operands, below the operation that it carries out.

A frame tells its variables, but not the operands of unfinished expressions, the iterators of its `for` loops, or the
exits of its `with` blocks. How many there are follows from the code: every instruction says how it changes the depth
of the stack.
"""

from __future__ import annotations

import bisect
import dis
import functools
from types import CodeType

# Operations that run other code, and push one result afterwards, or take what they need and jump.
PUSHING = ("CALL", "BINARY_", "COMPARE_OP", "CONTAINS_OP", "LOAD_ATTR", "LOAD_METHOD", "UNARY_", "TO_BOOL", "FOR_ITER")
JUMPING = ("POP_JUMP", "JUMP_IF")
ENDING = ("JUMP_FORWARD", "JUMP_BACKWARD", "RETURN", "RAISE_VARARGS", "RERAISE")


def hidden_depth(code: CodeType, lasti: int) -> int | None:
    """Return how many values lie on the stack below those that the instruction at `lasti` takes; None if that is
    unknown: in handlers of exceptions, and where other instructions run code."""
    offsets, instructions, depths = stack_depths(code)
    index = bisect.bisect_right(offsets, lasti) - 1  # the offset may be that of an instruction's cache
    depth = depths.get(offsets[index])
    name = instructions[index].opname
    if depth is None or not name.startswith(PUSHING + JUMPING):
        return None
    return depth + effect(instructions[index], False) - name.startswith(PUSHING)


def effect(instruction: dis.Instruction, jumps: bool) -> int:
    """Return by how much an instruction deepens the stack."""
    has_argument = instruction.opcode >= dis.HAVE_ARGUMENT
    return dis.stack_effect(instruction.opcode, instruction.arg if has_argument else None, jump=jumps)


@functools.lru_cache(1024)
def stack_depths(code: CodeType) -> tuple[list[int], list[dis.Instruction], dict[int, int | None]]:
    """Return the offsets of the instructions, these, and the depth of the stack before each that is reached without an
    exception; None where ways that lead there disagree."""
    instructions = list(dis.get_instructions(code))
    offsets = [instruction.offset for instruction in instructions]
    depths: dict[int, int | None] = {}
    pending = [(0, 0)]
    while pending:
        offset, depth = pending.pop()
        if offset in depths:
            if depths[offset] != depth:
                depths[offset] = None
            continue
        depths[offset] = depth
        index = bisect.bisect_left(offsets, offset)
        instruction = instructions[index]
        if instruction.opcode in JUMPS:
            pending.append((instruction.argval, depth + effect(instruction, True)))
        if not instruction.opname.startswith(ENDING) and index + 1 < len(offsets):
            pending.append((offsets[index + 1], depth + effect(instruction, False)))
    return offsets, instructions, depths


JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])


def next_operation(code: CodeType, lasti: int) -> str:
    """Return the name of the operation after the one at `lasti`."""
    offsets, instructions, _ = stack_depths(code)
    index = bisect.bisect_right(offsets, lasti)
    return instructions[index].opname if index < len(instructions) else ""
