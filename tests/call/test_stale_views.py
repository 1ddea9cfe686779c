# SPDX-License-Identifier: Apache-2.0
"""Everything that reads a view of what was written since sees the writes."""

import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.nn import torch_names

READS = {
    "clone": lambda view: view.clone(),
    "copy": lambda view: view.copy(),
    "detach": lambda view: view.detach() * 1,
    "contiguous": lambda view: view.contiguous(),
    "flatten": lambda view: view.flatten().view(3, 2),
    "item": lambda view: view[:],
    "copy_": lambda view: view.copy_(view.clone()),
    "astype": lambda view: view.astype("float32"),
    "checkpoint": lambda view: sycl_dnn.checkpoint(lambda v: v * 1)(view),
    "stop_gradient": sycl_dnn.stop_gradient,
    "torch_names": torch_names.clone,
}


class Reading(nn.Module):
    def __init__(self, read):
        super().__init__()
        self.read = read

    def forward(self, x):
        y = x * 2
        view = y.T
        y += 1
        return self.read(view)


WAYS = {
    "called": lambda net, x: net(x),
    "compiled": lambda net, x: sycl_dnn.compile(net)(x),
    "vjp": lambda net, x: sycl_dnn.vjp(net, x)[0],
    "repeated": lambda net, x: [sycl_dnn.vjp(net, x)[0] for _ in range(3)][-1],
    "vmap": lambda net, x: sycl_dnn.vmap(net)(F.stack([x, x]))[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("read", READS)
def test_views_are_read_as_written(read, way, queue):
    x = dpnp.asarray([[0, 1, 2], [3, 4, 5]], dtype="f4", sycl_queue=queue)
    result = WAYS[way](Reading(READS[read]), x)
    assert result.tolist() == [[1, 7], [3, 9], [5, 11]]
