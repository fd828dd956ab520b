"""Groups of elementwise equations as CUDA C++: the loops that `kernels.native` writes for processors, for GPUs."""
