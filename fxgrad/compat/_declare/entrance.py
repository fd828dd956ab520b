"""Entrances: what users call in the place of a function on Tensors that is not one operation. It is an entry point of
the library, asks classes that override functions, takes NumPy's parameter names, and shows the call to an observer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, NamedTuple

from ...extend import CURRENT, DEFAULT, ERROR_STATE, EVAL, IGNORE, Context, Observer, Tracer, leave_library
from .._core.error_messages import not_a_tensor_error
from .._core.modes import NO_GRAD
from .._core.overriding import NOT_OVERRIDDEN, OPEN_TO_ANY, ORDINARY_CLASSES, call_override
from .._core.tensor import Tensor
from .generated import define_late, indent_text
from .signatures import POSITIONAL, DerivedSignature, Parameters

current = CURRENT.get
SEQUENCES = {list, tuple}
NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}
UNSET: Any = object()  # the default of what is not given
# Functions that are no operations to torch: they ask, print, set, or lead to others.
SILENT = {
    "allclose", "as_tensor", "asarray", "backward", "backward_from", "broadcast_shapes", "data_ptr",
    "deepcopy_tensor", "dim", "dlpack_device", "element_size", "equal", "format_with_spec",
    "from_dlpack", "from_numpy", "frombuffer", "get_default_device", "get_device",
    "get_num_interop_threads", "get_num_threads", "get_printoptions", "get_rng_state", "getitem",
    "initial_seed", "is_complex", "is_conj", "is_contiguous", "is_floating_point",
    "is_grad_enabled", "is_inference", "is_inference_mode_enabled", "is_nonzero", "is_same_size",
    "is_set_to", "is_shared", "is_signed", "is_tensor", "iterate_entries_along_0", "manual_seed",
    "ndimension", "nelement", "new", "numel", "numpy", "reduce_tensor", "register_hook",
    "register_post_accumulate_grad_hook", "representation", "requires_grad_", "result_type",
    "retain_grad", "seed", "set_default_device", "set_printoptions", "set_rng_state", "setitem",
    "share_memory_", "size", "storage", "storage_offset", "stride", "tensor", "to_dlpack",
    "to_numpy_array", "tolist", "untyped_storage", "vmap", "wrap_array"
}  # fmt: skip


# What torch writes in Python: all of nn.functional but some, and some of `torch` itself.
WRITTEN_IN_C = {
    "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "celu_", "channel_shuffle", "conv1d",
    "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity",
    "elu_", "gelu", "hardshrink", "hardtanh_", "leaky_relu_", "linear", "logsigmoid", "native_channel_shuffle",
    "one_hot", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "rrelu_",
    "scaled_dot_product_attention", "selu_", "softplus", "softshrink", "threshold_"
}  # fmt: skip
WRITTEN_IN_PYTHON = {"lobpcg", "norm", "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot"}


def public_place(spaces: Sequence[str], name: str) -> tuple[str, str]:
    """Return the module and the qualified name under which users find a function first: in a namespace, if it is in
    one, or as a method."""
    space = next((s for s in spaces if s != "method"), "method" if spaces else "function")
    module = "fxgrad.compat" if space in ("function", "method") else f"fxgrad.compat.{space}"
    return module, f"Tensor.{name}" if space == "method" else name.removeprefix(f"{space}_")


def are_ordinary(operands: Any) -> bool:
    """Whether operands, a sequence of them, are of classes that override nothing."""
    if type(operands) not in SEQUENCES:
        return False
    for x in operands:  # noqa: SIM110 (most are short)
        if type(x) not in ORDINARY_CLASSES:
            return False
    return True


def all_ordinary(operands: Iterable[Any]) -> bool:
    """Whether operands, some of them in sequences, are of classes that override nothing."""
    return all([type(x) in ORDINARY_CLASSES or are_ordinary(x) for x in operands])


class Hook(NamedTuple):
    """Statements of an entrance besides its own, and what they refer to: those `before` may return a result, those
    `after` follow the plain call, whose result is `_fx_result`; `_fx_short` is whether no keyword is given. In them
    `{first}` is the first parameter, `{rest}` are the others that may be given by position, `{call}` all arguments."""

    before: str
    after: str
    names: Mapping[str, Any]


def try_first(direct: Callable[..., Any]) -> Hook:
    """Make the hook that tries a function first, which returns None if there is more to decide."""
    before = "_fx_result = direct({call})\nif _fx_result is not None:\n    return _fx_result\n"
    return Hook(before, "", {"direct": direct})


def make_entrance(function: FunctionType, name: str, place: tuple[str, str], *hooks: Hook) -> FunctionType:
    """Make a function on Tensors an entry point of the library, known to users by this name and place: see
    `api_boundary`. It has the parameters of the function, and takes NumPy's names beside torch's."""

    def write(made: FunctionType) -> str:
        namespace = made.__globals__
        is_open = function.__name__ in OPEN_TO_ANY
        namespace |= COMMON | {"function": function, "enter": enter_open if is_open else enter}
        for hook in hooks:
            namespace |= hook.names
        return format_entrance(function, is_open, namespace, hooks)

    made = define_late(name, place, with_late_defaults(Parameters.of(function)), {}, write)
    made.__dict__.update({key: x for key, x in function.__dict__.items() if key != "exposed"})
    made.__doc__, made.__wrapped__ = function.__doc__, function  # type: ignore[attr-defined]
    made.__signature__ = DerivedSignature(function, list)  # type: ignore[attr-defined]
    return made


def with_late_defaults(own: Parameters) -> Parameters:
    """Give those required parameters a default that may be given under NumPy's names, and the ones that follow them."""
    required = own.positional[: len(own.positional) - len(own.defaults)]
    if "dim" not in required and "keepdim" not in required:
        return own
    first = min([required.index(name) for name in NUMPY_NAMES.values() if name in required])
    return own._replace(defaults=(UNSET,) * (len(required) - first) + own.defaults)


