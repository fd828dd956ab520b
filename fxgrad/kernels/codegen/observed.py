"""Compiled code in a form that reports each of its equations to an observer:

    v3 = x0.dot(x1.T)        becomes        v3 = observe(e3, lambda: x0.dot(x1.T), x0, x1)

It is the same code on the same lines, so that a profile measures the code that runs without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .source import locate, make_function


def observe_code(function: Any, observe: Callable[..., Any]) -> Any:
    """Return a compiled function whose equations are carried out by observe(equation, run, *operands); any other
    function is returned unchanged. It is made once."""
    calls = getattr(function, "calls", None)
    if calls is None:
        return function
    found = function.__dict__.get("observed")
    if found is None:
        found = function.observed = rewrite_calls(function, calls, observe)
    return found


def rewrite_calls(function: Any, calls: list, observe: Callable[..., Any]) -> Any:
    """Write the function anew; the calls stand in its text in their order."""
    namespace = dict(function.__globals__) | {"observe": observe}
    parts, rest = [], function.source
    for index, (call, equation, operands) in enumerate(calls):
        before, rest = rest.split(call, 1)
        namespace[f"e{index}"] = equation
        parts += [before, f"observe({', '.join([f'e{index}', f'lambda: {call}', *operands])})"]
    made = make_function(function.__name__, "".join([*parts, rest]), namespace)
    equations = getattr(function, "equations", None)
    return made if equations is None else locate(made, equations)
