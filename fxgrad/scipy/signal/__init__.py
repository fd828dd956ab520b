"""`fxgrad.scipy.signal`: convolutions, filters and spectra with the names of scipy.signal.

Designs of filters and windows are constants: they are SciPy's own functions.
"""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .convolution import *
    from .designs import *
    from .recursive import *
    from .sampling import *
    from .spectra import *

# What is a constant, by SciPy's own functions.
_DESIGNS = (
    "bessel butter cheby1 cheby2 choose_conv_method ellip firls firwin firwin2 get_window iircomb iirdesign iirfilter "
    "iirnotch iirpeak remez sos2tf sos2zpk tf2sos tf2zpk windows zpk2sos zpk2tf"
)

LazyPackage.of(__name__, homes={"designs": _DESIGNS})
