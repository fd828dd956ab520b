"""Kernels as machine code, through llvmlite where it is installed: fused loops that NumPy would make in many passes."""

from ..registry import announce

announce(
    __name__,
    accumulation="accumulate_natively",
    conv="correlate",
    entrywise="compute_entrywise",
    lstm="run_forward run_back",
    outer="multiply_outer",
    pool="window_places pick deposit",
    scatter="add_slices",
    streams="draw draw_log_gamma fold",
)
