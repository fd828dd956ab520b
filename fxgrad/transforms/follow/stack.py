"""The stack of operands of a Python frame, below the instruction that it executes.

A frame shows its variables, but not the operands of unfinished expressions, the iterators of its `for` loops, or the
exits of its `with` blocks. How many there are, and which were loaded from variables, follows from the code: every
instruction says how it changes the depth of the stack.
"""

from __future__ import annotations

import bisect
import dis
import functools
import inspect
import operator
import types
from collections.abc import Iterator
from types import CodeType
from typing import Any

import numpy as np

from ...core.interpreter import Tracer
from . import operands

# Operations that run other code, and push one result afterwards, or take what they need and jump.
PUSHING = (
    "CALL",
    "BINARY_",
    "COMPARE_OP",
    "CONTAINS_OP",
    "LOAD_ATTR",
    "LOAD_METHOD",
    "UNARY_",
    "TO_BOOL",
    "FOR_ITER",
    "YIELD_VALUE",
)
STORING = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR")  # which push nothing
JUMPING = ("POP_JUMP", "JUMP_IF")
SHARED = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME")
SIMPLE = (*SHARED, "LOAD_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "PUSH_NULL")
NAMED = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)  # what keeps its name
CONSUMING = (
    "POP_",
    "STORE_",
    "PRECALL",
    "KW_NAMES",
    "NOP",
    "RESUME",
    "CACHE",
    "NOT_TAKEN",
    "EXTENDED_ARG",
    "JUMP_FORWARD",
    "JUMP_BACKWARD",
)
ENDING = ("JUMP_FORWARD", "JUMP_BACKWARD", "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")


def hidden_depth(code: CodeType, lasti: int) -> int | None:
    """Return how many values lie on the stack below those that the instruction at `lasti` takes; None if that is
    unknown: in handlers of exceptions, and where other instructions run code."""
    offsets, instructions, depths = stack_depths(code)
    index = bisect.bisect_right(offsets, lasti) - 1  # the offset may be that of an instruction's cache
    depth = depths.get(offsets[index])
    name = instructions[index].opname
    if name == "RESUME" and depth:  # of a generator, for which it pushes what is sent to it
        return depth - 1
    if depth is None or not name.startswith(PUSHING + STORING + JUMPING):
        return None
    return depth + effect(instructions[index], False) - name.startswith(PUSHING)


def hidden_values(frame: types.FrameType) -> tuple[list[int] | None, set[Any]]:
    """Return the places of those of these values that no variable of a frame tells, from the bottom of the stack on,
    and the names of the variables that tell the others: what was loaded from a variable that nobody has assigned to
    since. Constants are told by the code."""
    depth = hidden_depth(frame.f_code, frame.f_lasti)
    if depth is None:
        return None, set()
    offsets, origins = stack_depths(frame.f_code)[0], stack_origins(frame.f_code)
    held = origins.get(offsets[bisect.bisect_right(offsets, frame.f_lasti) - 1])
    if held is None or len(held) < depth:
        return [*range(depth)], set()
    known = {
        i: origin for i, origin in enumerate(held[:depth]) if origin is not None and is_known(origin, frame)
    }
    names = {name for origin in known.values() for name in names_of(origin)}
    return [i for i in range(depth) if i not in known], names


def is_known(origin: dis.Instruction, frame: types.FrameType) -> bool:
    """Return whether a value on the stack, which this instruction has loaded, is what the frame's variable holds. Other
    frames may assign to variables that they share, but hardly to those which name functions."""
    if not origin.opname.startswith(SHARED):
        return True
    for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if origin.argval in names:
            return isinstance(names[origin.argval], NAMED)
    return False


