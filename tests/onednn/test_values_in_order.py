# SPDX-License-Identifier: Apache-2.0
"""Scales and zero points that are views: oneDNN reads them one after the other."""

import dpnp
import numpy as np
import pytest

from sycl_dnn import InvalidArguments
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.graph import Graph

M, K, N, G = 4, 64, 32, 16
RNG = np.random.default_rng(0)
X = RNG.standard_normal((M, K)).astype("f4")
WEIGHTS = RNG.integers(-100, 100, (N, K)).astype("i1")  # outputs, inputs: transposed when used
SCALES = (RNG.random((N, K // G)) + 0.1).astype("f4")
ZEROS = RNG.integers(-4, 5, (N, K // G)).astype("i1")
VIEWS = {
    "transposed": lambda a, put: put(a).T,
    "transposed, with gaps": lambda a, put: put(np.repeat(a, 2, 1))[:, ::2].T,
    "with gaps": lambda a, put: put(np.repeat(a.T, 2, 1))[:, ::2],
    "a part of rows": lambda a, put: put(np.concatenate([a.T, a.T], 1))[:, :N],
    "reversed": lambda a, put: put(a.T[::-1].copy())[::-1],
}


def wide(array):
    return np.repeat(array.T.astype("f8"), G, 0)


def put_on(queue):
    def put(array):
        result = dpnp.asarray(np.ascontiguousarray(array), sycl_queue=queue)
        queue.wait()
        return result

    return put


def product(stream, put, values, kind):
    """X @ weights by oneDNN with these scales or zero points."""
    engine = stream.engine
    attr = dnnl.PrimitiveAttr()
    attr.set_fpmath_mode("strict", True)
    setting = attr.set_scales if kind == "scales" else attr.set_zero_points
    setting("weights", 3, [G, 1], "f32" if kind == "scales" else "s8")
    memory = lambda a: dnnl.Memory.from_array(a, engine)  # noqa: E731
    args = {"src": memory(put(X)), "weights": memory(put(WEIGHTS).T)}
    args["dst"] = dnnl.Memory(dnnl.MemoryDesc((M, N), "f32"), engine)
    pd = dnnl.matmul(engine, **{n: m.desc for n, m in args.items()}, attr=attr)
    args[f"attr_{kind}_weights"] = memory(values)
    dnnl.Primitive(pd).execute(stream, args).wait()
    return args["dst"].to_array().asnumpy()


@pytest.mark.parametrize("kind", ["scales", "zero_points"])
@pytest.mark.parametrize("view", [v for v in VIEWS if v != "reversed"])
def test_a_primitive_refuses_values_in_another_order(engine, stream, view, kind):
    put = put_on(engine.sycl_queue)
    values = SCALES if kind == "scales" else ZEROS
    with pytest.raises(InvalidArguments, match=f"attr_{kind}_weights must be .* in row-major"):
        product(stream, put, VIEWS[view](values, put), kind)


@pytest.mark.parametrize("kind", ["scales", "zero_points"])
def test_a_primitive_reads_rows(engine, stream, kind):
    put = put_on(engine.sycl_queue)
    values = SCALES if kind == "scales" else ZEROS
    weights = WEIGHTS.T * wide(SCALES) if kind == "scales" else WEIGHTS.T - wide(ZEROS)
    for provided in (put(values.T), put(values.T.reshape(-1)), put(values.T)[:, None][:, 0]):
        result = product(stream, put, provided, kind)
        np.testing.assert_allclose(result, X.astype("f8") @ weights, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("scale", [v for v in VIEWS if v != "reversed"])
@pytest.mark.parametrize("zero", ["transposed", "with gaps"])
def test_a_graph_copies_them(queue, scale, zero):
    put = put_on(queue)
    graph = Graph("cpu" if queue.sycl_device.is_cpu else "gpu")
    x, w = graph.input((M, K)), graph.input((K, N), "s8")
    s, z = graph.input((K // G, N)), graph.input((K // G, N), "s8")
    options = {"qtype": "per_group", "axis": 0, "group_shape": [G, 1]}
    graph.matmul(x, graph.dynamic_dequantize(w, s, z, **options))
    args = VIEWS[scale](SCALES, put), VIEWS[zero](ZEROS, put)
    actual = graph.compile(queue)(put(X), put(WEIGHTS).T, *args).asnumpy()
    expected = X.astype("f8") @ ((WEIGHTS.T - wide(ZEROS)) * wide(SCALES))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-2)


#: A vector of scales for each output of a product, as it may be given.
VECTORS = {
    "with gaps": lambda a, put: put(np.repeat(a, 2))[::2],
    "a column": lambda a, put: put(np.stack([a, a + 1], 1))[:, 0],
    "reversed": lambda a, put: put(a[::-1].copy())[::-1],
    "repeated": lambda a, put: dpnp.broadcast_to(put(a[:1]), a.shape),
}


@pytest.mark.parametrize("view", VECTORS)
def test_quantized_functions_copy_them(queue, view):
    put = put_on(queue)
    ones, zeros = np.full(N, 0.5, "f4"), np.full(N, 3, "i4")
    scale = np.linspace(0.1, 1, N).astype("f4") if view != "repeated" else ones
    weight = lambda s, z: F.QuantizedTensor(put(WEIGHTS), s, z, axis=0)  # noqa: E731
    x = put(X)
    expected = F.linear(x, weight(put(scale), put(zeros))).asnumpy()
    provided = weight(VECTORS[view](scale, put), VECTORS[view](zeros, put))
    np.testing.assert_allclose(F.linear(x, provided).asnumpy(), expected, rtol=1e-5, atol=1e-3)
    exact = X.astype("f8") @ ((WEIGHTS.astype("f8") - 3) * scale[:, None]).T
    np.testing.assert_allclose(expected, exact, rtol=1e-4, atol=1e-1)
