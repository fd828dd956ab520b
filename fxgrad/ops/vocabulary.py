"""The primitives by name, through which the rules of one family call those of others: `ops.where`, `ops.reshape`.

The package fills this when the families of most programs are declared, and knows where the others are. No family
imports the package, so that imports run in no circle and threads that import at the same time wait for whole modules.
"""

import sys
from typing import Any

ops: Any = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    """Ask the package for a primitive of a family that is not loaded yet."""
    return getattr(sys.modules["fxgrad.ops"], name)
