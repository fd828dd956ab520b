"""torch.serialization: files of Tensors, containers and numbers, which are read without executing anything.

machine     reads a pickle (`source`): a stack machine whose functions are those of a table
builders    the table; `allowed`: classes that the user has added to it
writer      writes a pickle; `reductions`: the parts of torch's objects
archive     zip files of records; `legacy`: the earlier format
storages    the memory of saved Tensors, and the devices of loaded ones
files       `save` and `load`
"""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__)
