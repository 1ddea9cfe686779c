# SPDX-License-Identifier: Apache-2.0
"""Rows and types that oneDNN's GPU engine runs or refuses, with reasons.

The simulated driver 22.43 writes four bytes to a stray address when it enqueues oneDNN's gemm
kernels for Arc (seen by valgrind in libigdrcl.so, f32 matmul is enough). Most runs survive that;
some abort later or at exit with a corrupted heap, although all tests passed.
"""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from primitive_cases import call_of, calls_by_row, described

import sycl_dnn
from sycl_dnn import DnnlError, InvalidArguments, Unimplemented
from sycl_dnn import onednn as dnnl

RUNS = "runs"
BAD_ALGORITHM = "bad algorithm"
WRONG_RESULT = "doesn't return the correct result"

#: Row: "runs", or a part of oneDNN's reason for refusing it. The same on Arc, DG1 and Tiger Lake.
EXPECTED = dict.fromkeys(dnnl.PRIMITIVES, RUNS) | {
    "group_normalization_backward": WRONG_RESULT,
    "augru_forward": BAD_ALGORITHM,
    "augru_backward": BAD_ALGORITHM,
    "lbr_augru_forward": BAD_ALGORITHM,
    "lbr_augru_backward": BAD_ALGORITHM,
}

#: Single cases that are refused although their row runs.
LSTM = "--rnn --alg=VANILLA_LSTM"
REFUSED_CASES = {
    f"{LSTM} --with-peephole=true l1t3mb2sic16": "is_lstm_peephole",
    f"{LSTM} --with-projection=true l1t3mb2sic16slc12dhc20dic16": "is_lstm_projection",
    f"{LSTM} --prop=BWD_DW --direction=concat --with-peephole=true l1t3mb2sic16": (
        "is_lstm_peephole"
    ),
    f"{LSTM} --prop=BWD_DW --with-projection=true l1t3mb2sic16slc12dhc20dic16": (
        "is_lstm_projection"
    ),
    "--deconv --alg=WINO --stag=axb --dtag=axb mb1ic16ih4oc16kh3ph1": BAD_ALGORITHM,
}

#: Tensors that stay f32 in a network of 16-bit types. Conditions of ``select`` stay s8.
STAYS_F32 = re.compile(r"(diff_)?(mean|variance|scale|shift)|(src|dst)_iter_c")
#: Backward rows, and the recurrent ones, that are tried in 16-bit types.
HALF_BACKWARD = [
    "convolution_backward_data",
    "eltwise_backward",
    "batch_normalization_backward",
    "pooling_backward",
    "softmax_backward",
    "vanilla_rnn_forward",
    "lstm_forward",
]


def memories(primitive, engine):
    slots = primitive.arguments
    return {n: dnnl.Memory(s["desc"], engine) for n, s in slots.items() if s["required"]}


def submit(call, stream):
    """Make the primitive, after its forward descriptor if it is a backward one, and run it."""
    primitive = dnnl.Primitive(described(call, stream.engine))
    primitive.execute(stream, memories(primitive, stream.engine)).wait()


def retyped(call, data_type):
    """The call with every floating-point tensor in another type, but for what stays f32."""
    is_rnn = "weights_iter" in call.tensors
    tensors = {
        name: tensor
        if tensor.dtype != "f32" or STAYS_F32.fullmatch(name) or (is_rnn and name == "bias")
        else replace(tensor, dtype=data_type)
        for name, tensor in call.tensors.items()
    }
    forward = call.forward and retyped(call.forward, data_type)
    return replace(call, tensors=tensors, forward=forward)


def check_refusal(call, stream, reason):
    with pytest.raises(Unimplemented) as refusal:
        submit(call, stream)
    assert any(reason in line for line in refusal.value.reasons), refusal.value.reasons


@pytest.mark.parametrize("row", EXPECTED)
def test_row_is_as_expected(row, stream, tally):
    call, expected = calls_by_row()[row][0], EXPECTED[row]
    if expected == RUNS:
        submit(call, stream)
    else:
        check_refusal(call, stream, expected)
    tally[row] = expected


@pytest.mark.parametrize("line", REFUSED_CASES)
def test_case_is_refused_for_its_reason(line, stream):
    check_refusal(call_of(line), stream, REFUSED_CASES[line])


@pytest.mark.parametrize("row", ["matmul", "convolution_forward"])
def test_f64_needs_a_device_that_has_it(row, stream):
    call = retyped(calls_by_row()[row][0], "f64")
    if stream.sycl_queue.sycl_device.has_aspect_fp64:
        submit(call, stream)
    else:
        check_refusal(call, stream, "unsupported datatype")


@pytest.mark.parametrize("data_type", ["f16", "bf16"])
@pytest.mark.parametrize("row", HALF_BACKWARD)
def test_half_types_are_submitted_in_training(row, data_type, stream):
    submit(retyped(calls_by_row()[row][0], data_type), stream)


def test_an_execution_that_the_driver_refuses_is_an_error(stream):
    """The simulated driver lacks the work-groups that s8 matmul wants on Arc; others have them."""
    s8 = dnnl.MemoryDesc((16, 16), dnnl.data_type.s8)
    s32 = dnnl.MemoryDesc((16, 16), dnnl.data_type.s32)
    primitive = dnnl.Primitive(dnnl.matmul(stream.engine, src=s8, weights=s8, dst=s32))
    args = memories(primitive, stream.engine)
    message = None
    try:
        primitive.execute(stream, args).wait()
    except DnnlError as error:
        message = str(error)
    assert message is None or re.match("matmul: .*work-group", message)
    stream.wait()
    assert stream.pending == 0


