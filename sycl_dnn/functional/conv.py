# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.trace import Out
from sycl_dnn.dispatch.views import reshape


@operation
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    pair = lambda v: (v, v) if isinstance(v, int) else tuple(v)
    s, p, d = pair(stride), pair(padding), pair(dilation)
    out = tuple((n + 2 * q - e * (k - 1) - 1) // t + 1 for n, q, e, k, t in zip(input.shape[2:], p, d, weight.shape[2:], s))
    shape = (input.shape[0], weight.shape[0], *out)
    w = weight if groups == 1 else reshape(weight, (groups, weight.shape[0] // groups, *weight.shape[1:]))
    inputs = {"src": input, "weights": w}
    if bias is not None:
        inputs["bias"] = bias
    made = input.trace.primitive(
        "convolution_forward", inputs, {"dst": Out(shape, input.dtype, "channels_last")},
        ask={"src": "channels_last", "weights": "any"},
        prop_kind=input.trace.forward_kind, algorithm=algorithm.convolution_direct,
        strides=s, dilates=tuple(v - 1 for v in d), padding_l=p, padding_r=p,
    )
    return made["dst"]
