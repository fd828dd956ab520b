"""Whole programs as people write them for torch: small models whose time goes into many small calls."""

from typing import Any

import numpy as np

from ..libraries import tape
from ..line import Contenders, Run, line

TOLERANCE = 1e-4  # of losses in float32 after a few steps


def fill(torch: Any, parameters: Any, seed: int = 0) -> list[Any]:
    """The parameters, with the same small numbers in every library."""
    rng, given = np.random.default_rng(seed), list(parameters)
    with torch.no_grad():
        for p in given:
            numbers = rng.standard_normal(tuple(p.shape)) * 0.5 / max(p.shape[-1], 1) ** 0.5
            p.copy_(torch.from_numpy(numbers.astype("float32")))
    return given


def training(torch: Any, parameters: list[Any], loss_of: Any) -> Run:
    """A step of Adam."""
    optimizer = torch.optim.Adam(parameters, lr=1e-3)

    def run() -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return run


@line(tolerance=TOLERANCE, calls=3)
def language_model(quick: bool) -> Contenders:
    """training step of a language model of 2 layers, width 64, batch 8×32"""
    width, heads, layers, (batch, length), words = 64, 4, 1 if quick else 2, (8, 32), 65
    tokens = np.random.default_rng(0).integers(0, words, (batch, length + 1))

    def program(torch: Any, tokens: Any) -> Run:
        nn, F = torch.nn, torch.nn.functional

        class Block(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def attend(self, x: Any) -> Any:
                b, t, c = x.size()
                parts = self.qkv(x).split(width, dim=2)
                q, k, v = [p.view(b, t, heads, c // heads).transpose(1, 2) for p in parts]
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                return self.out(y.transpose(1, 2).contiguous().view(b, t, c))

            def forward(self, x: Any) -> Any:
                x = x + self.attend(self.before(x))
                return x + self.down(F.gelu(self.up(self.between(x))))

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
                self.blocks = nn.ModuleList([Block() for _ in range(layers)])
                self.last, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

            def forward(self, x: Any) -> Any:
                x = self.words(x) + self.places(torch.arange(x.size(1)))
                for block in self.blocks:
                    x = block(x)
                return self.head(self.last(x))

        model = Model()
        x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        parameters = fill(torch, model.parameters())
        return training(torch, parameters, lambda: F.cross_entropy(model(x).view(-1, words), y.view(-1)))

    return tape(program, tokens)


# Coefficients of Dormand and Prince (1980): the rows of the steps before, and the weights of the result.
ROWS = [
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
]
WEIGHTS = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]


@line(tolerance=TOLERANCE, calls=3)
def ode_adjoint(quick: bool) -> Contenders:
    """gradient of an ODE's end by its adjoint, Dormand-Prince steps, an MLP 2-32-2"""
    steps = 4 if quick else 20
    start = np.random.default_rng(0).standard_normal((16, 2)).astype("float32")

    def program(torch: Any, start: Any) -> Run:
        nn = torch.nn
        field = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        parameters = fill(torch, field.parameters())

        def advance(slope: Any, state: list[Any], h: float) -> list[Any]:
            slopes = [slope(state)]
            for row in ROWS:
                given = [y + h * sum(a * k[i] for a, k in zip(row, slopes)) for i, y in enumerate(state)]
                slopes.append(slope(given))
            return [y + h * sum(b * k[i] for b, k in zip(WEIGHTS, slopes) if b) for i, y in enumerate(state)]

        def adjoint_slope(state: list[Any]) -> list[Any]:
            with torch.enable_grad():
                y = state[0].detach().requires_grad_()
                value = field(y)
                found = torch.autograd.grad(value, (y, *parameters), state[1])
            return [value.detach(), *[-g for g in found]]

        class Solve(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, y: Any, *weights: Any) -> Any:
                for _ in range(steps):
                    (y,) = advance(lambda state: [field(state[0])], [y], 1 / steps)
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx: Any, ct: Any) -> Any:
                (y,) = ctx.saved_tensors
                state = [y, ct, *[torch.zeros_like(p) for p in parameters]]
                with torch.no_grad():
                    for _ in range(steps):
                        state = advance(adjoint_slope, state, -1 / steps)
                return tuple(state[1:])

        def run() -> Any:
            loss = Solve.apply(start, *parameters).square().mean()
            return loss, *torch.autograd.grad(loss, parameters)

        return run

    return tape(program, start)


@line(tolerance=TOLERANCE, calls=3)
def meta_learning(quick: bool) -> Contenders:
    """step of second-order MAML on sine waves, 4 tasks, an MLP 1-40-40-1"""
    tasks = 1 if quick else 4
    rng = np.random.default_rng(0)
    x = rng.uniform(-5, 5, (2, tasks, 10, 1)).astype("float32")
    y = np.sin(x + rng.uniform(0, np.pi, (tasks, 1, 1)).astype("float32"))

    def program(torch: Any, x: Any, y: Any) -> Run:
        F = torch.nn.functional
        shapes = [(40, 1), (40,), (40, 40), (40,), (1, 40), (1,)]
        weights = fill(torch, [torch.zeros(s, requires_grad=True) for s in shapes])

        def loss_of(weights: Any, x: Any, y: Any) -> Any:
            x = F.relu(F.linear(x, weights[0], weights[1]))
            x = F.relu(F.linear(x, weights[2], weights[3]))
            return F.mse_loss(F.linear(x, weights[4], weights[5]), y)

        def outer_loss() -> Any:
            total = 0.0
            for task in range(tasks):
                inner = loss_of(weights, x[0, task], y[0, task])
                slopes = torch.autograd.grad(inner, weights, create_graph=True)
                adapted = [w - 0.01 * g for w, g in zip(weights, slopes)]
                total = total + loss_of(adapted, x[1, task], y[1, task])
            return total / tasks

        return training(torch, weights, outer_loss)

    return tape(program, x, y)


@line(tolerance=TOLERANCE, calls=3)
def character_lstm(quick: bool) -> Contenders:
    """training step of a character LSTM, width 64, batch 16×32"""
    letters, width, length = 40, 64, 8 if quick else 32
    tokens = np.random.default_rng(0).integers(0, letters, (16, length + 1))

    def program(torch: Any, tokens: Any) -> Run:
        nn = torch.nn
        table, lstm = nn.Embedding(letters, width), nn.LSTM(width, width, batch_first=True)
        head = nn.Linear(width, letters)
        x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].reshape(-1)
        parameters = fill(torch, [p for m in (table, lstm, head) for p in m.parameters()])

        def loss_of() -> Any:
            hidden, _ = lstm(table(x))
            return nn.functional.cross_entropy(head(hidden).reshape(-1, letters), y)

        return training(torch, parameters, loss_of)

    return tape(program, tokens)


