# SPDX-License-Identifier: Apache-2.0
"""What the examples of primitives share; see ``_example.py`` one folder up."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
from _example import RELU, Example, desc, post_ops, run  # noqa: E402
from _numpy_layers import (  # noqa: E402
    convolve,
    lstm_step,
    max_pool,
    normalize_response,
    sigmoid,
    unroll,
)

from sycl_dnn import onednn as dnnl  # noqa: E402

__all__ = [
    "RELU",
    "Example",
    "convolve",
    "desc",
    "lstm_step",
    "max_pool",
    "normalize_response",
    "post_ops",
    "recur",
    "run",
    "sigmoid",
    "unroll",
]


def recur(
    example: Example, row: Callable, arrays: dict[str, np.ndarray], **parameters: Any
) -> dict[str, dnnl.Memory]:
    """Run a recurrent network from left to right; oneDNN chooses the layouts of the weights.

    ``arrays`` are the inputs under the names of execution arguments: src_layer (T, N, C),
    weights_layer (L, 1, C, G, D), weights_iter (L, 1, D, G, D), bias (L, 1, G, D), others.
    """
    tags = {"weights_layer": "any", "weights_iter": "any"}
    plain = {name: example.memory(x) for name, x in arrays.items()}
    layouts = {
        name.removeprefix("augru_"): desc(x.shape, tags[name]) if name in tags else plain[name].desc
        for name, x in arrays.items()
    }
    n_steps, n_samples, _ = arrays["src_layer"].shape
    pd = row(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        direction=dnnl.rnn_direction.unidirectional_left2right,
        dst_layer=desc((n_steps, n_samples, arrays["bias"].shape[-1]), "tnc"),
        **layouts,
        **parameters,
    )
    return example.run(pd, **plain)
