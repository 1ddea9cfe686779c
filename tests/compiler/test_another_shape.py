# SPDX-License-Identifier: Apache-2.0
"""A second shape of a compiled function gets the program of a fresh compilation, with less work."""

import compile_time
import pytest
from comparing import compiled_as_eager
from counted_calls import counter

from sycl_dnn import functional as F  # noqa: N812
from sycl_dnn.compiler import lowering
from sycl_dnn.trace.replay import Replays, Template

#: Workloads in sizes that compile quickly.
LAYERS = {name: 5 for name in compile_time.WORKLOADS if name != "resnet"}


def _two_shapes(name):
    """Return arguments of two shapes, with the same constants."""
    _, arguments, constants, _ = compile_time.WORKLOADS[name]
    first, second = (arguments(LAYERS[name], batch) for batch in (2, 3))
    n = len(constants)
    return first, (*first[:n], *second[n:])


def _described(graph):
    """Describe the program: primitives, fusions and refusals, and which values they share."""
    numbers = {}

    def look(tensor):
        number = numbers.setdefault(tensor.storage, len(numbers))
        return number, tensor.desc, tensor.offset, tensor.storage.memory is None

    return [
        (
            node.row, node.pd and (node.pd.impl_info, *node.work), node.fused, node.refused,
            [(n, look(t)) for n, t in (*node.inputs.items(), *node.outputs.items())],
        )
        for node in graph.nodes
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYERS)
def test_another_shape_gets_the_program_of_a_fresh_compilation(name):
    first, second = _two_shapes(name)
    known, new = compile_time.compiled(name), compile_time.compiled(name)
    known._program(first, {})
    assert _described(known._program(second, {}).graph) == _described(
        new._program(second, {}).graph
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt", "adam", "dense"])
def test_parameter_updates_are_reused_for_another_batch(name, monkeypatch):
    first, second = _two_shapes(name)
    function = compile_time.compiled(name)
    counters = [counter(monkeypatch, *m) for m in ((Replays, "call"), (Template, "replay"))]
    function._program(first, {})
    before = [count() for count in counters]
    function._program(second, {})
    now = [count() for count in counters]
    calls, replayed = (b - a for a, b in zip(before, now, strict=True))
    if name == "adam":  # the shape of the parameters themselves: each of the layers but one
        assert calls - replayed <= before[0] / LAYERS[name]
    else:
        assert calls - replayed <= calls / 4


@pytest.mark.parametrize("name", ["images", "reader", "bert"])
def test_weights_are_packed_once_if_both_shapes_use_one_layout(name, monkeypatch):
    monkeypatch.setitem(lowering.SWITCHES, "run_on_host", False)  # for few rows, in another layout
    first, second = _two_shapes(name)
    function = compile_time.compiled(name)
    function._program(first, {})
    packed = len(function._pool._found)
    function._program(second, {})
    assert 0 < len(function._pool._found) <= packed * 1.1


def test_shared_operands_are_distinguished_from_separate_ones(make):
    def function(x, y):
        a = F.relu(x)
        return a * x, F.relu(y) * x, F.relu(x) + x, F.relu(y) + y, F.exp(y) * y * x

    compiled_as_eager(function, make(4, 8), make(4, 8))


def test_fused_numbers_are_part_of_the_key(make):
    def function(x):
        return [F.relu(x) * v + v for v in (1.5, 2.5, 3.5)] + [F.exp(x) ** v for v in (2, 3)]

    compiled_as_eager(function, make(4, 8))


def test_reports_are_the_same(make):
    def function(x, y):
        return F.gelu(F.tanh(x) * 2.0 + 1.0) * y, F.gelu(F.tanh(y) * 2.0 + 1.0) * x

    report = compiled_as_eager(function, make(4, 8), make(4, 8))
    (fused,) = (p.fused for p in report.parts)  # one launch for both
    half = len(fused) // 2
    assert fused[:half] == fused[half:] != ()
