# SPDX-License-Identifier: Apache-2.0
"""Faults of oneDNN on GPUs: still present, reported by the name of their row, handled as it says.

Values need ``tests/executing_gpu.sh``. On a simulated Arc or Tiger Lake the same cases show which
implementation these pick: a fault of another one is none of theirs.
"""

import itertools
import re

import dpnp
import numpy as np
import pytest
from conformance import expected_results, known_faults
from conformance.case_runs import cases_of, run_case
from graph_ops import assert_close, expected
from graph_ops.attention_patterns import sdpa_int8
from graph_ops.pattern_values import arrays_of, values_of
from primitive_cases import call_of, without_states

import sycl_dnn
from sycl_dnn import OneDnnFaultWarning, Unimplemented
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.graph import Graph
from sycl_dnn.onednn import faults
from sycl_dnn.tools.cases import execution
from sycl_dnn.tools.cases.call import describe

FAULTS = {fault.name: fault for fault in faults.FAULTS if fault.device == "gpu"}
T = dnnl.data_type

#: Rows with a case, and those of them that are refused: reproduced without the register.
WITH_CASE = [name for name, fault in FAULTS.items() if fault.case]
REFUSED = [name for name in WITH_CASE if FAULTS[name].met == "refused"]


def outcomes(line, stream):
    return [run_case(case, stream) for case in cases_of(line)]


@pytest.mark.parametrize("name", sorted({*WITH_CASE} - {*REFUSED}))
def test_onednn_still_has_the_fault(name, stream, values):
    told = "\n".join(f"{r.status} {r.reason}" for r in outcomes(FAULTS[name].case, stream))
    assert told.startswith("KNOWN"), f"oneDNN may have fixed {name}: check, then drop it: {told}"
    assert re.search(rf"known fault, {known_faults.PAGE}: {name} ", told)


@pytest.mark.parametrize("name", REFUSED)
def test_onednn_still_has_the_refused_fault(name, stream, values, unchecked):
    (done,) = outcomes(FAULTS[name].case, stream)
    assert done.status == "FAILED", f"oneDNN may have fixed {name}: check, then drop it"


@pytest.mark.parametrize("name", REFUSED)
def test_impossible_requests_are_refused(name, stream):
    (done,) = outcomes(FAULTS[name].case, stream)
    assert done.status == "UNIMPLEMENTED"
    assert FAULTS[name].advice in done.reason


@pytest.mark.parametrize("name", WITH_CASE)
def test_row_names_what_a_real_gpu_picks(name, stream, has_values, unchecked):
    executed, real = FAULTS[name].impls
    (case,) = cases_of(FAULTS[name].case)
    pd, _, _ = execution.prepare(case.call(), stream.engine)
    assert pd.impl_info.startswith(executed if has_values else real)


def memory(values, stream, dtype="f4"):
    array = dpnp.asarray(np.asarray(values, dtype), sycl_queue=stream.sycl_queue)
    stream.sycl_queue.wait()
    return dnnl.Memory.from_array(array, stream.engine)


def relu_of_minus_infinity(stream):
    src = memory([-np.inf] * 16, stream)
    dst = dnnl.Memory(src.desc, stream.engine)
    pd = dnnl.eltwise_forward(
        stream.engine, prop_kind=dnnl.prop_kind.forward_inference, src=src.desc, dst=dst.desc,
        algorithm=dnnl.algorithm.eltwise_relu, alpha=0.0, beta=0.0,
    )  # fmt: skip
    dnnl.Primitive(pd).execute(stream, {"src": src, "dst": dst}).wait()
    return np.isnan(dst.to_array().asnumpy()).all()


def writes_into_gaps(stream):
    src, dst = (memory(np.full((8, 32), i), stream) for i in (1.0, 7.0))
    src, dst = (dnnl.Memory.from_array(m.to_array()[:, ::2], stream.engine) for m in (src, dst))
    with pytest.warns(OneDnnFaultWarning, match="GPUs assume that arrays are dense"):
        pd = dnnl.eltwise_forward(
            stream.engine, prop_kind=dnnl.prop_kind.forward_inference, src=src.desc, dst=dst.desc,
            algorithm=dnnl.algorithm.eltwise_linear, alpha=2.0, beta=0.0,
        )  # fmt: skip
    dnnl.Primitive(pd).execute(stream, {"src": src, "dst": dst}).wait()
    return not (dst.to_array().asnumpy() == 2).all()


