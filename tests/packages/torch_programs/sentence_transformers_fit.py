"""Sentence embeddings of a small transformer: similarities and losses.

packages: sentence-transformers
tolerance: 1e-3
"""

import tempfile
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer, losses, models, util
from transformers import BertConfig, BertModel, BertTokenizerFast

torch.manual_seed(0)
words = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "a",
    "cat",
    "sat",
    "on",
    "the",
    "mat",
    "dog",
    "ran",
    "in",
    "park",
    "rain",
    "falls",
]
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(f"{folder}/vocab.txt").save_pretrained(folder)
    shape = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    BertModel(BertConfig(vocab_size=len(words), **shape)).save_pretrained(folder)
    transformer = models.Transformer(folder, max_seq_length=12)
model = SentenceTransformer(
    modules=[transformer, models.Pooling(16, "mean"), models.Normalize()], device="cpu"
)
texts = ["a cat sat on the mat", "the dog ran in the park", "rain falls on a cat", "a dog sat"]
embeddings = model.encode(texts, convert_to_tensor=True)
print(
    util.cos_sim(embeddings, embeddings)[0].tolist(),
    util.semantic_search(embeddings[:1], embeddings, top_k=2)[0],
)
model.eval()
features = [model.tokenize(part) for part in (texts[:2], texts[2:])]
for loss, labels in (
    (losses.CosineSimilarityLoss(model), torch.tensor([0.2, 0.9])),
    (losses.MultipleNegativesRankingLoss(model), None),
    (losses.ContrastiveLoss(model), torch.tensor([0, 1])),
    (losses.CoSENTLoss(model), torch.tensor([0.2, 0.9])),
):
    model.zero_grad()
    value = loss([dict(f) for f in features], labels)
    value.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    print(type(loss).__name__, value.item(), norm.item())
