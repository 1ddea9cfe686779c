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


def squared(x):
    return x * x


@sycl_dnn.custom_vjp
def squared_by_rule(x):
    return x * x


squared_by_rule.defvjp(lambda x: (x * x, x), lambda x, dy: (2 * dy * x,))

#: What a block with a gradient of its own reads; 2 x is the gradient of each.
BLOCKS = {
    "argument written afterwards": lambda block, x, y: (block(y), y.__iadd__(1))[0],
    "view written before": lambda block, x, y: (v := y.T, y.__imul__(1), block(v))[2],
    "data written before": lambda block, x, y: (v := y.T, y.data.mul_(1), block(v))[2],
    "data written afterwards": lambda block, x, y: (block(y), y.data.add_(1))[0],
}


class Blocks(nn.Module):
    def __init__(self, read, block):
        super().__init__()
        self.read, self.block = read, block

    def forward(self, x):
        return F.sum(self.read(self.block, x, x * 1))


@pytest.mark.parametrize("way", ["grad", "compiled", "vmap"])
@pytest.mark.parametrize("block", [sycl_dnn.checkpoint(squared), squared_by_rule])
@pytest.mark.parametrize("name", BLOCKS)
def test_gradients_of_blocks_beside_writes(name, block, way, queue):
    x = dpnp.asarray([[0, 1, 2], [3, 4, 5]], dtype="f4", sycl_queue=queue)
    net = Blocks(BLOCKS[name], block)
    gradient = sycl_dnn.grad(lambda x: net(x))
    if way == "vmap":
        result = sycl_dnn.vmap(gradient)(F.stack([x, x]))[1]
    else:
        result = (sycl_dnn.compile(gradient) if way == "compiled" else gradient)(x)
    assert result.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_checkpoint_reads_captured_views_as_written(queue):
    x = dpnp.asarray([1, 2], dtype="f4", sycl_queue=queue)

    def loss(x):
        y = x * 1
        view = y[:]
        y *= 2
        return F.sum(sycl_dnn.checkpoint(lambda x: view * x)(x))

    assert sycl_dnn.grad(loss)(x).tolist() == [4, 8]


def test_checkpoint_refuses_captured_values_that_are_written_afterwards(queue):
    x = dpnp.asarray([1, 2], dtype="f4", sycl_queue=queue)

    def loss(x):
        y = x * 1
        result = sycl_dnn.checkpoint(lambda x: y * x)(x)
        y *= 2
        return F.sum(result)

    with pytest.raises(RuntimeError, match="written to afterwards"):
        sycl_dnn.grad(loss)(x)


def test_writes_to_detached_values_reach_these_in_vmap(queue):
    class Net(nn.Module):
        def forward(self, x):
            y = x * 1
            y.detach().mul_(2)
            y.data.add_(1)
            return y

    x = dpnp.asarray([[1, 2], [3, 4]], dtype="f4", sycl_queue=queue)
    assert sycl_dnn.vmap(Net())(x).tolist() == [[3, 5], [7, 9]]


def test_writes_beside_view_in_vmap(queue):
    class Net(nn.Module):
        def forward(self, x):
            y = x * 1
            flat = y.view(-1)
            y[0] = 5
            flat[1] = 6
            return y, flat

    x = dpnp.asarray([[1, 2, 3], [3, 4, 5]], dtype="f4", sycl_queue=queue)
    for result in sycl_dnn.vmap(Net())(x):
        assert result.tolist() == [[5, 6, 3], [5, 6, 5]]
