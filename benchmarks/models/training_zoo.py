# SPDX-License-Identifier: Apache-2.0
"""The trained networks by name: module, batches, loss; in the library that `library.py` chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from models import training_batches as given
from models import training_nets as nets
from models.library import F


@dataclass(frozen=True)
class Entry:
    """A network with batches of one size."""

    module: Callable[[], Any]
    #: ``batch(rng)`` returns what ``loss(net, *batch)`` accepts, as NumPy arrays.
    batch: given.Batch
    loss: Callable[..., Any]

    def batches(self, count: int) -> list[tuple[np.ndarray, ...]]:
        """Return batches, the same in each process."""
        return given.batches(self.batch, count)


def class_loss(net: Any, x: Any, labels: Any) -> Any:
    """Return the mean cross-entropy of one class for each row."""
    return F.cross_entropy(net(x), labels)


def text_loss(net: Any, letters: Any, following: Any) -> Any:
    """Return the mean cross-entropy of the next letters."""
    logits = net(letters)
    n, t, classes = logits.shape
    return F.cross_entropy(logits.reshape((n * t, classes)), following.reshape((n * t,)))


def noise_loss(net: Any, images: Any, steps: Any, noise: Any) -> Any:
    """Return the mean square error of the estimated noise."""
    return F.mse_loss(net(images, steps), noise)


_MODULES = {
    "gpt": (nets.GPT, text_loss),
    "resnet18": (nets.ResNet18, class_loss),
    "unet": (nets.UNet, noise_loss),
    "lstm": (nets.Classifier, class_loss),
    "mobilenetv3": (nets.MobileNetV3, class_loss),
    "bert": (nets.Bert, class_loss),
}
#: Arguments of the modules that make them tiny.
_SIZES = {
    "gpt": (50, 8, 32, 4, 1),
    "resnet18": (10, 16),
    "unet": (3, (8, 16), 16),
    "lstm": (50, 8, 16),
    "mobilenetv3": (10, nets.MOBILE[:4]),
    "bert": (50, 8, 32, 4, 1),
}
#: What is measured.
ENTRIES = {name: Entry(module, given.FULL[name], loss) for name, (module, loss) in _MODULES.items()}
#: The same in small sizes, at which times mean nothing.
TINY = {
    name: Entry(partial(module, *_SIZES[name]), given.TINY[name], loss)
    for name, (module, loss) in _MODULES.items()
}
