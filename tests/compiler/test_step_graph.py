# SPDX-License-Identifier: Apache-2.0
"""The graph that passes rewrite: order, readers and writers after each change; work per layer."""

import random

import compile_time
import pytest

from sycl_dnn import _core
from sycl_dnn.compiler.tracing import CompileTrace
from sycl_dnn.lower.step_graph import Graph, Node, Order
from sycl_dnn.trace import layout
from sycl_dnn.trace.values import Storage, Tensor


def nodes_of(count):
    return [Node(None, {}, {}) for _ in range(count)]


def test_random_insertions_and_removals_keep_the_order():
    draw = random.Random(0)
    expected = nodes_of(5)
    order = Order(expected)
    for _ in range(500):
        at = draw.choice(expected)
        if draw.random() < 0.4 and len(expected) > 1:
            order.remove(at)
            expected.remove(at)
        else:
            result = nodes_of(draw.randint(0, 3))
            order.insert(result, at)
            expected[expected.index(at) : expected.index(at)] = result
    assert list(order) == expected
    assert len(order) == len(expected)
    places = [order.place(n) for n in expected]
    assert places == sorted(set(places))
    assert [order.after(n) for n in [None, *expected]] == [*expected, None]
    assert [order.before(n) for n in expected] == [None, *expected[:-1]]


def test_many_insertions_in_one_place_keep_the_order():
    first, last = nodes_of(2)
    order = Order([first, last])
    result = nodes_of(200)
    for node in result:
        order.insert([node], last)
    assert list(order) == [first, *result, last]
    places = [order.place(n) for n in order]
    assert places == sorted(set(places))


def test_a_node_cannot_be_inserted_twice():
    (node,) = nodes_of(1)
    with pytest.raises(ValueError, match="order: zeros is among the nodes already"):
        Order([node]).insert([node], node)


@pytest.fixture
def trace(queue):
    return CompileTrace(_core.Engine(queue))


@pytest.fixture
def value(trace):
    def make():
        desc = layout.row_major((4,), "float32")
        return Tensor(trace, Storage(desc), desc, "float32", desc.dims)

    return make


def chain(trace, values):
    """Return a graph of nodes that each read a value and write the next one, and the nodes."""
    graph = Graph(trace, [values[-1]])
    result = [Node(None, {"src": a}, {"dst": b}) for a, b in zip(values, values[1:], strict=False)]
    anchor = Node(None, {}, {})
    graph._order = Order([anchor])
    graph.insert(result, before=anchor)
    graph.drop([anchor])
    return graph, result


def test_readers_and_writers_follow_each_change(trace, value):
    a, b, c, d = (value() for _ in range(4))
    graph, (first, second, third) = chain(trace, [a, b, c, d])
    assert graph.writer(c) is second
    assert graph.is_inner(b.storage)
    assert not graph.is_inner(d.storage)
    both = Node(None, {"src": a}, {"dst": c})
    graph.replace([first], both, at=second)
    assert graph.nodes == [both, third]
    assert graph.readers(a.storage) == [both]
    assert graph.writers(b.storage) == []
    early = Node(None, {"src": a}, {"dst": b})
    graph.insert([early], before=both)
    graph.redirect(a.storage, b.storage, 8)
    assert graph.readers(b.storage) == [early, both]
    assert both.inputs["src"].offset == 8
    assert graph.readers(a.storage) == []
    graph.rewire(third, {"src": b})
    assert graph.readers(c.storage) == []
    graph.drop_dead()
    assert graph.nodes == [early, third]


def test_writes_between_two_nodes_are_seen(trace, value):
    a, b, c, d = (value() for _ in range(4))
    graph, (first, second, third) = chain(trace, [a, b, c, d])
    assert graph.is_written_between(c.storage, first, third)
    assert not graph.is_written_between(c.storage, second, third)
    assert not graph.is_written_between(c.storage, first, second)
    assert graph.unsteady() == set()
    graph.insert([Node(None, {}, {"dst": c})], before=third)
    assert graph.unsteady() == {c.storage}


@pytest.mark.slow
@pytest.mark.parametrize("name", compile_time.WORKLOADS)
def test_rewrites_scale_linearly_with_layers(name):
    found = []
    for layers in (5, 10):
        function, arguments = compile_time.compiled(name), compile_time.WORKLOADS[name][1]
        graph = function._program(arguments(layers), {}).graph
        found.append((graph.revision, len(graph.nodes)))
    assert found[1][0] <= 2.1 * found[0][0], found
    assert found[1][1] <= 2.1 * found[0][1], found
