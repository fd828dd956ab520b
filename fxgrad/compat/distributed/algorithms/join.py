"""torch.distributed.algorithms.join: processes whose inputs end early take part in the others' collectives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._make.creation import ones, zeros
from ...errors import ArgumentValueError, TensorError
from .. import collectives
from ..groups import get_rank
from ..work import Work


class JoinHook:
    """The actions of a process whose inputs have ended while others continue; subclasses override these methods."""

    def main_hook(self) -> None:
        """Take part in the collectives of one iteration of the other processes."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when the inputs of all processes have ended; `is_last_joiner`: those of this process ended last."""


class JoinConfig(NamedTuple):
    """The settings of the `Join` block in which a Joinable is used."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """An object that calls collectives in every iteration. Subclasses define what its process does instead once its
    inputs have ended."""

    def __init__(self) -> None:
        super().__init__()
        self._join_config = JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return a new JoinHook; the keywords are those given to `Join`."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of the collectives."""


class Join:
    """A context manager in which processes may have different numbers of inputs.

    A process whose inputs have ended leaves the block only when those of all have; until then its hooks take part in
    the collectives of the others.

    Args:
        joinables: what calls collectives in every iteration; each calls `Join.notify_join_context` before them.
        enable: whether anything is done.
        throw_on_early_termination: whether all processes raise as soon as the inputs of one have ended.
        kwargs: given to the `join_hook` of each.

    Raises:
        ArgumentValueError: there are no joinables, or they have different groups.
        TensorError: `throw_on_early_termination`, and the inputs of a process have ended before those of others.

    >>> from fxgrad.compat.distributed.algorithms.join import Join
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> with Join([model]):
    ...     for batch in torch.ones(3, 4, 2):
    ...         model(batch).sum().backward()
    """

    def __init__(
        self,
        joinables: Sequence[Any],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ):
        if not joinables:
            raise ArgumentValueError(
                "The join context manager requires at least one joinable",
                hint="Join([model]), model = DistributedDataParallel(…)",
            )
        groups = {id(joinable.join_process_group) for joinable in joinables}
        if len(groups) > 1:
            raise ArgumentValueError(
                "Using join context manager with multiple process groups", hint="one Join for each"
            )
        self._fx_joinables = list(joinables)
        self._fx_enable, self._fx_throws = enable, throw_on_early_termination
        self._fx_hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._fx_group = joinables[0].join_process_group

    def __enter__(self) -> Join:
        for index, joinable in enumerate(self._fx_joinables):
            joinable._join_config = JoinConfig(self._fx_enable, self._fx_throws, index == 0)
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            if self._fx_enable and kind is None:
                self._fx_accompany()
        finally:
            for joinable in self._fx_joinables:
                joinable._join_config = JoinConfig()

    def _fx_accompany(self) -> None:
        """Take part in the collectives of the others until the inputs of all have ended."""
        is_last_joiner = True
        while True:
            active = zeros(1)
            collectives.all_reduce(active, group=self._fx_group)
            if not active.item():
                break
            if self._fx_throws:
                collectives.all_reduce(ones(1), group=self._fx_group)
                raise TensorError(
                    f"Rank {get_rank(self._fx_group)} exhausted all inputs.",
                    hint="throw_on_early_termination=False, with which the others go on; or equal numbers of batches",
                )
            for hook in self._fx_hooks:
                hook.main_hook()
            is_last_joiner = False
        for hook in self._fx_hooks:
            hook.post_hook(is_last_joiner)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Announce that the inputs of this process have not ended. A Joinable calls it before the collectives of an
        iteration; the first one of a block does it for all.

        Returns:
            The Work of counting such processes; None where nothing is counted.

        Raises:
            TensorError: those of another have, and all are to raise then.
        """
        config = joinable._join_config
        if not (config.enable and config.is_first_joinable):
            return None
        group = joinable.join_process_group
        work = collectives.all_reduce(ones(1), group=group, async_op=True)
        if config.throw_on_early_termination:
            ended = zeros(1)
            collectives.all_reduce(ended, group=group)
            if ended.item():
                raise TensorError(
                    "Detected at least one rank that exhausted inputs. Throwing across all ranks.",
                    hint="throw_on_early_termination=False, with which the others go on; or equal numbers of batches",
                )
        return work


__all__ = ["Join", "JoinHook", "Joinable"]
