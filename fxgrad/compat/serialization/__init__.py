"""torch.serialization: files of Tensors, containers and numbers, which are read without executing anything.

machine     reads a pickle (`source`): a stack machine whose functions are those of a table
builders    the table; `allowed`: what the user has added to it
writer      writes a pickle; `reductions`: how torch's objects are taken to pieces
archive     zip files of records; `legacy`: the format before them
storages    memory that is saved, and where memory that was loaded is put
files       `save` and `load`
"""

from typing import TYPE_CHECKING

from ...core.face import LazyPackage

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

LazyPackage.of(__name__)
