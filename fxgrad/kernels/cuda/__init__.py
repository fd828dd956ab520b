"""Groups of elementwise equations as CUDA C++: the counterpart of `kernels.native` for GPUs."""