# How a parameter of each kind is passed on, how it is asked whether it overrides nothing, and whether it is not given.
PASSED = {
    Parameter.POSITIONAL_ONLY: "{0}",
    Parameter.POSITIONAL_OR_KEYWORD: "{0}",
    Parameter.VAR_POSITIONAL: "*{0}",
    Parameter.KEYWORD_ONLY: "{0}={0}",
    Parameter.VAR_KEYWORD: "**{0}",
}
IS_ORDINARY = "(type({0}) in ORDINARY_CLASSES or are_ordinary({0}))"
ORDINARY_REST = (
    "(len({0}) == 1 and type({0}[0]) in ORDINARY_CLASSES"
    " or only_ordinary(map(type, {0})) or all_ordinary({0}))"
)
OR_DEFAULT = "({0} is default_{0} or type({0}) in ORDINARY_CLASSES or are_ordinary({0}))"
ASKED = dict.fromkeys(PASSED, IS_ORDINARY) | {
    Parameter.VAR_POSITIONAL: ORDINARY_REST,
    Parameter.VAR_KEYWORD: "(not {0} or all_ordinary({0}.values()))",
}
UNSET_TEXTS = {Parameter.KEYWORD_ONLY: "{0} is default_{0}", Parameter.VAR_KEYWORD: "not {0}"}
BY_POSITION = "function({short}) if _fx_short else function({call})"  # keywords cost more
ENTRANCE_TEXT = """\
def made{signature}:
    _fx_context = current()
    try:
        _fx_short = {unset}
{before}
        if {plain}:
            _fx_result = {result}
{after}
            return _fx_result
        return enter(made, _fx_context, {call})
    except BaseException as _fx_error:
        leave(_fx_error, _fx_context)
        if type(_fx_error) is AttributeError:
            require_tensors(made, {call})
        raise
"""
RENAME_TEXT = """\
if {other} is not UNSET:
    {name} = take_renamed(made.__name__, {name!r}, {name}, default_{name}, {other})
"""
MISSING_TEXT = """\
if {}:
    raise missing_error(made.__name__, {})
"""


class Reference(str):
    """A name that stands for a default in the text of a signature."""

    __slots__ = ()
    __repr__ = str.__str__


