"""For every test: each Graph that is staged checks itself. And one line where the oracles of parity/ are missing."""

from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

from fxgrad.core.graph import Graph

NEEDED_BY = {
    "jax": ["parity/oracle.py", "parity/test_jax_*.py"],
    "torch": ["parity/test_torch.py", "parity/compat/*"],
}
MISSING = [name for name in NEEDED_BY if find_spec(name) is None]

collect_ignore_glob = [pattern for name in MISSING for pattern in NEEDED_BY[name]]

# The same examples in every run; `--hypothesis-profile=search` looks for new ones, for as long as it takes.
settings.register_profile("ci", derandomize=True, deadline=None, database=None,
                          suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])  # fmt: skip
settings.register_profile("search", parent=settings.get_profile("ci"), derandomize=False, max_examples=5000)
settings.load_profile("ci")


def pytest_terminal_summary(terminalreporter):
    if MISSING:
        names = " and ".join(MISSING)
        terminalreporter.write_line(
            f"tests/parity: skipped for want of {names} (pip install 'fxgrad[parity]')"
        )


@pytest.fixture(autouse=True, scope="session")
def every_graph_is_checked():
    """Staging ends with `pruned`; what it returns must pass `check`."""
    pruned = Graph.pruned
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Graph, "pruned", lambda graph, **options: pruned(graph, **options).check())
        yield
