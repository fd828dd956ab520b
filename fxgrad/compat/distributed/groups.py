"""Groups of processes: the group of all, its subgroups, and the ranks of their members."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._declare.packages import complete_module
from ..errors import ArgumentValueError, TensorError
from .backends import Backend, BackendConfig
from .launch import find_variable

if TYPE_CHECKING:
    from ...distributed.communicator import Communicator

NOT_INITIALIZED = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
OUTSIDE = -100  # in place of a group, for the processes that are not in it


class ProcessGroup:
    """A group of processes, as `init_process_group` and `new_group` make them.

    `ranks` are its members' numbers in the group of all.

    Args:
        communicator: what carries out collectives.
        name: the name of the group.
        description: a text.

    >>> dist.group.WORLD.size(), dist.group.WORLD.rank()
    (1, 0)
    """

    def __init__(
        self, communicator: Communicator, ranks: Sequence[int], backend: Backend, name: str, description: str
    ):
        self._fx_communicator, self._fx_ranks, self._fx_backend = communicator, list(ranks), backend
        self.group_name, self.group_desc = name, description

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._fx_communicator.rank

    def size(self) -> int:
        """How many processes are in the group."""
        return self._fx_communicator.size

    def name(self) -> str:
        """The name of what communicates."""
        return str(BackendConfig(self._fx_backend).device_backend_map.get("cpu", self._fx_backend))


class Registry:
    """The groups of this process: that of all, or None, and the others by their names."""

    def __init__(self) -> None:
        self.default: ProcessGroup | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.count = 0  # of those that were made, by all processes alike

    def add(self, group: ProcessGroup) -> ProcessGroup:
        """Record a group."""
        self.groups[group.group_name] = group
        return group

    def next_name(self) -> str:
        """Return the name of the next group."""
        self.count += 1
        return str(self.count - 1)


REGISTRY = Registry()


class DefaultGroup(type):
    """The type of classes whose WORLD is the group of all processes."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        return REGISTRY.default

    @WORLD.setter
    def WORLD(cls, value: ProcessGroup | None) -> None:
        REGISTRY.default = value


class group(metaclass=DefaultGroup):
    """Where programs find the group of all processes: `group.WORLD`, None before `init_process_group`.

    >>> dist.group.WORLD.size()
    1
    """


class GroupMember(metaclass=DefaultGroup):
    """The same, and what `new_group` returns to processes outside the group.

    >>> dist.GroupMember.WORLD is dist.group.WORLD
    True
    """

    NON_GROUP_MEMBER = OUTSIDE


def is_initialized() -> bool:
    """Whether there is a group of all processes: whether `init_process_group` was called.

    >>> dist.is_initialized()
    True
    """
    return REGISTRY.default is not None


def get_default_group() -> ProcessGroup:
    """Return the group of all processes.

    Raises:
        ArgumentValueError: there is none yet.
    """
    if REGISTRY.default is None:
        raise ArgumentValueError(
            NOT_INITIALIZED,
            hint='dist.init_process_group("gloo"), in a program that torchrun or mpiexec starts',
        )
    return REGISTRY.default


def find_group(given: Any) -> ProcessGroup | None:
    """Return the group that is given as an argument, that of all for None; or None if this process is outside of it.

    Raises:
        ArgumentValueError: it is no group, or one that was destroyed.
    """
    if given is None:
        return get_default_group()
    if type(given) is int and given == OUTSIDE:
        return None
    if not isinstance(given, ProcessGroup):
        raise ArgumentValueError(
            f"Expecting a ProcessGroup, but got a {type(given)}.",
            hint="dist.new_group(ranks), or None for all processes",
        )
    if REGISTRY.groups.get(given.group_name) is not given:
        raise ArgumentValueError(
            "Invalid process group specified or has been destroyed.",
            hint="dist.new_group(ranks), after init_process_group",
        )
    return given


def find_member_group(given: Any, name: str) -> ProcessGroup | None:
    """Do so for a collective, of which those outside of the group are warned."""
    found = find_group(given)
    if found is None:
        warnings.warn(
            f"Running {name} on global rank {get_rank()} which does not belong to the given group.",
            UserWarning,
            stacklevel=3,
        )
    return found


