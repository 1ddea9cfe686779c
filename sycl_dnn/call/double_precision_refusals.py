# SPDX-License-Identifier: Apache-2.0
"""The one answer to float64, which oneDNN does not compute on CPUs, by every function."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from sycl_dnn import _core, tree
from sycl_dnn.trace.values import Tensor

#: Functions that compute float64 on every device that has it: they copy, choose or are dpnp's.
EXACT = frozenset((
    "acos", "acosh", "all", "any", "argmax", "argmin", "argsort", "asarray", "asin", "asinh",
    "astype", "atan", "atan2", "atanh", "bernoulli", "broadcast_to", "cat", "ceil",
    "channel_shuffle", "chunk", "cos", "cosh", "cumprod", "cumsum", "diagonal", "embedding",
    "empty_like", "erf", "erfc", "exp", "exp2", "expand", "expm1", "flatten", "flip", "floor",
    "floor_divide", "fmod", "full_like", "gather", "hstack", "index_add", "index_put",
    "index_select", "isfinite", "isinf", "isnan", "log10", "log1p", "log2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "logsumexp", "max_unpool1d", "max_unpool2d",
    "max_unpool3d", "meshgrid", "movedim", "narrow", "nonzero", "ones_like", "pad", "permute",
    "pixel_shuffle", "pixel_unshuffle", "pow", "rand_like", "randn_like", "remainder",
    "repeat_interleave", "reshape", "roll", "round", "rsqrt", "scatter", "scatter_add", "select",
    "sign", "sin", "sinh", "sort", "split", "squeeze", "stack", "swapaxes", "take_along_dim", "tan",
    "tile", "topk", "transpose", "tril", "triu", "trunc", "unbind", "unflatten", "unfold", "unique",
    "unsqueeze", "vstack", "zeros_like",
))  # fmt: skip

#: What a message says of arguments that are not to be floats at all.
_INTEGER = re.compile(r"must (?:be|have) (?!.*float.*, got ).*\b(?:u?int\d+|integers|bool)\b")


def message(name: str, device: str) -> str:
    """Return the answer of a function on a device."""
    return (
        f"{name}: this device ({device}) computes no float64 in deep-learning functions; use "
        "float32: astype('float32') for arrays, float() for modules. Of sycl_dnn.functional, "
        "functions that copy, choose and sort (cat, gather, sort, topk...), exp, pow, logsumexp, "
        "cumsum and trigonometric ones compute float64, and so does dpnp"
    )


def answered(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the body of a function that has one answer to operands of float64 on CPUs.

    Without it, rules about equal dtypes would name float64 as the remedy.
    """
    name = body.__name__
    if name in EXACT:
        return body

    @functools.wraps(body)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return body(*args, **kwargs)
        except TypeError as error:
            device = _without_doubles((args, tuple(kwargs.values())))
            said = str(error)
            if device is None or "float64" not in said or _INTEGER.search(said):
                raise
            raise TypeError(message(name, device)) from None

    return checked


def _without_doubles(given: Any) -> str | None:
    """Return the name of the CPU if there is a float64 tensor on one."""
    for leaf in tree.leaves(given):
        if isinstance(leaf, Tensor) and leaf.dtype == "float64":
            engine = leaf.trace.engine
            return engine.sycl_device.name if engine.kind is _core.engine_kind.cpu else None
    return None
