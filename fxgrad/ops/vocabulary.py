"""The primitives by name. Through this module the rules of one family call those of others: `ops.where`, `ops.reshape`.

The package fills it once the common families are declared, and knows the modules of the others. No family imports the
package, so imports are acyclic, and threads that import at the same time wait for complete modules.
"""

import sys
from typing import Any

ops: Any = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    """Ask the package for a primitive of a family that is not loaded yet."""
    return getattr(sys.modules["fxgrad.ops"], name)
