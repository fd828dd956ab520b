"""A character transformer, trained on text: a script for torch.

`main` is what the script does; its parts are functions, so that others can measure them.
"""

import math
import pydoc_data.topics
import re

import torch
import torch.nn.functional as F
from torch import nn

ALPHABET = " abcdefghijklmnopqrstuvwxyz"


def read_text():
    """Python's reference as it comes with Python, in 27 characters: letters, and spaces for all between words."""
    topics = pydoc_data.topics.topics
    text = " ".join(topics[name] for name in sorted(topics))
    return re.sub("[^a-z]+", " ", text.lower())


def encode(text):
    return torch.tensor([ALPHABET.index(c) for c in text])


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.attend(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, width=64, heads=4, depth=2, context=64):
        super().__init__()
        self.context = context
        self.characters = nn.Embedding(len(ALPHABET), width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(ALPHABET))

    def forward(self, tokens):
        x = self.characters(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss_of(model, windows):
    """The mean cross entropy of every next character of windows."""
    scores = model(windows[:, :-1])
    return F.cross_entropy(scores.reshape(-1, len(ALPHABET)), windows[:, 1:].reshape(-1))


def draw_windows(text, size, length):
    starts = torch.randint(len(text) - length, (size,))
    return torch.stack([text[i : i + length] for i in starts.tolist()])


def train(text, steps, size=16, seed=0):
    """The trained model, and the losses in bits per character."""
    torch.manual_seed(seed)
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(steps):
        windows = draw_windows(text, size, model.context + 1)
        loss = loss_of(model, windows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item() / math.log(2))
    return model, losses


def evaluate(model, text):
    """Bits per character of a text, which is cut into windows."""
    length = model.context + 1
    windows = text[: len(text) // length * length].view(-1, length)
    with torch.no_grad():
        return loss_of(model, windows).item() / math.log(2)


def main(steps=300):
    text = encode(read_text())
    held_out = len(text) // 10
    model, _ = train(text[:-held_out], steps)
    print(f"{evaluate(model, text[-held_out:]):.3f} bits per character")


if __name__ == "__main__":
    main()
