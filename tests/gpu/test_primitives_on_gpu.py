# SPDX-License-Identifier: Apache-2.0
"""Every primitive is made and runs on the GPU, or is refused with oneDNN's reasons."""

import numpy as np
import pytest
from case_runner import (
    ROWS_NOT_ON_GPU,
    describe,
    download,
    execute,
    faulty_outputs,
    is_refused,
    relative_error,
    run,
)
from cases import CASES

from sycl_dnn import DnnlError, Unimplemented
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import is_simulated
from sycl_dnn.tools.cases import storage

#: Cases of each row. Where nothing is computed, more shapes show little and each compiles kernels.
PER_ROW = 2 if is_simulated("gpu") else 6


SOME = [
    case
    for row, cases in CASES.items()
    for case in cases[: 1 if row in ROWS_NOT_ON_GPU else PER_ROW]
]


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.id)
def test_case_runs_or_is_refused_with_reasons(case, stream, has_values):
    arrays = case.inputs()
    if is_refused(case, stream.engine):
        with pytest.raises(Unimplemented) as refusal:
            run(case, stream, arrays)
        assert refusal.value.reasons
        return
    outputs = run(case, stream, arrays)
    assert {name: array.shape for name, array in outputs.items()} == {
        name: tuple(case.shapes[name]) for name in case.output_names
    }
    if has_values:
        faulty = faulty_outputs(case, stream.engine)
        for name, expected in case.expected(arrays).items():
            if name not in faulty:
                assert relative_error(outputs[name].reshape(expected.shape), expected) < 2e-5, name


def test_every_row_is_tried():
    assert {case.row for case in SOME} == set(dnnl.PRIMITIVES)


def retyped(pd, data_type):
    """The same parameters with every f32 descriptor but statistics in another data type."""
    given = {}
    for key, value in pd.parameters.items():
        if (
            key != "stat"
            and isinstance(value, dnnl.MemoryDesc)
            and value.data_type is dnnl.data_type.f32
        ):
            free = value.format_kind is dnnl.format_kind.any
            value = dnnl.MemoryDesc(value.dims, data_type, *(["any"] if free else []))
        given[key] = value
    return given


HALF_ROWS = (
    "convolution_forward", "matmul", "inner_product_forward", "eltwise_forward",
    "softmax_forward", "pooling_forward", "layer_normalization_forward", "binary",
)  # fmt: skip


@pytest.mark.parametrize("data_type", ["f16", "bf16"])
@pytest.mark.parametrize("row", HALF_ROWS)
def test_half_types(row, data_type, stream, has_values):
    case = CASES[row][0]
    f32 = describe(case, stream.engine)
    pd = getattr(dnnl, row)(stream.engine, **retyped(f32, dnnl.data_type[data_type]))
    arrays = case.inputs()
    done = execute(case, pd, stream, arrays)
    if has_values:
        for name, expected in case.expected(arrays).items():
            got = done.results()[0][name].reshape(expected.shape)
            assert relative_error(got, expected) < (5e-3 if data_type == "f16" else 4e-2), name


def in_f32(memory, stream):
    """Return the values of a Memory of any data type as a NumPy array."""
    plain = dnnl.Memory(dnnl.MemoryDesc(memory.desc.dims, dnnl.data_type.f32), stream.engine)
    reorder = dnnl.reorder(stream.engine, src=memory.desc, dst=plain.desc)
    dnnl.Primitive(reorder).execute(stream, {"src": memory, "dst": plain}).wait()
    return download(plain, stream)


def window(engine, data_type, weights_type):
    any_desc = [
        dnnl.MemoryDesc(dims, dnnl.data_type[kind], "any")
        for dims, kind in (
            ((2, 16, 8, 8), data_type), ((16, 16, 3, 3), weights_type), ((2, 16, 8, 8), data_type)
        )
    ]  # fmt: skip
    names = dict(zip(("src", "weights", "dst"), any_desc, strict=True))
    return dnnl.convolution_forward(
        engine, **names, prop_kind=dnnl.prop_kind.forward_inference,
        algorithm=dnnl.algorithm.convolution_direct, strides=(1, 1), padding_l=(1, 1),
        padding_r=(1, 1),
    )  # fmt: skip


def test_int8_convolution(stream, has_values):
    pd = window(stream.engine, "s8", "s8")
    rng = np.random.default_rng(0)
    shapes = {"src": (2, 16, 8, 8), "weights": (16, 16, 3, 3)}
    arrays = {name: rng.integers(-3, 3, shape).astype("f4") for name, shape in shapes.items()}
    args = {name: storage.write(a, pd.desc_of(name), stream).memory for name, a in arrays.items()}
    args["dst"] = dnnl.Memory(pd.dst_desc, stream.engine)
    dnnl.Primitive(pd).execute(stream, args).wait()
    if has_values:
        padded = np.pad(arrays["src"], ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        exact = np.einsum("nchwij,ocij->nohw", windows, arrays["weights"])
        np.testing.assert_array_equal(in_f32(args["dst"], stream), np.clip(exact, -128, 127))


def test_f64_is_refused_with_reasons(stream):
    """Arc has no f64; Tiger Lake and DG1 have none either."""
    d = dnnl.MemoryDesc((4, 4), dnnl.data_type.f64)
    if stream.sycl_queue.sycl_device.has_aspect_fp64:
        pd = dnnl.matmul(stream.engine, src=d, weights=d, dst=d)
        assert pd.impl_info
        return
    with pytest.raises(Unimplemented) as refusal:
        dnnl.matmul(stream.engine, src=d, weights=d, dst=d)
    assert refusal.value.reasons


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
