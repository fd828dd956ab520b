"""Recurrent networks: layers along sequences, and their cells."""

from __future__ import annotations

import math
from typing import Any

from ..._declare.packages import complete_module
from ..._declare.spaces import SPACES
from ..._make.creation import empty, zeros
from ...errors import ArgumentValueError, TensorError
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module
from .recurrent_options import check_options, check_sizes, refuse_projection

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


def draw_parameters(module: Module, hidden_size: int) -> None:
    """Draw all parameters uniformly within 1/√hidden_size."""
    bound = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


def select_sequences(state, places) -> Any:
    """The states of the sequences in an order; None keeps the order."""
    if places is None:
        return state
    if isinstance(state, tuple):
        return tuple([h.index_select(1, places) for h in state])
    return state.index_select(1, places)


class RNNBase(Module):
    """The base of recurrent networks.

    The parameters of layer k are `weight_ih_lk`, `weight_hh_lk`, `bias_ih_lk`, `bias_hh_lk` and, with projections,
    `weight_hr_lk`; those of the direction from the end to the start have `_reverse` behind their names.

    Args:
        mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
        num_layers: how many layers there are; each gets the states of the one before.
        batch_first: inputs and results are (batch, time, size), not (time, batch, size).
        dropout: the probability with which an entry between two layers is dropped in training.
        bidirectional: each layer also goes from the end to the start; the states of both are concatenated.
        proj_size: the size to which an LSTM projects its h, 0 for none.

    Raises:
        ValueError, TypeError: an argument that is out of range or of another type.

    >>> net = torch.nn.RNNBase("GRU", 2, 3)
    >>> y, state = net(torch.zeros(4, 1, 2))
    >>> y.shape, state.shape
    (torch.Size([4, 1, 3]), torch.Size([1, 1, 3]))
    """

    mode: str
    bias: bool

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        check_sizes(input_size, hidden_size, num_layers, proj_size)
        check_options(bias, batch_first, dropout, num_layers)
        if mode not in GATES:
            raise ArgumentValueError(f"Unrecognized RNN mode: {mode}", hint=f"one of {', '.join(GATES)}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        rows, columns = GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else columns * self._fx_directions
            sizes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, columns)}
            if bias:
                sizes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if proj_size:
                sizes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[: self._fx_directions]:
                names = [f"{name}_l{layer}{suffix}" for name in sizes]
                for name, size in zip(names, sizes.values()):
                    self.register_parameter(name, Parameter(empty(size, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _fx_directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        """The parameters in the order in which `torch.lstm` takes them."""
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Any]) -> None:
        """Put these in the place of the parameters, which stay registered."""
        for name, weight in zip(self._flat_weights_names, weights, strict=True):
            if self._parameters.get(name) is weight:
                self.__dict__.pop(name, None)
            else:
                self.__dict__[name] = weight

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each direction of each layer."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniformly within 1/√hidden_size."""
        draw_parameters(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing: the parameters of cuDNN lie in one piece, ours need not."""

    def check_input(self, input, batch_sizes) -> None:
        """Raise unless the input fits this network; `batch_sizes` are those of a PackedSequence, or None.

        Raises:
            ValueError: the dtype differs.
            RuntimeError: the dimensions or the size differ.
        """
        dtype = self._flat_weights[0].dtype
        if input.dtype != dtype:
            raise ArgumentValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})",
                hint=f"input.to({dtype})",
            )
        rank = 3 if batch_sizes is None else 2
        if input.dim() != rank:
            raise TensorError(
                f"input must have {rank} dimensions, got {input.dim()}",
                hint="one vector for each step: data.unsqueeze(-1), or data.flatten(1)",
            )
        if input.shape[-1] != self.input_size:
            raise TensorError(
                "input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.shape[-1]}",
                hint=f"input_size={input.shape[-1]}",
            )

    def get_expected_hidden_size(self, input, batch_sizes) -> tuple[int, int, int]:
        """The shape of the state h for an `input`; `batch_sizes` as of `check_input`."""
        return self._fx_state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def _fx_state_size(self, input, batch_sizes, size: int) -> tuple[int, int, int]:
        batch = input.shape[0 if self.batch_first else 1] if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * self._fx_directions, batch, size

    def check_hidden_size(
        self, hx, expected_hidden_size: tuple, msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise the message `msg` unless a state `hx` has the shape `expected_hidden_size`.

        Raises:
            RuntimeError: it has another shape.
        """
        if tuple(hx.shape) != expected_hidden_size:
            raise TensorError(
                msg.format(expected_hidden_size, list(hx.shape)), hint=f"torch.zeros{expected_hidden_size}"
            )

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        """Raise unless `input` and state, `hidden`, fit this network; `batch_sizes` as of `check_input`."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation) -> Any:
        """The states `hx` of the sequences in the order `permutation`."""
        return select_sequences(hx, permutation)

    def _fx_initial_state(self, input, batch_sizes) -> Any:
        """The default initial state, zeros."""
        return zeros(
            self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype, device=input.device
        )

    def _fx_check_state_rank(self, hx, is_batched: bool) -> None:
        """Raise unless a state has the dimensions that belong to an input with or without a batch."""
        rank = 3 if is_batched else 2
        if hx.dim() != rank:
            kind = "batched" if is_batched else "unbatched"
            raise TensorError(
                f"For {kind} {rank}-D input, hx should also be {rank}-D but got {hx.dim()}-D tensor",
                hint="hx.unsqueeze(1)" if is_batched else "hx.squeeze(1)",
            )

    def forward(self, input, hx=None) -> tuple[Any, Any]:
        """Run the network.

        Args:
            input: (time, batch, input_size), (batch, time, input_size) where `batch_first`, (time, input_size) of one
                sequence, or a PackedSequence.
            hx: the states to start from, (num_layers · directions, batch, hidden_size), without the batch where the
                input has none; (h, c) of an LSTM. Zeros if there are none.

        Returns:
            (the states of the last layer at all times, in the form of the input; the last states of all layers).

        Raises:
            ValueError, RuntimeError: shapes or a dtype that do not fit.
        """
        run = SPACES["function"][self.mode.lower()]
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, places = input
            if hx is None:
                self.check_input(data, batch_sizes)
                hx = self._fx_initial_state(data, batch_sizes)
            else:
                hx = self.permute_hidden(hx, order)
            self.check_forward_args(data, hx, batch_sizes)
            output, last = self._fx_split(run(data, batch_sizes, hx, self._flat_weights, *options))
            return PackedSequence(output, batch_sizes, order, places), self.permute_hidden(last, places)
        if input.dim() not in (2, 3):
            kind = "LSTM" if self.mode == "LSTM" else "GRU" if self.mode == "GRU" else "RNN"
            tensor = " tensor" if kind == "RNN" else ""
            raise ArgumentValueError(
                f"{kind}: Expected input to be 2D or 3D, got {input.dim()}D{tensor} instead",
                hint="x.flatten(0, -3)"
                if input.dim() > 3
                else "x.unsqueeze(-1), a sequence of vectors of size 1",
            )
        is_batched, axis = input.dim() == 3, 0 if self.batch_first else 1
        if hx is not None:
            self._fx_check_state_rank(hx, is_batched)
        if not is_batched:
            input = input.unsqueeze(axis)
            hx = None if hx is None else map_state(hx, lambda h: h.unsqueeze(1))
        if hx is None:
            self.check_input(input, None)
            hx = self._fx_initial_state(input, None)
        self.check_forward_args(input, hx, None)
        output, last = self._fx_split(run(input, hx, self._flat_weights, *options, self.batch_first))
        if is_batched:
            return output, last
        return output.squeeze(axis), map_state(last, lambda h: h.squeeze(1))

    def _fx_split(self, results: tuple) -> tuple[Any, Any]:
        """(the states at all times, the last states)."""
        return results[0], results[1]

    def extra_repr(self) -> str:
        shown = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False
        }  # fmt: skip
        changed = [
            f", {name}={getattr(self, name)}" for name, usual in shown.items() if getattr(self, name) != usual
        ]
        return f"{self.input_size}, {self.hidden_size}" + "".join(changed)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"proj_size": 0} | state)


def map_state(state, function) -> Any:
    """Apply a function to a state, or to both of an LSTM."""
    return tuple(map(function, state)) if isinstance(state, tuple | list) else function(state)


class RNN(RNNBase):
    """The recurrent layer h′ = tanh(W_ih·x + b_ih + W_hh·h + b_hh), or with relu. Source: Elman, 1990,
    doi:10.1207/s15516709cog1402_1.

    Args:
        input_size, hidden_size, num_layers: see `RNNBase`.
        nonlinearity: "tanh" or "relu", the fourth argument by position.
        bias, batch_first, dropout, bidirectional, device, dtype: see `RNNBase`.
        args: those of `RNNBase` but for the mode.
        kwargs: those of `RNNBase` but for the mode.

    Raises:
        ValueError: there is no such `nonlinearity`, or `proj_size` is given, which is for the LSTM.

    >>> network = torch.nn.RNN(3, 4, num_layers=2)
    >>> states, last = network(torch.zeros(5, 2, 3))
    >>> states.shape, last.shape
    (torch.Size([5, 2, 4]), torch.Size([2, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        refuse_projection(kwargs)
        options = list(args)
        nonlinearity = options.pop(3) if len(options) > 3 else kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.",
                hint="nonlinearity='tanh'",
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *options, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory: states h and c, with input, forget and output gates. Sources: Hochreiter and Schmidhuber,
    1997, doi:10.1162/neco.1997.9.8.1735; projections: Sak et al., 2014, arXiv:1402.1128.

        i, f, o = σ(W·x + U·h + b), each with its own W, U and b;   g = tanh(W·x + U·h + b)
        c′ = f·c + i·g;   h′ = o·tanh(c′)

    The arguments are those of `RNNBase` without `mode`; the state is a pair (h, c).

    Args:
        args: those of `RNNBase` but for the mode.
        kwargs: those of `RNNBase` but for the mode.

    >>> network = torch.nn.LSTM(3, 4, bidirectional=True)
    >>> states, (h, c) = network(torch.zeros(5, 2, 3))
    >>> states.shape, h.shape, c.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 2, 4]), torch.Size([2, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        """Raise unless input and states fit this network."""
        self.check_input(input, batch_sizes)
        h, c = hidden
        self.check_hidden_size(
            h, self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            c, self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def get_expected_cell_size(self, input, batch_sizes) -> tuple[int, int, int]:
        """The shape of the state c for an `input`; `batch_sizes` as of `check_input`."""
        return self._fx_state_size(input, batch_sizes, self.hidden_size)

    def _fx_initial_state(self, input, batch_sizes) -> tuple[Any, Any]:
        sizes = self.get_expected_hidden_size, self.get_expected_cell_size
        h, c = (zeros(size(input, batch_sizes), dtype=input.dtype, device=input.device) for size in sizes)
        return h, c

    def _fx_check_state_rank(self, hx, is_batched: bool) -> None:
        rank = 3 if is_batched else 2
        if any(h.dim() != rank for h in hx):
            kind = "batched" if is_batched else "unbatched"
            raise TensorError(
                f"For {kind} {rank}-D input, hx and cx should also be {rank}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors",
                hint=f"h.{'un' * is_batched}squeeze(1) for each of both",
            )

    def permute_hidden(self, hx, permutation) -> tuple[Any, Any]:
        """The states of the sequences in this order."""
        return select_sequences(tuple(hx), permutation)

    def _fx_split(self, results: tuple) -> tuple[Any, Any]:
        return results[0], results[1:]


class GRU(RNNBase):
    """A gated recurrent unit. Source: Cho et al., 2014, arXiv:1406.1078.

        r, z = σ(W·x + b + U·h + d), each with its own W, U, b and d
        n = tanh(W·x + b + r·(U·h + d));   h′ = (1 − z)·n + z·h

    The arguments are those of `RNNBase` without `mode` and `proj_size`.

    Args:
        args: those of `RNNBase` but for the mode.
        kwargs: those of `RNNBase` but for the mode.

    Raises:
        ValueError: `proj_size` is given, which is for the LSTM.

    >>> torch.nn.GRU(3, 4, batch_first=True)(torch.zeros(2, 5, 3))[0].shape
    torch.Size([2, 5, 4])
    """

    def __init__(self, *args, **kwargs):
        refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


# -- cells ------------------------------------------
class RNNCellBase(Module):
    """The base of cells, which take one step.

    Args:
        num_chunks: the number of gates.

    >>> isinstance(torch.nn.LSTMCell(2, 3), torch.nn.RNNCellBase)
    True
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None, dtype=None
    ):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        sizes = {
            "weight_ih": (rows, input_size),
            "weight_hh": (rows, hidden_size),
            "bias_ih": (rows,) if bias else None,
            "bias_hh": (rows,) if bias else None,
        }
        for name, size in sizes.items():
            made = None if size is None else Parameter(empty(size, device=device, dtype=dtype))
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniformly within 1/√hidden_size."""
        draw_parameters(self, self.hidden_size)

    def _fx_step(self, kind: str, input, hx) -> Any:
        """One step of a batch, or of a single input."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ArgumentValueError(
                f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead",
                hint="x.flatten(0, -2)" if input.dim() else "x.reshape(1)",
            )
        states: Any = () if hx is None else hx if kind == "lstm" else (hx,)
        for i, h in enumerate(states):
            if h.dim() not in (1, 2):
                which = f"hx[{i}]" if kind == "lstm" else "hidden"
                raise ArgumentValueError(
                    f"{name}: Expected {which} to be 1D or 2D, got {h.dim()}D instead",
                    hint="h.flatten(0, -2)" if h.dim() else "h.reshape(1)",
                )
        single = input.dim() == 1
        if single:
            input, states = input.unsqueeze(0), [h.unsqueeze(0) for h in states]
        if hx is None:
            start = zeros(input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device)
            states = (start, start)
        given = tuple(states) if kind == "lstm" else states[0]
        step = SPACES["function"][f"{kind}_cell"]
        found = step(input, given, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return map_state(found, lambda h: h.squeeze(0)) if single else found

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")
        kind = getattr(self, "nonlinearity", "tanh")
        return text + ("" if kind == "tanh" else f", nonlinearity={kind}")


class RNNCell(RNNCellBase):
    """One step of an `RNN`: (input, h) → the next h.

    Args:
        nonlinearity: "tanh" or "relu".

    >>> torch.nn.RNNCell(3, 4)(torch.zeros(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device=None,
        dtype=None,
    ):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None) -> Any:
        """The next state for an `input`; `hx` is zeros by default.

        Raises:
            RuntimeError: there is no such nonlinearity.
        """
        if self.nonlinearity not in ("tanh", "relu"):
            raise TensorError(f"Unknown nonlinearity: {self.nonlinearity}", hint="nonlinearity='tanh'")
        return self._fx_step(f"rnn_{self.nonlinearity}", input, hx)


class LSTMCell(RNNCellBase):
    """One step of an `LSTM`: (input, (h, c)) → the next (h, c).

    >>> h, c = torch.nn.LSTMCell(3, 4)(torch.zeros(2, 3))
    >>> h.shape, c.shape
    (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None) -> tuple[Any, Any]:
        """The next states for an `input`; `hx` is zeros by default."""
        return self._fx_step("lstm", input, hx)


class GRUCell(RNNCellBase):
    """One step of a `GRU`: (input, h) → the next h.

    >>> torch.nn.GRUCell(3, 4)(torch.zeros(3)).shape
    torch.Size([4])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None) -> Any:
        """The next state for an `input`; `hx` is zeros by default."""
        return self._fx_step("gru", input, hx)


complete_module(globals(), "nn.modules")
