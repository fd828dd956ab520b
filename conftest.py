"""For every test and doctest: the names that examples use without an import, and a limit of time."""

import faulthandler
import time
from importlib import import_module

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from fxgrad.core.docstrings import EXAMPLE_NAMES

LIMIT, PAUSE = 900, 60  # seconds
WATCHED = pytest.StashKey[float]()


@pytest.fixture(autouse=True, scope="session")
def give_examples_their_names(doctest_namespace):
    doctest_namespace.update({name: import_module(module) for name, module in EXAMPLE_NAMES.items()})


def pytest_runtest_setup(item):
    """A test that waits for ever tells where, in every thread, and fails; the others go on. A watch is a thread, which
    costs more than a short test: it is set once a minute, not for each test as by `faulthandler_timeout`."""
    stash, now = item.config.stash, time.monotonic()
    if now - stash.get(WATCHED, -PAUSE) >= PAUSE:
        stash[WATCHED] = now
        faulthandler.dump_traceback_later(LIMIT, exit=True, file=stash[fault_handler_stderr_fd_key])


def pytest_sessionfinish():
    faulthandler.cancel_dump_traceback_later()
