"""Modules as pure functions of their parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._core.error_messages import tensor_hint
from .._core.tensor import Tensor
from ..errors import ArgumentError, ArgumentValueError, TensorError
from ..ops.joining import stack

if TYPE_CHECKING:
    from ..nn.modules import Module


def functional_call(
    module: Module,
    parameter_and_buffer_dicts,
    args=None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers, by name; the module itself is as it was afterwards. What
    the module assigns to a replaced buffer is written into the dict.

    Args:
        module: the module.
        parameter_and_buffer_dicts: name → Tensor, or several of these; what is not in them is the module's own.
        args: the argument, or a tuple of them.
        kwargs: the keyword arguments.
        tie_weights: what is one Tensor in the module is replaced under all its names.
        strict: raise for names that the module does not have, and for those of the module that are not given.

    Raises:
        ValueError: a name given twice, or two names of one Tensor.
        TensorError: `strict`, and names that differ.
        TypeError: a value is no Tensor.

    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(model, {"weight": torch.tensor([[1.0, 2.0]])}, torch.tensor([3.0, 4.0]))
    tensor([11.])
    """
    dicts = parameter_and_buffer_dicts
    if isinstance(dicts, dict):
        given = dicts
    elif isinstance(dicts, list | tuple) and all(isinstance(d, dict) for d in dicts):
        given = {name: value for d in dicts for name, value in d.items()}
        twice = sorted(name for name in given if sum(name in d for d in dicts) > 1)
        if twice:
            raise ArgumentValueError(
                f"{twice!r} appeared in multiple dictionaries; behavior of functional call is ambiguous",
                hint="{**first, **second}, in which the second wins",
            )
    else:
        raise ArgumentValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}",
            hint="dict(module.named_parameters())",
        )
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with replace_members(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


class TensorSlot:
    """The slot of a module that holds a Tensor."""

    def __init__(self, module: Module, path: str):
        owner, _, self.name = path.rpartition(".")
        found = module.get_submodule(owner)
        if not self.name:
            raise KeyError('tensor name can\'t be empty string ""')
        members = (found._parameters, found._buffers)
        self.members: dict = next((m for m in members if self.name in m), found.__dict__)
        value = getattr(found, self.name, None)
        if value is not None and not isinstance(value, Tensor):
            raise ArgumentError(
                f"attribute `{self.name}`: {value} is not an instance of torch.Tensor",
                hint="names of parameters and buffers, as module.state_dict() has them",
            )

    def exchange(self, value) -> Any:
        """Replace a member, or remove it if the replacement is NOTHING; return the old one."""
        old = self.members.get(self.name, NOTHING)
        if value is NOTHING:
            del self.members[self.name]
        else:
            self.members[self.name] = value
        return old


NOTHING: Any = ("nothing",)  # stands for a missing value


def tie_names(module: Module, given: dict[str, Any]) -> dict[str, Any]:
    """Add to the replacements all other names of the Tensors that they replace."""
    names: dict[int, list[str]] = {}
    for members in (module.named_parameters, module.named_buffers):
        for name, tensor in members(remove_duplicate=False):
            names.setdefault(id(tensor), []).append(name)
    complete = dict(given)
    for group in names.values():
        present = [name for name in group if name in given]
        if len({id(given[name]) for name in present}) > 1:
            raise ArgumentValueError(
                f"functional_call got multiple values for keys {sorted(group)}, which are tied. Consider using "
                "tie_weights=False",
                hint=f"one of them alone, {present[0]!r}; tie_weights=False for a value each",
            )
        if present:
            complete |= dict.fromkeys(group, given[present[0]])
    return complete


@contextmanager
def replace_members(module: Module, given: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    """A context manager in which the module has the replacement Tensors."""
    complete = tie_names(module, given) if tie_weights else dict(given)
    if strict:
        check_names(module, complete)
    for value in complete.values():
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{value} is not an instance of torch.Tensor", hint=tensor_hint(value))
    places = {name: TensorSlot(module, name) for name in complete}
    old = {name: place.exchange(complete[name]) for name, place in places.items()}
    try:
        yield
    finally:
        for name in reversed(places):
            after = places[name].exchange(old[name])
            if name in given and after is not given[name]:
                given[name] = after


def check_names(module: Module, complete: Mapping[str, Any]) -> None:
    """Raise unless these are the names of all parameters and buffers."""
    known = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    known |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
    parts = []
    for names, what in ((set(complete) - known, "Unexpected"), (known - set(complete), "Missing")):
        if names:
            parts.append(f"\n\t{what} key(s): {', '.join(map(repr, sorted(names)))}.")
    if parts:
        raise TensorError(
            f"Error(s) in reparametrizing for {type(module).__name__}:" + "".join(parts),
            hint="strict=False, which takes what is missing from the module; module.named_parameters() has the names",
        )


def check_models(caller: str, models: Sequence[Module]) -> None:
    """Raise unless there are modules, and of one kind."""
    if not models:
        raise TensorError(
            f"{caller}: Expected at least one model, got 0.", hint="[make_model() for _ in range(n)]"
        )
    if any(m.training != models[0].training for m in models):
        raise TensorError(
            f"{caller}: Expected all models to have the same training/eval mode.",
            hint="[m.train() for m in models], or m.eval()",
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise TensorError(
            f"{caller}: Expected all models to be of the same class.",
            hint="models of one class that differ in their parameters only: copy.deepcopy(model)",
        )


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The pair (parameters, buffers) of several models of one kind, those of one name stacked along a new first
    dimension: for `vmap` of `functional_call`.

    Args:
        models: modules of one class.

    Returns:
        A tuple of two dicts of Tensors, by names.

    Raises:
        TensorError: there are none, or they are of different classes, or some in training and some not, or parameters
            of one name require a gradient in some and not in others.

    >>> models = [torch.nn.Linear(2, 3) for _ in range(4)]
    >>> params, buffers = torch.func.stack_module_state(models)
    >>> params["weight"].shape
    torch.Size([4, 3, 2])
    """
    models = list(models)
    check_models("stack_module_state", models)

    def stack_members(members: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
        made = {}
        for name, tensor in members[0].items():
            if any(m[name].requires_grad is not tensor.requires_grad for m in members):
                raise TensorError(
                    f"Expected {name} from each model to have the same .requires_grad",
                    hint="m.requires_grad_(True) of all models, or m.requires_grad_(False)",
                )
            made[name] = stack([m[name] for m in members]).detach().requires_grad_(tensor.requires_grad)
        return made

    return (
        stack_members([dict(m.named_parameters()) for m in models]),
        stack_members([dict(m.named_buffers()) for m in models]),
    )


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make every BatchNorm in a module normalize by the statistics of the batch alone, and keep none, so that `vmap`
    can map over it; return the module.

    Args:
        root: the module.

    Returns:
        The module.

    >>> model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.ReLU())
    >>> torch.func.replace_all_batch_norm_modules_(model)[0].running_mean is None
    True
    """
    for module in root.modules():
        forget = getattr(module, "_fx_forget_running_stats", None)
        if forget is not None:
            forget()
    return root
