"""torch.nn.utils.init: Modules without initial values."""

from __future__ import annotations

import inspect
from typing import Any

from ..._make.generators import default_generator
from ...errors import TensorError
from ..modules.module import Module


def skip_init(module_cls: type[Module], *args, **kwargs) -> Any:
    """Make a Module whose parameters are not initialized: no random number is used up.

    Args:
        module_cls: the class, whose constructor takes `device`.
        args, kwargs: its arguments.

    Raises:
        RuntimeError: what is no class of Modules, or one without `device`.

    >>> torch.nn.utils.skip_init(torch.nn.Linear, 2, 3).weight.shape
    torch.Size([3, 2])
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise TensorError(
            f"Expected a Module; got {module_cls}",
            hint="torch.nn.utils.skip_init(torch.nn.Linear, 2, 3): the class, then its arguments",
        )
    if "device" not in inspect.signature(module_cls).parameters:
        raise TensorError(
            "Module must support a 'device' arg to skip initialization",
            hint="def __init__(self, …, device=None), which goes on to the parameters",
        )
    state = default_generator.get_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        default_generator.set_state(state)
