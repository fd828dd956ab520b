"""Backward passes under an observer, such as a profile: each node is one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop
from typing import Any

from ....extend import masked, pull_observed
from ..tape import AccumulateGrad, Node
from .engine import AnomalyPass, Pass

ENGINE = "autograd::engine::evaluate_function: "  # torch's name for the work at a node


class ObservedPass(Pass):
    """A backward pass whose caller has an observer."""

    __slots__ = ()
    takes_shortcuts = False

    def walk(self) -> None:
        """See `Pass`."""
        while self.heap:
            node = heappop(self.heap)[1]
            self.observe("engine", ENGINE, node, (), partial(self.evaluate, node, self.cts.pop(node)))

    def evaluate(self, node: Node, ct) -> None:
        """Pass a node, and hand its results on."""
        for edge, result in zip(node.next_edges, self.passed(node, ct)):
            if edge is not None and result is not None:
                self.deliver(edge, masked.densify(result))
        if self.hooked_leaves:
            self.finish_ready_leaves(node.next_edges)

    def pulled(self, node: Node, ct) -> Sequence[Any]:
        """See `Pass`."""
        cts = list(ct.values()) if isinstance(ct, dict) else [ct]
        return self.observe("node", "", node, cts, partial(super().pulled, node, ct))

    def apply_rule(self, node: Node, ct, residuals) -> Sequence[Any]:
        """See `Pass`; by the code that runs without an observer, where that is straight-line."""
        if node.pull_plain is None or self.create_graph:
            return super().apply_rule(node, ct, residuals)
        return pull_observed(self.caller_context.observer, node.rule, ct, residuals)

    def finish(self, leaf: AccumulateGrad) -> None:
        """See `Pass`."""
        cts = [self.leaves[leaf]]
        accumulate = partial(super().finish, leaf)
        self.observe("engine", ENGINE, leaf, (), lambda: self.observe("node", "", leaf, cts, accumulate))

    def observe(
        self, kind: str, prefix: str, node: Node, operands: Sequence[Any], run: Callable[[], Any]
    ) -> Any:
        """Run the work at a node as a step."""
        number = None if type(node) is AccumulateGrad else node.__dict__.get("forward_number", node.order)
        return self.caller_context.observer.observe(kind, prefix + node.name(), operands, run, number)


class ObservedAnomalyPass(ObservedPass, AnomalyPass):
    """The same, which detects anomalies."""

    __slots__ = ()
