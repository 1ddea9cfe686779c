# SPDX-License-Identifier: Apache-2.0
"""A graph small enough to check completely."""

from sycl_dnn import graph as sg


def matmul_relu(kind, shape=(4, 6), strides=None):
    """Partition of relu(x @ w) with its logical tensors x, w, y."""
    x = sg.LogicalTensor(0, "f32", shape, strides=strides)
    w = sg.LogicalTensor(1, "f32", (6, 5))
    m = sg.LogicalTensor(2, "f32")
    y = sg.LogicalTensor(3, "f32", layout_type="strided")
    g = sg.Graph(kind)
    g.add_op(sg.Op(0, "MatMul", [x, w], [m], {"transpose_b": False}, "mm"))
    g.add_op(sg.Op(1, "ReLU", [m], [y]))
    g.finalize()
    (partition,) = g.get_partitions()
    return partition, x, w, y
