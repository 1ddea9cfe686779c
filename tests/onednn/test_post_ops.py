# SPDX-License-Identifier: Apache-2.0
"""PostOps: what each computes, against NumPy; a list of calls that can be copied."""

import copy
import pickle
import subprocess
import sys

import pytest
from small_matmul import (
    ALG,
    ALL_OPS,
    M,
    N,
    T,
    attr_of,
    desc,
    matmul,
    ops_of,
)

from sycl_dnn import OutOfMemory
from sycl_dnn import onednn as dnnl


def test_operand_of_any_layout_is_chosen_by_the_primitive(engine):
    ops = ops_of(("append_binary", ALG.binary_add, desc(M, N, tag="any")))
    pd = matmul(engine, attr_of(("set_post_ops", ops)))
    chosen = pd.desc_of("attr_post_op_0_src_1")
    assert chosen.format_kind is dnnl.format_kind.blocked
    assert chosen.dims == (M, N)


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
