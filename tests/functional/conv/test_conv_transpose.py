# SPDX-License-Identifier: Apache-2.0
from functional.case import Case, Spec
from functional.checks import FALLS_BACK, checked

from sycl_dnn import functional as F

#: name: function, shapes of input, weight, bias, then stride, padding, output_padding, groups...
_CALLS = {
    "signal": (F.conv_transpose1d, (2, 3, 9), (3, 5, 4), (5,), 2, 1),
    "signal-dilated": (F.conv_transpose1d, (2, 4, 7), (4, 3, 3), None, 3, 2, 1, 2, 2),
    "signal-single": (F.conv_transpose1d, (3, 6), (3, 2, 5), (2,)),
    "image": (F.conv_transpose2d, (2, 3, 5, 7), (3, 8, 3, 3), (8,), 2, 1, 1),
    "image-1x1": (F.conv_transpose2d, (2, 5, 4, 4), (5, 5, 1, 1), None),
    "image-1x1-strided": (F.conv_transpose2d, (2, 16, 4, 4), (16, 32, 1, 1), (32,), 2),
    "image-single": (F.conv_transpose2d, (3, 4, 5), (3, 4, 3, 2), (4,), (2, 1), (1, 0)),
    "image-primes": (F.conv_transpose2d, (1, 7, 5, 3), (7, 11, 3, 5), (11,), (3, 2), (2, 1),
                     (1, 0), 1, (2, 1)),
    "image-groups": (F.conv_transpose2d, (2, 6, 5, 5), (6, 3, 3, 3), (9,), 1, 1, 0, 3),
    "image-depthwise": (F.conv_transpose2d, (2, 16, 5, 5), (16, 1, 4, 4), (16,), 2, 1, 0, 16),
    "image-few-wide": (F.conv_transpose2d, (2, 16, 6, 6), (16, 3, 6, 6), (3,), 2, 2),
    "image-extra-by-dilation": (F.conv_transpose2d, (1, 4, 4, 4), (4, 4, 3, 3), None, 1, 0, 1, 1,
                                2),
    "image-gaps": (F.conv_transpose2d, (2, 16, 5, 4), (16, 8, 1, 2), (8,), (2, 3)),
    "image-over-cut": (F.conv_transpose2d, (1, 1, 9, 9), (1, 1, 3, 3), None, 1, 3),
    "volume": (F.conv_transpose3d, (1, 3, 3, 4, 3), (3, 4, 3, 3, 2), (4,), (1, 2, 1), (1, 1, 0)),
    "volume-groups": (F.conv_transpose3d, (2, 4, 3, 3, 3), (4, 2, 2, 2, 2), None, 2, 0, 0, 2),
    "volume-small": (F.conv_transpose3d, (1, 4, 3, 2, 1), (4, 3, 5, 5, 4), None, 1, (2, 1, 0)),
    "signal-lone": (F.conv_transpose1d, (2, 17, 1), (17, 1, 2), (1,), 3, 0, 2),
    "volume-over-cut": (F.conv_transpose3d, (1, 1, 9, 9, 9), (1, 1, 3, 3, 3), None, 1, 3),
}  # fmt: skip


def _case(name, function, x, w, b, *rest, layouts=("plain", "plain")):
    specs = [Spec(x, layout=layouts[0]), Spec(w, layout=layouts[1]), b and Spec(b)]
    traits = {"torch": function.__name__, "on_gpu": name in ("image", "volume")}
    return Case(name, function, (*specs, *rest), **traits)


CASES = [_case(name, *call) for name, call in _CALLS.items()]
CASES += [
    _case(f"image-{a}-{b}", *_CALLS["image"], layouts=(a, b))
    for a, b in [
        ("channels_last", "plain"),
        ("strided", "reversed"),
        ("transposed", "strided"),
        ("reversed", "channels_last"),
    ]  # fmt: skip
]
_PAIRS = (Spec((2, 3, 4, 5)), Spec((3, 4, 3, 3)), None, 2, ((0, 1), (2, 0)))


def _cut(x, w, b, stride, pads):
    """torch crops both sides equally."""
    import torch

    result = torch.nn.functional.conv_transpose2d(x, w, b, stride)
    (top, bottom), (left, right) = pads
    return result[..., top : result.shape[-2] - bottom, left : result.shape[-1] - right]


CASES.append(Case("image-pairs", F.conv_transpose2d, _PAIRS, torch=_cut))
_NARROW = ("signal", "image", "image-1x1", "image-groups", "image-depthwise", "image-few-wide",
           "image-gaps", "volume", "volume-over-cut", "volume-small", "signal-lone")  # fmt: skip
CASES += [case.as_dtype("bfloat16") for case in CASES if case.name in _NARROW]
_HALF = CASES[3].as_dtype("float16")
TestCases = checked([*CASES, _HALF], FALLS_BACK, sweep=2)
