# SPDX-License-Identifier: Apache-2.0
"""Whole networks and their parts: correct values in few steps, in float32, bfloat16 and int8."""

import dataclasses
from collections.abc import Callable
from typing import Any

import _resnet50
import dpnp
import numpy as np
import pytest
from arithmetic import saturates
from comparing import assert_in_integers, assert_same, compiled_as_eager, numpy_leaves, slow_parts
from models import bert, gpt, mobilenet, unet

import sycl_dnn
from sycl_dnn import onednn as dnnl

TOLERANCE = {None: 2e-5, "bfloat16": 5e-2}
BERT = bert.Config(layers=1, width=64, heads=4, inner=128)
GPT = gpt.Config(layers=2, width=64, heads=4, vocabulary=99)
UNET = unet.Config(widths=(16, 32, 64))
DEPTHWISE = (mobilenet.Block(5, 24, 16, True, "hardswish", 1),)


@dataclasses.dataclass(frozen=True)
class Network:
    """A function of parameters and arrays, and the steps it compiles to."""

    name: str
    parameters: Callable[[], dict[str, np.ndarray]]
    function: Callable[..., Any]
    shapes: tuple[Any, ...]
    #: By row; copies and concatenations, which may become copies, are not counted.
    steps: dict[str, int]
    #: Largest norm of the error in int8.
    integer_error: float = 0.06

    def __str__(self) -> str:
        return self.name


NETWORKS = [
    Network(
        "bert-layer",
        lambda: bert.random_parameters(BERT),
        lambda p, x: bert.forward(p, BERT, x),
        ((2, 16, 64),),
        {"matmul": 6, "softmax_forward": 1, "layer_normalization_forward": 2},
    ),
    Network(
        "gpt-step",
        lambda: gpt.random_parameters(GPT),
        lambda p, x, k, v: gpt.step(p, GPT, x, k, v),
        ((1, 1, 64), [(1, 4, 7, 16)] * 2, [(1, 4, 7, 16)] * 2),
        {"matmul": 13, "softmax_forward": 2, "layer_normalization_forward": 5},
    ),
    Network(
        "unet",
        lambda: unet.random_parameters(UNET),
        lambda p, x: unet.forward(p, UNET, x),
        ((1, 3, 32, 32),),
        {"convolution_forward": 11, "deconvolution_forward": 2, "pooling_forward": 2},
        integer_error=0.1,
    ),
    Network(
        "mobilenet-block",
        lambda: mobilenet.random_parameters(0, DEPTHWISE),
        lambda p, x: mobilenet.residual(p, "0.", x, DEPTHWISE[0]),
        ((2, 16, 9, 9),),
        {"convolution_forward": 5, "pooling_forward": 1, "binary": 1},
    ),
]


def _arguments(shapes, make):
    """Return arrays; images are channels last, as convolutions leave them."""

    def one(shape):
        if isinstance(shape, list):
            return [make(*s) for s in shape]
        x = make(*shape)
        if x.ndim < 4:
            return x
        return dpnp.moveaxis(dpnp.ascontiguousarray(dpnp.moveaxis(x, 1, -1)), -1, 1)

    return [one(shape) for shape in shapes]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
@pytest.mark.sweep(2)
def test_network(network, dtype, make, on_device):
    p = on_device(network.parameters())
    args = _arguments(network.shapes, make)
    function = lambda *given: network.function(p, *given)  # noqa: E731
    options = {"dtype": dtype, "tolerance": TOLERANCE[dtype], "passes": {"run_on_host": False}}
    report = compiled_as_eager(function, *args, **options)
    # With AVX-512 oneDNN wants another layout of the weights of few pixels for post-ops.
    refused = [p for p in report.parts if any("weights in another" in text for text in p.refused)]
    # Values that are not concatenated in place are copied by a kernel.
    rows = [
        p.row
        for p in report.parts
        if p.row not in ("reorder", "concat") and not (refused and p.implementation == "opencl")
    ]
    assert {row: rows.count(row) for row in rows} == network.steps, str(report)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_network_in_integers(network, make, on_device, queue):
    p = on_device(network.parameters())
    args = _arguments(network.shapes, make)
    compiled = sycl_dnn.compile(lambda *given: network.function(p, *given))
    result, accuracy = sycl_dnn.quantize(compiled, [tuple(args)])
    assert all(a.relative < network.integer_error for a in accuracy), list(map(str, accuracy))
    report = result.explain(*args)
    assert_in_integers(report, queue)
    assert not [p for p in slow_parts(report, queue) if p.row != "concat"], str(report)