def concatenates_into_gaps(stream):
    sources = [memory(np.full((n, 8), i), stream) for i, n in enumerate((2, 3))]
    room = memory(np.full((5, 12), 7.0), stream)
    dst = dnnl.Memory.from_array(room.to_array()[:, :8], stream.engine)
    with pytest.warns(OneDnnFaultWarning, match="assume that the rows of dst are dense"):
        pd = dnnl.concat(
            stream.engine, dst=dst.desc, concat_dimension=0, srcs=[m.desc for m in sources]
        )
    provided = {f"multiple_src_{i}": m for i, m in enumerate(sources)}
    dnnl.Primitive(pd).execute(stream, {**provided, "dst": dst}).wait()
    return not (room.to_array().asnumpy()[:, 8:] == 7).all()


def filled(desc, value, stream):
    """Return memory that holds a number, whatever its layout."""
    room = dnnl.Memory(desc, stream.engine)
    lent = room.to_array().view(np.uint8)
    numbers = np.full(lent.size // 4 + 1, value, "f4").view(np.uint8)[: lent.size]
    lent[...] = dpnp.asarray(numbers, sycl_queue=stream.sycl_queue)
    stream.sycl_queue.wait()
    return room


def gradients_of_old_cells(stream):
    """Whether gradients depend on old contents of the scratchpad, or of the workspace."""
    call = without_states(call_of("--rnn --prop=BWD_DW --alg=VANILLA_LSTM l2t4mb2sic6"))
    attr = dnnl.PrimitiveAttr()
    arrays = expected_results.referenced(call.forward, "cells")
    attr.set_scratchpad_mode(dnnl.scratchpad_mode.user)
    with pytest.warns(OneDnnFaultWarning, match="without src_iter_c the initial cell state is"):
        hint = describe(call.forward, stream.engine, None, attr)
    with pytest.warns(OneDnnFaultWarning, match="gradients start from uninitialized"):
        pd = describe(call, stream.engine, hint, attr)
    assert pd.impl_info.startswith("ocl:simple")
    results = []
    for kept, lent in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)):
        args = {"workspace": filled(hint.workspace_desc, kept, stream)}
        for one, descriptor, value in ((call.forward, hint, 0.0), (call, pd, lent)):
            args["scratchpad"] = filled(descriptor.scratchpad_desc, value, stream)
            done = execution.Execution(one, descriptor, stream, "cells")
            done.arrays |= arrays
            done.run(args)
        results.append(done.results()[0]["diff_bias"])
    expected = expected_results.expected(call, done.arrays)["diff_bias"].reshape(results[0].shape)
    np.testing.assert_allclose(results[0], expected, atol=1e-5)
    return not any(np.allclose(expected, other, atol=1e-2) for other in results[1:])


def reads_old_cells(stream):
    """Whether results depend on old contents of the scratchpad."""
    desc, size = dnnl.MemoryDesc, 16
    attr = dnnl.PrimitiveAttr()
    attr.set_scratchpad_mode(dnnl.scratchpad_mode.user)
    weights = desc((1, 1, size, 4, size), T.f32)
    with pytest.warns(OneDnnFaultWarning, match="without src_iter_c the initial cell state is"):
        pd = dnnl.lstm_forward(
            stream.engine, prop_kind=dnnl.prop_kind.forward_inference, attr=attr,
            direction=dnnl.rnn_direction.unidirectional_left2right,
            src_layer=desc((3, 2, size), T.f32), dst_layer=desc((3, 2, size), T.f32),
            weights_layer=weights, weights_iter=weights, bias=desc((1, 1, 4, size), T.f32),
        )  # fmt: skip
    assert pd.impl_info.startswith("ocl:simple")
    rng = np.random.default_rng(0)
    slots = dnnl.Primitive(pd).arguments
    provided = {
        name: memory(rng.standard_normal(slot["desc"].dims), stream)
        for name, slot in slots.items()
        if not slot["output"] and name != "scratchpad"
    }
    results = []
    for fill in (0.0, 1.0):
        room = filled(pd.scratchpad_desc, fill, stream)
        dst = dnnl.Memory(pd.dst_layer_desc, stream.engine)
        args = {**provided, "dst_layer": dst, "scratchpad": room}
        dnnl.Primitive(pd).execute(stream, args).wait()
        results.append(dst.to_array().asnumpy())
    return not np.array_equal(*results)


