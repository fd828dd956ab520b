"""Embeddings of sentences by a small encoder that is made here, pooled, and trained by a contrastive loss.

packages: transformers
tolerance: 1e-4
"""

import torch
from transformers import DistilBertConfig, DistilBertModel, get_cosine_schedule_with_warmup

torch.manual_seed(0)
model = DistilBertModel(
    DistilBertConfig(
        vocab_size=50, dim=32, n_layers=2, n_heads=4, hidden_dim=64, dropout=0.0, attention_dropout=0.0
    )
)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
schedule = get_cosine_schedule_with_warmup(optimizer, 1, 4)
first, second = torch.randint(50, (6, 9)), torch.randint(50, (6, 9))
mask = (torch.arange(9) < torch.randint(4, 10, (6, 1))).long()


def embed(ids):
    hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
    pooled = (hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
    return torch.nn.functional.normalize(pooled, dim=-1)


for _ in range(4):
    scores = embed(first) @ embed(second).T * 20
    loss = torch.nn.functional.cross_entropy(scores, torch.arange(6))
    loss.backward()
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    print(loss.item(), schedule.get_last_lr()[0])
