"""What SciPy's own functions do with traced values, measured: they work, or their errors say what to write."""

import re
from functools import cache

import pytest

from tests.scipy import calls
from tests.tables.protocols import SETTINGS, UNHELPFUL, WORKS, measure_apart, read

scipy = pytest.importorskip("scipy")


@cache
def every_call():
    return [*calls.every_call()]


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_call_works_or_says_what_to_write(setting):
    found = measure_apart(setting)
    assert len(found) > 1000
    assert {call: told for call, (state, told) in found.items() if state == UNHELPFUL} == {}
    kept = read()
    if kept["scipy"] == scipy.__version__:
        worked = {call for call, state in kept["states"][setting].items() if state == WORKS}
        assert worked - {call for call, (state, _) in found.items() if state == WORKS} == set()


@pytest.mark.parametrize("namespace", calls.CALLS)
def test_every_public_function_is_called(namespace):
    if read()["scipy"] != scipy.__version__:
        pytest.skip("other versions have other names")
    called = set(re.findall(r"\w+(?=\()", calls.CALLS[namespace])) | calls.WITHOUT_ARRAYS
    known = {name for space, call in every_call() if space == namespace for name in re.findall(r"\w+", call)}
    assert [name for name in calls.public_names(namespace) if name not in called | known] == []
