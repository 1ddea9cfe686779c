# SPDX-License-Identifier: Apache-2.0
"""Sizes and counts in a model or its inputs are refused before memory or time is spent on them."""

import numpy as np
import onnx
import pytest

import sycl_dnn
from sycl_dnn.onnx import control_flow_operators

#: Fits into 32 bits; as many elements do not fit into memory.
_HUGE = 2**31 - 1
_REFUSED = (sycl_dnn.InvalidArguments, sycl_dnn.UnsupportedOperator, sycl_dnn.OutOfMemory)
_X = np.arange(6, dtype="f4").reshape(1, 1, 2, 3)


def _integers(*values):
    return np.array(values, np.int64)


def _node(op, inputs, n_outputs=1, version=22, **attributes):
    """Return a model of one node, whose inputs keep their order."""
    names = [f"i{i}" for i in range(len(inputs))]
    outputs = [f"o{i}" for i in range(n_outputs)]
    node = onnx.helper.make_node(op, names, outputs, name="it", **attributes)
    described = [
        onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
        )
        for name, x in zip(names, inputs, strict=True)
    ]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    for result in results:
        result.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph([node], "g", described, results)
    return onnx.helper.make_model(
        graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", version)]
    )


_CASES = [
    ("Range", [_integers(0)[0], _integers(_HUGE)[0], _integers(1)[0]], {}, r"2\*\*28.*2147483647"),
    ("HannWindow", [_integers(_HUGE)[0]], {}, r"2\*\*28.*2147483647"),
    ("MelWeightMatrix", [*_integers(_HUGE, 8, 8), np.float32(0), np.float32(4)], {}, r"2\*\*28"),
    ("OneHot", [_integers(), _integers(_HUGE), np.float32([0, 1])], {}, r"2\*\*28.*2147483647"),
    ("Pad", [_X[:0], _integers(0, 0, 0, _HUGE, 0, 0, 0, 0)], {"mode": "reflect"}, r"2\*\*28"),
    ("Pad", [_X[..., :0], _integers(0, 0, 0, 1, 0, 0, 0, 0)], {"mode": "wrap"}, "must leave"),
    ("CenterCropPad", [_X, _integers(1, 9, _HUGE, 9)], {}, r"2\*\*33.*2147483647"),
    ("Resize", [_X, np.float32([]), np.float32([1, 1, 1, 2**30])], {"mode": "cubic"}, r"2\*\*28"),
    ("RoiAlign", [_X, np.zeros((1, 4), "f4"), _integers(0)], {"sampling_ratio": _HUGE}, r"2\*\*33"),
    ("MaxRoiPool", [_X, np.zeros((1, 5), "f4")], {"pooled_shape": [_HUGE, 1]}, r"2\*\*20"),
    ("Col2Im", [_X[0], _integers(9, _HUGE), _integers(1, 1)], {}, "blocks must be of"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "attributes", "rule"), _CASES)
def test_a_size_beyond_memory_is_refused_with_its_value(op, inputs, attributes, rule):
    net = sycl_dnn.onnx.load(_node(op, list(map(np.asarray, inputs)), **attributes))
    with pytest.raises(_REFUSED, match=rule) as error:
        net(*map(np.asarray, inputs))
    assert f"{op}-22 (node 'it')" in str(error.value)


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_an_attribute_beyond_32_bits_is_refused_at_load(value):
    with pytest.raises(sycl_dnn.InvalidArguments, match=rf"'axis' must fit into 32 bits.*{value}"):
        sycl_dnn.onnx.load(_node("Softmax", [_X], axis=value))


def test_outputs_are_counted_before_shapes_are_inferred():
    rule = r"Split \(node 'it'\): num_outputs must be 1, got 2147483647"
    with pytest.raises(sycl_dnn.InvalidArguments, match=rule):
        sycl_dnn.onnx.load(_node("Split", [_X], num_outputs=_HUGE))


def test_functions_that_double_the_graph_are_refused_before_they_are_replaced():
    model = _node("Neg", [_X])
    model.opset_import.append(onnx.helper.make_opsetid("d", 1))
    for i in range(30):
        inner = f"f{i + 1}" if i < 29 else "Neg"
        domain = "d" if i < 29 else ""
        nodes = [onnx.helper.make_node(inner, [a], [b], domain=domain) for a, b in ("xm", "my")]
        model.functions.append(
            onnx.helper.make_function("d", f"f{i}", ["x"], ["y"], nodes, model.opset_import)
        )
    model.graph.node[0].op_type, model.graph.node[0].domain = "f0", "d"
    rule = "must have at most 1048576 nodes without functions, got 1073741824"
    with pytest.raises(sycl_dnn.InvalidArguments, match=rule):
        sycl_dnn.onnx.load(model)
    model.graph.node[0].op_type = "f27"
    assert sycl_dnn.onnx.load(model)(_X).asnumpy().tolist() == _X.tolist()


