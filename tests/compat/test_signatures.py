"""Functions and classes have torch's own parameters, as tests/tables/signatures.txt tells them."""

from __future__ import annotations

import inspect
from ast import literal_eval
from functools import cache
from importlib import import_module
from inspect import Parameter
from typing import Any

import pytest

import fxgrad.compat as torch
from fxgrad.compat._declare.entrance import NUMPY_NAMES
from tests.tables.signatures import Default, kept_signatures
from tests.together import together

# What deviates on purpose, by reason.
REASONS = {
    "it refuses, whatever it is given": """
        SymBool SymFloat SymInt Tensor.ccol_indices Tensor.coalesce Tensor.col_indices Tensor.crow_indices
        Tensor.indices Tensor.is_coalesced Tensor.row_indices Tensor.sparse_resize_ Tensor.values
        Tensor.sparse_resize_and_clear_ Tensor.to_sparse_bsc Tensor.to_sparse_bsr Tensor.to_sparse_csc
        sparse_bsc_tensor sparse_bsr_tensor sparse_csc_tensor Tensor.eig Tensor.lstsq Tensor.solve
        Tensor.symeig cuda.CUDAGraph cuda.MemPool cuda.graph library.fallthrough_kernel library.get_ctx
        library.get_kernel library.wrap_triton
    """,
    "torch's function takes it, and its stub or schema does not tell": """
        Tensor.bfloat16 Tensor.bool Tensor.byte Tensor.char Tensor.double Tensor.float Tensor.half
        Tensor.int Tensor.long Tensor.short fft.fftfreq fft.rfftfreq is_autocast_enabled range
        sparse_coo_tensor sparse_csr_tensor spmm dsmm hsmm no_grad autograd.no_grad
        autograd.grad_mode.no_grad
    """,
    "its stub or schema tells what torch's function refuses": """
        tensor Tensor.new_tensor linalg.matrix_exp sparse.addmm sparse.log_softmax sparse.softmax
    """,
    "torch's parameter is of another name where it is a number": """
        isin result_type
    """,
    "beside a number torch takes `alpha` by position as well": """
        subtract Tensor.subtract Tensor.subtract_ rsub
    """,
    "torch has `out_dtype` on CUDA alone": """
        mm bmm addmm baddbmm
    """,
    "torch has it without documentation, for nn.functional, with numbers for its words": """
        binary_cross_entropy_with_logits cosine_embedding_loss hinge_embedding_loss kl_div
        margin_ranking_loss triplet_margin_loss nn.functional.elu_ nn.functional.rrelu_ rrelu rrelu_
    """,
    "it is called with one of two lists of parameters, by position": """
        gru lstm rnn_relu rnn_tanh
    """,
    "it is the function of another name, whose further parameters it takes": """
        true_divide Tensor.true_divide Tensor.true_divide_
    """,
    "None, the default here, stands for torch's": """
        signal.windows.bartlett signal.windows.blackman signal.windows.cosine signal.windows.exponential
        signal.windows.gaussian signal.windows.general_cosine signal.windows.general_hamming
        signal.windows.hamming signal.windows.hann signal.windows.kaiser signal.windows.nuttall
    """,
    "the method is the function, of which torch has an overload without it": """
        Tensor.repeat_interleave
    """,
    "torch warns of the parameters' former names": """
        nn.Hardtanh
    """,
    "torch makes it of other things, and users do not": """
        TypedStorage dtype memory_format distributed.DeviceMesh autograd.profiler.FunctionEvent Tensor.new
    """,
    "what torch has there is about its own machinery": """
        func.jacrev random.fork_rng overrides.redispatch_function autograd.profiler.profile profiler.profile
        profiler.tensorboard_trace_handler
    """,
}
MEANT = {f"torch.{name}": reason for reason, names in REASONS.items() for name in names.split()}
POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def find(path: str) -> Any:
    """What a path of torch's means here; None if there is nothing."""
    module, _, name = path.replace("torch", "fxgrad.compat", 1).rpartition(".")
    try:
        library = import_module(module.removesuffix(".Tensor"))
    except ImportError:
        return None
    owner = library.Tensor if module.endswith(".Tensor") else library
    # To ask for an absent name is to look for similar ones.
    return getattr(owner, name) if name in names_of(owner) else None


@cache
def names_of(owner: Any) -> set[str]:
    return {*dir(owner)}


HERE = [path for path in kept_signatures() if find(path) is not None]


def parameters_of(path: str) -> list[Parameter]:
    """The parameters of a function, class or method of ours, without `self`."""
    found = list(inspect.signature(find(path)).parameters.values())
    return found[1:] if path.startswith("torch.Tensor.") else found


