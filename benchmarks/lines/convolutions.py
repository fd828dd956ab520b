"""Training steps of convolutional networks, by torch's modules, and values and gradients of single convolutions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..libraries import tape
from ..line import Contenders, Run, line

RATE = 0.01


@line(tolerance=1e-3, calls=2)
def resnet(quick: bool) -> Contenders:
    """training step of a residual network, 16 × 3 × 32²"""

    def build(torch: Any) -> Any:
        nn = torch.nn

        class Block(nn.Module):
            def __init__(self, c: int, f: int, step: int):
                super().__init__()
                self.body = nn.Sequential(
                    nn.Conv2d(c, f, 3, step, 1, bias=False), nn.BatchNorm2d(f), nn.ReLU(),
                    nn.Conv2d(f, f, 3, 1, 1, bias=False), nn.BatchNorm2d(f),
                )  # fmt: skip
                same = c == f and step == 1
                self.side = nn.Identity() if same else nn.Conv2d(c, f, 1, step, bias=False)

            def forward(self, x: Any) -> Any:
                return torch.relu(self.body(x) + self.side(x))

        stem = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
        blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
        return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))

    return _training(build, (2, 3, 8, 8) if quick else (16, 3, 32, 32))


@line(tolerance=1e-3, calls=2)
def u_net(quick: bool) -> Contenders:
    """training step of a U-Net, 4 × 1 × 64²"""

    def build(torch: Any) -> Any:
        nn = torch.nn

        def twice(c: int, f: int) -> Any:
            return nn.Sequential(
                nn.Conv2d(c, f, 3, padding=1), nn.ReLU(), nn.Conv2d(f, f, 3, padding=1), nn.ReLU()
            )

        class UNet(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.one, self.two, self.three = twice(1, 16), twice(16, 32), twice(32, 64)
                self.up_two, self.up_one = (nn.ConvTranspose2d(2 * f, f, 2, 2) for f in (32, 16))
                self.back_two, self.back_one, self.end = twice(64, 32), twice(32, 16), nn.Conv2d(16, 1, 1)

            def forward(self, x: Any) -> Any:
                x = self.one(x)
                y = self.two(nn.functional.max_pool2d(x, 2))
                z = self.up_two(self.three(nn.functional.max_pool2d(y, 2)))
                z = self.up_one(self.back_two(torch.cat([y, z], 1)))
                return self.end(self.back_one(torch.cat([x, z], 1)))

        return UNet()

    return _training(build, (1, 1, 8, 8) if quick else (4, 1, 64, 64))


@line(tolerance=1e-3, calls=2)
def depthwise_network(quick: bool) -> Contenders:
    """training step of a network of depthwise 3² and pointwise convolutions, 8 × 3 × 32²"""

    def build(torch: Any) -> Any:
        nn = torch.nn

        def separable(c: int, f: int, step: int) -> list[Any]:
            deep = nn.Conv2d(c, c, 3, step, 1, groups=c, bias=False)
            wide = nn.Conv2d(c, f, 1, bias=False)
            return [deep, nn.BatchNorm2d(c), nn.ReLU(), wide, nn.BatchNorm2d(f), nn.ReLU()]

        stem = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
        body = [*separable(16, 32, 1), *separable(32, 64, 2), *separable(64, 64, 1), *separable(64, 128, 2)]
        return nn.Sequential(*stem, *body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))

    return _training(build, (2, 3, 8, 8) if quick else (8, 3, 32, 32))


@line(tolerance=1e-3, calls=2)
def convnext_blocks(quick: bool) -> Contenders:
    """training step of blocks of depthwise 7² and 11² convolutions, 4 × 32 × 24²"""

    def build(torch: Any) -> Any:
        nn = torch.nn

        class Block(nn.Module):
            def __init__(self, c: int, size: int):
                super().__init__()
                deep = nn.Conv2d(c, c, size, padding=size // 2, groups=c)
                self.body = nn.Sequential(
                    deep, nn.GroupNorm(1, c), nn.Conv2d(c, 2 * c, 1), nn.GELU(), nn.Conv2d(2 * c, c, 1)
                )

            def forward(self, x: Any) -> Any:
                return x + self.body(x)

        return nn.Sequential(Block(32, 7), Block(32, 11))

    return _training(build, (1, 32, 8, 8) if quick else (4, 32, 24, 24))


@line(tolerance=1e-3, calls=2)
def dcgan(quick: bool) -> Contenders:
    """training step of a generator by transposed convolutions before a discriminator, 16 × 32"""

    def build(torch: Any) -> Any:
        nn = torch.nn
        generator = [
            nn.ConvTranspose2d(32, 64, 4, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh(),
        ]  # fmt: skip
        discriminator = [
            nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(16, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2),
            nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.2),
            nn.Conv2d(64, 1, 4),
        ]  # fmt: skip
        return nn.Sequential(*generator, *discriminator)

    return _training(build, (2 if quick else 16, 32, 1, 1))


def _training(build: Callable[[Any], Any], shape: tuple[int, ...]) -> Contenders:
    """Steps of SGD on the mean square of a network's results, from the same parameters."""
    rng = np.random.default_rng(0)
    x, values = rng.standard_normal(shape).astype("float32"), rng.standard_normal(1 << 18)

    def program(torch: Any, x: Any) -> Run:
        model, at = build(torch), 0
        with torch.no_grad():
            for p in model.parameters():
                if p.dim() > 1:
                    scale = (2 / p[0].numel()) ** 0.5
                    drawn = (scale * values[at : at + p.numel()]).astype("float32")
                    p.copy_(torch.tensor(drawn).reshape(p.shape))
                    at += p.numel()
                else:
                    p.zero_() if p.dim() else None
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

        def run() -> Any:
            optimizer.zero_grad()
            loss = ((model(x) - 1.0) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        return run

    return tape(program, x)


def _single(
    name: str, x: tuple[int, ...], w: tuple[int, ...], channels_last: bool = False, **options: Any
) -> Contenders:
    """The value and the gradients of one convolution of torch's."""
    rng = np.random.default_rng(0)

    def program(torch: Any, x: Any, w: Any) -> Run:
        function = getattr(torch.nn.functional, name)
        if channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        for v in (x, w):
            v.requires_grad_()
        ct = torch.ones_like(function(x, w, **options).detach())

        def run() -> Any:
            x.grad = w.grad = None
            y = function(x, w, **options)
            y.backward(ct)
            return y, x.grad, w.grad

        return run

    return tape(program, *(rng.standard_normal(s).astype("float32") for s in (x, w)))


@line(tolerance=1e-3)
def conv_transpose1d(quick: bool) -> Contenders:
    """value and gradients of conv_transpose1d, 8 × 32 × 128 to 16 × 256"""
    return _single("conv_transpose1d", (8, 32, 8 if quick else 128), (32, 16, 4), stride=2, padding=1)


@line(tolerance=1e-3)
def conv_transpose2d(quick: bool) -> Contenders:
    """value and gradients of conv_transpose2d, 8 × 32 × 16² to 16 × 32²"""
    n = 4 if quick else 16
    return _single("conv_transpose2d", (8, 32, n, n), (32, 16, 4, 4), stride=2, padding=1)


@line(tolerance=1e-3)
def conv_transpose3d(quick: bool) -> Contenders:
    """value and gradients of conv_transpose3d, 2 × 8 × 8³ to 4 × 16³"""
    n = 2 if quick else 8
    return _single("conv_transpose3d", (2, 8, n, n, n), (8, 4, 2, 2, 2), stride=2)


@line(tolerance=1e-3)
def depthwise_3(quick: bool) -> Contenders:
    """value and gradients of a depthwise 3² convolution, 8 × 64 × 28²"""
    n = 8 if quick else 28
    return _single("conv2d", (8, 64, n, n), (64, 1, 3, 3), padding=1, groups=64)


@line(tolerance=1e-3)
def depthwise_11(quick: bool) -> Contenders:
    """value and gradients of a depthwise 11² convolution, 4 × 32 × 32²"""
    n = 8 if quick else 32
    return _single("conv2d", (4, 32, n, n), (32, 1, 11, 11), padding=5, groups=32)


@line(tolerance=1e-3)
def depthwise_strided(quick: bool) -> Contenders:
    """value and gradients of a depthwise 3² convolution of steps 2, 8 × 64 × 28²"""
    n = 8 if quick else 28
    return _single("conv2d", (8, 64, n, n), (64, 1, 3, 3), padding=1, stride=2, groups=64)


@line(tolerance=1e-3)
def depthwise_last(quick: bool) -> Contenders:
    """value and gradients of a depthwise 3² convolution, channels last, 8 × 64 × 28²"""
    n = 8 if quick else 28
    return _single("conv2d", (8, 64, n, n), (64, 1, 3, 3), True, padding=1, groups=64)


@line(tolerance=1e-3)
def grouped(quick: bool) -> Contenders:
    """value and gradients of a 3² convolution in 8 groups, 8 × 64 × 16²"""
    n = 4 if quick else 16
    return _single("conv2d", (8, 64, n, n), (64, 8, 3, 3), padding=1, groups=8)


@line(tolerance=1e-3)
def dilated(quick: bool) -> Contenders:
    """value and gradients of a 3² convolution of dilation 2, 8 × 32 × 24²"""
    n = 8 if quick else 24
    return _single("conv2d", (8, 32, n, n), (32, 32, 3, 3), padding=2, dilation=2)


@line(tolerance=1e-3)
def strided(quick: bool) -> Contenders:
    """value and gradients of a 3² convolution of steps 2, 8 × 32 × 32²"""
    n = 8 if quick else 32
    return _single("conv2d", (8, 32, n, n), (64, 32, 3, 3), padding=1, stride=2)


@line(tolerance=1e-3)
def plain_3(quick: bool) -> Contenders:
    """value and gradients of a 3² convolution, 8 × 32 × 32²"""
    n = 8 if quick else 32
    return _single("conv2d", (8, 32, n, n), (32, 32, 3, 3), padding=1)


@line(tolerance=1e-3)
def plain_last(quick: bool) -> Contenders:
    """value and gradients of a 3² convolution, channels last, 8 × 32 × 32²"""
    n = 8 if quick else 32
    return _single("conv2d", (8, 32, n, n), (32, 32, 3, 3), True, padding=1)


@line(tolerance=1e-3)
def pointwise(quick: bool) -> Contenders:
    """value and gradients of a 1² convolution, 8 × 64 × 16²"""
    n = 4 if quick else 16
    return _single("conv2d", (8, 64, n, n), (128, 64, 1, 1))


@line(tolerance=1e-3)
def small_images(quick: bool) -> Contenders:
    """value and gradients of a 3² convolution of small images, 32 × 64 × 4²"""
    return _single("conv2d", (2 if quick else 32, 64, 4, 4), (64, 64, 3, 3), padding=1)


@line(tolerance=1e-3)
def convolution_1d(quick: bool) -> Contenders:
    """value and gradients of a convolution of 5 taps, 8 × 32 × 256"""
    return _single("conv1d", (8, 32, 16 if quick else 256), (32, 32, 5), padding=2)


@line(tolerance=1e-3)
def convolution_3d(quick: bool) -> Contenders:
    """value and gradients of a 3³ convolution, 2 × 8 × 12³"""
    n = 4 if quick else 12
    return _single("conv3d", (2, 8, n, n, n), (16, 8, 3, 3, 3), padding=1)
