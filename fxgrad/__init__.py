"""fxgrad: composable function transformations for NumPy and CuPy."""
from .ops import operators
from .transforms.vjp import *
from .transforms.jvp import jvp, linearize
