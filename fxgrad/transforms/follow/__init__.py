"""`jit(control="follow")`: compiled code that follows Python's decisions on values."""
