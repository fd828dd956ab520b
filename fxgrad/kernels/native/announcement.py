"""The functions of machine code that kernels over NumPy may ask for, by the file that has them."""

FUNCTIONS = {
    "accumulation": "accumulate_natively",
    "conv": "correlate",
    "entrywise": "compute_entrywise",
    "lstm": "run_forward run_back",
    "outer": "multiply_outer",
    "pool": "window_places pick deposit",
    "scatter": "add_slices",
    "streams": "draw draw_log_gamma fold",
    "threads": "share_calls",
}