def select(stream, condition, a, b):
    """Return the implementation that oneDNN selects."""
    provided = [memory(a, stream), memory(b, stream), memory(condition, stream, "i1")]
    first, second, third = (m.desc for m in provided)
    pd = dnnl.binary(
        stream.engine, algorithm=dnnl.algorithm.binary_select, src0=first, src1=second,
        src2=third, dst=first,
    )  # fmt: skip
    dst = dnnl.Memory(first, stream.engine)
    args = dict(zip(("src_0", "src_1", "src_2"), provided, strict=True))
    dnnl.Primitive(pd).execute(stream, {**args, "dst": dst}).wait()
    return pd.impl_info, dst.to_array().asnumpy()


SHAPE = (2, 3, 4, 5)
CONDITIONS = [(2, 1, 4, 1), (1, 1, 1, 5), (1, 3, 1, 1)]
OTHERS = {SHAPE: "ocl:simple", (1, 1, 1, 1): "ocl:xe"}


def operands(condition, other):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape) for shape in (SHAPE, other))
    return rng.random(condition) > 0.5, a.astype("f4"), b.astype("f4")


def spreads_conditions(stream):
    matches = []
    for condition, other in itertools.product(CONDITIONS, OTHERS):
        args = operands(condition, other)
        implementation, actual = select(stream, *args)
        assert implementation.startswith(OTHERS[other])
        matches.append(np.array_equal(actual, np.where(*args)))
    return not any(matches)


#: Rows that no conformance case can detect: whether the fault is still present.
CHECKS = {
    "eltwise-gaps-gpu": writes_into_gaps,
    "concat-gaps-gpu": concatenates_into_gaps,
    "eltwise-infinity-gpu": relu_of_minus_infinity,
    "lstm-no-cell-state-gpu": reads_old_cells,
    "lstm-no-cell-gradient-gpu": gradients_of_old_cells,
}


@pytest.mark.parametrize("name", CHECKS)
def test_onednn_still_behaves_as_the_row_says(name, stream, values):
    assert CHECKS[name](stream), f"oneDNN may have fixed {name}: check, then drop it"


def test_broadcast_conditions_are_still_wrong(stream, values, unchecked):
    assert spreads_conditions(stream), "oneDNN may have fixed it: check, then drop it"


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_spread_conditions_are_refused(condition, stream):
    with pytest.raises(Unimplemented, match="must have the shape and layout of dst"):
        select(stream, *operands(condition, SHAPE))


@pytest.mark.parametrize("other", OTHERS, ids=str)
@pytest.mark.parametrize("condition", [*CONDITIONS, SHAPE], ids=str)
def test_graphs_select_by_spread_conditions(condition, other, gpu, values):
    c, a, b = operands(condition, other)
    graph = Graph("gpu")
    kinds = zip((condition, SHAPE, other), ("boolean", "f32", "f32"), strict=True)
    graph.output(graph.select(*(graph.input(shape, kind) for shape, kind in kinds)))
    compiled = graph.compile(gpu)
    actual = compiled(*(dpnp.asarray(v, sycl_queue=gpu) for v in (c, a, b)))
    np.testing.assert_array_equal(actual.asnumpy(), np.where(c, a, b))


@pytest.mark.parametrize("operation", ["softmax", "log_softmax"])
def test_graphs_normalize_rows_that_lie_apart(operation, gpu, values):
    x = np.random.default_rng(0).standard_normal((7, 5, 16)).astype("f4")
    graph = Graph("gpu")
    graph.output(getattr(graph, operation)(graph.input((5, 7, 16), "f32"), axis=-1))
    actual = graph.compile(gpu)(dpnp.swapaxes(dpnp.asarray(x, sycl_queue=gpu), 0, 1)).asnumpy()
    expected = np.exp(x.swapaxes(0, 1))
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(
        actual if operation == "softmax" else np.exp(actual), expected, atol=1e-5
    )


def test_constants_of_quantization_wait_for_each_other(gpu, values):
    for _ in range(5):
        graph = Graph("gpu")
        sdpa_int8(graph, "f32")
        inputs = values_of(graph, "sdpa_int8", {})
        compiled = graph.compile(gpu)
        actual = compiled(**arrays_of(graph, inputs, {}, gpu))
        assert_close(graph, actual, expected(graph, inputs, compiled), "f32", 3.0)


@pytest.mark.parametrize("data_type", ["f32", "bf16"])
def test_empty_slopes_submit_nothing(data_type, stream):
    src, weights = (dnnl.MemoryDesc(d, T[data_type]) for d in ((0, 16, 4), (1, 16, 1)))
    inference = dnnl.prop_kind.forward_inference
    pd = dnnl.prelu_forward(stream.engine, prop_kind=inference, src=src, weights=weights, dst=src)
    inputs = {"src": src, "weights": weights, "dst": src}
    args = {name: dnnl.Memory(desc, stream.engine) for name, desc in inputs.items()}
    dnnl.Primitive(pd).execute(stream, args).wait()


