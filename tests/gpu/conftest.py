"""Where there is a GPU these tests run on it by CuPy, elsewhere by CuPy's stand-in, which sees more: transfers."""

from contextlib import contextmanager

import pytest

from tests import cupy_stand_in


def find_cupy():
    """CuPy, if it is installed and finds a device."""
    try:
        import cupy

        return cupy if cupy.cuda.runtime.getDeviceCount() else None
    except (ImportError, RuntimeError):
        return None


@pytest.fixture(scope="module")
def cupy():
    """CuPy, or its stand-in."""
    found = find_cupy()
    if found is not None:
        yield found
        return
    with cupy_stand_in.install() as library:
        yield library


@pytest.fixture
def stays(cupy):
    """A context in which nothing moves between host and device but what `unless` names; where CuPy is real, nobody
    counts."""

    @contextmanager
    def stays(unless=()):
        if cupy is not cupy_stand_in.MODULES.get("cupy"):
            yield
            return
        with cupy_stand_in.recording() as record:
            yield
        assert {(t.kind, t.by) for t in record.transfers} <= set(unless)

    return stays
