"""Types: what users name is known to type checkers."""

import pytest

from tests.house import type_completeness


def test_types_of_public_names_are_known():
    pytest.importorskip("pyright")
    found = type_completeness.completeness(type_completeness.verify())
    assert type_completeness.share(found) >= type_completeness.THRESHOLD
