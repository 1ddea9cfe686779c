# SPDX-License-Identifier: Apache-2.0
"""The error message for float64 in functions that oneDNN computes, which lacks it on CPUs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from sycl_dnn import tree
from sycl_dnn.trace.values import Tensor

#: Functions without float64 on CPUs: oneDNN's windows, attention and recurrent cells.
REFUSING = frozenset((
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "grid_sample", "gru", "interpolate",
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "lstm", "max_pool1d", "max_pool2d", "max_pool3d",
    "prelu", "quantize_dynamic", "rnn_relu", "rnn_tanh", "scaled_dot_product_attention",
))  # fmt: skip

#: A part of messages about arguments that must not be floats at all.
_INTEGER = re.compile(r"must (?:be|have) (?!.*float.*, got ).*\b(?:u?int\d+|integers|bool)\b")


def message(name: str, device: str) -> str:
    """Return the message of a function for a device."""
    return (
        f"{name}: this device ({device}) computes no float64 in convolutions, pools, "
        "attention and recurrent layers; use float32: astype('float32') for "
        "arrays, float() for modules. Of sycl_dnn.functional, element-wise functions, reductions, "
        "norms, products of matrices and losses compute float64, and so does dpnp"
    )


#: The remedy for combining float64 with another data type.
_REMEDY = (
    "; convert arrays with astype('float32') or astype('float64'), modules with float() or double()"
)


def answered(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the body of a function whose errors about float64 name the remedy.

    On CPUs those of functions that lack it have one text: rules about equal dtypes would name
    float64 as the remedy.
    """
    name = body.__name__

    @functools.wraps(body)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return body(*args, **kwargs)
        except TypeError as error:
            text, device = str(error), _device_of_doubles((args, tuple(kwargs.values())))
            if device is None or "float64" not in text or _INTEGER.search(text):
                raise
            if name in REFUSING and device.is_cpu:
                raise TypeError(message(name, device.name)) from None
            if "dtype" not in text or text.endswith(_REMEDY):
                raise
            raise TypeError(f"{text}{_REMEDY}") from None

    return checked


def _device_of_doubles(arguments: Any) -> Any:
    """Return the device of the first float64 tensor; None without one."""
    for leaf in tree.leaves(arguments):
        if isinstance(leaf, Tensor) and leaf.dtype == "float64":
            return leaf.trace.engine.sycl_device
    return None
