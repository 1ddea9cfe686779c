# SPDX-License-Identifier: Apache-2.0
"""PrimitiveAttr: getters, copies, equality, pickling, refusals."""

import copy
import pickle

import pytest
import small_matmul
from small_matmul import ALG, ALL_OPS, STOCHASTIC, M, N, T, attr_of, desc, matmul, ops_of

from sycl_dnn import DnnlError, InvalidArguments
from sycl_dnn import onednn as dnnl

SETTERS = {
    "set_scratchpad_mode": [(dnnl.scratchpad_mode.library,)],
    "set_fpmath_mode": [(dnnl.fpmath_mode.bf16,), (dnnl.fpmath_mode.tf32, True)],
    "set_accumulation_mode": [(dnnl.accumulation_mode.relaxed,)],
    "set_deterministic": [(True,)],
    "set_rounding_mode": [("dst", STOCHASTIC)],
    "set_dropout": [(), (desc(M, N, data_type=T.u8), T.s64, True, True)],
    "set_scales_mask": [("src", 0)],
    "set_scales": [("weights", 3, (16, 1), T.bf16)],
    "set_host_scale": [("src",), ("src", T.f16)],
    "set_zero_points_mask": [("src", 0)],
    "set_zero_points": [("weights", 3, (16, 1), T.u8)],
    "set_host_zero_point": [("src", T.s8)],
    "set_precomputed_reductions": [("src", 3, (1, 16))],
    "set_post_ops": [(dnnl.PostOps(),), (ops_of(*ALL_OPS),)],
    "set_rnn_data_qparams": [(2.0, 3.0)],
    "set_rnn_weights_qparams": [(0, [2.0]), (3, [1.0, 2.0])],
    "set_rnn_weights_projection_qparams": [(0, [2.0])],
}
EACH = [(name, args) for name, calls in SETTERS.items() for args in calls]


def test_every_setter_is_tried():
    assert set(SETTERS) == {n for n in dir(dnnl.PrimitiveAttr) if n.startswith("set_")}
    assert {op[0] for op in ALL_OPS} == {n for n in dir(dnnl.PostOps) if n.startswith("append_")}


@pytest.mark.parametrize("call", EACH, ids=lambda call: f"{call[0]}{len(call[1])}")
def test_attributes_compare_copy_and_pickle(call):
    setter, arguments = call
    attr, same, default = attr_of((setter, *arguments)), attr_of((setter, *arguments)), attr_of()
    assert attr == same != default
    assert hash(attr) == hash(same)
    assert repr(attr) == repr(same) != repr(default) == "PrimitiveAttr()"
    assert setter in repr(attr)
    (recorded,) = attr.get(setter)
    assert len(recorded) >= len(arguments)
    assert attr.calls == ((setter, recorded),)
    for twin in (
        attr.copy(),
        copy.copy(attr),
        copy.deepcopy(attr),
        pickle.loads(pickle.dumps(attr)),
    ):
        assert twin == attr
        twin.set_deterministic(True)
        twin.set_accumulation_mode(dnnl.accumulation_mode.any)
        assert twin != attr
        assert attr.accumulation_mode is same.accumulation_mode
    assert attr == same


@pytest.mark.parametrize(
    "handed_out",
    [lambda attr: attr.get("set_post_ops")[0][0], lambda attr: attr.calls[0][1][0]],
    ids=["get", "calls"],
)
def test_modifying_a_returned_copy_has_no_effect(handed_out):
    call = ("set_post_ops", ops_of(("append_eltwise", ALG.eltwise_relu)))
    attr, same = attr_of(call), attr_of(call)
    text, recipe = repr(attr), pickle.dumps(attr)
    handed_out(attr).append_sum()
    assert attr == same
    assert repr(attr) == text
    assert pickle.dumps(attr) == recipe
    assert len(handed_out(attr)) == 1


def test_recorded_lists_cannot_be_changed():
    attr = attr_of(("set_rnn_weights_qparams", 3, [1.0, 2.0]), ("set_scales", "src", 3, [1, 16]))
    assert attr.get("set_rnn_weights_qparams") == [(3, (1.0, 2.0))]
    assert attr.get("set_scales")[0][2] == (1, 16)