def get_rank(group: Any = None) -> int:
    """Return the number of this process in a group, -1 if it is outside of it.

    Raises:
        ArgumentValueError: there is no group yet.

    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    """
    found = find_group(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """Return how many processes are in a group, -1 if this one is outside of it.

    Raises:
        ValueError: there is no such group, or none has been opened.

    >>> dist.get_world_size()
    1
    """
    found = find_group(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> str:
    """Return the name of a group's backend, as it was given.

    Raises:
        ArgumentValueError: this process is outside of the group.

    >>> dist.get_backend()
    'gloo'
    """
    return ensure_inside(group)._fx_backend


def get_backend_config(group: Any = None) -> str:
    """Return which backend serves which device in a group: "cpu:gloo,cuda:gloo".

    >>> dist.get_backend_config()
    'cpu:gloo,cuda:gloo'
    """
    return repr(BackendConfig(get_backend(group)))


def ensure_inside(group: Any) -> ProcessGroup:
    """Return a group of which this process must be a member."""
    found = find_group(group)
    if found is None:
        raise ArgumentValueError(
            "Invalid process group specified",
            hint="this process is not in the group: call it on its members, dist.get_rank(group) >= 0",
        )
    return found


def get_pg_count() -> int:
    """Return how many groups there are.

    >>> dist.get_pg_count()
    1
    """
    return len(REGISTRY.groups)


def get_process_group_ranks(group: Any) -> list[int]:
    """Return the numbers, in the group of all, of a group's members.

    Raises:
        ValueError: there is no such group, or none has been opened.

    >>> dist.get_process_group_ranks(dist.group.WORLD)
    [0]
    """
    return list(ensure_inside(group)._fx_ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """Return the number that a process of the group of all has in a group.

    Args:
        global_rank: the number in the group of all.

    Raises:
        ArgumentValueError: it is not in it.

    >>> dist.get_group_rank(dist.group.WORLD, 0)
    0
    """
    ranks = ensure_inside(group)._fx_ranks
    if global_rank not in ranks:
        raise ArgumentValueError(
            f"Global rank {global_rank} is not part of group {group}", hint=f"one of {list(ranks)}"
        )
    return ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """Return the number that a member of a group has in the group of all.

    Args:
        group_rank: the number in the group.

    Raises:
        ArgumentValueError: there is no such member.

    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    """
    ranks = ensure_inside(group)._fx_ranks
    if not 0 <= group_rank < len(ranks):
        raise ArgumentValueError(
            f"Group rank {group_rank} is not part of group {group}",
            hint=f"0 to {len(ranks) - 1}; dist.get_group_rank(group, global_rank) of a rank among all",
        )
    return ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the number of this process among those of its machine, which the program that started it has put into the
    environment.

    Raises:
        TensorError: it has not, and there is no `fallback_rank`.

    >>> dist.get_node_local_rank(fallback_rank=0) >= 0
    True
    """
    found = find_variable("LOCAL_RANK")
    if found is not None:
        return found
    if fallback_rank is None:
        raise TensorError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to "
            "work, assuming you are not running in a multi-device context and want the code to run locally instead.",
            hint="dist.get_node_local_rank(fallback_rank=0)",
        )
    return int(fallback_rank)


# -- parts of a group ------------------------------------------
def check_ranks(ranks: Sequence[int], size: int) -> None:
    """Raise for numbers of processes of which some are not there, or come twice."""
    if len(ranks) > size:
        raise ArgumentValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group",
            hint=f"{size} ranks at most",
        )
    if len(set(ranks)) < len(ranks):
        raise ArgumentValueError(
            f"ranks list must not contain duplicate entries, got {list(ranks)}",
            hint=f"ranks={list(dict.fromkeys(ranks))}",
        )
    for rank in ranks:
        if not 0 <= rank < size:
            raise ArgumentValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})",
                hint=f"list(range({size})) are all",
            )


def split_off(
    parent: ProcessGroup, ranks: Sequence[int], color: int, backend: str | None, description: str | None
) -> Any:
    """Return the group of those members of a group that are in `ranks`, all of which give the same color; OUTSIDE to
    this process if it is none of them."""
    name, here = REGISTRY.next_name(), parent._fx_ranks[parent.rank()]
    inside = here in ranks
    made = parent._fx_communicator.split(color if inside else None, list(ranks).index(here) if inside else 0)
    if made is None:
        return OUTSIDE
    chosen = parent._fx_backend if backend is None else Backend(backend)
    return REGISTRY.add(ProcessGroup(made, ranks, chosen, name, description or "undefined"))


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Make a group of some of the processes. All processes call it, those as well that are not in it.

    Args:
        ranks: the numbers of the members; None: all.
        timeout, pg_options, device_id: accepted.
        use_local_synchronization: to be False.
        sort_ranks: whether the members stand in the order of their numbers, and not in that of `ranks`.

    Returns:
        The group, or `GroupMember.NON_GROUP_MEMBER` to processes that are not in it.

    Raises:
        ArgumentValueError: a number is none of a process, or comes twice.

    >>> dist.get_process_group_ranks(dist.new_group([0]))
    [0]
    """
    parent = get_default_group()
    if use_local_synchronization:
        raise ArgumentValueError(
            "MPI backend doesn't support use_local_synchronization=True",
            hint="let all processes call new_group",
        )
    members = list(range(parent.size())) if ranks is None else [int(rank) for rank in ranks]
    check_ranks(members, parent.size())
    members = sorted(members) if sort_ranks else members
    return split_off(parent, members, 0, backend, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Make several groups, of which a process is in one at most.

    Args:
        ranks_per_subgroup_list: lists of numbers of processes.

    Returns:
        The group of this process, or None, and all that were made.

    Raises:
        ArgumentValueError: a process is in two of them, or there are none.

    >>> own, groups = dist.new_subgroups_by_enumeration([[0]])
    >>> own.size()
    1
    """
    if not ranks_per_subgroup_list:
        raise ArgumentValueError(
            "The arg 'ranks_per_subgroup_list' cannot be empty",
            hint="[[0, 1], [2, 3]]: the ranks of each subgroup",
        )
    together = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    twice = [rank for rank in together if together.count(rank) > 1]
    if twice:
        raise ArgumentValueError(
            f"Rank {twice[0]} has appeared in more than one subgroup",
            hint="each rank in one of the lists; dist.new_group makes groups that overlap",
        )
    groups = [
        new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        for ranks in ranks_per_subgroup_list
    ]
    return next((made for made in groups if made != OUTSIDE), None), groups


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Make groups of `group_size` neighbouring processes each.

    Returns:
        The group of this process, and all that were made.

    Raises:
        ArgumentValueError: `group_size` does not divide the number of processes, or is not given.

    >>> own, groups = dist.new_subgroups(1)
    >>> len(groups)
    1
    """
    ranks = get_process_group_ranks(group)
    if group_size is None:
        raise ArgumentValueError("The arg 'group_size' is to be given", hint=f"group_size={len(ranks)}")
    if group_size <= 0:
        raise ArgumentValueError(
            f"The arg 'group_size' ({group_size}) must be positive", hint=f"group_size={len(ranks)}"
        )
    if len(ranks) < group_size:
        raise ArgumentValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(ranks)})",
            hint=f"group_size={len(ranks)}",
        )
    if len(ranks) % group_size:
        raise ArgumentValueError(
            f"The world size ({len(ranks)}) must be divisible by '{group_size=}'",
            hint=f"group_size in {[n for n in range(1, len(ranks) + 1) if not len(ranks) % n]}",
        )
    parts = [ranks[i : i + group_size] for i in range(0, len(ranks), group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def split_group(
    parent_pg: Any = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: Any = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """Split a group into parts, which all its members do at once.

    Args:
        parent_pg: the group; None: that of all.
        split_ranks: the members of each part, by their numbers in the parent.
        timeout, pg_options: accepted.

    Returns:
        The part in which this process is, or None.

    Raises:
        ArgumentValueError: there are no parts, or one is empty, or a process comes twice.

    >>> dist.split_group(split_ranks=[[0]]).size()
    1
    """
    if not split_ranks:
        raise ArgumentValueError(
            "split_ranks cannot be None or empty", hint="split_ranks=[[0, 1], [2, 3]]: the ranks of each part"
        )
    parent = ensure_inside(parent_pg)
    if not all(split_ranks):
        raise ArgumentValueError(
            "the split group cannot be empty", hint="parts with a rank at least, without []"
        )
    check_ranks([rank for part in split_ranks for rank in part], parent.size())
    color = next((i for i, part in enumerate(split_ranks) if parent.rank() in part), len(split_ranks))
    mine = sorted(split_ranks[color]) if color < len(split_ranks) else []
    made = split_off(parent, [parent._fx_ranks[rank] for rank in mine], color, backend, group_desc)
    return None if made == OUTSIDE else made


_get_default_group = get_default_group

__all__ = [
    "GroupMember",
    "ProcessGroup",
    "get_backend",
    "get_backend_config",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "is_initialized",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "split_group",
]


complete_module(globals(), "distributed")
