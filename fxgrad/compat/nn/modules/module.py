"""Module: a function with named parameters, buffers and submodules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from ....extend import is_differentiable
from ..._core.dtypes import as_numpy_dtype
from ..._core.tensor import Tensor
from ..._make.creation import empty_like
from ...autograd.grad_mode import no_grad
from ...errors import ArgumentError, ArgumentValueError, NotSupportedError
from ..parameter import Buffer, Parameter
from .call_hooks import (
    CallMixin,
    apply_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .destination import parse_to
from .state import StateMixin


def indent_lines(text: str) -> str:
    """Indent all lines of a text except the first by two spaces."""
    return text.replace("\n", "\n  ")


class Module(CallMixin, StateMixin):
    """A part of a model: subclasses define `forward`, and what they assign to attributes is taken note of if it is a
    Parameter, a Buffer or a Module.

    Args:
        args: those of the subclass.
        kwargs: those of the subclass.

    Raises:
        TypeError: there are arguments, which only subclasses take.

    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(2.0))
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> Scale()(torch.tensor([1.0, 2.0]))
    tensor([2., 4.], grad_fn=<MulBackward0>)
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    call_super_init = False
    dump_patches = False
    _fx_shown = ""  # the settings that `repr` shows; those in brackets by their values alone
    __constants__: ClassVar[list[str]] = []  # of TorchScript, to which subclasses add

    def __init__(self, *args, **kwargs) -> None:
        if (args or kwargs) and not self.call_super_init:
            wrong = (
                f"got an unexpected keyword argument '{next(iter(kwargs))}'"
                if kwargs
                else f"takes 1 positional argument but {len(args) + 1} were given"
            )
            raise ArgumentError(
                f"{type(self).__name__}.__init__() {wrong}",
                hint="def __init__(self, …) in the class, which begins with super().__init__()",
            )
        write = super().__setattr__
        write("training", True)
        write("_parameters", {})
        write("_buffers", {})
        write("_non_persistent_buffers_set", set())
        write("_modules", {})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args, **kwargs) -> Any:
        """Compute the output of the module; subclasses define it."""
        raise NotSupportedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function',
            hint="def forward(self, x): … in this class, spelled so",
        )

    # -- attributes ------------------------------------------
    def __setattr__(self, name: str, value) -> None:
        places = self.__dict__
        if isinstance(value, Parameter):
            self._fx_forget_member(name, but="_parameters")
            self.register_parameter(name, value)
        elif name in places.get("_parameters", ()):
            if value is not None:
                raise assignment_error(value, f"as parameter '{name}'", "torch.nn.Parameter or None expected")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._fx_check_initialized("module")
            self._fx_forget_member(name, but="_modules")
            self._modules[name] = apply_registration_hooks("module", self, name, value)
        elif name in places.get("_modules", ()):
            if value is not None:
                raise assignment_error(value, f"as child module '{name}'", "torch.nn.Module or None expected")
            self._modules[name] = None
        elif isinstance(value, Buffer):
            self._fx_forget_member(name, but="_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in places.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                expected = "torch.nn.Buffer, torch.Tensor or None expected"
                raise assignment_error(value, f"as buffer '{name}'", expected)
            self._buffers[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            members = self.__dict__.get(kind)
            if members is not None and name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        if not self._fx_forget_member(name):
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _fx_forget_member(self, name: str, but: str = "") -> bool:
        """Remove the member of a name; return whether it existed. What is of the kind `but` is about to be replaced and
        keeps its place."""
        found = False
        for kind in ("_parameters", "_buffers", "_modules"):
            members = self.__dict__.get(kind, {})
            if name in members and kind != but:
                del members[name]
                found = True
        if found:
            self._non_persistent_buffers_set.discard(name)
        return self.__dict__.pop(name, self) is not self or found

    def _fx_check_initialized(self, kind: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")

    def _fx_check_name(self, name, kind: str, members: dict) -> None:
        """Raise unless the name can be that of a member."""
        if not isinstance(name, str):
            raise ArgumentError(
                f"{kind} name should be a string. Got {torch_type_name(name)}", hint=f"str({name!r})"
            )
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if not name:
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in members:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None for one that there is not.

        Args:
            name: the attribute.
            param: a Parameter, or None.

        Raises:
            TypeError: `param` is no Parameter.
            ValueError: `param` is no leaf.
        """
        self._fx_check_initialized("parameters" if param is not None else "parameter")
        self._fx_check_name(name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise assignment_error(
                param, f"object to parameter '{name}'", "torch.nn.Parameter or None required"
            )
        if param is not None and param.grad_fn is not None:
            raise ArgumentValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method.",
                hint="torch.nn.Parameter(x.detach()); torch.nn.utils.parametrize for a parameter that is computed",
            )
        self._parameters[name] = (
            None if param is None else apply_registration_hooks("parameter", self, name, param)
        )

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a Tensor that is no parameter; it is in the `state_dict` if `persistent`.

        Args:
            name: the attribute.
            tensor: a Tensor, or None for one that there is not.

        Raises:
            TypeError: `tensor` is no Tensor.
        """
        self._fx_check_initialized("buffer")
        self._fx_check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise assignment_error(tensor, f"object to buffer '{name}'", "torch Tensor or None required")
        self._buffers[name] = apply_registration_hooks("buffer", self, name, tensor)
        hidden = self._non_persistent_buffers_set
        (hidden.discard if persistent else hidden.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module, or None for one that there is not.

        Args:
            name: the attribute.
            module: a Module, or None.

        Raises:
            TypeError: `module` is no Module.
        """
        if module is not None and not isinstance(module, Module):
            raise ArgumentError(
                f"{torch_type_name(module)} is not a Module subclass", hint=module_hint(module)
            )
        self._fx_check_name(name, "module", self._modules)
        self._modules[name] = apply_registration_hooks("module", self, name, module)

    register_module = add_module

    # -- what there is ------------------------------------------
    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield (name, module) for this module and all inside it, each once.

        Args:
            memo: a set of modules that are left out.
            prefix: what stands before the names.
            remove_duplicate: whether one that has two names is given once.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, join_path(prefix, name), remove_duplicate)

    def _named_members(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        """Yield (name, member) for the members of a kind."""
        seen = set()
        everywhere = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in everywhere if recurse else [(prefix, self)]:
            for name, member in getattr(module, kind).items():
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield join_path(path, name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter), each parameter once.

        Args:
            prefix: what stands before the names.
            recurse: whether those of modules inside are given, too.
            remove_duplicate: whether one that has two names is given once.
        """
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer), each buffer once.

        Args:
            prefix: what stands before the names.
            recurse: whether those of modules inside are given, too.
            remove_duplicate: whether one that has two names is given once.
        """
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the modules directly inside this one."""
        return self._named_members("_modules", "", False, True)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all its submodules at any depth, each once."""
        return (m for _, m in self.named_modules(remove_duplicate=remove_duplicate))

    def children(self) -> Iterator[Module]:
        """The modules directly inside this one."""
        return (m for _, m in self.named_children())

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as "layers.0.attention".

        Raises:
            AttributeError: there is no such module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a path such as "layers.0.attention".

        Args:
            target: the path; all but its last part is there already.
            module: what stands there afterwards.
            strict: there is a module at the path already.

        Raises:
            ValueError: the path is empty, or `module` is none.
            AttributeError: there is something else on the path, or nothing.

        >>> net = torch.nn.Sequential(torch.nn.ReLU())
        >>> net.set_submodule("0", torch.nn.Tanh())
        >>> net[0]
        Tanh()
        """
        if not target:
            raise ArgumentValueError(
                "Cannot set the submodule without a target name!", hint='target="layers.0", the path of one'
            )
        if not isinstance(module, Module):
            raise ArgumentValueError(
                f"`module` is not an nn.Module, found {type(module)}", hint=module_hint(module)
            )
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _fx_get_member(self, target: str, kind: str, what: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in getattr(module, kind):
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as "layers.0.weight"."""
        return self._fx_get_member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path."""
        return self._fx_get_member(target, "_buffers", "a buffer")

    # -- all at once ------------------------------------------
    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call `fn` with every submodule and then with this module, which is returned."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Module:
        """Set `training` everywhere, on which dropout and batch norm depend.

        Raises:
            ValueError: `mode` is no bool.
        """
        if not isinstance(mode, bool):
            raise ArgumentValueError(
                "training mode is expected to be boolean", hint="module.train(), or module.eval()"
            )
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Set whether the parameters require gradients."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or make them zero."""
        for p in self.parameters():
            clear_grad(p, set_to_none)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Module:
        """Replace the data of all parameters, buffers and gradients by the results of `fn`."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        with no_grad():
            for p in self._parameters.values():
                if p is not None:
                    p.data = fn(p)
                    if p.grad is not None:
                        p.grad.data = fn(p.grad)
            for name, b in self._buffers.items():
                if b is not None:
                    self._buffers[name] = fn(b)
        return self

    def to(self, *args, dtype=None, device=None, non_blocking: bool = False, memory_format=None) -> Module:
        """Move all parameters and buffers to a device, those that are floating or complex to a dtype: to(device),
        to(dtype), to(device, dtype), to(tensor).

        Args:
            non_blocking, memory_format: accepted and without effect.

        Raises:
            TypeError: the dtype is neither floating nor complex.
        """
        device, dtype, _, memory_format = parse_to(
            *args, dtype=dtype, device=device, non_blocking=non_blocking, memory_format=memory_format
        )
        if dtype is not None and not is_differentiable(as_numpy_dtype(dtype)):
            raise ArgumentError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}",
                hint="module.to(torch.float64); x.to(…) for one Tensor",
            )

        def move(t) -> Tensor:
            floating = t.is_floating_point() or t.is_complex()
            order = memory_format if len(t.shape) in (4, 5) else None
            return t.to(dtype=dtype if floating else None, device=device, memory_format=order)

        return self._apply(move)

    def to_empty(self, *, device, recurse: bool = True) -> Module:
        """Move all parameters and buffers to a device without their entries, which are arbitrary afterwards.

        Args:
            device: where they are to be; None: where they are.
            recurse: also those of the modules inside.

        >>> torch.nn.Linear(2, 3, device="meta").to_empty(device="cpu").weight.shape
        torch.Size([3, 2])
        """
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def share_memory(self) -> Module:
        """Return this module: threads share all memory, and processes receive copies."""
        return self

    def compile(self, *args, **kwargs) -> None:
        """Do nothing: `torch.compile` returns what it is given, and so calls stay as they are."""

    def type(self, dst_type) -> Module:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def _fx_convert_floating(self, name: str) -> Module:
        return self._apply(lambda t: getattr(t, name)() if t.is_floating_point() else t)

    def float(self) -> Module:
        """The floating parameters and buffers in float32."""
        return self._fx_convert_floating("float")

    def double(self) -> Module:
        """The floating parameters and buffers in float64."""
        return self._fx_convert_floating("double")

    def half(self) -> Module:
        """The floating parameters and buffers in float16."""
        return self._fx_convert_floating("half")

    def bfloat16(self) -> Module:
        """The floating parameters and buffers in bfloat16."""
        return self._fx_convert_floating("bfloat16")

    def cpu(self) -> Module:
        """All parameters and buffers on the CPU."""
        return self._apply(lambda t: t.cpu())  # not by `to`, which classes of the user write by means of it

    def cuda(self, device=None) -> Module:
        """All parameters and buffers on a CUDA device."""
        return self._apply(lambda t: t.cuda(device))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self._fx_find_hooks()

    # -- text ------------------------------------------
    def extra_repr(self) -> str:
        """The text between the parentheses of `repr`: settings by name, of a bias whether there is one."""
        return ", ".join([show_setting(self, name) for name in self._fx_shown.split()])

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [f"({name}): {indent_lines(repr(module))}" for name, module in self._modules.items()]
        if not children and len(extra) <= 1:
            return f"{self._get_name()}({''.join(extra)})"
        return f"{self._get_name()}(\n  " + "\n  ".join([*extra, *children]) + "\n)"


def show_setting(module: Module, name: str) -> str:
    """The text of one setting; that of a name in brackets is its value alone."""
    if name.startswith("["):
        return str(getattr(module, name[1:-1]))
    value = getattr(module, name)
    return f"bias={value is not None}" if name == "bias" else f"{name}={value!r}"


def torch_type_name(value) -> str:
    """The qualified name of a value's class, in torch's form."""
    if isinstance(value, Tensor):
        return value.type() if type(value) is Tensor else f"torch.nn.{type(value).__name__}"
    cls = value if isinstance(value, type) else value.__class__
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def module_hint(value) -> str:
    """Return a hint that says how to make a module of another value."""
    if isinstance(value, type) and issubclass(value, Module):
        return f"{value.__name__}(…), a module, in place of its class"
    return "a subclass of torch.nn.Module, whose forward calls the function; torch.nn.ModuleList of several"


def assignment_error(value, where: str, expected: str) -> ArgumentError:
    """The error for a value that cannot be a member."""
    made = "x" if isinstance(value, Tensor) else "torch.as_tensor(x)"
    hint = f"torch.nn.Parameter({made})" if "Parameter" in expected else made
    return ArgumentError(
        f"cannot assign '{torch_type_name(value)}' {where} ({expected})",
        hint=module_hint(value) if "Module" in expected else hint,
    )


def join_path(prefix: str, name: str) -> str:
    """Append a name to a path."""
    return f"{prefix}.{name}" if prefix else name


def clear_grad(p: Tensor, set_to_none: bool) -> None:
    """Remove a gradient, or set it to zero without history."""
    if p.grad is None:
        return
    if set_to_none:
        p.grad = None
        return
    with no_grad():
        if p.grad.grad_fn is not None:
            p.grad = p.grad.detach()
        else:
            p.grad.requires_grad_(False)
        p.grad.zero_()


__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
