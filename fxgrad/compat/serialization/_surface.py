"""The names of `torch.serialization`."""

from .. import _surface  # Tensors have all their methods
from . import safetensors as safetensors
from .allowed import add_safe_globals as add_safe_globals
from .allowed import clear_safe_globals as clear_safe_globals
from .allowed import get_safe_globals as get_safe_globals
from .allowed import safe_globals as safe_globals
from .files import get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint
from .files import load as load
from .files import save as save
from .settings import LoadEndianness as LoadEndianness
from .settings import get_default_load_endianness as get_default_load_endianness
from .settings import get_default_mmap_options as get_default_mmap_options
from .settings import set_default_load_endianness as set_default_load_endianness
from .settings import set_default_mmap_options as set_default_mmap_options
from .storages import MapLocation as _MapLocation
from .storages import StorageType as StorageType
from .storages import default_restore_location as default_restore_location
from .storages import location_tag as location_tag

DEFAULT_PROTOCOL = 2  # of pickles, as in torch
MAP_LOCATION = _MapLocation