def apart(shape, stream):
    """Return numbers, and the memory of a view that skips every other element, which is 0."""
    numbers = np.arange(1, np.prod(shape) + 1, dtype="f4").reshape(shape)
    room = np.zeros((*shape[:-1], 2 * shape[-1]), "f4")
    room[..., ::2] = numbers
    array = memory(room, stream).to_array()
    return numbers, array, dnnl.Memory.from_array(array[..., ::2], stream.engine)


def copied(src, dst, stream):
    pd = dnnl.reorder(stream.engine, src=src.desc, dst=dst.desc)
    dnnl.Primitive(pd).execute(stream, {"src": src, "dst": dst}).wait()
    return pd.impl_info


@pytest.mark.parametrize("shape", [(3, 16), (2, 3, 16), (1, 16)], ids=str)
def test_copies_of_sixteen_elements_apart_are_refused(shape, stream, values):
    numbers, _, src = apart(shape, stream)
    dst = dnnl.Memory(dnnl.MemoryDesc(shape, T.f32), stream.engine)
    with pytest.raises(Unimplemented, match="copy them with dpnp first"):
        copied(src, dst, stream)


@pytest.mark.parametrize("shape", [(3, 17), (4, 8), (2, 32)], ids=str)
def test_other_elements_apart_are_copied(shape, stream, values):
    numbers, _, src = apart(shape, stream)
    dst = dnnl.Memory(dnnl.MemoryDesc(shape, T.f32), stream.engine)
    copied(src, dst, stream)
    np.testing.assert_array_equal(dst.to_array().asnumpy(), numbers)


def test_sixteen_elements_apart_are_still_copied_wrongly(stream, values, unchecked):
    numbers, _, src = apart((3, 16), stream)
    dst = dnnl.Memory(dnnl.MemoryDesc((3, 16), T.f32), stream.engine)
    assert copied(src, dst, stream).startswith("ocl:custom")
    told = "oneDNN may have mended reorder-sixteen-apart-gpu: look, then drop it"
    assert not np.array_equal(dst.to_array().asnumpy(), numbers), told


@pytest.mark.parametrize("columns", [4, 8, 16, 17, 32])
def test_functions_take_views_of_every_second_column(columns, gpu, values):
    room = np.random.default_rng(0).standard_normal((3, 2 * columns)).astype("f4")
    x, target = dpnp.asarray(room, sycl_queue=gpu)[:, ::2], room[:, ::2]
    gpu.wait()
    np.testing.assert_array_equal(F.relu(x).asnumpy(), np.maximum(target, 0))
    chosen = dpnp.asarray([3, 1], sycl_queue=gpu)
    weights = dpnp.ones((2, 3), dtype="f4", sycl_queue=gpu)

    def product(x, chosen, weights):
        return F.matmul(F.index_select(F.split(x, 1, 0)[1], 1, chosen), weights)

    expected = np.repeat(target[1:2, [3, 1]].sum(1, keepdims=True), 3, 1)
    for call in (product, sycl_dnn.compile(product)):
        np.testing.assert_allclose(call(x, chosen, weights).asnumpy(), expected, atol=1e-5)


