"""Filterbanks for audio: encoders and decoders that are free, analytic, or of the Fourier transform.

packages: asteroid-filterbanks
tolerance: 1e-3
"""

import torch
from asteroid_filterbanks import STFTFB, AnalyticFreeFB, Decoder, Encoder, FreeFB, make_enc_dec
from asteroid_filterbanks.transforms import from_torch_complex, mag, to_torch_complex

torch.manual_seed(0)
signal = torch.randn(2, 1, 400, requires_grad=True)
for bank in (FreeFB(16, 16, stride=8), AnalyticFreeFB(16, 16, stride=8), STFTFB(16, 16, stride=8)):
    encoder, decoder = Encoder(bank), Decoder(bank)
    code = encoder(signal)
    out = decoder(code)
    (gradient,) = torch.autograd.grad(out.square().sum(), signal)
    print(
        type(bank).__name__, list(code.shape), code.norm().item(), out.norm().item(), gradient.norm().item()
    )
encoder, decoder = make_enc_dec("stft", n_filters=32, kernel_size=32, stride=16, who_is_pinv="decoder")
code = encoder(signal)
print(mag(code).mean().item(), to_torch_complex(code).abs().sum().item())
print(
    torch.allclose(from_torch_complex(to_torch_complex(code)), code),
    decoder(code)[..., 50:60].flatten()[:4].tolist(),
)
