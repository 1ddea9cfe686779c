# SPDX-License-Identifier: Apache-2.0
"""Known faults of oneDNN: still present, with a warning exactly where a case triggers one."""

import warnings

import dpnp
import numpy as np
import pytest
from conformance import device_runs, expected_results, known_faults
from primitive_cases import call_of, calls_by_row, without_states

from sycl_dnn import InvalidArguments, OneDnnFaultWarning, Unimplemented
from sycl_dnn import onednn as dnnl
from sycl_dnn.onednn import faults
from sycl_dnn.onednn.fault import cpu_saturates

#: Name of a fault -> calls that trigger it.
FAULTY = {
    "deconvolution-pointwise": [
        call_of("--deconv --stag=abx --wtag=abx --dtag=abx mb2ic8ih5oc4kh1")
    ],
    "inner-product-order": [call_of("--ip --stag=axb --wtag=bcda --dir=FWD_I mb2ic8ih3oc16")],
    "rms-norm-gradient": [call_of("--lnorm --dir=BWD_D --flags=M 3x4x33")],
    "augru-gradients": [
        call_of(f"--rnn --prop=BWD_DW --alg={cell} l1t3mb2sic16")
        for cell in ("VANILLA_AUGRU", "LBR_AUGRU")
    ],
    "rnn-no-initial-state": [
        without_states(call_of(f"--rnn --prop=BWD_DW --alg={cell} l2t4mb2sic6"))
        for cell in ("VANILLA_RNN", "VANILLA_LSTM")
    ],
}

ADVICE = {fault.name: fault.advice for fault in faults.FAULTS}


def wrong_outputs(call, done):
    """Return the outputs that differ from the reference."""
    expected = expected_results.expected(call, done.inputs)
    return [
        n for n, actual in done.outputs.items() if n in expected and is_wrong(actual, expected[n])
    ]


def is_wrong(actual, expected):
    scale = max(np.abs(expected).max(initial=0.0), 1e-3)
    return np.abs(actual.reshape(expected.shape) - expected).max(initial=0.0) / scale > 2e-5


@pytest.mark.parametrize("name", FAULTY)
def test_fault_is_warned_of(name, stream):
    for call in FAULTY[name]:
        try:
            done = device_runs.run(call, stream, name)
        except Unimplemented:
            assert stream.engine.kind is dnnl.engine_kind.gpu
            continue
        if call.row == "lstm_backward" and stream.engine.kind is dnnl.engine_kind.gpu:
            continue  # Depends on the previous contents of memory: test_faults_on_gpu.py.
        told = "oneDNN may have mended this: look, then drop the fault and its warning"
        assert bool(wrong_outputs(call, done)) == bool(done.warned), told
        if stream.engine.kind is dnnl.engine_kind.cpu:
            # A CPU with AVX-512 has another implementation of this deconvolution.
            is_met = name != "deconvolution-pointwise" or "ncsp" in done.impl
            assert any(ADVICE[name] in text for text in done.warned) == is_met, told


@pytest.mark.parametrize("row", [row for row in dnnl.PRIMITIVES if "backward" in row])
@pytest.mark.sweep(3)
@pytest.mark.cpu  # GPUs: tests/gpu/test_faults_on_gpu.py; some depend on what memory held
def test_warnings_only_where_values_are_wrong(row, stream):
    for call in calls_by_row()[row]:
        try:
            done = device_runs.run(call, stream, row)
        except (Unimplemented, InvalidArguments):
            continue
        wrong = wrong_outputs(call, done) or known_faults.explain(call, done.impl, [], "cpu")
        assert wrong or not done.warned, (call, done.warned)


def gru_gradients(engine, src, dst):
    """Describe the gradients of a GRU over layers of these layouts."""
    desc, f32 = dnnl.MemoryDesc, dnnl.data_type.f32
    weights, state = desc((1, 1, 16, 3, 16), f32, "any"), desc((1, 1, 2, 16), f32)
    provided = {
        "src_layer": src, "src_iter": state, "weights_layer": weights, "weights_iter": weights,
        "bias": desc((1, 1, 3, 16), f32), "dst_layer": dst, "dst_iter": state,
    }  # fmt: skip
    left_to_right = dnnl.rnn_direction.unidirectional_left2right
    train = dnnl.prop_kind.forward_training
    hint = dnnl.gru_forward(engine, prop_kind=train, direction=left_to_right, **provided)
    gradients = {f"diff_{name}": d for name, d in provided.items()}
    return dnnl.gru_backward(
        engine, prop_kind=dnnl.prop_kind.backward, direction=left_to_right, hint_fwd_pd=hint,
        **provided, **gradients,
    )  # fmt: skip


def layer(*strides):
    return dnnl.MemoryDesc((3, 2, 16), dnnl.data_type.f32, strides=strides)