def format_entrance(
    function: FunctionType, is_open: bool, namespace: dict[str, Any], hooks: Sequence[Hook]
) -> str:
    """Return the text of an entrance; the defaults go into the namespace."""
    own = list_own_parameters(function)
    names = [p.name for p in own]
    renamed = {} if is_open else {other: name for other, name in NUMPY_NAMES.items() if name in names}
    shown: list[Parameter] = []
    late: list[str] = []  # required, with a default: one of them may be given under NumPy's name
    for p in own:
        default = p.default
        if p.kind in POSITIONAL and default is p.empty and (late or p.name in renamed.values()):
            late.append(p.name)
            default = UNSET
        if default is not p.empty:
            namespace[f"default_{p.name}"], default = default, Reference(f"default_{p.name}")
        shown.append(Parameter(p.name, p.kind, default=default))
    place = len(shown) - (bool(own) and own[-1].kind is Parameter.VAR_KEYWORD)
    shown[place:place] = [Parameter(o, Parameter.KEYWORD_ONLY, default=Reference("UNSET")) for o in renamed]
    before = "".join(RENAME_TEXT.format(other=other, name=name) for other, name in renamed.items())
    if late:
        given = ", ".join(f"{name}={name}" for name in late)
        before += MISSING_TEXT.format(" or ".join(f"{name} is UNSET" for name in late), given)
    contexts = "_fx_context is EVAL" if is_open else "(_fx_context is EVAL or _fx_context is NO_GRAD)"
    defaults = [p for p in own if p.default is not p.empty]
    optional = [
        p for p in own if p.kind in UNSET_TEXTS and (p in defaults or p.kind is Parameter.VAR_KEYWORD)
    ]
    asked = [
        (OR_DEFAULT if p in defaults else ASKED[p.kind]).format(p.name) for p in own if p not in optional
    ]
    if optional:
        asked.append(f"(_fx_short or ({' and '.join(ASKED[p.kind].format(p.name) for p in optional)}))")
    unset = " and ".join(UNSET_TEXTS[p.kind].format(p.name) for p in optional) or "True"
    short = ", ".join(PASSED[p.kind].format(p.name) for p in own if p not in optional)
    rest = [p for p in own[1:] if p.kind not in UNSET_TEXTS]
    fields = {
        "call": ", ".join(PASSED[p.kind].format(p.name) for p in own),
        "first": own[0].name if own else "",
        "rest": "".join(f"{PASSED[p.kind].format(p.name)}, " for p in rest),
    }
    return ENTRANCE_TEXT.format(
        signature=Signature(shown),
        before=indent_text(before + "".join(hook.before.format(**fields) for hook in hooks), 8).rstrip(),
        plain=" and ".join([contexts, *asked] if not is_open else [contexts]),
        after=indent_text("".join(hook.after.format(**fields) for hook in hooks), 12).rstrip(),
        call=fields["call"],
        unset=unset,
        result=(BY_POSITION if optional else "function({call})").format(short=short, **fields),
    )


def list_own_parameters(function: FunctionType) -> list[Parameter]:
    """List the parameters of a function: those that it is said to have, if they derive from another's, or else those of
    its code."""
    if type(function.__dict__.get("__signature__")) is DerivedSignature:
        return list(signature(function).parameters.values())
    bare = FunctionType(function.__code__, {}, argdefs=function.__defaults__, closure=function.__closure__)
    bare.__kwdefaults__ = function.__kwdefaults__
    return list(signature(bare).parameters.values())


def enter(made: FunctionType, context: Context, /, *args: Any, **kwargs: Any) -> Any:
    """Call the function of an entrance where an argument may override it, or somebody looks on."""
    return call_or_override(made, context, args, kwargs, None)


def enter_open(made: FunctionType, context: Context, /, *args: Any, **kwargs: Any) -> Any:
    """Do what `enter` does for a function of any objects: modes alone override it."""
    return call_or_override(made, context, args, kwargs, ())


def call_or_override(made: FunctionType, context: Context, args: Any, kwargs: Any, operands: Any) -> Any:
    """Call what overrides a function, with these operands to be asked, or else the function."""
    function = made.__wrapped__  # type: ignore[attr-defined]
    args, kwargs = arrange_given(made, Parameters.of(function), args, kwargs)
    found = call_override(made, args, kwargs, operands)
    if found is not NOT_OVERRIDDEN:
        return found
    if context.observer is not None:
        return run_function(context.observer, function, args, kwargs)
    return function(*args, **kwargs)


