"""torch.version: the version of torch that this surface follows, and those of libraries that are not below it."""

from .door.version import __version__

debug = False
cuda = hip = rocm = xpu = git_version = None

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
