"""BERT for classification, T5 from texts to texts, ViT and Llama: losses and gradients.

packages: transformers
tolerance: 1e-4
"""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
)

torch.manual_seed(0)
small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
ids = torch.randint(3, 60, (2, 10))
bert = BertForSequenceClassification(BertConfig(vocab_size=60, num_labels=3, **small))
llama = LlamaForCausalLM(LlamaConfig(vocab_size=60, num_key_value_heads=2, **small))
vit = ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, num_labels=4, **small))
t5 = T5ForConditionalGeneration(
    T5Config(vocab_size=60, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0)
)
runs = {
    "bert": (bert, dict(input_ids=ids, attention_mask=torch.ones_like(ids), labels=torch.tensor([0, 2]))),
    "llama": (llama, dict(input_ids=ids, labels=ids)),
    "vit": (vit, dict(pixel_values=torch.randn(2, 3, 32, 32), labels=torch.tensor([1, 3]))),
    "t5": (t5, dict(input_ids=ids, labels=ids[:, :6].contiguous())),
}
for name, (model, inputs) in runs.items():
    model.eval()
    loss = model(**inputs).loss
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    print(name, loss.item(), norm.item())
