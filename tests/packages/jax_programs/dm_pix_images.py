"""Transformations and measures of images.

packages: dm-pix
tolerance: 1e-4
"""

import dm_pix as pix
import jax

image = jax.random.uniform(jax.random.PRNGKey(0), (8, 8, 3))
other = pix.gaussian_blur(image, sigma=1.0, kernel_size=3)
print(other.sum(axis=(0, 1)).tolist(), float(pix.psnr(image, other)), float(pix.ssim(image, other)))
print(
    pix.rgb_to_hsv(image)[0, 0].tolist(),
    pix.adjust_contrast(image, 0.5)[0, 0].tolist(),
    pix.rot90(pix.flip_left_right(image))[0, 0].tolist(),
)
print(
    pix.random_flip_up_down(jax.random.PRNGKey(1), image)[0, 0].tolist(),
    pix.adjust_hue(image, 0.1)[1, 1].tolist(),
)
print(jax.grad(lambda x: pix.mse(x, image))(other)[0, 0].tolist())
