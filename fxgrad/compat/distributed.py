"""torch.distributed: a program runs in one process here, and may ask. All else raises when it is used."""

from __future__ import annotations

from typing import Any

from ._core.absence import is_asked, make_absent


def is_available() -> bool:
    """Whether processes can work together: not here."""
    return False


def is_initialized() -> bool:
    """Whether there is a group of processes: never."""
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_torchelastic_launched = (
    is_available
)


def is_backend_available(backend: str) -> bool:
    """Whether processes can work together by means of a library: not here."""
    return False


# What programs name for processes that work together, most often where they are imported or annotated.
NAMES = """
    Backend BackendConfig DebugLevel DeviceMesh DistBackendError DistError DistNetworkError DistStoreError FileStore
    GradBucket GroupMember HashStore P2POp PrefixStore ProcessGroup ProcessGroupGloo ReduceOp Reducer Store TCPStore
    Work
    all_gather all_gather_coalesced all_gather_into_tensor all_gather_object all_reduce all_reduce_coalesced all_to_all
    all_to_all_single barrier batch_isend_irecv breakpoint broadcast broadcast_object_list destroy_process_group gather
    gather_object get_backend get_backend_config get_debug_level get_default_backend_for_device get_global_rank
    get_group_rank get_node_local_rank get_pg_count get_process_group_ranks get_rank get_world_size group
    init_device_mesh init_process_group irecv isend monitored_barrier new_group new_subgroups
    new_subgroups_by_enumeration recv recv_object_list reduce reduce_op reduce_scatter reduce_scatter_tensor
    register_rendezvous_handler rendezvous rpc scatter scatter_object_list send send_object_list set_debug_level
    set_debug_level_from_env split_group supports_complex
"""


def __getattr__(name: str) -> Any:
    """Return what stands for a name of torch's that is not here."""
    if name not in NAMES.split() or is_asked():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_absent(f"torch.distributed.{name}", "a program runs in one process here")


__all__ = [
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
]
