# SPDX-License-Identifier: Apache-2.0
"""Models whose conditions depend on values: programs between the nodes that read values."""

import gc
import weakref

import numpy as np
import pytest
from onnx import numpy_helper

import sycl_dnn
from sycl_dnn.compiler import programs
from sycl_dnn.nn import folded_calls
from sycl_dnn.onnx.evaluation import Evaluation

#: Doubles a state until its sum exceeds 100, and stacks what each turn has computed.
_UNTIL_LARGE = """g (float[N, 4] x) => (float[N, 4] last, float[K, N, 4] rows) {
    limit = Constant <value_float = 100.0> ()
    is_on = Constant <value = bool {1}> ()
    last, rows = Loop(, is_on, x) <body = b (int64 i, bool before, float[N, 4] s)
        => (bool after, float[N, 4] t, float[N, 4] row) {
            count = Cast <to = 1> (i)
            a = MatMul(s, weight)
            shifted = Add(a, count)
            t = Relu(shifted)
            row = Sub(t, s)
            total = ReduceSum <keepdims = 0> (t)
            after = Less(total, limit) }> }"""
#: Appends a row in each turn, up to six: no shape comes twice in a call.
_GROWING = """g (float[N, 2] x) => (float[M, 2] y) {
    limit = Constant <value = int64 {6}> ()
    is_on = Constant <value = bool {1}> ()
    y = Loop(, is_on, x) <body = b (int64 i, bool before, float[K, 2] s)
        => (bool after, float[L, 2] t) {
            axes = Constant <value = int64[1] {0}> ()
            mean = ReduceMean(s, axes)
            next = Add(mean, mean)
            row = Exp(next)
            t = Concat <axis = 0> (s, row)
            size = Shape <end = 1> (t)
            rows = Squeeze(size)
            has_room = Less(rows, limit)
            total = ReduceSum <keepdims = 0> (t)
            is_nan = IsNaN(total)
            is_finite = Not(is_nan)
            after = And(has_room, is_finite) }> }"""


def _with_weight(model):
    values = 2 * np.eye(4, dtype="f4") + np.float32(0.1)
    model.graph.initializer.append(numpy_helper.from_array(values, "weight"))
    return sycl_dnn.onnx.load(model), values


def _until_large(x, weight):
    rows, s, total, i = [], x, 0.0, 0
    while i == 0 or total < 100:
        t = np.maximum(s @ weight + np.float32(i), 0)
        rows, s, total, i = [*rows, t - s], t, t.sum(), i + 1
    return s, np.stack(rows)


def _growing(x):
    while len(x) < 6:
        x = np.concatenate([x, np.exp(2 * x.mean(0, keepdims=True))])
    return x


def _check(net, x, weight):
    last, rows = net(x)
    expected = _until_large(x, weight)
    np.testing.assert_allclose(last.asnumpy(), expected[0], rtol=1e-5)
    np.testing.assert_allclose(rows.asnumpy(), expected[1], rtol=1e-5)


def test_turns_run_as_programs_except_for_nodes_that_read_values(parsed, monkeypatch):
    net, weight = _with_weight(parsed(_UNTIL_LARGE))
    x = np.full((2, 4), 0.5, "f4")
    for n in (2, 2, 2, 3):
        _check(net, np.full((n, 4), 0.5, "f4"), weight)
    nodes = []
    one_node = Evaluation.evaluate_node
    monkeypatch.setattr(
        Evaluation, "evaluate_node", lambda s, n, v: (nodes.append(n.op), one_node(s, n, v))
    )
    _check(net, x, weight)
    assert set(nodes) <= {"Constant", "Loop"}


@pytest.mark.parametrize("times", [1, 4])
def test_programs_follow_changes_of_weights(parsed, times):
    net, weight = _with_weight(parsed(_UNTIL_LARGE))
    x = np.full((2, 4), 0.5, "f4")
    for _ in range(times):
        _check(net, x, weight)
    for factor in (1.5, 0.7):
        new = weight * np.float32(factor)
        net.load_state_dict({"weight": sycl_dnn.asarray(new)})
        for _ in range(times):
            _check(net, x, new)
    net.weight.data[:] = sycl_dnn.asarray(weight)
    for _ in range(times):
        _check(net, x, weight)


