"""The stacks that anomaly mode stores on nodes, and its error reports in backward.

In this mode a node stores the stack of its forward call in its `metadata`. If it was recorded while another node was
computing gradients, it also stores that node as its parent: so the report of an error in the gradient of a gradient
leads back to the user's forward line.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...extend import CURRENT, source_info
from ..errors import TensorError
from .hooks import RUNNING

if TYPE_CHECKING:
    from .tape import Node

TRACEBACK, PARENT = "traceback_", "parent_"  # torch's keys
NO_STACK = (
    "No forward pass information available. Enable detect anomaly during forward pass for more information."
)
CAUSE = "Error detected in {}. Traceback of forward call that caused the error:\n"
ORIGIN = "\n\nPrevious calculation was induced by {}. "
ORIGIN += "Traceback of forward call that induced the previous calculation:\n"


def note_call(node: Node) -> None:
    """In anomaly mode, keep in a node the stack of the call that records it, and the node that induced this call."""
    modes = CURRENT.get().modes
    if modes is None or not modes.anomaly:
        return
    entries = [(s.filename, s.lineno, s.code.co_name, s.line) for s in source_info.user_stack()]
    node.metadata[TRACEBACK] = traceback.format_list(entries)
    parent = getattr(RUNNING.get(), "evaluated", None)
    if parent is not None:
        node.metadata[PARENT] = parent


@contextmanager
def error_reports(node: Node) -> Iterator[None]:
    """A context manager that reports an error in the evaluation of a node."""
    try:
        yield
    except BaseException as error:
        report_error(node, error)
        raise


def report_error(node: Node, error: BaseException) -> None:
    """Warn of an error in the evaluation of a node, with the forward calls behind it; where warnings are errors, note
    them on this one."""
    site = source_info.user_frame()
    for text in call_reports(node):
        try:
            warnings.warn_explicit(text, UserWarning, site.filename, site.lineno)
        except UserWarning:
            error.add_note(text)


def call_reports(node: Node) -> Iterator[str]:
    """The forward call of a node in words, then that of the node that induced it, and so on."""
    introduction, following = CAUSE, node
    while following is not None:
        found, name = following.metadata, following.name()
        if TRACEBACK in found:
            yield introduction.format(name) + "".join(found[TRACEBACK])
        else:
            yield f"Error detected in {name}. {NO_STACK}"
        introduction, following = ORIGIN, found.get(PARENT)


def ensure_no_nan(node: Node, results: Sequence[Any]) -> None:
    """Raise if a cotangent that a node has computed has NaN entries."""
    from ...extend import has_nan  # loaded with the first check

    for position, result in enumerate(results):
        if result is not None and has_nan(result):
            raise TensorError(
                f"Function '{node.name()}' returned nan values in its {position}th output.",
                site=node.site,
                hint="keep entries without a derivative from the operation: f(torch.where(ok, x, 1.0))",
            )