@functools.lru_cache(1024)
def stack_origins(code: CodeType) -> dict[int, tuple[dis.Instruction | None, ...]]:
    """Return, for the stack before each instruction, the instructions that have loaded its values; None for a value
    that was computed, or has another origin on another way."""
    offsets, instructions, _ = stack_depths(code)
    found: dict[int, tuple[dis.Instruction | None, ...]] = {}
    pending: list[tuple[int, tuple[dis.Instruction | None, ...]]] = [(0, ())]
    while pending:
        offset, held = pending.pop()
        if offset in found:
            if found[offset] == held or len(found[offset]) != len(held):
                continue
            held = tuple([one if one is other else None for one, other in zip(found[offset], held)])
            if held == found[offset]:
                continue
        found[offset] = held
        index = bisect.bisect_left(offsets, offset)
        instruction = instructions[index]
        if instruction.opcode in JUMPS:
            pending.append((instruction.argval, after(instruction, held, True)))
        if not instruction.opname.startswith(ENDING) and index + 1 < len(offsets):
            pending.append((offsets[index + 1], after(instruction, held, False)))
    return found


def after(
    instruction: dis.Instruction, held: tuple[dis.Instruction | None, ...], jumps: bool
) -> tuple[dis.Instruction | None, ...]:
    """Return the origins of the values on the stack after an instruction."""
    name, change = instruction.opname, effect(instruction, jumps)
    if name.startswith(SIMPLE) and name != "LOAD_FAST_AND_CLEAR":
        return (*held, *[instruction] * change)
    if name.startswith(("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR")):
        names = instruction.argval if type(instruction.argval) is tuple else (instruction.argval,)
        held = tuple([None if o is not None and names_of(o) & {*names} else o for o in held])
    if name == "STORE_FAST_LOAD_FAST":
        return (*held[:-1], None)
    if name.startswith(CONSUMING):
        return held[:change] if change else held
    taken = 1 - change if name.startswith((*PUSHING, "BUILD_", "IS_OP")) else len(held)
    if name.startswith(("LOAD_ATTR", "LOAD_METHOD")):
        taken = 1
    elif name == "LOAD_FAST_AND_CLEAR":
        taken = 0
    kept = held[: max(len(held) - taken, 0)]
    return (*kept, *[None] * (len(held) + change - len(kept)))


def names_of(instruction: dis.Instruction) -> set[Any]:
    """Return the names of the variables that an instruction loads."""
    return {*instruction.argval} if type(instruction.argval) is tuple else {instruction.argval}


