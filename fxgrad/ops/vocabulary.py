"""The primitives by name, in which the rules of one family say what they need of others: `ops.where`, `ops.reshape`.

The package fills this when all families are declared. No family imports the package, so that imports run in no circle
and threads that import at the same time wait for whole modules.
"""

import sys
from typing import Any

ops: Any = sys.modules[__name__]