def test_shapes_may_grow_in_each_turn(parsed):
    net = sycl_dnn.onnx.load(parsed(_GROWING))
    for seed in range(4):
        x = np.random.default_rng(seed % 2).uniform(-1, 0, (2, 2)).astype("f4")
        for _ in range(2):
            np.testing.assert_allclose(net(x).asnumpy(), _growing(x), rtol=1e-5)


def test_programs_do_not_keep_a_model(parsed):
    net, weight = _with_weight(parsed(_UNTIL_LARGE))
    for _ in range(4):
        _check(net, np.full((2, 4), 0.5, "f4"), weight)
    owner = weakref.ref(folded_calls.program_of(net))
    assert owner() is not None
    array = weakref.ref(net)
    del net
    gc.collect()
    assert array() is None
    assert owner() is None


def test_gradients_after_programs_exist(parsed):
    net, weight = _with_weight(parsed(_UNTIL_LARGE))
    x = np.full((1, 4), 0.5, "f4")
    for _ in range(3):
        _check(net, x, weight)
    given = sycl_dnn.asarray(x)
    grad = sycl_dnn.grad(lambda x: net(x)[0].sum())(given).asnumpy()
    step = np.float32(1e-2)
    numeric = (_until_large(x + step, weight)[0].sum() - _until_large(x, weight)[0].sum()) / step
    np.testing.assert_allclose(grad.sum(), numeric, rtol=1e-3)


#: Values whose shape depends on others, with enough nodes before and after them for a program.
_WITH_STEP = """g (float[N, 4] x) => (float[M] y) {
    doubled = Add(x, x)
    bent = Relu(doubled)
    shifted = Sub(bent, x)
    places = NonZero(shifted)
    axes = Constant <value = int64[1] {0}> ()
    turned = Transpose(places)
    found = GatherND(shifted, turned)
    powers = Exp(found)
    halves = Div(powers, powers)
    y = Add(halves, found) }"""


def test_nodes_outside_of_loops_run_as_programs_at_once(parsed, monkeypatch):
    net = sycl_dnn.onnx.load(parsed(_WITH_STEP))
    nodes, one_node = [], Evaluation.evaluate_node
    monkeypatch.setattr(
        Evaluation,
        "evaluate_node",
        lambda s, n, v: (nodes.append((type(s), n.op)), one_node(s, n, v))[1],
    )
    x = np.random.default_rng(3).standard_normal((3, 4)).astype("f4")
    y = np.maximum(2 * x, 0) - x
    np.testing.assert_allclose(net(x).asnumpy(), 1 + y[np.nonzero(y)], rtol=1e-5)
    assert [op for kind, op in nodes if kind is not Evaluation] == ["NonZero", "Transpose"]


#: Which boxes are kept is known on the host, and so is what depends on nothing else.
_KEPT_BOXES = """g (float[1, N, 4] boxes, float[1, 2, N] scores)
        => (float[K, 4] y, int64[K, 3] kept) {
    most = Constant <value = int64 {3}> ()
    bound = Constant <value = float {0.4}> ()
    least = Constant <value = float {0.1}> ()
    column = Constant <value = int64[1] {2}> ()
    axis = Constant <value = int64[1] {1}> ()
    front = Constant <value = int64[1] {0}> ()
    grown = Add(boxes, boxes)
    halves = Relu(grown)
    same = Sub(halves, boxes)
    kept = NonMaxSuppression(same, scores, most, bound, least)
    numbers = Gather<axis = 1>(kept, column)
    flat = Squeeze(numbers, axis)
    all = Squeeze(same, front)
    chosen = Gather(all, flat)
    y = Sub(chosen, chosen) }"""


