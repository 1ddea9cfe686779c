# SPDX-License-Identifier: Apache-2.0
"""Gradients of recurrent weights: accumulated, or overwritten."""

import dpnp
import numpy as np
import pytest
from filled_memory import desc

from sycl_dnn import onednn as dnnl

TRAINING = dnnl.prop_kind.forward_training


def gru(engine, flags):
    left = dnnl.rnn_direction.unidirectional_left2right
    state = {
        "src_layer": desc(3, 2, 4), "src_iter": desc(1, 1, 2, 4),
        "weights_layer": desc(1, 1, 4, 3, 4), "weights_iter": desc(1, 1, 4, 3, 4),
        "bias": desc(1, 1, 4, 4), "dst_layer": desc(3, 2, 4), "dst_iter": desc(1, 1, 2, 4),
    }  # fmt: skip
    forward = dnnl.lbr_gru_forward(engine, prop_kind=TRAINING, direction=left, **state)
    both = {**state, **{f"diff_{name}": md for name, md in state.items()}}
    for name in ("weights_layer", "weights_iter"):
        both[name] = desc(1, 1, 4, 3, 4, tag="ldgoi")
    backward = dnnl.lbr_gru_backward(
        engine, prop_kind=dnnl.prop_kind.backward, direction=left, **both, flags=flags,
        hint_fwd_pd=forward,
    )  # fmt: skip
    return dnnl.Primitive(forward), dnnl.Primitive(backward)


def random_args(primitive, engine):
    """Memories for all arguments; random numbers in all but workspace and scratchpad."""
    rng = np.random.default_rng(0)
    args = {}
    for name, slot in primitive.arguments.items():
        args[name] = dnnl.Memory(slot["desc"], engine)
        if name not in ("workspace", "scratchpad"):
            noise = rng.standard_normal(slot["desc"].dims).astype("f4")
            noise = dpnp.asarray(noise, sycl_queue=engine.sycl_queue)
            args[name].to_array()[...] = noise
    engine.sycl_queue.wait()
    return args


@pytest.mark.parametrize("flag", ["undef", "diff_weights_overwrite"])
def test_rnn_weight_gradients_accumulate_by_default(engine, stream, flag):
    forward, backward = gru(engine, dnnl.rnn_flags[flag])
    done = random_args(forward, engine)
    forward.execute(stream, done).wait()
    args = {**random_args(backward, engine), "workspace": done["workspace"]}
    gradient = args["diff_weights_layer"].to_array()
    results = []
    for start in (0.0, 100.0):
        gradient[...] = start
        engine.sycl_queue.wait()
        backward.execute(stream, args).wait()
        results.append(gradient.asnumpy())
    shift = 0.0 if flag == "diff_weights_overwrite" else 100.0
    np.testing.assert_allclose(results[1] - shift, results[0], atol=1e-4)
