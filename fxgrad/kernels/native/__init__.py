"""Kernels as machine code, through llvmlite where it is installed: fused loops that NumPy would make in many passes."""
