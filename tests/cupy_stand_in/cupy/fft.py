"""CuPy's Fourier transforms."""

from ._functions import FUNCTIONS

globals().update(FUNCTIONS["cupy.fft"])
