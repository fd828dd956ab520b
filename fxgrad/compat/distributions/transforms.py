"""Invertible transforms of values, with the logarithms of their Jacobians' determinants."""
# ruff: noqa: F403

from . import base_transforms, event_transforms, number_transforms
from .base_transforms import *
from .event_transforms import *
from .number_transforms import *

__all__ = []
__all__ += base_transforms.__all__
__all__ += event_transforms.__all__
__all__ += number_transforms.__all__