def deviations(path: str) -> list[str]:
    """How the parameters of a function or class deviate from torch's: each of torch's overloads is to be taken by
    position and by name, with its defaults where there is one overload, and nothing besides."""
    overloads, _ = kept_signatures()[path]
    ours = {p.name: p for p in parameters_of(path)}
    order = [p.name for p in ours.values() if p.kind in POSITIONAL]
    any_count = any(p.kind is p.VAR_POSITIONAL for p in ours.values())
    found = []
    for theirs in overloads:
        places = [p.name for p in theirs if p.kind in POSITIONAL]
        if any(p.kind is p.VAR_KEYWORD for p in theirs):
            continue  # it tells nothing
        named = {i: p.name for i, p in enumerate(theirs) if p.kind is p.POSITIONAL_OR_KEYWORD}
        fits = len(places) <= len(order)
        if fits and len(overloads) == 1:
            fits = all(order[i] == name for i, name in named.items())
        if not (fits or any_count):
            found.append(f"takes {order} by position, not {places}")
        for p in theirs:
            if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL):
                continue
            if p.name not in ours:
                found.append(f"lacks {p.name}")
            elif len(overloads) == 1 and not same_default(p, ours[p.name]):
                found.append(f"{p.name}={text_of(ours[p.name])}, not {text_of(p)}")
        given = {p.name for p in theirs}
        needed = [n for n in order if ours[n].default is Parameter.empty][len(places) :]
        if not given.issuperset(needed):
            found.append(f"requires {needed}")
    if not any(p.kind is p.VAR_KEYWORD for theirs in overloads for p in theirs):
        told = {p.name for theirs in overloads for p in theirs}
        told |= {n for n, p in zip(order, overloads[0]) if p.kind is p.POSITIONAL_ONLY}
        several = (Parameter.VAR_POSITIONAL,) * (len(overloads) > 1)
        found += [f"has {n} besides" for n, p in ours.items() if n not in told and p.kind not in several]
    if path.startswith("torch.Tensor."):  # a method is the function itself, which may take `out`
        found = [deviation for deviation in found if deviation != "has out besides"]
    return list(dict.fromkeys(found))


def same_default(theirs: Parameter, ours: Parameter) -> bool:
    """Whether parameters have equal defaults; one that has no text is any."""
    texts = [text_of(theirs), text_of(ours)]
    if texts[0] == "..." or texts[0] == texts[1]:
        return "required" not in texts or texts[0] == texts[1]
    try:
        return literal_eval(texts[0]) == literal_eval(texts[1]) and "True" not in texts
    except ValueError:
        return False


def text_of(parameter: Parameter) -> str:
    """The text of a default."""
    return "required" if parameter.default is Parameter.empty else str(Default.of(parameter))


@together(path=lambda path: path.rpartition(".")[0])
@pytest.mark.parametrize("path", HERE)
def test_parameters_are_torchs(path):
    found = deviations(path)
    assert found == [] if path not in MEANT else found != []


def test_every_deviation_is_of_something_that_is_here():
    assert sorted(set(MEANT) - set(HERE)) == []


WRITTEN_IN_PYTHON = ("torch.autograd.", "torch.func.", "torch.nn.functional.", "torch.nn.init.")


@pytest.mark.parametrize("path", [path for path in HERE if path.startswith(WRITTEN_IN_PYTHON)])
def test_code_has_the_names_of_the_parameters(path):
    code = getattr(find(path), "__code__", None)
    if code is None:
        pytest.skip("a class")
    positional, keywords = (
        [p.name for p in parameters_of(path) if p.kind in kinds]
        for kinds in (POSITIONAL, (Parameter.KEYWORD_ONLY,))
    )
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    assert [name for name in names if name not in NUMPY_NAMES] == positional + keywords


def test_code_keeps_the_names_when_it_is_called():
    tensor = torch.ones(2, requires_grad=True)
    for function, args, names in (
        (torch.nn.functional.dropout, (tensor,), ("input", "p", "training", "inplace")),
        (torch.nn.init.constant_, (tensor, 2.0), ("tensor", "val")),
        (torch.func.vjp, (torch.sin, tensor), ("func", "has_aux", "primals")),
        (
            torch.autograd.grad,
            (tensor, tensor, tensor),
            ("outputs", "inputs", "grad_outputs", "retain_graph"),
        ),
    ):
        for _ in range(2):
            assert function.__code__.co_varnames[: len(names)] == names
            function(*args)
