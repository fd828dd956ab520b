"""The errors of the torch surface by name, for `except` and for `help`.

torch has names for few of these. Each is also the built-in exception that torch raises, by which programs for torch
catch it; the first line of its message is torch's, and the lines below are this library's (see `fxgrad.FxgradError`).

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
