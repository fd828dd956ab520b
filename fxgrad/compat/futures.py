"""torch.futures: results that are there later, as those of collectives that go on while the program does."""

from .distributed.futures import Future, collect_all, wait_all

__all__ = ["Future", "collect_all", "wait_all"]
