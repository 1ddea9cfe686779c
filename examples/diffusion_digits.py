# SPDX-License-Identifier: Apache-2.0
"""A diffusion model of digits: a small U-Net learns which noise was added, then removes it."""

from __future__ import annotations

import dpnp
import numpy as np
from _training import begin, check, digit_images, finish, save_picture, shuffled, train

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

TIMES, WIDTH = 50, 32
#: Fraction of the image that remains at each time; arXiv:2102.09672, equation 17.
LEFT = np.cos((np.arange(TIMES) + 1) / (TIMES + 1) * np.pi / 2).astype("f4") ** 2


class UNet(nn.Module):
    """Maps noisy images (N, 1, 8, 8) and their times (N,) to noise."""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.times = nn.Embedding(TIMES, 2 * width)
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.norm1, self.norm2 = nn.GroupNorm(8, 2 * width), nn.GroupNorm(8, width)
        self.middle = nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.join, self.out = (nn.Conv2d(2 * width, n, 3, padding=1) for n in (width, width))
        self.last = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, times):
        """Return the noise."""
        first = F.silu(self.stem(x))
        y = self.down(first) + self.times(times)[:, :, None, None]
        y = y + self.middle(F.silu(self.norm1(y)))
        y = F.silu(self.norm2(self.join(F.cat([self.up(F.silu(y)), first], 1))))
        return self.last(self.out(F.cat([y, first], 1)) + y)


def loss(net, noisy, times, noise):
    """Return the mean squared error of the noise."""
    return F.mse_loss(net(noisy, times), noise)


def draw(net, count, queue):
    """Return images generated from noise step by step: DDIM, arXiv:2010.02502."""
    run = sycl_dnn.compile(lambda net, x, times: net(x, times))
    x = F.randn(count, 1, 8, 8, device=queue)
    for time in reversed(range(TIMES)):
        left, before = float(LEFT[time]), float(LEFT[time - 1]) if time else 1.0
        noise = run(net, x, dpnp.full(count, time, dtype="i8", sycl_queue=queue))
        image = dpnp.clip((x - (1 - left) ** 0.5 * noise) / left**0.5, -1, 1)
        x = before**0.5 * image + (1 - before) ** 0.5 * noise
    return x


def main() -> None:
    """Train; fail if too much noise remains; write a picture of generated digits."""
    options, queue = begin(__doc__, steps=600, rate=3e-3)
    images, _ = digit_images(queue)
    rng = np.random.default_rng(options.seed)

    def batches():
        for (some,) in shuffled((images,), 64, options.seed):
            times, noise = rng.integers(0, TIMES, len(some)), F.randn(*some.shape, device=queue)
            left = dpnp.asarray(LEFT[times].reshape(-1, 1, 1, 1), sycl_queue=queue)
            noisy = dpnp.sqrt(left) * some + dpnp.sqrt(1 - left) * noise
            yield noisy, dpnp.asarray(times, sycl_queue=queue), noise

    opt = optim.AdamW(optim.schedules.cosine(options.rate, options.steps), max_norm=1.0)
    net, _, losses = train(UNet().to(queue), opt, loss, batches(), options)
    last = float(np.mean(losses[-20:]))
    path = save_picture(draw(net.eval(), 32, queue), "diffusion_digits")
    print(f"error of the noise {losses[0]:.3f} to {last:.3f}; drawn digits in {path}")
    check(options, "at most a quarter of the noise may be left", last < 0.25)
    finish(options, "diffusion_digits", losses)


if __name__ == "__main__":
    main()
