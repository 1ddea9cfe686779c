# SPDX-License-Identifier: Apache-2.0
"""Random numbers, from the package's generator or a seed in the node."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn.onnx.elementwise_operators import cast, name_of
from sycl_dnn.onnx.model_graph import check_size
from sycl_dnn.onnx.operator_registry import Call, F, operator


def _uniform(call: Call, shape: Any) -> Any:
    """Return numbers in [0, 1)."""
    return _drawn(call, shape, np.random.Generator.random, F.rand)


def _normal(call: Call, shape: Any) -> Any:
    return _drawn(call, shape, np.random.Generator.standard_normal, F.randn)


def _drawn(call: Call, shape: Any, seeded: Any, unseeded: Any) -> Any:
    """Draw random numbers; with a seed in the node, the same in each run."""
    check_size(shape)
    if "seed" not in call.node.attributes:
        return unseeded(*shape, device=call.run.queue)
    generator = np.random.default_rng(int(np.float32(call.get("seed")).view(np.uint32)))
    return call.device(seeded(generator, tuple(shape), np.float32))


def _scaled(call: Call, shape: Any) -> Any:
    if "Normal" in call.op:
        return _normal(call, shape) * call.get("scale", 1.0) + call.get("mean", 0.0)
    low, high = call.get("low", 0.0), call.get("high", 1.0)
    return _uniform(call, shape) * (high - low) + low


@operator(["RandomNormal", "RandomUniform"], mixed=True)
def _random(call: Call) -> Any:
    return cast(call, _scaled(call, call.need("shape")), call.dtype(call.get("dtype", 1)))


@operator(["RandomNormalLike", "RandomUniformLike"])
def _random_like(call: Call, x: Any) -> Any:
    dtype = call.dtype(call.get("dtype")) if call.get("dtype") else name_of(x)
    return cast(call, _scaled(call, tuple(x.shape)), dtype)


@operator("Bernoulli", 15)
def _bernoulli(call: Call, x: Any) -> Any:
    dtype = call.dtype(call.get("dtype")) if call.get("dtype") else name_of(x)
    return cast(call, F.lt(_uniform(call, tuple(x.shape)), F.astype(x, "float32")), dtype)


@operator("Multinomial", 7)
def _multinomial(call: Call, x: Any) -> Any:
    """Sample by the Gumbel-max trick."""
    count, (n, classes) = call.get("sample_size", 1), x.shape
    noise = F.clamp(_uniform(call, (n, count, classes)), 1e-20, None)
    scores = F.unsqueeze(F.astype(x, "float32"), 1) - F.log(F.clamp(-F.log(noise), 1e-20, None))
    return cast(call, F.argmax(scores, 2), call.dtype(call.get("dtype", 6)))
