"""The functions of machine code that kernels over NumPy may ask for, by the file that has them."""

FUNCTIONS = {
    "accumulation": "accumulate_natively",
    "conv": "correlate",
    "entrywise": "compute_entrywise convert_entries",
    "grid": "pullback sampler",
    "gru": "run_forward run_back",
    "lstm": "run_forward run_back",
    "matched": "combiner sharer taker",
    "outer": "multiply_outer",
    "permutation": "swap_by_words",
    "pool": "window_places pick deposit",
    "scatter": "combine_rows multiply_others take_rows",
    "ranking": "ranker",
    "streams": "draw draw_log_gamma fold",
    "totals": "reduce_natively",
    "threads": "call_held share_calls worker_count",
    "twister": "block_maker",
}
