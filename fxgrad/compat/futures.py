"""torch.futures: results that are available later, such as those of asynchronous collectives."""

from .distributed.futures import Future, collect_all, wait_all

__all__ = ["Future", "collect_all", "wait_all"]
