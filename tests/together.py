"""Parameters of a test that run together, in one test for many of them: what pytest does for each test costs more than
a look at a docstring or a sine of six numbers."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def seed_generators() -> None:
    """Random numbers are the same whatever was run before."""
    for library in {"fxgrad.compat", "torch"} & sys.modules.keys():
        sys.modules[library].default_generator.manual_seed(0)


class Turn:
    """Which part of what runs in turn this run takes, by the seed of pytest-randomly."""

    seed = 0


def in_turn(cases: Sequence[Any], n: int) -> Sequence[Any]:
    """One in n of the cases, others with the next seed, so that n runs take all: for products in which a mistake shows
    in many places."""
    return cases[Turn.seed % n :: n]


def bindings(mark: pytest.Mark) -> list[dict[str, Any]]:
    """What each set of parameters of a mark binds: {name: value}."""
    names, values = mark.args
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    sets = [ParameterSet.extract_from(value, force_tuple=len(names) == 1) for value in values]
    assert not any(one.marks for one in sets), "marks are of single tests"
    return [dict(zip(names, one.values, strict=True)) for one in sets]


def run_all(check: Callable, cases: Sequence[dict[str, Any]], fixtures: dict[str, Any]) -> None:
    """Run a check on every case, then fail with the errors of all that failed, each with its case in a note."""
    failed, skipped = [], None
    for case in cases:
        seed_generators()
        try:
            check(**case, **fixtures)
        except pytest.skip.Exception as error:
            skipped = error
        except (Exception, pytest.fail.Exception) as error:
            error.add_note("with " + ", ".join(f"{name} = {value!s}" for name, value in case.items()))
            failed.append(error)
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)
    if skipped and len(cases) == 1:
        raise skipped


def together(*names: str, **key: Callable[[Any], Any]) -> Callable[[Callable], Callable]:
    """Let parameters that a test has by `pytest.mark.parametrize` run in one test.

    names: parameters of which all values run in one, as in `@together("dtype")`.
    key: for another parameter which of its values run together, as in `@together(sample=lambda s: s.name)`: those of
    one key, which is the test's id.
    """

    def decorator(check: Callable) -> Callable:
        inside, outside, groups = [], [], {}
        for mark in getattr(check, "pytestmark", []):
            bound = bindings(mark) if mark.name == "parametrize" else [{}]
            bound = bound or [dict.fromkeys([mark.args[0]])]
            (first, *_) = bound[0] or [""]
            if first in names:
                inside.append(bound)
            elif first in key:
                groups[first] = {}
                for case in bound:
                    groups[first].setdefault(str(key[first](case[first])), []).append(case)
                outside.append(
                    pytest.mark.parametrize(first, groups[first].values(), ids=groups[first].keys()).mark
                )
            else:
                outside.append(mark)

        @functools.wraps(check)
        def check_all(**given: Any) -> None:
            grouped = [given.pop(name) for name in groups]
            cases = [
                {name: value for part in parts for name, value in part.items()}
                for parts in itertools.product(*reversed(inside), *grouped)
            ]
            run_all(check, cases, given)

        here = {name for bound in inside for name in bound[0]}
        signature = inspect.signature(check)
        kept = [p for name, p in signature.parameters.items() if name not in here]
        check_all.__signature__ = signature.replace(parameters=kept)
        check_all.pytestmark = outside
        return check_all

    return decorator
