# SPDX-License-Identifier: Apache-2.0
"""Values and arrays for the inputs of a pattern."""

import numpy as np

from .cases import hash_of, rounded
from .run import upload


def values_of(graph, name, provided):
    """Values for each input, rounded to its data type."""
    rng = np.random.default_rng(hash_of(name))
    result = {}
    for label, value in graph.inputs.items():
        ranges = {"s8": (-60, 60), "u8": (0, 120), "u4": (0, 16), "boolean": (0, 2)}
        if label in provided:
            x = np.asarray(provided[label])
        elif value.dtype == "u8" and "zps" in provided:
            x = np.full(value.shape, provided["zps"])
        elif value.dtype in ranges:
            x = rng.integers(*ranges[value.dtype], value.shape)
        else:
            x = rng.standard_normal(value.shape) * 0.5
        result[label] = rounded(x, value.dtype)
    return result


def arrays_of(graph, values, provided, queue):
    """Arrays on the device; stacked ones are views of one."""
    arrays = {}
    for label, value in graph.inputs.items():
        scalar = value.property == "host_scalar"
        arrays[label] = (
            values[label].item() if scalar else upload(values[label], value.dtype, queue)
        )
    if provided.get("stacked"):
        b, h, s, d = graph.inputs["q"].shape
        stacked = np.stack([values[n].transpose(0, 2, 1, 3) for n in "qkv"], axis=3)
        whole = upload(stacked.reshape(b, s, h * 3 * d), graph.inputs["q"].dtype, queue)
        whole = whole.reshape(b, s, h, 3, d)
        for i, n in enumerate("qkv"):
            arrays[n] = whole[:, :, :, i].transpose(0, 2, 1, 3)
    if provided.get("combined"):
        both = upload(np.concatenate([values["in1"], values["in2"]], 1), graph.inputs["in1"].dtype,
                      queue)  # fmt: skip
        n = values["in1"].shape[1]
        arrays["in1"], arrays["in2"] = both[:, :n], both[:, n:]
    return arrays
