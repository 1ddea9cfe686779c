# SPDX-License-Identifier: Apache-2.0
"""A loaded model is a module like any other: values, training, transforms, files."""

import copy
import pickle

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.call.operation import Operation
from sycl_dnn.onnx import loaded_model


def close(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(got.asnumpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.fixture
def x():
    return np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype("f4")


@pytest.fixture
def expected(network, x):
    return ReferenceEvaluator(network).run(None, {"x": x})[0]


def test_values_names_and_shapes(network, x, expected):
    net = sycl_dnn.onnx.load(network)
    close(net(x), expected)
    close(net(x=x), expected)
    assert net.inputs == (("x", ("N", 3, 8, 8), "float32"),)
    assert net.outputs == (("y", ("N", 5), "float32"),)
    assert not net.missing
    assert not net.host_steps
    for n in (1, 5):
        assert net(np.zeros((n, 3, 8, 8), "f4")).shape == (n, 5)


def test_initialisers_are_parameters_with_their_names(network):
    net = sycl_dnn.onnx.load(network)
    assert isinstance(net, nn.Module)
    assert not net.training
    assert [n for n, _ in net.named_buffers()] == ["bn.mean", "bn.var"]
    named = [n for n, _ in net.named_parameters()]
    assert named == ["features.0.weight", "features.0.bias", "bn.weight", "bn.bias",
                     "fc.weight", "fc.bias"]  # fmt: skip


def test_path_bytes_and_proto_are_the_same(network, x, expected, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(network.SerializeToString())
    for source in (path, str(path), path.read_bytes(), network):
        close(sycl_dnn.onnx.load(source)(x), expected)


def test_gradients_are_those_of_differences(network, x):
    net = sycl_dnn.onnx.load(network)
    x = sycl_dnn.asarray(x, sycl_queue=net.fc.weight.sycl_queue)

    def loss(net):
        return F.sum(F.square(net(x)))

    _, grads = sycl_dnn.value_and_grad(loss)(net)
    for module in (net.fc, net.bn):
        old = module.bias.asnumpy()
        ends = []
        for step in (0.01, -0.01):
            moved = old.copy()
            moved[1] += step
            module.bias.data[...] = sycl_dnn.asarray(moved, sycl_queue=x.sycl_queue)
            ends.append(float(loss(net)))
        module.bias.data[...] = sycl_dnn.asarray(old, sycl_queue=x.sycl_queue)
        slope = (ends[0] - ends[1]) / 0.02
        found = grads.fc.bias if module is net.fc else grads.bn.bias
        assert abs(float(found[1]) - slope) < 1e-2 * max(1, abs(slope))


def test_inside_compile_it_is_part_of_the_program(network, x, expected):
    net = sycl_dnn.onnx.load(network)
    x = sycl_dnn.asarray(x, sycl_queue=net.fc.weight.sycl_queue)
    compiled = sycl_dnn.compile(lambda net, x: net(x) * 2)
    close(compiled(net, x), 2 * expected)
    assert "relu" in str(compiled.explain(net, x))


def test_copies_pickles_and_files(network, x, expected, tmp_path):
    net = sycl_dnn.onnx.load(network)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        close(other(x), expected)
    sycl_dnn.save(tmp_path / "net.npz", net.state_dict())
    blank = sycl_dnn.onnx.load(network)
    for p in blank.parameters():
        p.data[...] = 0
    blank.load_state_dict(sycl_dnn.load(tmp_path / "net.npz"))
    close(blank(x), expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_another_dtype_replaces_float32(network, x, expected, dtype):
    net = sycl_dnn.onnx.load(network, dtype=dtype)
    result = net(x)
    assert str(result.dtype) == dtype
    close(result.astype("float32"), expected, 0.05)


def test_inputs_that_shape_results_are_host_values(parsed):
    model = parsed("g (float[N] x, int64[r] shape) => (float[a, b] y) { y = Reshape(x, shape) }")
    net = sycl_dnn.onnx.load(model)
    x = np.arange(6, dtype="f4")
    for shape in ([2, 3], [3, -1], [1, 6]):
        actual = net(x, shape)
        np.testing.assert_array_equal(actual.asnumpy(), x.reshape(shape))


def test_shapes_that_depend_on_values_are_host_steps(parsed):
    model = parsed("""g (float[N] x) => (float[M] y) {
        n = NonZero(x)
        i = Squeeze(n)
        y = Gather(x, i) }""")
    net = sycl_dnn.onnx.load(model)
    assert net.host_steps == ("NonZero",)
    x = np.array([0, 3, 0, 5], "f4")
    np.testing.assert_array_equal(net(x).asnumpy(), [3, 5])
    with pytest.raises(sycl_dnn.UnsupportedOperator, match="NonZero.*before the program"):
        sycl_dnn.compile(lambda net, x: net(x))(net, sycl_dnn.asarray(x))


def test_conditions_on_values_run_node_by_node(parsed):
    model = parsed("""g (float[N] x) => (float[N] y) {
        total = ReduceSum <keepdims = 0> (x)
        zero = Constant <value_float = 0.0> ()
        is_on = Greater(total, zero)
        y = If (is_on) <
            then_branch = g1 () => (float[N] a) { a = Neg(x) },
            else_branch = g2 () => (float[N] b) { b = Identity(x) }> }""")
    net = sycl_dnn.onnx.load(model)
    for values in ([1, 2], [-1, -2]):
        result = net(np.array(values, "f4")).asnumpy()
        np.testing.assert_array_equal(result, [-abs(v) for v in values])


def test_missing_operators_are_named_before_any_run(parsed):
    model = parsed("g (float[N] x) => (seq(float[N]) y) { y = SequenceConstruct(x) }")
    net = sycl_dnn.onnx.load(model)
    assert any(name.startswith("SequenceConstruct-22") for name in net.missing)
    with pytest.raises(sycl_dnn.UnsupportedOperator, match="SequenceConstruct") as caught:
        net(np.zeros(2, "f4"))
    assert caught.value.operator == "SequenceConstruct"
    assert caught.value.version == 22


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((2, 3, 8), "f4"), r"x must have shape \('N', 3, 8, 8\), got \(2, 3, 8\)"),
        (np.zeros((2, 3, 8, 8), "f8"), "x must have dtype float32, got float64"),
    ],
)
def test_inputs_that_do_not_fit_are_named(network, given, message):
    with pytest.raises(sycl_dnn.InvalidArguments, match=message):
        sycl_dnn.onnx.load(network)(given)


def test_errors_name_the_node(parsed):
    model = parsed("g (float[N] x, float[M] y) => (float[K] z) { z = Add(x, y) }")
    with pytest.raises(sycl_dnn.InvalidArguments, match=r"Add-22 \(node 'z'\)"):
        sycl_dnn.onnx.load(model)(np.zeros(2, "f4"), np.zeros(3, "f4"))


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([1.0, 1e-40, -1e-45, 1e-37], [1.0, 0.0, 0.0, 1e-37]),
        ([1e-40, 0.0, 1e-39, 0.0], [1e-40, 0.0, 1e-39, 0.0]),
        ([1.0, float("nan"), float("inf"), 1e-40], [1.0, float("nan"), float("inf"), 0.0]),
    ],
)
def test_subnormal_weights_beside_larger_ones_are_zero(parsed, values, kept):
    result = parsed("g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Mul(x, w) }")
    result.graph.initializer[0].ClearField("float_data")
    result.graph.initializer[0].raw_data = np.float32(values).tobytes()
    net = sycl_dnn.onnx.load(result)
    np.testing.assert_array_equal(net.w.asnumpy(), np.float32(kept))