def test_nodes_after_known_values_are_computed_by_numpy(parsed, monkeypatch):
    net = sycl_dnn.onnx.load(parsed(_KEPT_BOXES))
    # The first two overlap; the corners of the third are in another order.
    boxes = [[0, 0, 10, 10], [0, 1, 10, 11], [30, 30, 20, 20], [5, 5, 5, 5], [21, 20, 30, 31]]
    scores = [[0.8, 0.9, 0.3, 0.5, 0.4], [0.05, 0, 0.2, 0.3, 0.25]]
    nodes, one_node = [], Evaluation.evaluate_node
    monkeypatch.setattr(
        Evaluation, "evaluate_node",
        lambda s, n, v: (nodes.append((type(s), n.op)), one_node(s, n, v))[1],
    )  # fmt: skip
    y, kept = net(np.array([boxes], "f4"), np.array([scores], "f4"))
    assert kept.tolist() == [[0, 0, 1], [0, 0, 3], [0, 0, 4], [0, 1, 3], [0, 1, 4]]
    assert y.shape == (5, 4)
    alone = [op for kind, op in nodes if kind is not Evaluation and op != "Constant"]
    assert alone == ["NonMaxSuppression", "Gather", "Squeeze"]


@pytest.mark.parametrize("bound", [0.1, 0.3, 0.7])
def test_boxes_that_are_kept(bound, parsed):
    """As many as the loop for all pairs keeps, of those with a greater score; NaN is none."""
    n, most = 60, 25
    rng = np.random.default_rng(7)
    corners, sizes = rng.uniform(0, 20, (n, 2)), rng.uniform(1, 9, (n, 2))
    boxes = np.concatenate([corners, corners + sizes], 1).astype("f4")
    scores = rng.permutation(n).astype("f4")
    scores[5], scores[6] = np.nan, 10
    text = f"""g (float[1, N, 4] boxes, float[1, 1, N] scores) => (int64[K, 3] kept) {{
        most = Constant <value = int64 {{{most}}}> ()
        bound = Constant <value = float {{{bound}}}> ()
        least = Constant <value = float {{10.0}}> ()
        kept = NonMaxSuppression(boxes, scores, most, bound, least) }}"""
    (kept,) = (sycl_dnn.onnx.load(parsed(text))(boxes[None], scores[None, None]),)
    expected: list[int] = []
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], 1)
    for i in sorted(np.flatnonzero(scores > 10), key=lambda i: -scores[i]):
        sides = np.minimum(boxes[i, 2:], boxes[expected, 2:]) - np.maximum(
            boxes[i, :2], boxes[expected, :2]
        )
        shared = np.prod(np.maximum(sides, 0), 1)
        if not (shared / (areas[i] + areas[expected] - shared) > bound).any():
            expected.append(int(i))
    assert kept[:, 2].tolist() == expected[:most]


def test_programs_between_nodes_that_read_values_are_kept(parsed, monkeypatch, tmp_path):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", str(tmp_path))
    made, traced = [], programs.traced
    monkeypatch.setattr(programs, "traced", lambda *args: (made.append(1), traced(*args))[1])
    text = _WITH_STEP.replace("Add(x, x)", "MatMul(x, weight)").replace(
        "places = ", "shift = Constant <value = float {0.5}> ()\n    places = "
    )
    x = np.random.default_rng(3).standard_normal((3, 4)).astype("f4")
    for shift in ("found", "shift", "shift"):
        net, weight = _with_weight(parsed(text.replace("halves, found", f"halves, {shift}")))
        y = np.maximum(x @ weight, 0) - x
        expected = 1 + (0.5 if shift == "shift" else y[np.nonzero(y)])
        np.testing.assert_allclose(net(x).asnumpy(), np.broadcast_to(expected, 12), rtol=1e-5)
    assert len(made) == 4  # two parts of two models


def test_what_has_no_program_is_refused_by_its_node(parsed):
    text = """g (float[1, 2, 5, 5] x, float[2, 2, 3, 3] w) => (float[1, 2, 3, 3] c) {
        y = Conv(x, w)
        a = Relu(y)
        b = Exp(a)
        c = Neg(b) }"""
    net = sycl_dnn.onnx.load(parsed(text), dtype="float64")
    with pytest.raises(sycl_dnn.UnsupportedOperator, match=r"Conv-\d+ \(node 'y'\).*float64"):
        net(np.ones((1, 2, 5, 5)), np.ones((2, 2, 3, 3)))
