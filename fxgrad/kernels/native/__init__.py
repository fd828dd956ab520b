"""Kernels as machine code, through llvmlite if it is installed: fused loops in place of many passes of NumPy."""
