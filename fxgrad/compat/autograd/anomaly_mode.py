"""Anomaly detection: a mode in which backward reports errors and NaN together with the forward calls that caused
them."""

from __future__ import annotations

import warnings

from .._core.modes import current_modes
from .._declare.spaces import expose
from .grad_mode import ImmediateModeSwitch, ModeSwitch


class detect_anomaly(ModeSwitch):
    """A context manager and decorator under which backward tells the forward call behind an error.

    Operations keep the stack of the user's calls, and a warning shows it when an error occurs in the part of backward
    that belongs to them; for the gradient of a gradient, also the stacks of the calls that led there. This takes time:
    it is meant for debugging.

    As all modes it holds for the thread and the async task in which it was entered, and for threads that run in a copy
    of the Context; that of torch holds for the whole process.

    Args:
        check_nan: NaN in a gradient is an error as well: backward raises RuntimeError, and names the operation.

    >>> import warnings
    >>> x = torch.tensor(0.0, requires_grad=True)
    >>> with warnings.catch_warnings(record=True, action="always") as found, torch.autograd.detect_anomaly():
    ...     (torch.sqrt(x) * 0).backward()
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.TensorError: Function 'SqrtBackward0' returned nan values in its 0th output.
    ...
    >>> print(str(found[-1].message).partition(":")[0])
    Error detected in SqrtBackward0. Traceback of forward call that caused the error
    """

    def __init__(self, check_nan: bool = True):
        super().__init__()
        self._fx_check_values({"check_nan": check_nan})
        self._fx_changes = {"anomaly": True, "check_nan": check_nan}
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            UserWarning,
            stacklevel=2,
        )


class set_detect_anomaly(ImmediateModeSwitch):
    """Turn the detection of anomalies on or off: as a function from now on, as a context manager or decorator inside
    it. See `detect_anomaly`.

    Args:
        mode: whether to detect anomalies.
        check_nan: whether NaN in a gradient is one.

    >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
    ...     torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    (True, False)
    >>> torch.is_anomaly_enabled()
    False
    """

    _fx_mode_name = "anomaly"

    def __init__(self, mode: bool, check_nan: bool = True):
        super().__init__(mode, check_nan=check_nan)


@expose()
def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Turn the detection of anomalies on or off: see `torch.autograd.set_detect_anomaly`."""
    set_detect_anomaly(enabled, check_nan)


@expose()
def is_anomaly_enabled() -> bool:
    """Whether anomalies are detected."""
    return current_modes().anomaly


@expose()
def is_anomaly_check_nan_enabled() -> bool:
    """Whether NaN in a gradient is an anomaly, where these are detected."""
    return current_modes().check_nan


__all__ = ["detect_anomaly", "set_detect_anomaly"]
