"""The same random numbers for a test in whatever order the tests run."""

import numpy as np
import pytest

STATES: dict[str, dict] = {}  # of the generator of a module, before its first test


@pytest.fixture(autouse=True)
def same_numbers(request):
    """Begin the generators of the module anew."""
    for name, value in vars(request.module).items() if request.module is not None else ():
        if isinstance(value, np.random.Generator):
            key = f"{request.module.__name__}.{name}"
            value.bit_generator.state = STATES.setdefault(key, value.bit_generator.state)
