"""The constructors of distributions beside torch's: parameters, constraints, and what docstrings say of them."""

from __future__ import annotations

import inspect

import pytest

from tests.parity.compat.test_distributions import CASES, LIBRARIES


@pytest.mark.parametrize("kind", sorted({kind for kind, _, _ in CASES.values()}))
def test_constructors_and_constraints_are_torchs(kind):
    theirs, ours = (getattr(library.distributions, kind) for library in LIBRARIES)
    names = [[*inspect.signature(c).parameters] for c in (theirs, ours)]
    assert names[0] == names[1]
    if not isinstance(theirs.arg_constraints, property):
        assert repr(dict(theirs.arg_constraints)) == repr(dict(ours.arg_constraints))
    said = inspect.getdoc(ours)
    assert all(f"{name}: " in said or f"`{name}`" in said for name in names[1]), said
