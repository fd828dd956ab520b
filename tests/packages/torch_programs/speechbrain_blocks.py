"""Blocks for speech: filterbank features, recurrent and convolutional layers, and losses of sequences.

packages: speechbrain
tolerance: 1e-3
"""

import torch
from speechbrain.lobes.features import Fbank
from speechbrain.lobes.models.CRDNN import CRDNN
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
from speechbrain.nnet.losses import bce_loss, ctc_loss, get_si_snr_with_pitwrapper, nll_loss
from speechbrain.processing.features import InputNormalization

torch.manual_seed(0)
lengths = torch.tensor([1.0, 0.75])
features = Fbank(n_mels=24)(torch.randn(2, 8000))
features = InputNormalization()(features, lengths)
print(list(features.shape), features.std().item())
encoder = CRDNN(
    input_size=24, cnn_blocks=1, cnn_channels=(4,), cnn_kernelsize=(3, 3), time_pooling=True, rnn_layers=1, rnn_neurons=8,
    rnn_bidirectional=True, dnn_blocks=1, dnn_neurons=10,
).eval()  # fmt: skip
scores = torch.log_softmax(encoder(features), -1)
targets = torch.randint(1, 10, (2, 5))
loss = ctc_loss(scores, targets, lengths, torch.ones(2), blank_index=0)
loss.backward()
print(list(scores.shape), loss.item(), next(encoder.parameters()).grad.norm().item())
speaker = ECAPA_TDNN(24, channels=[8] * 4 + [24], lin_neurons=6, attention_channels=4).eval()
print(speaker(features, lengths).flatten()[:5].tolist())
print(nll_loss(scores[:, :5], targets, lengths).item(), bce_loss(torch.randn(2, 5), torch.ones(2, 5)).item())
print(get_si_snr_with_pitwrapper(torch.randn(1, 50, 2), torch.randn(1, 50, 2)).tolist())
