"""`python -m tests.peers.sweep [NAME …]`: what JAX gives for the calls of `calls` with every dtype, for
`jax_sweep.json`; for some functions alone if they are named.

Under the door, `python -m fxgrad -m tests.peers.sweep --to FILE`, it asks this library instead. An outcome is the dtype
of a result, which is `=` if it is that of the operands, `*` if it is weak, and its shape; or `!` and the class of the
error, as which Python catches it. Of some dtypes the entries are summed, each multiplied by its number, so that one
number tells them apart.
"""

from __future__ import annotations

import argparse
import builtins
import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.special
import numpy as np
from jax import grad, jit, lax, nn, vmap

from tests.peers.calls import CALLS, NO_VALUES

ANSWERS = Path(__file__).with_name("jax_sweep.json")
# Each dtype by a letter, with that of the other operand, and the Python number beside it.
DTYPES = {
    "b": ("bool", "int8", True),
    "s": ("int8", "uint8", 2),
    "u": ("uint8", "int32", 2),
    "i": ("int32", "float16", 2),
    "h": ("float16", "bfloat16", 0.5),
    "t": ("bfloat16", "float32", 0.5),
    "f": ("float32", "int32", 0.5),
    "c": ("complex64", "float16", 0.5 + 1j),
    "l": ("int64", "float32", 2),
    "d": ("float64", "bfloat16", 0.5),
}  # fmt: skip
WIDE = "ld"  # only while arrays may have 64 bits
FLOATING = "htfd"
SUMMED = "if"  # whose entries are compared, unless functions are jitted or mapped; of these in a function's first call:
SUMMED_FIRST = "bc"
MODULES = {
    "jnp": jnp, "jnp.linalg": jnp.linalg, "jnp.fft": jnp.fft, "nn": nn, "special": jax.scipy.special, "lax": lax,
    "linalg": jax.scipy.linalg, "ops": jax.ops, "jax": jax, "jax.lax": lax,
}  # fmt: skip
HERE = "fxgrad" in sys.modules


def operands_of(letter: str) -> dict[str, Any]:
    """What calls are made with."""
    dtype, other, number = DTYPES[letter]
    kind = np.dtype(jnp.dtype(dtype) if dtype != "bfloat16" else jnp.bfloat16).kind
    scale = {"b": 1, "i": 1, "u": 1, "c": 0.25 + 0.125j}.get(kind, 0.25)

    def make(*entries: int, shape: Any = -1, dtype: Any = dtype) -> Any:
        values = np.array(entries).reshape(shape)
        return jnp.asarray(abs(values) if kind in "bu" else values * scale).astype(dtype)

    square = [8, 1, 0, 2, 9, 1, 1, 0, 7]
    return {
        "x": make(1, 3, 2),
        "y": make(2, -1, 3),
        "s": make(3, shape=()),
        "e": make(),
        "a": make(1, 4, 2, 0, 3, -2, shape=(2, 3)),
        "m": make(*square, shape=(3, 3)),
        "M": make(*square, *square[::-1], shape=(2, 3, 3)),
        "h": jnp.asarray([1, 2, 0]).astype(other),
        "k": number,
        "i": jnp.asarray([0, 2, 1]),
    }


def total(function: Any) -> Any:
    """The sum of the results of a function that have derivatives."""

    def summed(*args: Any, **options: Any) -> Any:
        leaves = [
            y for y in jax.tree.leaves(function(*args, **options)) if jnp.issubdtype(y.dtype, jnp.inexact)
        ]
        return sum([jnp.real(y).sum() for y in leaves])

    return summed


def is_asked(call: str, letter: str) -> bool:
    """Whether a call is made with a dtype: derivatives are of real numbers."""
    return "total(" not in call or letter in FLOATING


def has_values(name: str, call: str, letter: str) -> bool:
    """Whether the entries of the result are compared."""
    if name in NO_VALUES or call.startswith(("jit", "vmap")):
        return False
    return letter in SUMMED or (letter in SUMMED_FIRST and call == CALLS[name][0])


def describe(result: Any, dtype: str) -> str:
    """The dtypes and shapes of a result."""
    if isinstance(result, tuple | list) and result and all(isinstance(r, int) for r in result):
        return str(result).replace(" ", "")
    parts = []
    for y in jax.tree.leaves(result):
        if isinstance(y, bool | int | float | complex | str):
            parts.append(type(y).__name__)
            continue
        name = (
            "=" if y.dtype.name == dtype else "bf" if y.dtype.name == "bfloat16" else y.dtype.str.lstrip("<|")
        )
        weak = "*" if getattr(y, "weak_type", False) else ""
        parts.append(f"{name}{weak}{list(y.shape) if y.shape else ''}".replace(" ", ""))
    return "+".join(parts)


