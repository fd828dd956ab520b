"""The backward pass through plain nodes, as in almost every training step: only kernels, on arrays outside all
transforms. Anything else (user code, recorded gradients, gradients with another destination) is left to a `Pass`, which
continues where the plain walk ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from ....extend import PLAIN, SINGLE_REFCOUNT, Masked
from ..memory import VERSIONS
from ..tape import BASE_TAPE, FREED, AccumulateGrad, Edge, Node, freed_error
from ..tensor import Tensor, allocate_tensor
from .accumulation import ACCUMULATE_LOCK, accumulate_grad

if TYPE_CHECKING:
    from .engine import Pass


def walk_plain_nodes(
    seeds: Sequence[tuple[Any, Any]], retain: bool, make_pass: Callable[..., Pass], check: Callable[..., None]
) -> Pass | None:
    """Walk back from plain cotangents as far as there are plain nodes, latest first, and accumulate the gradients of
    leaves if that is the whole way. Otherwise return a Pass made by `make_pass(cts, heap, leaves)`, which goes
    on from there. `check(node, residuals)` raises for residuals that were modified."""
    cts: dict[Node, Any] = {}
    heap: list[tuple[int, Node]] = []
    leaves: dict[AccumulateGrad, Any] = {}
    rest = None
    for edge, ct in seeds:
        node = edge.node if type(edge) is Edge else edge
        several = type(node) is Node and node.result_avals is not None
        if (
            type(node) is not Node
            or type(ct) not in PLAIN
            or node in cts
            or several is not (node is not edge)
        ):
            rest = make_pass(cts, heap, leaves)
            cts.clear()
            heap.clear()
            for other, given in seeds:
                rest.deliver(other, given)
            return rest
        cts[node] = {edge.index: ct} if several else ct
        heappush(heap, (-node.order, node))
    edge = ct = node = None
    latest = heappop(heap)[1] if heap else None
    last_change = VERSIONS.latest_change
    while latest is not None:
        node, latest = latest, None
        pull = node.pull_plain
        if pull is None:
            heappush(heap, (-node.order, node))
            return make_pass(cts, heap, leaves)
        residuals = node.residuals  # once: another thread may free them
        if residuals is FREED:
            raise freed_error()
        if residuals and last_change > node.order:
            check(node, residuals)
        results = pull(cts.pop(node), residuals)
        residuals = None
        if not retain and node.rule.saved_from:
            node.residuals = FREED
        index = 0
        for edge in node.next_edges:
            result = results[index]
            index += 1
            if edge is None or result is None:
                continue
            if type(result) is Masked:
                result = result.densify()
            if type(edge) is Node and edge.result_avals is None:
                if edge in cts:
                    cts[edge] = np.add(cts[edge], result)
                else:
                    cts[edge] = result
                    if latest is None:
                        latest = edge
                    else:
                        heappush(heap, (-edge.order, edge))
            elif type(edge) is AccumulateGrad and edge.hooks is None:
                leaves[edge] = np.add(leaves[edge], result) if edge in leaves else result
            elif type(edge) is Edge:
                several = cts.get(edge.node)
                if several is None:
                    cts[edge.node] = {edge.index: result}
                    heappush(heap, (-edge.node.order, edge.node))
                else:
                    other = several.get(edge.index)
                    several[edge.index] = result if other is None else np.add(other, result)
            else:
                rest = rest or make_pass(cts, heap, leaves)
                rest.deliver(edge, result)
        if rest is not None:
            if latest is not None:
                heappush(heap, (-latest.order, latest))
            return rest
        if heap and (latest is None or -heap[0][0] > latest.order):
            if latest is not None:
                heappush(heap, (-latest.order, latest))
            latest = heappop(heap)[1]
    results = result = None
    accumulate_leaves(leaves)
    return None


def accumulate_leaves(leaves: dict[AccumulateGrad, Any]) -> None:
    """Accumulate the complete gradients of leaves without hooks; `leaves` is emptied. A first gradient that fits and
    that nobody else has becomes the leaf's at once."""
    with ACCUMULATE_LOCK:
        for leaf in list(leaves):
            ct = leaves.pop(leaf)
            tensor = leaf.tensor_ref()
            if tensor is not None and tensor._grad is None and tensor._fx_view_meta is None:
                value = tensor._fx_value
                if (
                    tensor._fx_tape is BASE_TAPE
                    and type(ct) is type(value) is np.ndarray
                    and ct.dtype is value.dtype
                    and ct.strides == value.strides
                    and ct.shape == value.shape
                    and ct.base is None
                    and ct.dtype.kind == "f"
                    and ct.flags.writeable
                    and getrefcount(ct) <= SINGLE_REFCOUNT
                ):
                    grad = allocate_tensor(Tensor)
                    grad._fx_tape = BASE_TAPE
                    grad._fx_value = ct
                    grad._fx_node = None
                    grad._fx_view_meta = None
                    tensor._grad = grad
                    continue
            box = [ct]
            ct = None
            accumulate_grad(leaf.variable, box, False)