@pytest.fixture(scope="module")
def resnet_parameters():
    return _resnet50.random_parameters(0)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_resnet50(dtype, make, queue, resnet_parameters):
    network = _resnet50.ResNet50(resnet_parameters, queue)
    report = compiled_as_eager(
        network.__call__, make(2, 3, 64, 64), dtype=dtype, tolerance=TOLERANCE[dtype]
    )
    rows = [part.row for part in report.parts if part.row != "reorder"]
    assert len(rows) == 56
    assert rows.count("convolution_forward") == 53
    assert not slow_parts(report, queue)
    assert report.n_reorders == 1


@pytest.mark.slow
def test_resnet50_in_integers(make, queue, resnet_parameters):
    network = _resnet50.ResNet50(resnet_parameters, queue)
    x = make(2, 3, 64, 64)
    result, accuracy = sycl_dnn.quantize(sycl_dnn.compile(network.__call__), [x])
    assert accuracy[0].relative < 0.05
    report = result.explain(x)
    # All values between the first and the last product stay integers.
    *convolutions, last = (p for p in report.parts if p.row in ("convolution_forward", "matmul"))
    assert all(any("x int8" in text for text in part.fused) for part in convolutions)
    floats = [part for part in report.parts[:-1] if part.dtype not in ("uint8", "int8")]
    if any("x int8" in text for text in last.fused):
        assert not floats, str(report)
    else:
        # So the product before it and the residuals of its stage are floats.
        assert saturates(queue), str(report)
        assert {part.shape[1] for part in floats} == {2048}, str(report)
    assert_same(result(x), network(x), 0.1)


@pytest.mark.slow
def test_a_block_on_odd_sizes(make, queue, resnet_parameters):
    network = _resnet50.ResNet50(resnet_parameters, queue)
    compiled = sycl_dnn.compile(lambda x: network._block(x, "layer1.1.", 1))
    for shape in ((1, 256, 7, 5), (3, 256, 1, 1), (2, 256, 13, 1)):
        x = make(*shape)
        assert_same(compiled(x), network._block(x, "layer1.1.", 1))
    assert compiled.cache_info().size == 3


def test_a_decoding_step_extends_the_cache(make, on_device):
    p = on_device(gpt.random_parameters(GPT))
    compiled = sycl_dnn.compile(lambda x, k, v: gpt.step(p, GPT, x, k, v))
    keys = values = [make(1, 4, 3, 16) for _ in range(2)]
    wanted_keys, wanted_values = keys, values
    for _ in range(3):
        x = make(1, 1, 64)
        logits, keys, values = compiled(x, keys, values)
        expected, wanted_keys, wanted_values = gpt.step(p, GPT, x, wanted_keys, wanted_values)
        assert_same((logits, keys, values), (expected, wanted_keys, wanted_values))
    assert keys[0].shape == (1, 4, 6, 16)
    assert all(np.isfinite(a).all() for a in numpy_leaves(logits))


def _packed(queue, batch):
    """Return the layout that oneDNN wants for the block's weights with images of 8 x 8."""
    found = []
    for n_in, n_out, k in ((256, 64, 1), (64, 64, 3), (64, 256, 1)):
        src, dst = (dnnl.MemoryDesc((batch, n, 8, 8), dnnl.data_type.f32, "nhwc")
                    for n in (n_in, n_out))  # fmt: skip
        weights = dnnl.MemoryDesc((n_out, n_in, k, k), dnnl.data_type.f32, "any")
        pd = dnnl.convolution_forward(
            dnnl.Engine(queue), prop_kind=dnnl.prop_kind.forward_inference,
            algorithm=dnnl.algorithm.convolution_direct, src=src, weights=weights, dst=dst,
            strides=(1, 1), padding_l=(k // 2, k // 2), padding_r=(k // 2, k // 2),
        )  # fmt: skip
        found.append(pd.desc_of("weights"))
    return found


@pytest.mark.slow
def test_constants_are_computed_once_for_all_shapes(make, queue, resnet_parameters):
    network = _resnet50.ResNet50(resnet_parameters, queue)
    # A host task for one image would read plain weights.
    switches = {"run_on_host": False}
    compiled = sycl_dnn.compile(lambda x: network._block(x, "layer1.1.", 1), passes=switches)
    first = compiled.explain(make(1, 256, 8, 8)).constant_bytes
    second = compiled.explain(make(2, 256, 8, 8)).constant_bytes
    # Without AVX-512 oneDNN wants other weights for two images than for one.
    assert (second == first) is (_packed(queue, 1) == _packed(queue, 2))
    assert compiled.explain(make(2, 256, 16, 8)).constant_bytes == second
    assert first < 2 * sum(
        a.nbytes for n, a in resnet_parameters.items() if n.startswith("layer1.1.")
    )
    assert dpnp.asnumpy(compiled(make(1, 256, 8, 8))).shape == (1, 256, 8, 8)
