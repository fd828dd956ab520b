"""torch.utils.data: datasets, samplers and batches.

dataset      samples, known by numbers or one after the other
sampler      orders of samples; distributed: the part of one process of several
collate      samples made to a batch
fetch        what loads one batch of a dataset
dataloader   the arguments of a DataLoader, checked
iteration    batches loaded in this process, or by workers
pool, worker the processes that load batches: this side of the pipe, and theirs
"""

from typing import TYPE_CHECKING

from ....core.face import LazyPackage

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

LazyPackage.of(__name__)
