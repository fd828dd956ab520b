"""Windows and the coefficients of filters: constants, by SciPy's own functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..reference import library

if TYPE_CHECKING:
    from collections.abc import Callable

    bessel: Callable[..., Any]
    butter: Callable[..., Any]
    cheby1: Callable[..., Any]
    cheby2: Callable[..., Any]
    choose_conv_method: Callable[..., Any]
    ellip: Callable[..., Any]
    firls: Callable[..., Any]
    firwin: Callable[..., Any]
    firwin2: Callable[..., Any]
    get_window: Callable[..., Any]
    iircomb: Callable[..., Any]
    iirdesign: Callable[..., Any]
    iirfilter: Callable[..., Any]
    iirnotch: Callable[..., Any]
    iirpeak: Callable[..., Any]
    remez: Callable[..., Any]
    sos2tf: Callable[..., Any]
    sos2zpk: Callable[..., Any]
    tf2sos: Callable[..., Any]
    tf2zpk: Callable[..., Any]
    zpk2sos: Callable[..., Any]
    zpk2tf: Callable[..., Any]


def __getattr__(name: str) -> Any:
    """SciPy's function or module of this name."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(library("signal", f"fxgrad.scipy.signal.{name}"), name)
