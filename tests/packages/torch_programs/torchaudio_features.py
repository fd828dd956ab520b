"""Features of audio: spectrograms, cepstra, filters, resampling and a loss.

packages: torchaudio
tolerance: 1e-3
"""

import torch
import torchaudio
from torchaudio import functional as F
from torchaudio import transforms as T

torch.manual_seed(0)
wave = torch.randn(2, 4000, requires_grad=True)
for transform in (
    T.Spectrogram(n_fft=256),
    T.MelSpectrogram(8000, n_fft=256, n_mels=20),
    T.MFCC(8000, n_mfcc=10, melkwargs={"n_fft": 256, "n_mels": 20}),
    T.LFCC(8000, n_filter=16, n_lfcc=8, speckwargs={"n_fft": 256}),
    T.Resample(8000, 6000),
    T.Fade(100, 200),
    T.AmplitudeToDB(),
    T.ComputeDeltas(),
    T.SpectralCentroid(8000, n_fft=256),
):
    y = transform(wave.square() if isinstance(transform, T.AmplitudeToDB) else wave)
    (gradient,) = torch.autograd.grad(y.square().mean(), wave)
    print(type(transform).__name__, list(y.shape), y.mean().item(), gradient.norm().item())
print(
    F.pitch_shift(wave, 8000, 3, n_fft=256).norm().item(),
    F.detect_pitch_frequency(wave.detach(), 8000).mean().item(),
)
print(
    F.convolve(wave, torch.ones(1, 5).expand(2, 5))[0, :3].tolist(),
    F.mu_law_encoding(wave.tanh(), 256)[0, :5].tolist(),
)
low = F.lowpass_biquad(wave, 8000, 1000.0)
cutoff = torch.tensor([0.1, -0.4, 0.2], requires_grad=True)
filtered = F.lfilter(wave[:, :200], cutoff.exp(), torch.tensor([0.5, 0.5, 0.1]), clamp=False)
print(
    low.norm().item(), [g.norm().item() for g in torch.autograd.grad(filtered.square().sum(), (wave, cutoff))]
)
print(
    F.overdrive(wave.detach()[:, :400]).norm().item(),
    torch.autograd.grad(low.square().sum(), wave)[0].norm().item(),
)
spectrum = torch.stft(wave, 256, window=torch.hann_window(256), return_complex=True)
print(T.GriffinLim(n_fft=256, n_iter=4, rand_init=False)(spectrum.abs().square()).norm().item())
print(T.TimeStretch(n_freq=129, fixed_rate=1.2)(spectrum).abs().mean().item())
model = torchaudio.models.Conformer(
    input_dim=20, num_heads=2, ffn_dim=16, num_layers=1, depthwise_conv_kernel_size=3
).eval()
out, _ = model(torch.randn(2, 12, 20), torch.tensor([12, 8]))
print(
    out.norm().item(),
    torchaudio.models.Wav2Letter(num_classes=5, input_type="mfcc", num_features=4)(
        torch.randn(1, 4, 200)
    ).shape,
)
