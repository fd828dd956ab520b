"""How much of what users name has a type that is known: `python -m tests.house.type_completeness [prefix]`.

`pyright --verifytypes` looks at every module of the package. Counted here is what has a public name: the names of the
namespaces below, and the public members of the classes among them. A name that pyright does not see counts as unknown.
"""

import importlib
import inspect
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
THRESHOLD = 0.95

NAMESPACES = (
    "fxgrad", "fxgrad.checkpoint_policies", "fxgrad.config", "fxgrad.custom_batching",
    "fxgrad.custom_derivatives", "fxgrad.debug",
    "fxgrad.distributed", "fxgrad.experimental.jet", "fxgrad.lax", "fxgrad.lax.linalg", "fxgrad.nn",
    "fxgrad.nn.initializers", "fxgrad.numpy", "fxgrad.numpy.emath", "fxgrad.numpy.fft", "fxgrad.numpy.linalg",
    "fxgrad.optim", "fxgrad.per_sample", "fxgrad.random", "fxgrad.scipy.cluster.vq", "fxgrad.scipy.fft",
    "fxgrad.scipy.integrate", "fxgrad.scipy.interpolate", "fxgrad.scipy.linalg", "fxgrad.scipy.ndimage",
    "fxgrad.scipy.optimize", "fxgrad.scipy.signal", "fxgrad.scipy.sparse", "fxgrad.scipy.special",
    "fxgrad.scipy.stats", "fxgrad.testing", "fxgrad.tree", "fxgrad.tree_util",
)  # fmt: skip


def public_names(namespace: str) -> dict[str, object]:
    """The names of a namespace, with what they are; other namespaces are left out."""
    module = importlib.import_module(namespace)
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    values = {name: getattr(module, name) for name in names if not name.startswith("__")}
    return {name: value for name, value in values.items() if not inspect.ismodule(value)}


def verify() -> dict[str, dict]:
    """What pyright says of each symbol of the package, by its full name."""
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable,
               "--ignoreexternal", "--verifytypes", "fxgrad", "--outputjson"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600)
    return {s["name"]: s for s in json.loads(ran.stdout)["typeCompleteness"]["symbols"]}


def completeness(symbols: dict[str, dict], prefix: str = "") -> dict[str, dict[str, str]]:
    """For each namespace, its names and members, each with why its type is not known ("" if it is)."""
    members = defaultdict(list)
    for name in symbols:
        owner, _, member = name.rpartition(".")
        if not member.startswith("_"):
            members[owner].append(name)
    found: dict[str, dict[str, str]] = {}
    for namespace in NAMESPACES:
        if not namespace.startswith(prefix or namespace):
            continue
        reasons = found[namespace] = {}
        for name, value in public_names(namespace).items():
            reasons[name] = why(symbols.get(f"{namespace}.{name}"))
            if inspect.isclass(value):
                home = f"{value.__module__}.{value.__qualname__}"
                reasons |= {f"{name}.{m.rpartition('.')[2]}": why(symbols[m]) for m in members[home]}
    return found


def why(symbol: dict | None) -> str:
    """Why the type of a symbol is not known: pyright's first objection, "" where it is known."""
    if symbol is None:
        return "pyright does not see the name"
    if symbol["isTypeKnown"]:
        return ""
    warnings = [d["message"] for d in symbol["diagnostics"] if "docstring" not in d["message"]]
    return " ".join(warnings[0].split()) if warnings else "what it refers to is not known"


def share(found: dict[str, dict[str, str]]) -> float:
    """The part of the names whose types are known."""
    reasons = [reason for names in found.values() for reason in names.values()]
    return sum(not reason for reason in reasons) / len(reasons)


def main(prefix: str = "") -> int:
    """Print the share of each namespace and what is unknown; 1 if too little is known."""
    found = completeness(verify(), prefix)
    for namespace, names in found.items():
        unknown = {name: reason for name, reason in names.items() if reason}
        print(f"{share({namespace: names}):6.1%}  {namespace}: {len(unknown)} of {len(names)} unknown")
        for name, reason in unknown.items() if prefix else ():
            print(f"          {name}: {reason[:200]}")
    print(
        f"{share(found):6.1%}  in all" + ("" if prefix else "; with a namespace as argument: which and why")
    )
    return int(not prefix and share(found) < THRESHOLD)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
