# SPDX-License-Identifier: Apache-2.0
"""One operation without a graph: oneDNN's objects under their own names.

Counterpart of oneDNN's cpu_single_op_partition and sycl_single_op_partition.
"""

import numpy as np
from _graph_example import Example, run

from sycl_dnn import graph as sg
from sycl_dnn import onednn as dnnl


def main(example: Example) -> None:
    """Create a partition of a MatMul, compile it, execute it with an event."""
    engine = dnnl.Engine(example.queue)
    stream = dnnl.Stream(engine, example.queue)
    src = sg.LogicalTensor(0, "f32", (64, 128))
    weights = sg.LogicalTensor(1, "f32", (128, 32))
    dst = sg.LogicalTensor(2, "f32", layout_type="strided")
    op = sg.Op(0, "MatMul", [src, weights], [dst], {"transpose_b": False}, "matmul")
    partition = sg.Partition(op, example.kind)
    compiled = partition.compile([src, weights], [dst], engine)
    print(partition, "->", compiled.query_logical_tensor(2))

    a, b = example.normal(64, 128), example.normal(128, 32)
    x, w = example.array(a), example.array(b)
    example.queue.wait()  # the stream is not ordered with dpnp
    inputs = [sg.Tensor(src, engine, x), sg.Tensor(weights, engine, w)]
    output = sg.Tensor(compiled.query_logical_tensor(2), engine)
    compiled.execute(stream, inputs, [output]).wait()
    example.compare("matmul", output.to_array(), a.astype(np.float64) @ b, 1e-5)


if __name__ == "__main__":
    run(main, __doc__)
