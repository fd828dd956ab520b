"""torch.version: the version of torch that this package follows, and the versions of absent libraries."""

from .door.version import __version__

debug = False
cuda = hip = rocm = xpu = git_version = None

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
