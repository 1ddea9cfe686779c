# SPDX-License-Identifier: Apache-2.0
"""PostOps: what each computes, against NumPy; a list of calls that can be copied."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from descriptors import require
from small_matmul import (
    ALG,
    ALL_OPS,
    F32,
    K,
    M,
    N,
    T,
    array_memory,
    attr_of,
    desc,
    download,
    matmul,
    ops_of,
    run,
)

from sycl_dnn import OutOfMemory
from sycl_dnn import onednn as dnnl
from sycl_dnn.tools.cases import storage


def relu(x):
    return np.maximum(x, 0)


ROW, CONDITION = np.arange(N, dtype="f4").reshape(1, N), np.arange(M * N).reshape(M, N) % 2
#: post-ops, their operands, the result from the product
CHAINS = {
    "sum": ([("append_sum",)], {}, lambda x: x + 3),
    "scaled sum": ([("append_sum", 2.0)], {}, lambda x: x + 6),
    "eltwise": ([("append_eltwise", ALG.eltwise_relu)], {}, relu),
    "eltwise with alpha": (
        [("append_eltwise", ALG.eltwise_relu, 0.5)], {}, lambda x: np.where(x > 0, x, x / 2),
    ),
    "linear": ([("append_eltwise", ALG.eltwise_linear, 2.0, 1.0)], {}, lambda x: 2 * x + 1),
    "binary add": (
        [("append_binary", ALG.binary_add, desc(1, N))], {"attr_post_op_0_src_1": ROW},
        lambda x: x + ROW,
    ),
    "binary max": (
        [("append_binary", ALG.binary_max, desc(1, 1))],
        {"attr_post_op_0_src_1": np.full((1, 1), 5, "f4")}, lambda x: np.maximum(x, 5),
    ),
    "prelu": (
        [("append_prelu", 2)], {"attr_post_op_0_weights": ROW[0]},
        lambda x: np.where(x > 0, x, x * ROW),
    ),
    "select": (
        [("append_binary", ALG.binary_select, desc(1, N), desc(M, N, data_type=T.s8))],
        {"attr_post_op_0_src_1": ROW, "attr_post_op_0_src_2": CONDITION.astype("i1")},
        lambda x: np.where(CONDITION, x, ROW),
    ),
    "chain": (
        [("append_eltwise", ALG.eltwise_relu), ("append_sum", -1.0),
         ("append_binary", ALG.binary_mul, desc(1, N)), ("append_eltwise", ALG.eltwise_square)],
        {"attr_post_op_2_src_1": ROW}, lambda x: ((relu(x) - 3) * ROW) ** 2,
    ),
    "chain in another order": (
        [("append_binary", ALG.binary_mul, desc(1, N)), ("append_sum", -1.0),
         ("append_eltwise", ALG.eltwise_relu)],
        {"attr_post_op_0_src_1": ROW}, lambda x: relu(x * ROW - 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHAINS)
def test_post_ops_compute_as_numpy(case, engine, stream):
    calls, operands, function = CHAINS[case]
    rng = np.random.default_rng(0)
    src, weights = (rng.integers(-3, 4, s).astype("f4") for s in ((M, K), (K, N)))
    attr = attr_of(("set_post_ops", ops_of(*calls)))
    pd = matmul(engine, attr, allow_empty=True)
    require(pd, engine, f"matmul with the post-op {case}")
    names = {n for n in dnnl.Primitive(pd).arguments if n.startswith("attr_")}
    assert names == set(operands)
    dst = array_memory(np.full((M, N), 3, "f4"), engine)
    actual = run(pd, stream, src=src, weights=weights, dst=dst, **operands)
    np.testing.assert_allclose(actual, function(src @ weights), rtol=1e-5)


def test_operand_of_any_layout_is_chosen_by_the_primitive(engine):
    ops = ops_of(("append_binary", ALG.binary_add, desc(M, N, tag="any")))
    pd = matmul(engine, attr_of(("set_post_ops", ops)))
    chosen = pd.desc_of("attr_post_op_0_src_1")
    assert chosen.format_kind is dnnl.format_kind.blocked
    assert chosen.dims == (M, N)


def test_depthwise_convolution_follows(engine, stream):
    attr = attr_of(("set_post_ops", ops_of(("append_dw", F32, F32, F32, 3, 1, 1))))
    x = desc(2, 8, 6, 6, tag="any")
    pd = dnnl.convolution_forward(
        engine, prop_kind=dnnl.prop_kind.forward_inference, algorithm=ALG.convolution_direct,
        src=x, weights=desc(8, 8, 1, 1, tag="any"), dst=x, strides=(1, 1), padding_l=(0, 0),
        padding_r=(0, 0), attr=attr, allow_empty=True,
    )  # fmt: skip
    require(pd, engine, "convolution with a depthwise post-op")
    rng = np.random.default_rng(0)
    src = rng.integers(-3, 4, (2, 8, 6, 6)).astype("f4")
    pointwise = rng.integers(-3, 4, (8, 8, 1, 1)).astype("f4")
    depthwise, bias = rng.integers(-3, 4, (8, 1, 1, 3, 3)).astype("f4"), np.arange(8, dtype="f4")
    inputs = {"src": src, "weights": pointwise, "attr_post_op_dw_weights": depthwise}
    inputs["attr_post_op_dw_bias"] = bias
    primitive = dnnl.Primitive(pd)
    args = {
        n: storage.write(v, primitive.arguments[n]["desc"], stream).memory
        for n, v in inputs.items()
    }
    args["dst"] = dnnl.Memory(pd.dst_desc, engine)
    primitive.execute(stream, args).wait()
    middle = np.einsum("nchw,oc->nohw", src, pointwise[:, :, 0, 0])
    padded = np.pad(middle, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    expected = np.einsum("nchwij,cij->nchw", windows, depthwise[:, 0, 0]) + bias[:, None, None]
    np.testing.assert_allclose(download(args["dst"], stream), expected, rtol=1e-5)


def test_post_ops_are_a_list_of_calls():
    ops = ops_of(*ALL_OPS)
    kinds = ("sum", "eltwise", "binary", "binary", "prelu", "convolution")
    assert len(ops) == 6
    assert [ops.kind(i) for i in range(6)] == [dnnl.primitive_kind[k] for k in kinds]
    assert [name for name, _ in ops] == [op[0] for op in ALL_OPS]
    assert ops[0] == ("append_sum", (2.0, 1, T.s8))
    assert ops[1] == ("append_eltwise", (ALG.eltwise_relu, 0.5, 0.0))
    for index in (6, -1, 100):
        with pytest.raises(IndexError, match=f"below 6, got {index}"):
            ops[index]
    assert ops == ops_of(*ALL_OPS) == pickle.loads(pickle.dumps(ops)) == copy.deepcopy(ops)
    assert ops != ops_of(*ALL_OPS[::-1])
    assert ops != "ops"
    assert "append_prelu(2,)" in repr(ops)


def test_attributes_take_a_copy_of_post_ops(engine):
    ops = ops_of(("append_eltwise", ALG.eltwise_relu))
    attr = attr_of(("set_post_ops", ops))
    ops.append_binary(ALG.binary_add, desc(1, N))
    assert attr == attr_of(("set_post_ops", ops_of(("append_eltwise", ALG.eltwise_relu))))
    assert "attr_post_op_1_src_1" not in dnnl.Primitive(matmul(engine, attr)).arguments
    ((recorded,),) = attr.get("set_post_ops")
    assert len(recorded) == 1


@pytest.mark.parametrize("make", [dnnl.PostOps.copy, copy.copy, copy.deepcopy])
def test_copy_of_post_ops_is_independent(make):
    ops = ops_of(("append_sum",))
    twin = make(ops)
    twin.append_eltwise(ALG.eltwise_relu)
    assert (len(ops), len(twin)) == (1, 2)
    assert (len(list(ops)), len(list(twin))) == (1, 2)


def test_32_post_ops_and_no_more(engine):
    ops = ops_of(*[("append_eltwise", ALG.eltwise_linear, 1.0)] * 32)
    assert len(ops) == 32
    with pytest.raises(OutOfMemory):
        ops.append_eltwise(ALG.eltwise_relu)
    assert len(ops) == 32
    assert matmul(engine, attr_of(("set_post_ops", ops))).primitive_attr.get("set_post_ops")


SELECT_WITHOUT_CONDITION = """
from sycl_dnn import InvalidArguments, onednn as dnnl
d = dnnl.MemoryDesc((1, 8), dnnl.data_type.f32)
try:
    dnnl.PostOps().append_binary(dnnl.algorithm.binary_select, d)
except InvalidArguments as error:
    print(error)
"""


@pytest.mark.slow
def test_select_needs_its_condition():
    """In a separate process, because oneDNN crashes."""
    run = [sys.executable, "-c", SELECT_WITHOUT_CONDITION]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0
    assert "src2" in done.stdout
