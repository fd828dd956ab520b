"""torch.distributed: processes that work together, by MPI (`mpirun -n 4 python program.py`), or a single one.

groups, initialization     groups of processes and their members
collectives, exchanges, messages, objects    communication
nn.functional              differentiable collectives
reducer, algorithms        the parts of DistributedDataParallel, and its options
stores, device_mesh        shared keys and values, groups along the axes of a mesh

The examples run in a group of one process, which `dist.init_process_group("gloo")` has opened.
"""

# ruff: noqa: I001

from typing import TYPE_CHECKING, Any

from ...extend import LazyPackage
from .._core.absence import is_asked, make_absent

if TYPE_CHECKING:
    from . import algorithms, nn
    from .groups import *
    from .backends import *
    from .initialization import *
    from .collectives import *
    from .exchanges import *
    from .messages import *
    from .objects import *
    from .reductions import *
    from .work import *
    from .stores import *
    from .device_mesh import *
    from .reducer import BuiltinCommHookType as BuiltinCommHookType
    from .reducer import GradBucket as GradBucket

# What torch has beside, in a reason that is told when it is used.
ABSENT = {
    "remote calls are not there: processes run one program, and meet in collectives": "rpc remote_device",
    "DistributedDataParallel has its own, in Python": "Reducer Logger",
    "processes find each other by MPI": "register_rendezvous_handler rendezvous",
    "options of libraries that are not used": """
        AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BarrierOptions BroadcastOptions GatherOptions
        ProcessGroupGloo ProcessGroupMPI ProcessGroupNCCL ProcessGroupUCC ReduceOptions ReduceScatterOptions
        ScatterOptions
    """,
    "a group whose processes have failed ends with all of them": "shrink_group",
    "pdb is for one process": "breakpoint",
    "it is a tool for torch's own developers": "record_comm",
}


def find_absent(name: str) -> Any:
    """Return what stands for a name of torch's that is not here."""
    reason = next((reason for reason, names in ABSENT.items() if name in names.split()), None)
    if reason is None or is_asked(3):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_absent(f"torch.distributed.{name}", reason)


LazyPackage.of(__name__, find_otherwise=find_absent)
