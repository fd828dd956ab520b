"""The profiler: see `profile` for its use and `recording` for the mechanism."""
