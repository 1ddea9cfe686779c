# SPDX-License-Identifier: Apache-2.0
"""Warnings name the line of the program that called, not one of this package."""

import inspect
import warnings

import dpnp
import pytest
from arithmetic import lacks

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import OneDnnFaultWarning
from sycl_dnn.trace import policy


def mismatched_loss(queue):
    input, target = (dpnp.ones((n, 11), dtype="f4", sycl_queue=queue) for n in (3, 1))
    return F.l1_loss(input, target)


def softmax_without_axis(queue):
    return F.softmax(dpnp.ones((13, 17), dtype="f4", sycl_queue=queue))


def gradients_that_onednn_gets_wrong(queue):
    engine, d = dnnl.Engine(queue), dnnl.MemoryDesc((2, 3, 16), dnnl.data_type.f32)
    weights = dnnl.MemoryDesc((1, 1, 16, 4, 16), dnnl.data_type.f32, "any")
    bias = dnnl.MemoryDesc((1, 1, 4, 16), dnnl.data_type.f32)
    same = {"direction": dnnl.rnn_direction.unidirectional_left2right, "src_layer": d}
    same |= {"weights_layer": weights, "weights_iter": weights, "bias": bias, "dst_layer": d}
    forward = dnnl.lstm_forward(engine, prop_kind=dnnl.prop_kind.forward_training, **same)
    grads = {f"diff_{k}": v for k, v in same.items() if k != "direction"}
    return dnnl.lstm_backward(
        engine, prop_kind=dnnl.prop_kind.backward, hint_fwd_pd=forward, **same, **grads
    )


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (mismatched_loss, UserWarning),
        (softmax_without_axis, UserWarning),
        (gradients_that_onednn_gets_wrong, OneDnnFaultWarning),
    ],
)
def test_warning_names_the_caller(call, kind, queue):
    with pytest.warns(kind) as said:
        call(queue)
    lines, first = inspect.getsourcelines(call)
    assert said[0].filename == __file__
    assert first <= said[0].lineno < first + len(lines)


def test_fallback_names_the_dtype_of_results_too(queue, monkeypatch):
    """The softmax inside reads float32 and writes float16."""
    monkeypatch.setattr(policy, "_warned", set())
    q = dpnp.ones((2, 3, 19, 8), dtype="f2", sycl_queue=queue)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        F.scaled_dot_product_attention(q, q, q)
    texts = [str(w.message) for w in said if w.category is sycl_dnn.FallbackWarning]
    assert bool(texts) == lacks(queue, "f16")
    assert all("no implementation for float16;" in text for text in texts)