def test_getters_return_what_was_set():
    attr = dnnl.PrimitiveAttr()
    assert attr.scratchpad_mode is dnnl.scratchpad_mode.user
    assert attr.fpmath_mode == (dnnl.get_default_fpmath_mode(), False)
    assert attr.accumulation_mode is dnnl.accumulation_mode.strict
    assert attr.deterministic is False
    assert attr.get_rounding_mode("dst") is dnnl.rounding_mode.environment
    assert attr.get("set_scales_mask") == []
    attr = attr_of(*((name, *calls[-1]) for name, calls in SETTERS.items()))
    attr = pickle.loads(pickle.dumps(attr))
    assert attr.scratchpad_mode is dnnl.scratchpad_mode.library
    assert attr.fpmath_mode == (dnnl.fpmath_mode.tf32, True)
    assert attr.accumulation_mode is dnnl.accumulation_mode.relaxed
    assert attr.deterministic is True
    assert attr.get_rounding_mode("dst") is STOCHASTIC
    assert attr.get("set_rnn_data_qparams") == [(2.0, 3.0)]


#: Calls of setters and post-ops, and what the message says: setter, rule, value.
WRONG = """
set_scales_mask("source", 0) -> not an execution arg
set_scales_mask("src", -1) -> set_scales_mask: mask must not be negative, got -1
set_zero_points("src", -2) -> set_zero_points: mask must not be negative, got -2
set_scales_mask("mean", 0) -> got (mean, 0)
set_scales("weights", 0, (16, 1)) -> got 0 with groups (16, 1)
set_scales("weights", 3, (16, 1, 1)) -> groups must be () or two positive numbers, got (16, 1, 1)
set_zero_points("weights", 3, (0, 1)) -> got (0, 1)
set_scales("weights", 1, (), T.f8_e5m2) -> got (weights, 1, (), f8_e5m2, False, static_sazp)
set_zero_points("dst", 0, (), T.u4) -> got (dst, 0, (), u4, False)
set_rnn_weights_qparams(0, []) -> got (0, ())
set_dropout(desc(M, N)) -> set_dropout: mask_desc must be u8, got f32 (4, 8)
append_eltwise(ALG.binary_add) -> got (binary_add,
append_binary(ALG.eltwise_relu, desc(1, N)) -> got (eltwise_relu, f32 (1, 8) ab, None)
append_dw(F32, F32, F32, 0, 1, 1) -> got (f32, f32, f32, 0, 1, 1)
append_prelu(-1) -> append_prelu: mask must not be negative, got -1
"""


@pytest.mark.parametrize("row", WRONG.strip().splitlines())
def test_wrong_setting_is_refused(row):
    call, words = row.split(" -> ")
    taker = dnnl.PostOps() if call.startswith("append_") else dnnl.PrimitiveAttr()
    with pytest.raises(InvalidArguments) as refusal:
        eval(f"taker.{call}", vars(small_matmul) | {"taker": taker})
    assert words in str(refusal.value)


def test_a_refused_setting_changes_nothing():
    attr = attr_of(("set_scales_mask", "src", 0))
    with pytest.raises(InvalidArguments):
        attr.set_scales_mask("src", -1)
    assert attr == attr_of(("set_scales_mask", "src", 0))


@pytest.mark.slow
def test_unfit_attributes_are_refused_by_the_primitive(engine):
    unfit = {
        "rnn": [("set_rnn_data_qparams", 2.0, 3.0)],
        "sum of another size": [("set_post_ops", ops_of(("append_sum", 1.0, 0, T.s8)))],
        "operand of another rank": [
            ("set_post_ops", ops_of(("append_binary", ALG.binary_add, desc(N))))
        ],
    }
    for calls in unfit.values():
        with pytest.raises(DnnlError) as refusal:
            matmul(engine, attr_of(*calls))
        assert refusal.value.reasons
