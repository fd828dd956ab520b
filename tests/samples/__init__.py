"""Samples of every primitive, one file a family: operands, parameters and domains from which tests are generated."""

from importlib import import_module
from pathlib import Path

FAMILIES = [
    import_module(f"{__name__}.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.stem != "__init__"
]
SAMPLES = [sample for family in FAMILIES for sample in family.SAMPLES]
