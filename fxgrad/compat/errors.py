"""The errors of the torch-compatible API by name, for `except` and for `help`.

torch has names for few of these. Each also derives from the built-in exception that torch raises, so that programs for
torch catch it. The first line of its message is torch's, and the lines below are fxgrad's (see `fxgrad.FxgradError`).

>>> from fxgrad.compat.errors import DimensionError
>>> try:
...     torch.ones(3).sum(dim=1)
... except DimensionError as error:
...     print(isinstance(error, IndexError))
True
"""

from ._core.errors import (
    ArgumentError,
    ArgumentValueError,
    DeviceError,
    DimensionError,
    LinAlgError,
    NoGradientError,
    NotSupportedError,
    RequirementError,
    TensorError,
)
from .autograd.differences import GradcheckError
from .distributed.backends import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from .distributions.matrices import MissingMatrixError
from .door.finder import LoadedError
from .func.transform_levels import BatchedValueError
from .serialization.errors import PicklingError, TruncatedError, UnpicklingError
from .utils.recomputation import CheckpointError

__all__ = [
    "ArgumentError",
    "ArgumentValueError",
    "BatchedValueError",
    "CheckpointError",
    "DeviceError",
    "DimensionError",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "GradcheckError",
    "LinAlgError",
    "LoadedError",
    "MissingMatrixError",
    "NoGradientError",
    "NotSupportedError",
    "PicklingError",
    "QueueEmptyError",
    "RequirementError",
    "TensorError",
    "TruncatedError",
    "UnpicklingError",
]
