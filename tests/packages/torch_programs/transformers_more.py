"""CLIP, Whisper, a mixture of experts, a state-space model, and detection: losses and gradients of random models.

packages: transformers
tolerance: 1e-3
"""

import torch
from transformers import (
    CLIPConfig,
    CLIPModel,
    MambaConfig,
    MambaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    ResNetConfig,
    ResNetForImageClassification,
    SegformerConfig,
    SegformerForSemanticSegmentation,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

torch.manual_seed(0)
ids = torch.randint(3, 60, (2, 8))
text = dict(vocab_size=60, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
vision = dict(
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=64,
    image_size=16,
    patch_size=8,
)
clip = CLIPModel(
    CLIPConfig(
        text_config={**text, "eos_token_id": 2, "bos_token_id": 1}, vision_config=vision, projection_dim=16
    )
)
whisper = WhisperForConditionalGeneration(
    WhisperConfig(
        vocab_size=60, num_mel_bins=8, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=16, max_target_positions=16,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )
)  # fmt: skip
mixtral = MixtralForCausalLM(MixtralConfig(num_key_value_heads=1, num_local_experts=4, **text))
mamba = MambaForCausalLM(
    MambaConfig(vocab_size=60, hidden_size=32, state_size=4, num_hidden_layers=2, expand=2)
)
resnet = ResNetForImageClassification(
    ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=3)
)
segformer = SegformerForSemanticSegmentation(
    SegformerConfig(
        hidden_sizes=[8, 8, 16, 16],
        depths=[1] * 4,
        num_attention_heads=[1, 1, 2, 2],
        decoder_hidden_size=16,
        num_labels=3,
    )
)
image = torch.randn(2, 3, 32, 32)
runs = {
    "clip": (clip, dict(input_ids=ids, pixel_values=torch.randn(2, 3, 16, 16), return_loss=True)),
    "whisper": (whisper, dict(input_features=torch.randn(2, 8, 32), labels=ids)),
    "mixtral": (mixtral, dict(input_ids=ids, labels=ids)),
    "mamba": (mamba, dict(input_ids=ids, labels=ids)),
    "resnet": (resnet, dict(pixel_values=image, labels=torch.tensor([0, 2]))),
    "segformer": (segformer, dict(pixel_values=image, labels=torch.randint(3, (2, 32, 32)))),
}
for name, (model, inputs) in runs.items():
    model.eval()
    loss = model(**inputs).loss
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    print(name, loss.item(), norm.item())