def effect(instruction: dis.Instruction, jumps: bool) -> int:
    """Return by how much an instruction deepens the stack."""
    if (
        instruction.opname == "RETURN_GENERATOR"
    ):  # for whoever asks: the generator that goes on has None there
        return 1
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
CONVERSIONS = (bool, int, float, complex, operator.index)  # functions of C that ask their argument once
ASKING_ONCE = (*JUMPING, "TO_BOOL", "UNARY_NOT")  # other operations that do
LOADS = ("LOAD_GLOBAL", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_NAME")


def enters(frame: types.FrameType, code: CodeType) -> bool:
    """Return whether the operation that a frame carries out has entered this code itself, and not by a function of C
    (`max`, `sorted`, `map`), which would hide how far it is."""
    instruction = current_instruction(frame)
    if instruction.opname.startswith("CALL"):
        return any(part is code for part in codes_of(callee(frame)))
    return instruction.opname == "LOAD_ATTR" or (instruction.opname == "FOR_ITER" and not hides_steps(frame))


def hides_steps(frame: types.FrameType) -> bool:
    """Return whether the iterator of the loop that a frame goes on with asks others, and holds their answers."""
    depth = hidden_depth(frame.f_code, frame.f_lasti)
    return bool(
        depth
        and operands.IS_READABLE
        and isinstance(operands.operand(frame, depth - 1), (enumerate, zip, reversed))
    )


def asks_once(frame: types.FrameType, is_equality: bool) -> bool:
    """Return whether the operation that a frame carries out asks for one value only, and goes on by itself;
    `is_equality` says whether it asks if two values are equal, as comparisons of containers do for each entry."""
    instruction = current_instruction(frame)
    if instruction.opname == "COMPARE_OP":  # which since Python 3.13 decides, too
        return not is_equality or compares_numbers(frame)
    if instruction.opname.startswith("CALL"):
        called = callee(frame)
        return any(called is conversion for conversion in CONVERSIONS)
    if instruction.opname == "FOR_ITER":
        return not hides_steps(frame)
    return instruction.opname.startswith(ASKING_ONCE)


def compares_numbers(frame: types.FrameType) -> bool:
    """Return whether the operands of a comparison are numbers, and what is computed from them."""
    instructions = stack_depths(frame.f_code)[1]
    start, end = first_operand(frame), instructions.index(current_instruction(frame))
    for instruction in instructions[start:end] if start is not None else ():
        name = instruction.opname
        names = instruction.argval if type(instruction.argval) is tuple else (instruction.argval,)
        if name.startswith(("LOAD_FAST", "LOAD_DEREF")):
            if not all(
                isinstance(frame.f_locals.get(v), (Tracer, int, float, complex, np.generic)) for v in names
            ):
                return False
        elif name not in ("LOAD_CONST", "BINARY_OP", "UNARY_NEGATIVE"):
            return False
    return start is not None


def first_operand(frame: types.FrameType) -> int | None:
    """Return the index of the instruction that pushes the first operand of the current operation."""
    hidden = hidden_depth(frame.f_code, frame.f_lasti)
    offsets, _, depths = stack_depths(frame.f_code)
    index = bisect.bisect_right(offsets, frame.f_lasti) - 2
    while index > 0 and depths.get(offsets[index]) != hidden:
        index -= 1
    return None if hidden is None else index


def current_instruction(frame: types.FrameType) -> dis.Instruction:
    """Return the instruction that a frame carries out."""
    offsets, instructions, _ = stack_depths(frame.f_code)
    return instructions[bisect.bisect_right(offsets, frame.f_lasti) - 1]


def callee(frame: types.FrameType) -> Any:
    """Return what a frame calls, if the code names it: a variable, or an attribute of one; otherwise None."""
    instructions, index = stack_depths(frame.f_code)[1], first_operand(frame)
    if index is None:
        return None
    index += instructions[index].opname == "PUSH_NULL"
    found = instructions[index]
    if found.opname not in LOADS:
        return None
    for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if found.argval in names:
            value = names[found.argval]
            break
    else:
        return None
    while (found := instructions[(index := index + 1)]).opname in ("LOAD_ATTR", "LOAD_METHOD"):
        value = inspect.getattr_static(value, found.argval, None)
    return value


def codes_of(value: Any) -> Iterator[CodeType]:
    """The codes that a call of a value enters."""
    value = getattr(value, "__func__", value)
    if isinstance(value, types.FunctionType):
        yield value.__code__
    elif isinstance(value, functools.partial):
        yield from codes_of(value.func)
    else:
        names = ("__init__", "__new__") if isinstance(value, type) else ("__call__",)
        for name in names:
            function = inspect.getattr_static(value if isinstance(value, type) else type(value), name, None)
            function = getattr(function, "__func__", function)
            if isinstance(function, types.FunctionType):
                yield function.__code__


@functools.lru_cache(1024)
def assigns_globals(code: CodeType) -> bool:
    """Return whether a code, or a function which it defines, assigns to globals."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    names = {i.opname for i in stack_depths(code)[1]}
    return bool(names & {"STORE_GLOBAL", "DELETE_GLOBAL"}) or any(map(assigns_globals, inner))


@functools.lru_cache(1024)
def global_names(code: CodeType) -> frozenset[str]:
    """Return the names of the globals that a code, and the functions which it defines, may read."""
    names = [i.argval for i in stack_depths(code)[1] if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    inner = [global_names(part) for part in code.co_consts if isinstance(part, CodeType)]
    return frozenset(names).union(*inner)


def next_operation(code: CodeType, lasti: int) -> str:
    """Return the name of the operation after the one at `lasti`."""
    offsets, instructions, _ = stack_depths(code)
    index = bisect.bisect_right(offsets, lasti)
    return instructions[index].opname if index < len(instructions) else ""
