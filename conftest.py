"""For every test and doctest: the names that examples use without an import, bytecode, and a limit of time."""

import faulthandler
import os
import sys
import time

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from tests.given_names import given_names

LIMIT, PAUSE = 900, 60  # seconds
WATCHED = pytest.StashKey[float]()


def pytest_configure(config):
    """Where no bytecode may be written beside its source, it goes to pytest's cache: tests start some hundred
    processes, each of which would compile a second long."""
    if sys.dont_write_bytecode and hasattr(config, "cache"):
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(config.cache.mkdir("bytecode"))
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture
def doctest_namespace(request):
    test = request.node.dtest
    with given_names(test.globs["__name__"], test.docstring) as names:
        yield names


def pytest_runtest_setup(item):
    """A test that waits for ever tells where, in every thread, and fails; the others go on. A watch is a thread, which
    costs more than a short test: it is set once a minute, not for each test as by `faulthandler_timeout`."""
    stash, now = item.config.stash, time.monotonic()
    if now - stash.get(WATCHED, -PAUSE) >= PAUSE:
        stash[WATCHED] = now
        faulthandler.dump_traceback_later(LIMIT, exit=True, file=stash[fault_handler_stderr_fd_key])


def pytest_sessionfinish():
    faulthandler.cancel_dump_traceback_later()
