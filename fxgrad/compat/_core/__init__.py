"""Tensors and the tape: values, nodes and views, the recording tape, its modes, and (`backward`) the backward pass."""