@pytest.mark.parametrize("to_gpu", [True, False])
def test_reorder_between_devices_is_refused_on_the_cpu_stream(to_gpu, stream, cpu_stream):
    """It belongs to the GPU, whichever of the two is its source; the message says so."""
    d = dnnl.MemoryDesc((4, 8), dnnl.data_type.f32)
    src, dst = (s.engine for s in ((cpu_stream, stream) if to_gpu else (stream, cpu_stream)))
    args = {"src": dnnl.Memory(d, src), "dst": dnnl.Memory(d, dst)}
    reorder = dnnl.Primitive(dnnl.reorder(src, src=d, dst=d, dst_engine=dst))
    cpu_stream.wait()  # other tests use this queue too
    rule = "reorder: stream must be on the GPU's engine in a reorder between CPU and GPU"
    names = (stream.sycl_queue.sycl_device.name, cpu_stream.sycl_queue.sycl_device.name)
    gpu_name, cpu_name = map(re.escape, names)
    message = rf"{rule} \(gpu engine on {gpu_name}\), got one on the cpu engine on {cpu_name}"
    with pytest.raises(InvalidArguments, match=message):
        reorder.execute(cpu_stream, args)
    assert cpu_stream.pending == 0
    reorder.execute(stream, args).wait()


def test_scratchpads_on_both_devices(stream, cpu_stream):
    """Each device has its own pool; buffers are idle and can be freed once the work is done."""
    call = call_of(f"{LSTM} l1t2mb5sic32slc16")
    for own in (stream, cpu_stream):
        primitive = dnnl.Primitive(described(call, own.engine))
        assert primitive.primitive_desc.scratchpad_desc.get_size() > 0
        args = memories(primitive, own.engine)
        args.pop("scratchpad", None)
        primitive.execute(own, args)
    stream.wait()
    cpu_stream.wait()
    assert dnnl.scratchpad_info()["busy"] == 0
    assert dnnl.scratchpad_info()["buffers"] >= 2
    dnnl.clear_scratchpads()
    assert dnnl.scratchpad_info()["buffers"] == 0


def test_report_has_the_gpu_as_default(gpu):
    command = [sys.executable, "-m", "sycl_dnn", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    report = json.loads(done.stdout)
    default = [device for device in report["devices"] if device["default"]]
    assert [device["kind"] for device in default] == ["gpu"]
    assert default[0]["engine"] is True
    assert default[0]["name"] == gpu.sycl_device.name
    assert report["default"] == sycl_dnn.default_queue().sycl_device.filter_string


@pytest.mark.parametrize("row", ["batch_normalization_forward", "layer_normalization_forward"])
def test_normalizing_nothing_is_refused(row):
    """oneDNN divides by zero when it makes the descriptor, which ends the process."""
    engine = dnnl.Engine(sycl_dnn.default_queue("gpu"))
    nothing = dnnl.MemoryDesc((0, 8, 4, 4), dnnl.data_type.f32, "nchw")
    kind, flags = dnnl.prop_kind.forward_training, dnnl.normalization_flags.none
    with pytest.raises(Unimplemented, match="divides by the sizes of src"):
        getattr(dnnl, row)(
            engine, prop_kind=kind, src=nothing, dst=nothing, epsilon=1e-5, flags=flags
        )


@pytest.mark.parametrize("name", ["bf16", "f16"])
def test_empty_products_in_narrow_floats_are_refused(name, stream):
    def desc(*dims):
        return dnnl.MemoryDesc(dims, dnnl.data_type[name])

    with pytest.raises(Unimplemented, match="matmul: oneDNN divides by the sizes of src"):
        dnnl.matmul(stream.engine, src=desc(3, 0), weights=desc(0, 4), dst=desc(3, 4))


def test_empty_slopes_are_refused(stream):
    def desc(*dims):
        return dnnl.MemoryDesc(dims, dnnl.data_type.f32)

    src, weights = desc(0, 16, 4), desc(1, 16, 1)
    training = dnnl.prop_kind.forward_training
    hint = dnnl.prelu_forward(stream.engine, prop_kind=training, src=src, weights=weights, dst=src)
    with pytest.raises(Unimplemented, match="prelu_backward: oneDNN divides by the sizes of src"):
        dnnl.prelu_backward(
            stream.engine, src=src, weights=weights, diff_src=src, diff_weights=weights,
            diff_dst=src, hint_fwd_pd=hint,
        )  # fmt: skip


def lstm(engine, cell_type):
    bf16, f32 = dnnl.data_type.bf16, dnnl.data_type.f32
    md = dnnl.MemoryDesc
    state = md((1, 1, 2, 16), bf16)
    return dnnl.lstm_forward(
        engine, prop_kind=dnnl.prop_kind.forward_inference,
        direction=dnnl.rnn_direction.unidirectional_left2right,
        src_layer=md((3, 2, 16), bf16), src_iter=state,
        src_iter_c=md((1, 1, 2, 16), dnnl.data_type[cell_type]),
        weights_layer=md((1, 1, 16, 4, 16), bf16, "any"),
        weights_iter=md((1, 1, 16, 4, 16), bf16, "any"), bias=md((1, 1, 4, 16), f32),
        dst_layer=md((3, 2, 16), bf16), dst_iter=state,
        dst_iter_c=md((1, 1, 2, 16), dnnl.data_type[cell_type]),
    )  # fmt: skip


def test_kernel_that_does_not_compile_is_an_error_and_no_crash(stream):
    """oneDNN's kernel for a bf16 cell state is broken; an f32 one is fine."""
    with pytest.raises(DnnlError):
        dnnl.Primitive(lstm(stream.engine, "bf16"))
    assert dnnl.Primitive(lstm(stream.engine, "f32")).name == "lstm_forward"