def test_global_average_pools(parsed):
    for shape in ((2, 3, 7), (2, 3, 7, 5), (1, 2, 3, 4, 5)):
        x = np.random.default_rng(2).standard_normal(shape).astype("f4")
        size = ", ".join(map(str, shape))
        result = parsed(f"g (float[{size}] x) => (float[A] y) {{ y = GlobalAveragePool(x) }}")
        del result.graph.output[0].type.tensor_type.shape.dim[:]
        result.graph.output[0].type.tensor_type.ClearField("shape")
        close(sycl_dnn.onnx.load(result)(x), x.mean(tuple(range(2, len(shape))), keepdims=True))


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[2, 3], [-1, -2], [1, 2], [3]])
def test_means_of_images(parsed, axes, keepdims):
    x = np.random.default_rng(3).standard_normal((2, 3, 7, 5)).astype("f4")
    result = parsed(
        f"""g (float[2, 3, 7, 5] x) => (float[A, B] y)
        {{ y = ReduceMean<axes = {axes}, keepdims = {keepdims}>(x) }}""",
        13,
    )
    result.graph.output[0].type.tensor_type.ClearField("shape")
    close(sycl_dnn.onnx.load(result)(x), x.mean(tuple(axes), keepdims=bool(keepdims)))


def test_determinants_have_gradients():
    graph = helper.make_graph(
        [helper.make_node("Det", ["x"], ["y"])], "det",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3, 3))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))],
    )  # fmt: skip
    net = sycl_dnn.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)]))
    values = np.random.default_rng(0).normal(size=(2, 3, 3)).astype("f4")
    x = sycl_dnn.asarray(values)
    close(net(x), np.linalg.det(values))
    slopes = sycl_dnn.grad(lambda x: F.sum(net(x)))(x)
    inverses = np.linalg.inv(values).swapaxes(1, 2)
    close(slopes, np.linalg.det(values)[:, None, None] * inverses)


def test_functions_of_constants_beside_traced_values_are_part_of_the_program(parsed, monkeypatch):
    """Alone, each would be a separate program, or a kernel that dpnp compiles."""
    net = sycl_dnn.onnx.load(
        parsed("""g (float[3, 4] x) => (float[3, 2] y) {
        index = Constant <value = int64[3, 2] {-1, 0, 1, -2, 2, 3}> ()
        y = GatherElements <axis = 1> (x, index) }""")
    )
    monkeypatch.setattr(Operation, "build", None)
    x = np.arange(12, dtype="f4").reshape(3, 4)
    np.testing.assert_array_equal(net(x).asnumpy(), [[3, 0], [5, 6], [10, 11]])


def test_elements_and_copies_of_constants_are_known_while_tracing(parsed):
    net = sycl_dnn.onnx.load(
        parsed("""g (float[N, 6] x) => (float[A, B] y) {
        sizes = Constant <value = int64[2, 3] {1, 2, 3, 4, 5, 6}> ()
        index = Constant <value = int64[1, 2] {-1, 1}> ()
        row = GatherElements <axis = 1> (sizes, index)
        count = Constant <value = int64[2] {2, 2}> ()
        both = Expand(row, count)
        zero = Constant <value = int64 {0}> ()
        shape = Gather(both, zero)
        y = Reshape(x, shape) }""")
    )
    assert net(np.ones((1, 6), "f4")).shape == (3, 2)
    assert net._structure not in loaded_model._call_by_call
