"""A group of elementwise equations on a GPU, through CuPy: compiled on first use, with one launch for each traversal of
its space. CuPy caches the compiled code for each device, and launches in the current stream.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...core.aval import SCALARS
from ...core.errors import DeviceError
from ...core.graph import Graph
from ..codegen.source import compile_graph
from ..row_space import MOVES, RowSpace, uses_reductions
from ..space import Space
from .functions import covers
from .kernel import BLOCK, Kernel
from .source import OPTIONS, write_group

FREE = ("--std=c++17",)  # where a product and a sum may be rounded once
REDUCE = {"reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min",
          "reduce_any": "any", "reduce_all": "all"}  # fmt: skip


class CudaGroup:
    """The equations of a Graph as a function of CuPy arrays: positional operands → a list of results. Python's numbers
    among the operands are handed to kernels as they are. What cannot be written in CUDA C++ is computed operation by
    operation, and so is what has no entries.

    `launches` has the kernels, by which operands are numbers.
    """

    __slots__ = ("code", "freedom", "launches", "space")

    def __init__(self, graph: Graph, freedom: str = ""):
        graph = Graph(graph.inputs, graph.equations, graph.outputs)  # which does not keep this in its cache
        by_rows = uses_reductions(graph)
        self.space: Space | RowSpace = RowSpace(graph) if by_rows else Space(graph)
        self.freedom = freedom
        self.launches: dict[tuple[bool, ...], list[tuple[Kernel, Any]]] = {}
        is_written = all(covers(e) or (by_rows and e.primitive.computes in MOVES) for e in graph.equations)
        self.code = None if is_written and self.space.size else compile_graph(graph, False)

    def compile(self, cupy: Any, numbers: tuple[bool, ...]) -> Sequence[tuple[Kernel, Any]]:
        """Make the kernels; where that fails, operations are computed one by one from now on."""
        text, kernels = write_group(self.space, [k for k, by_value in enumerate(numbers) if by_value])
        try:
            module = cupy.RawModule(code=text, options=FREE if self.freedom else OPTIONS)
            found = [(kernel, module.get_function(kernel.name)) for kernel in kernels]
        except Exception as error:
            graph = self.space.graph
            self.code = compile_graph(graph, False)
            warnings.warn(
                f"{len(graph.equations)} operations are no kernel, since compiling it failed: {error}",
                RuntimeWarning,
                stacklevel=4,
            )
            return ()
        self.launches[numbers] = found
        return found

    def __call__(self, cupy: Any, *operands: Any) -> list[Any]:
        if self.code is not None:
            return self.code(*operands)
        device = common_device(operands)
        if device.id == cupy.cuda.get_device_id():
            return self.launch(cupy, operands)
        with device:
            return self.launch(cupy, operands)

    def launch(self, cupy: Any, operands: Sequence[Any]) -> list[Any]:
        """Run the kernels on the current device, where the operands are."""
        numbers = tuple([type(x) in SCALARS for x in operands])
        launches = self.launches.get(numbers) or self.compile(cupy, numbers)
        if self.code is not None:
            return self.code(*operands)
        graph = self.space.graph
        arguments = [
            v.aval.dtype.type(x) if by_value else as_operand(cupy, x, v.aval.dtype)
            for x, v, by_value in zip(operands, graph.inputs, numbers)
        ]
        results: list[Any] = [None] * len(graph.outputs)
        for kernel, launch in launches:
            written = {}
            for i in kernel.outputs:
                memory = kernel.totals.get(i) or graph.outputs[i].aval
                written[i] = cupy.empty(memory.shape, memory.dtype)
            launch((kernel.blocks,), (BLOCK,), (*arguments, *written.values()))
            for i, array in written.items():
                results[i] = self.finish(cupy, kernel, i, array) if i in kernel.totals else array
        return results

    def finish(self, cupy: Any, kernel: Kernel, i: int, array: Any) -> Any:
        """Return a result from the totals of the threads."""
        equation, aval = self.space.reductions[i].equation, self.space.graph.outputs[i].aval
        axis = kernel.totals[i].axis
        if array.shape[axis] > 1:
            array = getattr(cupy, REDUCE[equation.primitive.computes])(array, axis=axis)
        return cupy.asarray(cupy.reshape(array, aval.shape), dtype=aval.dtype)


def as_operand(cupy: Any, x: Any, dtype: Any) -> Any:
    """Return an array of the dtype that kernels take, with its entries in the order of the axes."""
    if x.dtype != dtype:
        x = x.astype(dtype)
    return x if x.flags.c_contiguous else cupy.ascontiguousarray(x)


def common_device(operands: Sequence[Any]) -> Any:
    """Return the device on which all arrays are.

    Raises:
        DeviceError: they are on several.
    """
    devices = {x.device.id: x.device for x in operands if type(x) not in SCALARS}
    if len(devices) > 1:
        names = " and ".join(f"cuda:{k}" for k in sorted(devices))
        raise DeviceError(
            f"operands are on {names}", hint="move them to one first: fx.device_put(x, 'cuda:0')"
        )
    return next(iter(devices.values()))
