"""torch.random: seeds and states of the default generator."""

from . import _surface  # noqa: F401  where they are declared
from ._declare.spaces import SPACES
from ._make.generators import fork_rng, thread_safe_generator

NAMES = (
    "Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
)  # fmt: skip
globals().update({name: SPACES["function"][name] for name in NAMES})
__all__ = ["fork_rng", "thread_safe_generator", *NAMES]  # pyright: ignore[reportUnsupportedDunderAll]
