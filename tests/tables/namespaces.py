"""Large namespaces of the peers: how many of their names are here, and why the others are not."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.parity.compat import differences

from .row import read

FILE = Path(__file__).with_name("names.json")  # what the peers have, by library and namespace
JAX_SPACES = """
    numpy numpy.linalg numpy.fft lax lax.linalg nn nn.initializers random tree tree_util scipy.special scipy.linalg
    scipy.stats scipy.signal scipy.ndimage scipy.optimize scipy.interpolate scipy.integrate scipy.cluster.vq
    checkpoint_policies custom_derivatives custom_batching debug ops
"""
TORCH_SPACES = [
    "",
    "Tensor",
    "linalg",
    "fft",
    "special",
    "signal.windows",
    "nn.functional",
]  # `ABSENT` is about these

# What else tests/parity/compat knows of operations that are here: by what differs, and reason.
OPERATIONS_THAT_DIFFER = {
    "The node of their result has another name than torch's:": {
        reason: names.split() for reason, names in differences.NODES.items()
    },
    "Their operands may not be modified before the backward pass, though torch lets some be:": {
        reason: names.split() for reason, names in differences.OPERANDS_KEPT.items()
    },
    "Torch refuses them in place on what requires a gradient; here they work:": {
        "torch has no derivative for them in place": sorted(differences.UNDIFFERENTIATED)
    },
}


def find(library: Any, space: str) -> Any:
    """What a dotted name stands for; modules are imported on the way."""
    for part in filter(None, space.split(".")):
        if not hasattr(library, part):
            import_module(f"{library.__name__}.{part}")
        library = getattr(library, part)
    return library


def names_of_jax(space: str) -> list[str]:
    """The public names of a namespace of JAX that are not its primitives."""
    module = find(import_module("jax"), space)
    return sorted(name for name in dir(module) if not name.startswith("_") and not name.endswith("_p"))


def ask_for_names() -> None:
    """Ask the peers for their names, and keep them."""
    from tests.parity.compat.test_coverage import public_names

    names = {
        "jax": {space: names_of_jax(space) for space in JAX_SPACES.split()},
        "torch": {space: sorted(public_names(space)) for space in TORCH_SPACES},
    }
    packed = {
        peer: {space: " ".join(names) for space, names in spaces.items()} for peer, spaces in names.items()
    }
    FILE.write_text(json.dumps(packed, indent=1) + "\n", encoding="utf-8")
    kept_names.cache_clear()


@cache
def kept_names(peer: str) -> dict[str, list[str]]:
    """The names of a peer by namespace, as they were when it was asked."""
    return {
        space: names.split() for space, names in json.loads(FILE.read_text(encoding="utf-8"))[peer].items()
    }


def missing_names(peer: str, space: str) -> list[str]:
    """Those of a peer's names that are not here."""
    ours = find(import_module({"jax": "fxgrad", "torch": "fxgrad.compat"}[peer]), space)
    return [name for name in kept_names(peer)[space] if not hasattr(ours, name)]


@cache
def reasons(peer: str) -> dict[str, dict[str, list[str]]]:
    """Why names are not here: by namespace and reason."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    if peer == "jax":
        for space, rows in read("jax_names").sections.items():
            for row in rows:
                found[space][row.absent].append(row.name)
    else:
        for reason, spaces in differences.ABSENT.items():
            for space, names in spaces.items():
                found[space][reason] += names.split()
    return found
