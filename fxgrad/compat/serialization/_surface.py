"""The names of `torch.serialization`."""

from .. import _surface  # Tensors have all their methods
from . import safetensors
from .allowed import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .files import get_unsafe_globals_in_checkpoint, load, save
from .settings import (
    LoadEndianness,
    get_default_load_endianness,
    get_default_mmap_options,
    set_default_load_endianness,
    set_default_mmap_options,
)
from .storages import MapLocation as MAP_LOCATION
from .storages import StorageType, default_restore_location, location_tag

DEFAULT_PROTOCOL = 2  # of pickles, as in torch

__all__ = [
    "DEFAULT_PROTOCOL",
    "MAP_LOCATION",
    "LoadEndianness",
    "StorageType",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "safe_globals",
    "safetensors",
    "save",
    "set_default_load_endianness",
    "set_default_mmap_options",
]