def arrange_given(
    made: FunctionType, own: Parameters, args: tuple, kwargs: dict[str, Any]
) -> tuple[tuple, dict[str, Any]]:
    """Return all arguments of a function as torch's would hand them on: those with a default by keyword where it is
    written in Python; elsewhere, where the caller's form counts, as programs mostly write them, by position up to `dim`
    or one that is not given."""
    required = max(len(own.positional) - len(own.defaults), own.positional_only)
    defaults = (own.keyword_defaults or {}) | dict(zip(own.positional[required:], own.defaults))
    if len(args) <= len(own.positional):
        by_position = dict(zip(own.positional[required:], args[required:]))
        if is_written_in_python(made):
            return args[:required], by_position | kwargs
        count = required
        while count < len(args) and args[count] is not defaults[own.positional[count]]:
            if own.positional[count] == "dim":
                break
            count += 1
        by_keyword = dict(zip(own.positional[count:], args[count:]))
        args, kwargs = args[:count], by_keyword | kwargs
    return args, {name: x for name, x in kwargs.items() if name not in defaults or x is not defaults[name]}


def is_written_in_python(made: FunctionType) -> bool:
    """Whether the function of torch's that an entrance stands for is written in Python."""
    if made.__module__.endswith("nn.functional"):
        return made.__name__ not in WRITTEN_IN_C
    return made.__name__ in WRITTEN_IN_PYTHON and not made.__qualname__.startswith("Tensor.")


def require_tensors(made: FunctionType, /, *args: Any, **kwargs: Any) -> None:
    """Raise if a parameter that is declared to be a Tensor, or a sequence of them, was given something else."""
    function: FunctionType = made.__wrapped__  # type: ignore[attr-defined]
    for place, (p, given) in enumerate(zip(list_own_parameters(function), args)):
        declared = function.__annotations__.get(p.name) == "Tensor" and p.default is p.empty
        for x in args[place:] if p.kind is p.VAR_POSITIONAL else [given] * declared:
            if declared and not isinstance(x, Tensor | Tracer | list | tuple):
                raise not_a_tensor_error(made.__name__, p.name, place + 1, x)


def take_renamed(function: str, name: str, given: Any, default: Any, value: Any) -> Any:
    """Return the value of a parameter that was given under NumPy's name."""
    if given is not default:
        raise TypeError(f"{function}() got multiple values for argument {name!r}")
    return value


def missing_error(function: str, **given) -> TypeError:
    """Return the error for required arguments that are not given, in Python's words."""
    names = [repr(name) for name, value in given.items() if value is UNSET]
    count = len(names)
    if count > 1:
        names[-2:] = [f"{names[-2]}{',' * (count > 2)} and {names[-1]}"]
    plural = "s" * (count > 1)
    return TypeError(f"{function}() missing {count} required positional argument{plural}: {', '.join(names)}")


def run_function(observer: Observer, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Run a function on Tensors as one step of an observer."""
    if function.__name__ in SILENT or function.__name__.startswith("__"):
        return function(*args, **kwargs)
    run = partial(function, *args, **kwargs)
    return observer.observe("operation", function.__name__, (*args, *kwargs.values()), run)


def leave_torch(error: BaseException, context) -> None:
    """Do what `leave_library` does, and let NumPy warn again."""
    if ERROR_STATE.get() is IGNORE:  # Ctrl-C may come before the `try` that ends with its reset
        ERROR_STATE.set(DEFAULT)
    leave_library(error, context)


# What the text of every entrance refers to.
COMMON: dict[str, Any] = {
    "EVAL": EVAL,
    "NO_GRAD": NO_GRAD,
    "ORDINARY_CLASSES": ORDINARY_CLASSES,
    "UNSET": UNSET,
    "all_ordinary": all_ordinary,
    "are_ordinary": are_ordinary,
    "current": current,
    "leave": leave_torch,
    "missing_error": missing_error,
    "only_ordinary": ORDINARY_CLASSES.issuperset,
    "require_tensors": require_tensors,
    "take_renamed": take_renamed,
}
