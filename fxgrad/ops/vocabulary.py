"""The primitives by name, through which the rules of one family call those of others: `ops.where`, `ops.reshape`.

The package fills this when all families are declared. No family imports the package, so that imports run in no circle
and threads that import at the same time wait for whole modules.
"""

import sys
from typing import Any

ops: Any = sys.modules[__name__]
