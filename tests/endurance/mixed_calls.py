# SPDX-License-Identifier: Apache-2.0
"""Kinds of calls that threads share, with NumPy's results."""

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.graph import Graph

F32 = dnnl.data_type.f32
SHAPES = ((4, 16), (7, 16), (16, 16), (33, 16))


def softmax(x):
    """Over the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def data(rng):
    """Sources of several shapes, and a square matrix."""
    return [rng.uniform(-1, 1, s).astype("f4") for s in SHAPES], rng.uniform(-1, 1, (16, 16))


class Shared:
    """Objects shared by all threads: a queue, arrays, primitives, compiled functions and graphs."""

    def __init__(self, queue, seed=0):
        self.queue = queue
        self.sources, w = data(np.random.default_rng(seed))
        w = w.astype("f4")
        self.weights = self.array(w)
        self.frozen = sycl_dnn.freeze(self.weights)
        self.arrays = [self.array(x) for x in self.sources]
        products = [x.astype("f8") @ w for x in self.sources]
        transposed = [x.astype("f8") @ w.T.astype("f8") for x in self.sources]
        mlp = [softmax(np.maximum(p, 0)) for p in transposed]
        #: kind -> expected results, one for each source
        self.right = {
            "relu": [np.maximum(x, 0) for x in self.sources],
            "softmax of linear": [softmax(p) for p in transposed],
            "frozen linear": transposed,
            "gradient": [np.where(x > 0, 1.0, 0.0) for x in self.sources],
            "compiled": mlp,
            "graph": [np.maximum(p, 0) for p in products],
            "primitive": products,
        }
        self.kinds = tuple(self.right)
        self.engine = dnnl.Engine(queue)
        self.compiled = sycl_dnn.compile(lambda a, b: F.softmax(F.relu(F.linear(a, b)), dim=-1))
        self.graphs = [self.graph_of(x.shape) for x in self.sources]
        self.primitives = [self.matmul_of(x.shape) for x in self.sources]
        # dpnp's own first calls hang where several threads make them.
        dpnp.asnumpy(dpnp.ones_like(self.weights))
        sycl_dnn.synchronize(queue)

    def array(self, values):
        """A NumPy array on the device."""
        return dpnp.asarray(values, sycl_queue=self.queue)

    def graph_of(self, shape):
        """A product and a relu in one partition, compiled."""
        graph = Graph("cpu" if self.queue.sycl_device.is_cpu else "gpu")
        src = graph.input(shape, "f32", name="src")
        weights = graph.input((16, 16), "f32", name="weights")
        graph.relu(graph.matmul(src, weights))
        return graph.compile(self.queue)

    def matmul_of(self, shape):
        """A product that needs a scratchpad if oneDNN packs."""
        src, weights = dnnl.MemoryDesc(shape, F32), dnnl.MemoryDesc((16, 16), F32)
        return dnnl.Primitive(dnnl.matmul(self.engine, src=src, weights=weights, dst=src))

    def call(self, kind, i, stream):
        """Make one call on source ``i``; return its pending result."""
        x = self.arrays[i]
        if kind == "relu":
            return F.relu(x)
        if kind == "softmax of linear":
            return F.softmax(F.linear(x, self.weights), dim=-1)
        if kind == "frozen linear":
            return F.linear(x, self.frozen)
        if kind == "gradient":
            _, pullback = sycl_dnn.vjp(F.relu, x)
            return first(pullback(dpnp.ones_like(x)))
        if kind == "compiled":
            return self.compiled(x, self.weights)
        if kind == "graph":
            return first(self.graphs[i](src=x, weights=self.weights))
        return self.execute(i, stream)

    def execute(self, i, stream):
        """Run a shared primitive on the thread's own stream."""
        src = dnnl.Memory.from_array(self.arrays[i], self.engine)
        dst = dnnl.Memory(src.desc, self.engine)
        weights = dnnl.Memory.from_array(self.weights, self.engine)
        self.primitives[i].execute(stream, {"src": src, "weights": weights, "dst": dst})
        return dst.to_array()

    def is_right(self, kind, i, result):
        """Wait for a result and compare it."""
        sycl_dnn.synchronize(self.queue)
        return np.allclose(dpnp.asnumpy(result), self.right[kind][i], rtol=1e-4, atol=1e-5)


def first(result):
    """The only array of a result."""
    return result[0] if isinstance(result, (tuple, list)) else result