@line(tolerance=TOLERANCE, calls=3)
def autoencoder(quick: bool) -> Contenders:
    """training step of a variational autoencoder 784-128-8, batch 32"""
    sizes, code, batch = (64 if quick else 784, 128), 8, 32
    rng = np.random.default_rng(0)
    images = rng.uniform(0, 1, (batch, sizes[0])).astype("float32")
    noise = rng.standard_normal((batch, code)).astype("float32")

    def program(torch: Any, images: Any, noise: Any) -> Run:
        nn, F = torch.nn, torch.nn.functional
        encoder = nn.Sequential(nn.Linear(*sizes), nn.ReLU(), nn.Linear(sizes[1], 2 * code))
        decoder = nn.Sequential(nn.Linear(code, sizes[1]), nn.ReLU(), nn.Linear(sizes[1], sizes[0]))
        parameters = fill(torch, [*encoder.parameters(), *decoder.parameters()])

        def loss_of() -> Any:
            mean, log_variance = encoder(images).chunk(2, dim=1)
            shown = decoder(mean + noise * torch.exp(0.5 * log_variance))
            likelihood = F.binary_cross_entropy_with_logits(shown, images, reduction="sum")
            divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
            return (likelihood + divergence) / batch

        return training(torch, parameters, loss_of)

    return tape(program, images, noise)
