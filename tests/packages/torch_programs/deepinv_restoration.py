"""Inverse problems with pictures: physics, total variation, and iterative reconstruction.

packages: deepinv
tolerance: 1e-3
"""

import deepinv as dinv
import torch

torch.manual_seed(0)
x = torch.rand(1, 1, 16, 16)
physics = dinv.physics.Blur(filter=dinv.physics.blur.gaussian_blur(sigma=1.0), padding="circular")
y = physics(x)
print(y.norm().item(), physics.A_adjoint(y).norm().item(), physics.A_dagger(y).norm().item())
inpainting = dinv.physics.Inpainting(img_size=(1, 16, 16), mask=0.6)
print(inpainting(x).norm().item())
prior, fidelity = dinv.optim.prior.TVPrior(n_it_max=20), dinv.optim.data_fidelity.L2()
model = dinv.optim.optim_builder(
    iteration="PGD", prior=prior, data_fidelity=fidelity, max_iter=5, params_algo={"stepsize": 1.0, "lambda": 0.01},
)  # fmt: skip
estimate = model(y, physics)
print(dinv.metric.PSNR()(estimate, x).item(), fidelity(estimate, y, physics).item())
net = dinv.models.DnCNN(1, 1, depth=4, nf=8, pretrained=None)
loss = dinv.loss.SureGaussianLoss(sigma=0.1)(
    y=y, x_net=net(y), physics=physics, model=lambda y, p, **k: net(y)
)
loss.sum().backward()
print(loss.item(), next(net.parameters()).grad.norm().item())
