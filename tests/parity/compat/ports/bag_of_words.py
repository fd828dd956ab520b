"""A bag of words with a DataLoader, EmbeddingBag, class weights, a metrics table."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, random_split


class Sentences(Dataset):
    def __init__(self, rng, n=37, vocab=20):
        self.items = [
            (torch.from_numpy(rng.integers(0, vocab, rng.integers(2, 7))), int(rng.integers(0, 3)))
            for _ in range(n)
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    texts, labels = zip(*batch)
    offsets = torch.tensor([0] + [len(t) for t in texts[:-1]]).cumsum(0)
    return torch.cat(texts), offsets, torch.tensor(labels)


class Bag(nn.Module):
    def __init__(self, vocab, d, classes):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab, d, mode="mean")
        self.fc = nn.Linear(d, classes)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


def main():
    rng = np.random.default_rng(17)
    data = Sentences(rng)
    loader = DataLoader(data, batch_size=8, shuffle=False, collate_fn=collate, drop_last=False)
    model = Bag(20, 6, 3).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.standard_normal(p.shape)))
    crit = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5], dtype=torch.double))
    opt = torch.optim.Adagrad(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        for text, off, lab in loader:
            opt.zero_grad()
            loss = crit(model(text, off), lab)
            loss.backward()
            opt.step()
            losses.append(loss.item())
    out = {"n": len(loader), "losses": losses, "emb": model.embedding.weight.detach().numpy()}
    X, y = torch.arange(30.0).view(10, 3), torch.arange(10)
    ds = TensorDataset(X, y)
    out["len"] = len(ds)
    a = []
    for _ in range(2):
        seen = []
        for xb, yb in DataLoader(ds, batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(0)):
            assert torch.equal(xb[:, 0], yb * 3.0)
            seen += yb.tolist()
        a.append(sorted(seen))
    out["seen"] = a
    out["last"] = [tuple(xb.shape) for xb, _ in DataLoader(ds, 4, drop_last=True)]
    mixed = [
        {"x": np.ones(2, dtype=np.float32) * i, "n": i, "f": 0.5 * i, "s": str(i), "t": (i, torch.tensor(i))}
        for i in range(4)
    ]
    b = next(iter(DataLoader(mixed, batch_size=3)))
    out["mixed"] = [
        str(b["x"].dtype),
        b["x"].tolist(),
        b["n"].tolist(),
        str(b["f"].dtype),
        b["s"],
        [t.tolist() for t in b["t"]],
    ]
    tr, va = random_split(range(10), [7, 3], generator=torch.Generator().manual_seed(3))
    out["split"] = [len(tr), len(va), sorted(list(tr) + list(va))]
    out["sub"] = [v.item() for _, v in Subset(ds, [3, 1])]
    return out
