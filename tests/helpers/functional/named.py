# SPDX-License-Identifier: Apache-2.0
"""Cases of functions that have the same name in torch, and what several files share."""

from functional.case import Case, Spec

LAYOUTS = ("plain", "channels_last", "strided", "reversed", "transposed")
X = Spec((3, 4, 5))
IMAGE = (2, 8, 5, 7)


def by_torch(name):
    """torch's function, or a tensor's method if torch has no function of that name."""

    def call(*args, **kwargs):
        import torch

        return getattr(torch, name)(*args, **kwargs)

    return call


def named(name, function, args, torch="", **kwargs):
    options = {k: kwargs.pop(k) for k in ("dtype", "slack", "on_gpu") if k in kwargs}
    torch = by_torch(function.__name__) if torch == "" else torch
    return Case(name, function, args, kwargs, torch, **options)
