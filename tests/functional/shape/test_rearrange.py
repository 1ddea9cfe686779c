# SPDX-License-Identifier: Apache-2.0
"""Channel and pixel shuffles."""

from functional.case import Spec
from functional.checks import checked
from functional.named import IMAGE, LAYOUTS, named

from sycl_dnn import functional as F

CASES = [
    named(name, f, (Spec(shape, layout=layout), factor), f.__name__, on_gpu=layout == "plain")
    for layout in LAYOUTS
    for name, f, shape, factor in (
        (f"channel_shuffle-{layout}", F.channel_shuffle, IMAGE, 4),
        (f"pixel_shuffle-{layout}", F.pixel_shuffle, IMAGE, 2),
        (f"pixel_unshuffle-{layout}", F.pixel_unshuffle, (2, 3, 6, 4), 2),
    )
]
CASES += [
    named("channel_shuffle-3d", F.channel_shuffle, (Spec((1, 6, 3)), 3),
          "channel_shuffle"),
    named("channel_shuffle-5d", F.channel_shuffle, (Spec((2, 6, 3, 1, 2)), 2),
          "channel_shuffle"),
    named("pixel_shuffle-alone", F.pixel_shuffle, (Spec((18, 3, 1)), 3),
          "pixel_shuffle"),
    named("pixel_shuffle-batches", F.pixel_shuffle, (Spec((2, 1, 4, 3, 2)), 2),
          "pixel_shuffle"),
    named("pixel_shuffle-empty", F.pixel_shuffle, (Spec((0, 4, 3, 2)), 2),
          lambda x, r: x.reshape(0, x.shape[1] // r**2, 6, 4)),
]  # fmt: skip
NARROW = ("channel_shuffle-plain", "pixel_shuffle-channels_last", "pixel_unshuffle-plain")
CASES += [c.as_dtype(d) for c in CASES for d in ("bfloat16", "float16") if c.name in NARROW]
TestCases = checked(CASES, sweep=2)
