"""torch.utils.data: datasets, samplers and batches.

dataset      samples, accessed by index or one after another
sampler      orders of samples; distributed: the samples of one of several processes
collate      collation of samples to batches
fetch        loading of one batch of a dataset
dataloader   DataLoader, and checks of its arguments
iteration    batches loaded in this process, or by workers
pool, worker the processes that load batches: the parent's side, and theirs
"""

from typing import TYPE_CHECKING

from ....extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__)
