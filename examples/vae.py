# SPDX-License-Identifier: Apache-2.0
"""A variational autoencoder of digits: two losses in one compiled step, then new digits."""

from __future__ import annotations

import numpy as np
from _training import begin, check, digit_images, finish, save_picture, shuffled, train

from sycl_dnn import functional as F
from sycl_dnn import nn, optim

CODE = 8


class Autoencoder(nn.Module):
    """Maps images (N, 64) to codes and back; ``noise`` (N, CODE) perturbs the codes."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 2 * CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, 256), nn.SiLU(), nn.Linear(256, 64), nn.Tanh())

    def forward(self, x, noise):
        """Return the reconstructed images, and mean and log-variance of their codes."""
        mean, spread = self.encoder(x).chunk(2, 1)
        return self.decoder(mean + noise * F.exp(spread * 0.5)), mean, spread


def loss(net, images, noise):
    """Return the squared error of an image and the information in its code, in nats."""
    again, mean, spread = net(images, noise)
    error = F.sum(F.square(again - images)) * 2.0
    told = F.sum(F.exp(spread) + F.square(mean) - 1.0 - spread) * 0.5
    return (error + told) / images.shape[0]


def main() -> None:
    """Train; fail if digits are not reconstructed; write a picture of new digits."""
    options, queue = begin(__doc__, steps=600, rate=3e-3)
    images, _ = digit_images(queue)
    images = F.flatten(images, 1)

    def batches():
        for (some,) in shuffled((images,), 128, options.seed):
            yield some, F.randn(len(some), CODE, device=queue)

    net, opt = Autoencoder().to(queue), optim.AdamW(options.rate)
    net, _, losses = train(net, opt, loss, batches(), options)
    again, *_ = net.eval()(images, F.zeros(len(images), CODE, device=queue))
    variance = F.mean(F.square(images - F.mean(images, 0)))
    lost = float(F.mean(F.square(again - images)) / variance)
    new = F.reshape(net.decoder(F.randn(32, CODE, device=queue)), (32, 1, 8, 8))
    path = save_picture(new, "vae")
    print(f"loss {losses[0]:.1f} to {np.mean(losses[-20:]):.1f}; lost of the variance: "
          f"{lost:.3f}; new digits in {path}")  # fmt: skip
    check(options, "less than half of the variance must be lost", lost < 0.5)
    finish(options, "vae", losses)


if __name__ == "__main__":
    main()
