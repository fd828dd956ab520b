"""NVIDIA's compiler for every program that the tests stage: each Graph also gets the groups of a GPU, and a
source that does not compile fails the run. It needs NVRTC, and no GPU.

    python -m pytest -p tests.kernels.cuda.compile_all -m quick tests/transforms tests/nn
"""

from __future__ import annotations

import pytest

from fxgrad.core.graph import Graph
from fxgrad.kernels.cuda import nvrtc
from fxgrad.passes.cuda import CUDA
from fxgrad.passes.fused import FUSED
from fxgrad.passes.fusion import fuse
from fxgrad.transforms import compiled_graph

ARCHITECTURE = "compute_80"  # Ampere
COMPILED: dict[str, str] = {}  # source → the compiler's complaint, if it has one


def compile_groups(graph: Graph) -> None:
    """Compile the groups of a Graph that have not been met yet."""
    from .carry_out import source_of  # whose asserts pytest rewrites

    for equation in fuse(graph, CUDA).equations:
        if equation.primitive is FUSED:
            source = source_of(equation.params["graph"])
            if source not in COMPILED:
                COMPILED[source] = complaint(source)


def complaint(source: str) -> str:
    try:
        nvrtc.compile_source(source, architecture=ARCHITECTURE)
    except nvrtc.CompilationError as error:
        return str(error)
    return ""


def pytest_configure(config: pytest.Config) -> None:
    if nvrtc.library() is None:
        raise pytest.UsageError("NVRTC is not installed: pip install 'fxgrad[cuda-build]'")
    compiled = compiled_graph.CompiledGraph
    make = compiled.__init__

    def make_and_compile(self, *args, **kwargs) -> None:
        make(self, *args, **kwargs)
        compile_groups(self.graph)

    compiled.__init__ = make_and_compile  # type: ignore[method-assign]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    failed = [text for text in COMPILED.values() if text]
    terminalreporter.write_line(f"NVRTC: {len(COMPILED)} sources of groups, {len(failed)} do not compile")
    for text in failed:
        terminalreporter.write_line(text)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if any(COMPILED.values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
