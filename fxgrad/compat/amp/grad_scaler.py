"""`GradScaler`: losses are multiplied by a scale, so that small gradients of half precision do not vanish."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .._core.tensor import Tensor
from .._make.devices import device_count
from ..autograd.grad_mode import no_grad
from ..errors import NoGradientError, TensorError

if TYPE_CHECKING:
    from ..optim.optimizer import Optimizer


class GradScaler:
    """Scale the loss, and let the optimizer step with the gradients divided by the scale, unless one is not finite.
    After such a step the scale is multiplied by `backoff_factor`; after `growth_interval` steps without, by
    `growth_factor`.

    (After P. Micikevicius and others, Mixed precision training, ICLR 2018, section 3.2.)

    Args:
        device: "cuda", without which nothing is scaled and a warning says so, or "cpu".
        init_scale: the scale at first.
        growth_factor: more than 1.
        backoff_factor: less than 1.
        growth_interval: how many good steps in a row there are before the scale grows.
        enabled: False: losses are returned as they are, and optimizers simply step.

    Raises:
        NoGradientError: a factor out of its range; an AssertionError.

    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([8., 8.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        if enabled and device == "cuda" and not device_count():
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._device, self._enabled = device, enabled
        if not growth_factor > 1.0:
            raise NoGradientError("The growth factor must be > 1.0.", hint=f"not {growth_factor}")
        if not backoff_factor < 1.0:
            raise NoGradientError("The backoff factor must be < 1.0.", hint=f"not {backoff_factor}")
        self._scale, self._growth_tracker, self._fx_used = float(init_scale), 0, False
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        # Since the last update: whether gradients of an optimizer were not finite, and which optimizers have stepped.
        self._fx_overflowed: dict[int, bool] = {}
        self._fx_stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """Multiply a Tensor, or all Tensors in containers, by the scale.

        Raises:
            RuntimeError: something is no Tensor.
        """
        if not self._enabled:
            return outputs
        self._fx_used = True
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, list | tuple):
            scaled = [self.scale(x) for x in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        raise TensorError(
            "outputs must be a Tensor or an iterable of Tensors", hint=f"not {type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, to clip them before `step`, say.

        Raises:
            TensorError: done already since the last `update`, or the optimizer has stepped.
        """
        if not self._enabled:
            return
        self._fx_check_scaled("unscale_")
        if id(optimizer) in self._fx_stepped:
            raise TensorError(
                "unscale_() is being called after step().",
                hint="scaler.unscale_(optimizer), then scaler.step(optimizer), then scaler.update()",
            )
        if id(optimizer) in self._fx_overflowed:
            raise TensorError(
                "unscale_() has already been called on this optimizer since the last update().",
                hint="call update() once at the end of each iteration",
            )
        gradients = [
            p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None
        ]
        finite = True
        with no_grad():
            for gradient in gradients:
                gradient.mul_(1.0 / self._scale)
                finite = bool(gradient.isfinite().all()) and finite
        self._fx_overflowed[id(optimizer)] = not finite

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Call the optimizer's step if the unscaled gradients are finite, and return its result.

        Raises:
            TensorError: it has stepped since the last `update`, or a closure is given.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise TensorError(
                "Closure use is not currently supported if GradScaler is enabled.",
                hint="loss = closure() before, then scaler.step(optimizer)",
            )
        self._fx_check_scaled("step")
        if id(optimizer) in self._fx_stepped:
            raise TensorError(
                "step() has already been called since the last update().",
                hint="scaler.update() after each step",
            )
        if id(optimizer) not in self._fx_overflowed:
            self.unscale_(optimizer)
        self._fx_stepped.add(id(optimizer))
        return None if self._fx_overflowed[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt or set the scale; call it at the end of each iteration.

        Raises:
            NoGradientError: no optimizer has stepped.
        """
        if not self._enabled:
            return
        self._fx_check_scaled("update")
        if new_scale is not None:
            self._scale = new_scale.item() if isinstance(new_scale, Tensor) else new_scale
        elif not self._fx_overflowed:
            raise NoGradientError("No inf checks were recorded prior to update.", hint="call step first")
        elif any(self._fx_overflowed.values()):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale, self._growth_tracker = self._scale * self._growth_factor, 0
        self._fx_overflowed, self._fx_stepped = {}, set()

    def _fx_check_scaled(self, name: str) -> None:
        if not self._fx_used:
            raise NoGradientError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration.",
                hint=f"scaler.scale(loss).backward() before scaler.{name}(optimizer)",
            )

    # -- what it is set to ------------------------------------------
    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale: 1 if nothing is scaled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor by which the scale shrinks after gradients that were not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks after gradients that were not finite."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps in a row the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        """How many good steps in a row there were."""
        return self._growth_tracker if self._enabled else 0

    def state_dict(self) -> dict[str, Any]:
        """The scale and its settings by torch's names: nothing if nothing is scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state that `state_dict` returned.

        Raises:
            TensorError: it is empty.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise TensorError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.",
                hint="GradScaler(enabled=False) has nothing to load: skip load_state_dict, or begin with a new "
                "scaler",
            )
        self._scale, self._growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]


__all__ = ["GradScaler"]
