"""Autocast: operations cast their operands to a lower precision, or to single precision, by torch's lists.

The settings are a mode (`Modes.autocast`). Without it this code is not reached, because fast paths serve Contexts
without modes. Casts of operands are recorded operations, so that gradients have the dtypes of the original operands.

Source of the lists: https://docs.pytorch.org/docs/stable/amp.html, "CPU Op-Specific Behavior". Operations that are
composed of listed ones in torch (`einsum`, `tensordot`) are single operations here, and are listed with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.dtypes import dtype, from_name
from .._core.modes import current_modes
from .._core.tape import BASE_TAPE, current_tape
from .._core.tensor import Tensor

LOWER, SINGLE, WIDEST = "the lower precision", "single precision", "the widest of the operands'"
TARGETS = {
    name: target
    for target, names in {
        LOWER: """
            addbmm addmm affine_grid baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
            conv_transpose3d corrcoef cov dot einsum inner linalg_matrix_power linalg_multi_dot linalg_vecdot linear
            lstm_layer matmul mm mv prelu rnn_relu_cell rnn_relu_layer rnn_tanh_cell rnn_tanh_layer
            scaled_dot_product_attention tensordot
        """,
        SINGLE: """
            adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy
            binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve
            cosine_embedding_loss _ctc_loss fake_quantize_per_tensor_affine fft_fft fft_fft2 fft_fftn
            fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft
            fft_rfft2 fft_rfftn fractional_max_pool geqrf grid_sampler_2d grid_sampler_3d
            hinge_embedding_loss huber_loss kl_div l1_loss linalg_cholesky linalg_cholesky_ex linalg_cond
            linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv
            linalg_inv_ex linalg_lstsq linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve
            linalg_matrix_rank linalg_pinv linalg_qr linalg_solve linalg_svd linalg_svdvals
            linalg_tensorinv linalg_tensorsolve local_response_norm margin_ranking_loss matrix_of_factors
            max_unpool1d max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss
            nanquantile nll_loss ormqr pad poisson_nll_loss polar probability_loss prod qr quantile ranks
            smooth_l1_loss soft_margin_loss svd trace triangular_solve triplet_margin_loss view_as_complex
        """,
        WIDEST: "cat gru_cell gru_layer index_copy lstm_cell stack",
    }.items()
    for name in names.split()
}
DOUBLE, FLOAT = from_name("float64"), from_name("float32")


class Autocast:
    """The state of autocast: the devices for which it is `enabled`, and the dtype of each in `dtypes`. Only operands on
    the CPU are cast, whatever other devices are enabled. With `caching`, casts of weights are kept in `cache` and
    reused, so that their gradients accumulate in one Tensor."""

    __slots__ = ("cache", "caching", "dtypes", "enabled")

    def __init__(
        self,
        enabled: frozenset[str],
        dtypes: dict[str, dtype],
        caching: bool,
        cache: dict[int, tuple[Tensor, int, Tensor]],
    ):
        self.enabled, self.dtypes, self.caching, self.cache = enabled, dtypes, caching, cache

    @property
    def mode(self) -> Autocast | None:
        """This as a mode: None where all is as at first."""
        return self if self.enabled or self.dtypes or not self.caching else None

    def dtype_for(self, device_type: str) -> dtype:
        """The lower precision of a device."""
        half = "float16" if device_type in ("cuda", "mps", "xpu") else "bfloat16"
        return self.dtypes.get(device_type) or from_name(half)

    def with_device(
        self, device_type: str, enabled: bool | None = None, dtype: dtype | None = None
    ) -> Autocast:
        """Return these settings with others for a device."""
        devices, dtypes = self.enabled, self.dtypes
        if enabled is not None:
            devices = devices | {device_type} if enabled else devices - {device_type}
        if dtype is not None:
            dtypes = {name: x for name, x in dtypes.items() if name != device_type}
            dtypes |= {} if dtype is OFF.dtype_for(device_type) else {device_type: dtype}
        return Autocast(devices, dtypes, self.caching, self.cache if self.enabled else {})

    def with_caching(self, caching: bool) -> Autocast:
        """Return these settings, and their casts, with or without caching."""
        return Autocast(self.enabled, self.dtypes, caching, self.cache)

    def cast_operands(self, name: str, operands: Sequence[Any]) -> Sequence[Any]:
        """Return the operands of an operation in the precision that is its own."""
        target = TARGETS.get(name)
        if target is None or "cpu" not in self.enabled:
            return operands
        if target is WIDEST:
            flat = [x for each in operands for x in (each if isinstance(each, tuple | list) else (each,))]
            wanted = {x.dtype for x in flat if is_castable(x)}
            if len(wanted) < 2:
                return operands
            kind = FLOAT
        else:
            kind = self.dtype_for("cpu") if target is LOWER else FLOAT
        return [
            type(x)([self.cast(part, kind) for part in x]) if type(x) in (tuple, list) else self.cast(x, kind)
            for x in operands
        ]

    def cast(self, x: Any, wanted: dtype) -> Any:
        """Return an operand in a precision."""
        if not is_castable(x) or x.dtype is wanted:
            return x
        if not (self.caching and wanted is not FLOAT and is_weight(x)):
            return x.to(wanted)
        known = self.cache.get(id(x))
        if known is None or known[0] is not x or known[1] != x._version or known[2].dtype is not wanted:
            known = self.cache[id(x)] = x, x._version, x.to(wanted)
        return known[2]


OFF = Autocast(frozenset(), {}, True, {})


def is_castable(x: Any) -> bool:
    """Whether a value is a CPU Tensor of floating-point numbers of single or half precision."""
    return (
        isinstance(x, Tensor) and x.is_floating_point() and x.dtype is not DOUBLE and x.device.type == "cpu"
    )


def is_weight(x: Tensor) -> bool:
    """Whether a Tensor is a single-precision leaf that requires a gradient, outside of all transforms."""
    return (
        x.dtype is FLOAT
        and x.requires_grad
        and x.is_leaf
        and x._fx_tape is BASE_TAPE
        and current_tape() is BASE_TAPE
        and current_modes().is_recording
        and not x._is_view()
    )
