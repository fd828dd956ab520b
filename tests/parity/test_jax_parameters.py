"""Every parameter of JAX's functions is one here under the door, by JAX's name for it and at its position."""

import inspect
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import jax  # noqa: F401  (so that it is left out where there is none)
import pytest

MODULES = {
    "jax": ". custom_derivatives debug flatten_util image lax lax.linalg nn nn.initializers ops random tree tree_util",
    "jax.numpy": ". fft linalg",
    "jax.scipy": "cluster.vq integrate linalg ndimage optimize signal sparse.linalg special stats stats.norm",
}
# What a call of JAX's may say and one here may not, with the reason.
MISSING = {
    "jax.checkpoint static_argnames": "by static_argnums",
    "jax.local_devices process_index": "one process",
    "jax.local_devices host_id": "one process",
    "jax.process_count backend": "one backend",
    "jax.process_index backend": "one backend",
    "jax.lax.all_gather to": "of manual sharding",
    "jax.lax.switch operand": "JAX has it for programs before 2021",
    "jax.numpy.vecdot preferred_element_type": "the operands decide",
    "jax.numpy.linalg.vecdot preferred_element_type": "the operands decide",
    "jax.numpy.linalg.tensordot preferred_element_type": "the operands decide",
    "jax.random.key dtype": "keys have one dtype",
    "jax.random.wrap_key_data dtype": "keys have one dtype",
    "jax.typeof x": "it may be called `value`",
    "jax.tree_util.is_tree_node typ": "fx.tree.is_tree_node(cls)",
    "jax.scipy.linalg.eigh_tridiagonal key": "no random vectors",
}
# Parameters that have to be named here: of JAX's compiler, or that nobody passes by position.
NAMED = frozenset([
    "accuracy", "aggregate_to_topk", "backend", "blocksize", "has_aux", "host_id", "out_sharding", "precision",
    "recall_target", "reduce_axes", "reduction_input_size_override", "series_order", "sharding", "spmd_axis_name",
    "subset_by_index", "sum_match", "unroll",
])  # fmt: skip
PROGRAM = """
import importlib, inspect, json, sys
from fxgrad.peers.jax.keywords import POSITIONS, Keywords
missing, moved = [], []
for name, (parameters, by_place) in json.load(sys.stdin).items():
    module, _, last = name.rpartition(".")
    try:
        function = getattr(importlib.import_module(module), last)
        own = getattr(function, "_fx_keywords", None)
        if own is None:
            given = inspect.signature(function, follow_wrapped=False).parameters.values()
            own = {p.name for p in given if p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)}
            if any(p.kind == p.VAR_KEYWORD for p in given):
                continue
        is_kept = isinstance(own, Keywords)
        given = inspect.signature(own.function if is_kept else function, follow_wrapped=is_kept).parameters.values()
        order = getattr(own, "order", None) or [
            p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        is_open = any(p.kind == p.VAR_POSITIONAL for p in given)
    except (ImportError, AttributeError, NotImplementedError, TypeError, ValueError):
        continue  # absent, which other tests are about, or a class of its own kind
    missing += [f"{name} {p}" for p in parameters if p not in own]
    for place, p in enumerate(by_place):
        there = order[place] if place < len(order) else None
        is_operand = p in POSITIONS or place < 2 and p not in order  # operands have other names
        if p in own and there != p and not is_open and not (is_operand and there is not None):
            moved.append(f"{name} {p}")
print(json.dumps([missing, moved]))
"""


def parameters_of_jax():
    found = {}
    paths = [f"{root}.{part}".rstrip(".") for root, parts in MODULES.items() for part in parts.split()]
    for path in paths:
        module = import_module(path)
        for name in filter(lambda name: not name.startswith("_"), dir(module)):
            function = getattr(module, name)
            if not callable(function) or isinstance(function, type):
                continue
            try:
                given = inspect.signature(function).parameters.values()
            except (TypeError, ValueError):
                continue
            by_name = [p.name for p in given if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
            by_place = [p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            found[f"{path}.{name}"] = by_name, by_place
    return found


@pytest.fixture(scope="module")
def differences():
    done = subprocess.run(
        [sys.executable, "-c", "import fxgrad; fxgrad.install('jax')\n" + PROGRAM],
        input=json.dumps(parameters_of_jax()),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_parameter_of_jax_is_known(differences):
    missing, _ = differences
    assert [m for m in missing if m not in MISSING] == []
    assert [m for m in MISSING if m not in missing] == []


def test_every_parameter_of_jax_has_its_position(differences):
    _, moved = differences
    assert [m for m in moved if m.split()[1] not in NAMED] == []
