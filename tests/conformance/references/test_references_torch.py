# SPDX-License-Identifier: Apache-2.0
"""The references against PyTorch in float64, where it is installed."""

import numpy as np
import pytest
from compared_with_torch import torch

from conformance.references import reference

F = torch.nn.functional if torch else None
RNG = np.random.default_rng(5)


def rand(*shape):
    return RNG.normal(size=shape)


def tensor(x):
    return torch.tensor(x, dtype=torch.float64, requires_grad=True)


def close(got, want):
    np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-9, atol=1e-11)


SLIDING = {"strides": (2, 1), "dilates": (0, 1), "padding_l": (1, 2), "padding_r": (1, 2)}


def test_convolution_all_directions():
    x, w, b = tensor(rand(2, 4, 9, 8)), tensor(rand(6, 2, 3, 3)), tensor(rand(6))
    y = F.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2)
    g = rand(*y.shape)
    y.backward(torch.tensor(g))
    src, weights = x.detach().numpy(), w.detach().numpy().reshape(2, 3, 2, 3, 3)
    shapes = {"diff_src": src.shape, "diff_weights": weights.shape}
    arrays = {"src": src, "weights": weights, "bias": b.detach().numpy(), "diff_dst": g}
    close(reference("convolution_forward", SLIDING, arrays)["dst"], y)
    back = reference("convolution_backward_data", SLIDING, arrays, shapes)
    close(back["diff_src"], x.grad)
    back = reference("convolution_backward_weights", SLIDING, arrays, shapes)
    close(back["diff_weights"].reshape(6, 2, 3, 3), w.grad)
    close(back["diff_bias"], b.grad)


@pytest.mark.parametrize("name", ["max", "avg_include", "avg_exclude"])
def test_pooling(name):
    x = tensor(rand(2, 3, 7, 8))
    params = {"kernel": (3, 2), "strides": (2, 2), "dilation": (0, 0)}
    params |= {"padding_l": (1, 1), "padding_r": (1, 1)}
    if name == "max":
        y = F.max_pool2d(x, (3, 2), 2, 1)
        params["algorithm"] = "pooling_max"
    else:
        y = F.avg_pool2d(x, (3, 2), 2, 1, count_include_pad=name == "avg_include")
        params["algorithm"] = f"pooling_{name}_padding"
    g = rand(*y.shape)
    y.backward(torch.tensor(g))
    arrays = {"src": x.detach().numpy(), "diff_dst": g}
    close(reference("pooling_forward", params, arrays)["dst"], y)
    back = reference("pooling_backward", params, arrays, {"diff_src": tuple(x.shape)})
    close(back["diff_src"], x.grad)


@pytest.mark.parametrize("log", [False, True])
def test_softmax(log):
    x = tensor(rand(3, 5, 4))
    y = (F.log_softmax if log else F.softmax)(x, dim=1)
    g = rand(3, 5, 4)
    y.backward(torch.tensor(g))
    params = {"algorithm": "softmax_log" if log else "softmax_accurate", "axis": 1}
    close(reference("softmax_forward", params, {"src": x.detach().numpy()})["dst"], y)
    arrays = {"dst": y.detach().numpy(), "diff_dst": g}
    close(reference("softmax_backward", params, arrays)["diff_src"], x.grad)


def test_normalizations():
    x, w, b = tensor(rand(4, 6, 5)), tensor(rand(6)), tensor(rand(6))
    arrays = {"src": x.detach().numpy(), "scale": w.detach().numpy(), "shift": b.detach().numpy()}
    params = {"flags": ("use_scale", "use_shift"), "epsilon": 1e-3, "groups": 3}
    params["prop_kind"] = "forward_inference"
    y = F.batch_norm(x, None, None, w, b, training=True, eps=1e-3)
    close(reference("batch_normalization_forward", params, arrays)["dst"], y)
    y = F.group_norm(x, 3, w, b, eps=1e-3)
    close(reference("group_normalization_forward", params, arrays)["dst"], y)
    g = rand(*y.shape)
    y.backward(torch.tensor(g))
    back = reference(
        "group_normalization_backward",
        params | {"prop_kind": "backward"},
        arrays | {"diff_dst": g},
    )
    for name, leaf in (("diff_src", x), ("diff_scale", w), ("diff_shift", b)):
        close(back[name], leaf.grad)


@pytest.mark.parametrize("name", ["gelu_erf", "gelu_tanh", "mish", "logistic", "elu", "swish"])
def test_eltwise(name):
    functions = {
        "gelu_erf": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "mish": F.mish,
        "logistic": torch.sigmoid,
        "elu": F.elu,
        "swish": F.silu,
    }
    x = tensor(rand(50) * 3)
    y = functions[name](x)
    y.sum().backward()
    params = {"algorithm": f"eltwise_{name}", "alpha": 1.0, "beta": 0.0}
    arrays = {"src": x.detach().numpy(), "diff_dst": np.ones(50)}
    close(reference("eltwise_forward", params, arrays)["dst"], y)
    close(reference("eltwise_backward", params, arrays)["diff_src"], x.grad)
