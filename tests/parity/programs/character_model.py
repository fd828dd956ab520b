"""A language model of characters: words of different lengths, packed, through an LSTM and through a GRU."""

import itertools
import re
import string

import torch
import torch.nn as nn
import torch.nn.functional as F
from given import initialize, norms, uniform
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset, Subset, random_split
from torch.utils.data.dataloader import default_collate

WORDS = re.findall(
    r"\w+",
    """
    ability absence academy account anxiety balance battery bedroom cabinet capital channel dad
    danger dawn decade effect ego engine fact farm finger gate gap harmony ice iron jacket kitchen
    lake lens magic owl
    """,
)
SPECIAL = ["<pad>", "<bos>", "<eos>"]


class Vocabulary:
    def __init__(self, symbols=string.ascii_lowercase):
        self.itos = [*SPECIAL, *symbols]
        self.stoi = {s: i for i, s in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def encode(self, word):
        return torch.tensor([1, *map(self.stoi.__getitem__, word), 2], dtype=torch.long)

    def decode(self, indices):
        letters = itertools.takewhile(lambda i: i != 2, indices)
        return "".join(self.itos[int(i)] for i in letters)


class Words(Dataset):
    def __init__(self, words, vocabulary):
        self.words, self.vocabulary = words, vocabulary

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        encoded = self.vocabulary.encode(self.words[i])
        return {"x": encoded[:-1], "y": encoded[1:], "word": self.words[i]}


def collate(batch):
    batch = sorted(batch, key=lambda item: len(item["x"]), reverse=True)
    lengths = torch.as_tensor([len(item["x"]) for item in batch])
    x = pad_sequence([item["x"] for item in batch], batch_first=True)
    y = pad_sequence([item["y"] for item in batch], batch_first=True, padding_value=-100)
    return x, y, lengths, default_collate([len(item["word"]) for item in batch])


class Model(nn.Module):
    def __init__(self, kind, size, embedding=6, hidden=8, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(size, embedding, padding_idx=0)
        self.rnn = getattr(nn, kind)(embedding, hidden, num_layers=layers, batch_first=True, dropout=0.0)
        self.out = nn.Linear(hidden, size)
        for name, p in self.named_parameters():
            if "bias_hh" in name:
                nn.init.zeros_(p)
            elif p.dim() > 1:
                nn.init.xavier_uniform_(p, gain=nn.init.calculate_gain("tanh"))

    def forward(self, x, lengths=None, state=None):
        h = self.embedding(x)
        if lengths is not None:
            h = pack_padded_sequence(h, lengths, batch_first=True)
        h, state = self.rnn(h, state)
        if isinstance(h, PackedSequence):
            h, _ = pad_packed_sequence(h, batch_first=True, total_length=x.size(1))
        return self.out(h), state


@torch.no_grad()
def complete(model, vocabulary, prefix, limit=8):
    """The likeliest continuation of a prefix."""
    was_training = model.training
    model.eval()
    x, state, found = vocabulary.encode(prefix)[None, :-1], None, []
    for _ in range(limit):
        logits, state = model(x, state=state)
        x = logits[:, -1].argmax(-1, keepdim=True)
        if x.item() == 2:
            break
        found.append(x.squeeze())
    model.train(was_training)
    return prefix + vocabulary.decode(found)


def train(kind):
    vocabulary = Vocabulary()
    model = initialize(Model(kind, len(vocabulary)), seed=4)
    data = Words(WORDS, vocabulary)
    sizes = [
        len(part) for part in random_split(data, [0.75, 0.25], generator=torch.Generator().manual_seed(7))
    ]
    order = uniform(0, len(data)).argsort().tolist()
    training, rest = Subset(data, order[: sizes[0]]), Subset(data, order[sizes[0] :])
    loader = DataLoader(training, batch_size=8, shuffle=False, collate_fn=collate, drop_last=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, betas=(0.9, 0.98), weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=2 * len(loader))
    losses, seen = [], 0
    for _ in range(2):
        for x, y, lengths, sizes in loader:
            seen += sizes.sum().item()
            optimizer.zero_grad()
            logits, _ = model(x, lengths)
            loss = F.cross_entropy(logits.transpose(1, 2), y, ignore_index=-100)
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    x, y, lengths, _ = collate([rest[i] for i in range(len(rest))])
    with torch.inference_mode():
        held_out = F.cross_entropy(model(x, lengths)[0].flatten(0, 1), y.flatten()).item()
    packed = pack_padded_sequence(x, lengths, batch_first=True)
    return {
        "losses": losses,
        "held out": held_out,
        "letters": seen,
        "sizes": [len(training), len(rest), len(loader)],
        "indices": list(training.indices),
        "packed": [packed.data.sum().item(), packed.batch_sizes.tolist()],
        "padding": model.embedding.weight.grad[0].abs().sum().item(),
        "words": [complete(model, vocabulary, prefix) for prefix in ("a", "da", "ic")],
        "parameters": norms(model.parameters()),
        "names": list(model.state_dict()),
        "text": repr(model),
    }


def run(folder):
    return {kind: train(kind) for kind in ("LSTM", "GRU", "RNN")}