HALVES = dnnl.MemoryDesc((2, 4, 8), T.s4)
HALF_BYTES = {
    "concat": lambda e: dnnl.concat(e, concat_dimension=1, srcs=[HALVES, HALVES]),
    "shuffle": lambda e: dnnl.shuffle_forward(
        e, prop_kind=dnnl.prop_kind.forward_inference, src=HALVES, dst=HALVES, axis=1,
        group_size=2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HALF_BYTES)
def test_half_bytes_are_refused(case, stream):
    with pytest.raises(Unimplemented, match="elements must have whole bytes on GPUs"):
        HALF_BYTES[case](stream.engine)


def test_4_bit_results_are_still_written_past_the_end(stream, values, unchecked):
    pd = HALF_BYTES["concat"](stream.engine)
    room = dpnp.full(1024, 7, dtype="u1", sycl_queue=stream.sycl_queue)
    src = filled(HALVES, 0.0, stream)
    dst = dnnl.Memory(pd.dst_desc, stream.engine, room)
    args = {"multiple_src_0": src, "multiple_src_1": src, "dst": dst}
    dnnl.Primitive(pd).execute(stream, args).wait()
    past = room.asnumpy()[pd.dst_desc.get_size() :]
    assert (past != 7).any(), "oneDNN may have mended half-bytes-gpu: look, then drop it"


def recurrent(stream, part_of):
    """Return a cell's result for the last 2 of 4 words, and NumPy's."""
    rng = np.random.default_rng(0)
    words, samples, channels = 2, 3, 8
    shapes = {
        "weights_layer": (1, 1, 8, 1, 8),
        "weights_iter": (1, 1, 8, 1, 8),
        "bias": (1, 1, 1, 8),
    }
    numbers = {name: rng.standard_normal(shape).astype("f4") for name, shape in shapes.items()}
    source = rng.standard_normal((2 * words, samples, channels)).astype("f4")
    arrays = {n: dpnp.asarray(x, sycl_queue=stream.sycl_queue) for n, x in numbers.items()}
    provided = {n: dnnl.Memory.from_array(x, stream.engine) for n, x in arrays.items()}
    whole = dpnp.asarray(source, sycl_queue=stream.sycl_queue)
    provided["src_layer"] = part_of(whole)
    pd = dnnl.vanilla_rnn_forward(
        stream.engine, prop_kind="forward_inference", activation="eltwise_tanh",
        direction="unidirectional_left2right", **{n: m.desc for n, m in provided.items()},
        dst_layer=dnnl.MemoryDesc((words, samples, channels), T.f32),
    )  # fmt: skip
    provided["dst_layer"] = dnnl.Memory(pd.dst_layer_desc, stream.engine)
    dnnl.Primitive(pd).execute(stream, provided).wait()
    state, expected = np.zeros((samples, channels)), []
    w, u, b = (numbers[name].squeeze() for name in shapes)
    for word in source[words:]:
        state = np.tanh(word @ w + state @ u + b)
        expected.append(state)
    return provided["dst_layer"].to_array().asnumpy(), np.stack(expected)


def part_by_offset(stream):
    return lambda whole: dnnl.Memory.from_array(whole, stream.engine).submemory(
        (2, 3, 8), (2, 0, 0)
    )


def test_cells_refuse_tensors_that_begin_within_their_memory(stream):
    with pytest.raises(Unimplemented, match="from_array of a view"):
        recurrent(stream, part_by_offset(stream))


def test_cells_take_views_of_arrays(stream, values):
    actual, expected = recurrent(stream, lambda x: dnnl.Memory.from_array(x[2:], stream.engine))
    np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_cells_still_ignore_offsets(stream, values, unchecked):
    actual, expected = recurrent(stream, part_by_offset(stream))
    told = "oneDNN may have mended rnn-submemory-gpu: look, then drop it"
    assert not np.allclose(actual, expected, atol=1e-2), told


APART = dnnl.MemoryDesc((8,), T.f32, strides=(2,))


def convolution_with(bias, stream):
    images, weights = (dnnl.MemoryDesc(n, T.f32, "acdb") for n in ((1, 8, 2, 2), (8, 8, 1, 1)))
    return dnnl.convolution_forward(
        stream.engine, prop_kind="forward_inference", algorithm="convolution_direct", src=images,
        weights=weights, bias=bias, dst=images, strides=(1, 1), dilates=(0, 0), padding_l=(0, 0),
        padding_r=(0, 0),
    )  # fmt: skip


def test_a_bias_with_gaps_is_refused(stream):
    with pytest.raises(Unimplemented, match="a bias must be contiguous"):
        convolution_with(APART, stream)


def test_bias_with_gaps_is_still_treated_as_dense(stream, values, unchecked):
    primitive = dnnl.Primitive(convolution_with(APART, stream))
    numbers, *zeros = (
        f(n, dtype="f4", sycl_queue=stream.sycl_queue)
        for f, n in ((dpnp.arange, 16), (dpnp.zeros, 32), (dpnp.zeros, 64), (dpnp.zeros, 32))
    )
    arrays = dict(zip(("bias", "src", "weights", "dst"), (numbers, *zeros), strict=True))
    descs = {n: found["desc"] for n, found in primitive.arguments.items()}
    args = {n: dnnl.Memory(descs[n], stream.engine, array) for n, array in arrays.items()}
    stream.sycl_queue.wait()
    primitive.execute(stream, args).wait()
    found = arrays["dst"]
    told = "oneDNN may have mended bias-apart-gpu: look, then drop it"
    assert not np.array_equal(found.asnumpy()[:8], np.arange(8) * 2), told
