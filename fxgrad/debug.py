"""Tools for looking into running programs, transformed or not. (`fx.pure_callback` calls Python for its results.)"""

from .core.face import show_public_names
from .core.level_picture import levels
from .transforms.callback import debug_breakpoint as breakpoint
from .transforms.callback import debug_callback as callback
from .transforms.callback import debug_print as print
from .transforms.debug_nans import debug_nans

__all__ = ["breakpoint", "callback", "debug_nans", "levels", "print"]

show_public_names(__name__)