ROW_MAJOR, BATCH_FIRST, PART = (32, 16, 1), (16, 48, 1), (64, 16, 1)


@pytest.mark.cpu
@pytest.mark.parametrize("strides", [BATCH_FIRST, PART])
def test_steps_apart_are_warned_of(strides, engine):
    with pytest.warns(OneDnnFaultWarning, match="steps of src_layer are not contiguous"):
        gru_gradients(engine, layer(*strides), layer(*ROW_MAJOR))


@pytest.mark.parametrize("strides", [ROW_MAJOR, BATCH_FIRST])
def test_layers_in_one_layout_do_not_warn(strides, engine):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OneDnnFaultWarning)
        gru_gradients(engine, layer(*strides), layer(*strides))


#: Data types of results, and a value that their scale, 1, leaves too large.
FOUND = {"f8_e4m3": 480.0, "f8_e5m2": 62000.0}


def with_found_scale(stream, largest, dst_type):
    """Return 32 numbers that go through float8, and the byte of the scale that oneDNN finds."""
    desc, kind, engine = dnnl.MemoryDesc, dnnl.data_type, stream.engine
    attr = dnnl.PrimitiveAttr()
    found = dnnl.quantization_mode.dynamic_mx
    attr.set_scales("dst", 3, (1, 32), kind.e8m0, False, found)
    plain, one = desc((1, 32), kind.f32), desc((1, 1), kind.f32)
    pd = dnnl.matmul(engine, src=one, weights=plain, dst=desc((1, 32), kind[dst_type]), attr=attr)
    row = np.arange(1, 33, dtype="f4")[None]
    row[0, 3] = largest
    inputs = {"src": np.ones((1, 1), "f4"), "weights": row}
    inputs = {n: dnnl.Memory.from_array(to_device(a, stream), engine) for n, a in inputs.items()}
    results = {
        "dst": dnnl.Memory(pd.dst_desc, engine),
        "attr_scales_dst": dnnl.Memory(desc((1,), kind.e8m0), engine),
    }
    dnnl.Primitive(pd).execute(stream, inputs | results).wait()
    back = dnnl.Memory(plain, engine)
    whole = dnnl.reorder(engine, src=pd.dst_desc, dst=plain)
    dnnl.Primitive(whole).execute(stream, {"src": results["dst"], "dst": back}).wait()
    return back.to_array().asnumpy()[0], results["attr_scales_dst"].to_array().asnumpy()


def to_device(array, stream):
    """Return a copy that is there already: oneDNN's streams do not wait for dpnp."""
    copy = dpnp.asarray(array, sycl_queue=stream.sycl_queue)
    stream.sycl_queue.wait()
    return copy


@pytest.mark.parametrize("dst_type", FOUND)
def test_largest_value_with_a_computed_scale_warns(dst_type, stream):
    with pytest.warns(OneDnnFaultWarning, match="instead of the type's maximum"):
        actual, scale = with_found_scale(stream, FOUND[dst_type], dst_type)
    assert scale == 127, "an exponent of 0"
    others = np.delete(actual, 3)
    np.testing.assert_allclose(others, np.delete(np.arange(1, 33), 3), rtol=0.125)
    assert not np.isfinite(actual[3]), "oneDNN may have mended this: look, then drop the warning"


def test_largest_value_that_fits_is_kept(stream):
    actual, _ = with_found_scale(stream, 448.0, "f8_e4m3")
    assert actual[3] == 448.0


@pytest.mark.cpu  # GPUs add products in 32 bits
@pytest.mark.parametrize("source", ["u8", "s8"])
def test_saturating_products_warn(source, stream):
    """On a CPU without VNNI; the reference implementation does not saturate."""
    images, kernels = (
        dnnl.MemoryDesc(s, t, "any") for s, t in (((2, 16, 6, 6), source), ((16, 16, 3, 3), "s8"))
    )
    result = dnnl.MemoryDesc((2, 16, 4, 4), "s32", "any")
    none = [0, 0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dnnl.convolution_forward(
            stream.engine, prop_kind="forward_inference", algorithm="convolution_direct",
            src=images, weights=kernels, dst=result, strides=[1, 1], dilates=none, padding_l=none,
            padding_r=none,
        )  # fmt: skip
        dnnl.matmul(
            stream.engine, src=dnnl.MemoryDesc((8, 64), source),
            weights=dnnl.MemoryDesc((64, 16), "s8", "any"), dst=dnnl.MemoryDesc((8, 16), "s32"),
        )  # fmt: skip
        floats = dnnl.MemoryDesc((8, 8), "f32")
        dnnl.matmul(stream.engine, src=floats, weights=floats, dst=floats)
    told = [w for w in caught if "16-bit saturation" in str(w.message)]
    assert len(told) == (2 if cpu_saturates() else 0)