_SCAN = """g (float[2] s, float[3, 2] x) => (float[2] t, float[3, 2] z) {
    t, z = Scan (s, x) <num_scan_inputs = COUNT, body = b (float[2] a, float[2] n)
        => (float[2] c, float[2] d) { c = Add(a, n)  d = Identity(c) }> }"""


@pytest.mark.parametrize("count", [2**31 - 1, 3, 0, -1])
def test_a_scan_has_no_more_scanned_inputs_than_inputs(parsed, count):
    net = sycl_dnn.onnx.load(parsed(_SCAN.replace("COUNT", str(count))))
    rule = rf"Scan.*num_scan_inputs must be in \[1, 2\], the number of inputs, got {count}$"
    with pytest.raises(sycl_dnn.UnsupportedOperator, match=rule):
        net(np.zeros(2, "f4"), np.zeros((3, 2), "f4"))


_NESTED = """g (float[2] x) => (float[2] y) {
    n = Constant <value = int64 {7}> ()
    y = Loop(n, , x) <body = outer (int64 i, bool on, float[2] s) => (bool go, float[2] t) {
        go = Identity(on)
        m = Constant <value = int64 {7}> ()
        t = Loop(m, , s) <body = inner (int64 j, bool on2, float[2] a) => (bool go2, float[2] b) {
            go2 = Identity(on2)
            b = Neg(a) }> }> }"""


def test_turns_of_nested_loops_count_together(parsed, monkeypatch):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", "")  # a kept program unrolls nothing
    net = sycl_dnn.onnx.load(parsed(_NESTED))
    monkeypatch.setattr(control_flow_operators, "_MAX_TURNS", 55)
    with pytest.raises(sycl_dnn.UnsupportedOperator, match="Loop.*must have at most 55 turns"):
        net(np.float32([1, 2]))
    monkeypatch.setattr(control_flow_operators, "_MAX_TURNS", 56)
    assert net(np.float32([1, 2])).asnumpy().tolist() == [-1, -2]


def test_shape_arithmetic_on_the_host_does_not_grow_without_bound(parsed):
    doublings = "\n".join(f"v{i + 1} = Concat <axis = 0> (v{i}, v{i})" for i in range(18))
    model = parsed(f"""g (float[4] x) => (int64[1] n) {{
        v0 = Shape(x)
        {doublings}
        n = Size(v18) }}""")
    assert sycl_dnn.onnx.load(model)(np.zeros(4, "f4")).tolist() == 2**18


@pytest.mark.parametrize("mode", ["reflect", "wrap", "edge"])
@pytest.mark.parametrize("pads", [(7, 9), (0, 3), (-1, 8), (5, -2), (-2, -1)])
def test_pads_may_be_longer_than_the_axis(mode, pads):
    x = np.arange(4, dtype="f4")
    net = sycl_dnn.onnx.load(_node("Pad", [x, _integers(*pads)], mode=mode))
    kept = x[max(-pads[0], 0) : len(x) - max(-pads[1], 0)]
    expected = np.pad(kept, [max(n, 0) for n in pads], mode)
    assert net(x, _integers(*pads)).asnumpy().tolist() == expected.tolist()


@pytest.mark.parametrize("mode", ["reflect", "wrap", "edge"])
@pytest.mark.parametrize("pads", [(1, 2, 2, 0), (0, 3, 4, 4), (2, 9, 0, 0), (-1, 1, 0, 1)])
def test_pads_of_images(mode, pads):
    x = np.arange(2 * 3 * 4 * 5, dtype="f4").reshape(2, 3, 4, 5)
    top, left, bottom, right = pads
    amounts = _integers(0, 0, top, left, 0, 0, bottom, right)
    net = sycl_dnn.onnx.load(_node("Pad", [x, amounts], mode=mode))
    widths = [(0, 0), (0, 0), *[(max(a, 0), max(b, 0)) for a, b in ((top, bottom), (left, right))]]
    expected = np.pad(x[:, :, max(-top, 0) :], widths, mode)
    assert net(x, amounts).asnumpy().tolist() == expected.tolist()