def add_up(result: Any) -> tuple[float, float]:
    """The entries of a result in one number, and how large it could be."""
    leaves = [np.asarray(y) for y in jax.tree.leaves(result) if not isinstance(y, str)]
    entries = np.concatenate([y.astype(complex).ravel() for y in leaves] or [np.zeros(0)])
    entries = entries.real + 0.7 * entries.imag
    entries = np.nan_to_num(entries, nan=0.37, posinf=11, neginf=-13)
    weights = np.arange(len(entries)) % 97 + 1
    return float(weights @ entries), float(weights @ abs(entries))


def describe_error(error: Exception) -> str:
    """The first class of Python's that an error is of; of one that is raised here all of them."""
    found = [cls.__name__ for cls in type(error).__mro__ if hasattr(builtins, cls.__name__)]
    return "!" + ("|".join(found) if HERE else found[0])


def ask(name: str, call: str, letter: str, operands: dict[str, Any]) -> tuple[str, Any]:
    """The outcome of a call, with its number if there is one."""
    module, _, last = name.rpartition(".")
    names = operands | {"jax": jax, "jnp": jnp, "np": np, "lax": lax, "jit": jit, "vmap": vmap, "grad": grad}
    names |= {"total": total}
    if module != "method":
        try:
            names["f"] = getattr(MODULES[module], last)
        except (AttributeError, NotImplementedError):
            return "absent", None
    dtype, valued = DTYPES[letter][0], has_values(name, call, letter)
    try:
        if not valued and not HERE:
            try:  # which compiles nothing
                return describe(jax.eval_shape(lambda: eval(call, names)), dtype), None
            except (jax.errors.JAXTypeError, jax.errors.JAXIndexError, TypeError):
                pass  # it has to know values, or there is an error, which is seen again
        result = eval(call, names)
        return describe(result, dtype), add_up(result) if valued else None
    except Exception as error:
        return describe_error(error), None


Answer = dict[str, tuple[str, Any]]


def sweep(names: list[str]) -> dict[str, dict[str, Answer]]:
    """The outcomes of all calls of functions, by function, call and letter of the dtype."""
    found: dict[str, dict[str, Answer]] = {name: {call: {} for call in CALLS[name]} for name in names}
    for letter in DTYPES:
        jax.config.update("jax_enable_x64", letter in WIDE)
        operands = operands_of(letter)
        for name in names:
            for call in filter(lambda call: is_asked(call, letter), CALLS[name]):
                found[name][call][letter] = ask(name, call, letter, operands)
        if not HERE:
            jax.clear_caches()  # megabytes for a function
    jax.config.update("jax_enable_x64", False)
    return found


# -- the file --------------------------------------------------------------------------------------------------------
def pack(answer: Answer) -> str:
    """The outcomes of a call in few letters: for each the dtypes that have it, but of the most frequent one the others
    are all; and the numbers."""
    outcomes = Counter(outcome for outcome, _ in answer.values())
    common = outcomes.most_common(1)[0][0]
    rows = [f"{''.join(t for t in answer if answer[t][0] == o)} {o}" for o in outcomes if o != common]
    sums = [f"{t}{summed[0]:.5g}" for t, (_, summed) in answer.items() if summed is not None]
    return "|".join([common, *rows]) + ("; " + " ".join(sums) if sums else "")


def unpack(text: str, call: str) -> dict[str, tuple[str, float | None]]:
    """The outcomes of a call by dtype, from its text."""
    rows, _, sums = text.partition("; ")
    common, *others = rows.split("|")
    outcomes = dict.fromkeys(filter(lambda letter: is_asked(call, letter), DTYPES), common)
    for row in others:
        letters, _, outcome = row.partition(" ")
        outcomes |= dict.fromkeys(letters, outcome)
    numbers = {part[0]: float(part[1:]) for part in sums.split()}
    return {letter: (outcome, numbers.get(letter)) for letter, outcome in outcomes.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.peers.sweep", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions, such as jnp.sin; all if none is named")
    parser.add_argument("--to", type=Path, default=ANSWERS, help="write the answers there")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = sweep(options.names or list(CALLS))
    if HERE:  # with how large the sums could be
        options.to.write_text(json.dumps(found))
        return
    kept = json.loads(ANSWERS.read_text()) if options.names else {}
    kept |= {name: {call: pack(answer) for call, answer in calls.items()} for name, calls in found.items()}
    lines = [
        f"{json.dumps(name)}: {json.dumps(kept[name], separators=(',', ':'))}"
        for name in CALLS
        if name in kept
    ]
    options.to.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
