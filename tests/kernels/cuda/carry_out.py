"""Graphs with groups as a GPU gets them: compiled by NVIDIA's compiler, and carried out by CuPy's stand-in."""

import numpy as np
import pytest

from fxgrad.core.graph import Literal
from fxgrad.kernels.cuda import nvrtc
from fxgrad.kernels.cuda.group import CudaGroup
from fxgrad.kernels.cuda.source import write_group
from fxgrad.kernels.row_space import RowSpace, uses_reductions
from fxgrad.kernels.space import Space
from fxgrad.passes.cuda import CUDA
from fxgrad.passes.fused import FUSED
from fxgrad.passes.fusion import fuse
from tests.cupy_stand_in.cuda_emulator import COMPILER


def compiles_for(architecture):
    """Whether NVRTC is here and knows a processor."""
    try:
        return bool(nvrtc.compile_source("", architecture=architecture))
    except nvrtc.CompilationError:
        return False


# Volta, which NVRTC 13 does not know any more, Ampere, Hopper.
ARCHITECTURES = tuple(filter(compiles_for, ("compute_70", "compute_80", "compute_90")))
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler that could stand for CUDA's")
needs_nvrtc = pytest.mark.skipif(
    nvrtc.library() is None, reason="NVRTC is not installed: pip install 'fxgrad[cuda-build]'"
)


def fuse_groups(graph):
    """Return a Graph with its groups, and the Graphs of these."""
    fused = fuse(graph, CUDA)
    return fused, [e.params["graph"] for e in fused.equations if e.primitive is FUSED]


def source_of(group):
    """Return the CUDA C++ of a group."""
    return write_group(RowSpace(group) if uses_reductions(group) else Space(group))[0]


def compile_everywhere(groups, architectures=ARCHITECTURES):
    """Compile groups by NVIDIA's compiler, where it is; return what it makes of them."""
    if nvrtc.library() is None:
        return []
    return [
        nvrtc.compile_source(source_of(g), architecture=architecture)
        for g in groups
        for architecture in architectures
    ]


def run_on_stand_in(graph, library, args):
    """Carry out a Graph, with its groups by CuPy's stand-in and all else by NumPy."""
    known = dict(zip(graph.inputs, args)) | graph.captured
    for e in graph.equations:
        operands = [a.value if type(a) is Literal else known[a] for a in e.inputs]
        if e.primitive is FUSED:
            arrays = [x if type(x) in (bool, int, float) else library.asarray(x) for x in operands]
            results = [x.get() for x in CudaGroup(e.params["graph"])(library, *arrays)]
        else:
            found = e.primitive.kernel(*operands, **e.params)
            results = found if len(e.outputs) > 1 or isinstance(found, list | tuple) else [found]
        known.update(zip(e.outputs, results))
    return [a.value if type(a) is Literal else np.asarray(known[a]) for a in graph.outputs]
