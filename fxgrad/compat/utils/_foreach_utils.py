"""torch.utils._foreach_utils: the grouping of Tensors for torch's functions of lists."""

from ..optim.support import (
    _device_has_foreach_support,
    _foreach_supported_types,
    _get_foreach_kernels_supported_devices,
    _get_fused_kernels_supported_devices,
    _group_tensors_by_device_and_dtype,
    _has_foreach_support,
)

__all__ = [
    "_device_has_foreach_support",
    "_foreach_supported_types",
    "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices",
    "_group_tensors_by_device_and_dtype",
    "_has_foreach_support",
]
