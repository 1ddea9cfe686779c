# SPDX-License-Identifier: Apache-2.0
"""Cases of functions that have the same name in torch, and what several files share."""

from functional.case import Case, Spec
from functional.torch_functions import of_torch

from sycl_dnn import functional as F

LAYOUTS = ("plain", "channels_last", "strided", "reversed", "transposed")
X = Spec((3, 4, 5))
IMAGE = (2, 8, 5, 7)


def named(name, function, args, torch="", **kwargs):
    options = {k: kwargs.pop(k) for k in ("dtype", "slack", "on_gpu") if k in kwargs}
    torch = of_torch(function.__name__) if torch == "" else torch
    return Case(name, function, args, kwargs, torch, **options)


def of_words(words, *args, dtype="float32", **options):
    """A case whose first word is the name in both libraries: ``trace-bf16``."""
    name = words.partition("-")[0]
    return Case(words, getattr(F, name), args, options, of_torch(name), dtype)
