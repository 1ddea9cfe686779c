# SPDX-License-Identifier: Apache-2.0
"""Descriptors and primitives that compiled functions share."""

import dpnp
import pytest
from counted_calls import counter

import sycl_dnn
from sycl_dnn import _core, errors
from sycl_dnn import functional as F
from sycl_dnn.onednn import shared_descriptors
from sycl_dnn.onednn.shared_descriptors import Descriptors
from sycl_dnn.trace import layout

A = _core.algorithm


@pytest.fixture
def engine(queue):
    return _core.Engine(queue)


def binary(made, engine, desc, kind=A.binary_add, attr=None):
    params = {"algorithm": kind, "src0": desc, "src1": desc, "dst": desc}
    return made.described(engine, "binary", params, attr)


def eltwise(made, engine, beta):
    desc = layout.row_major((4, 4), "float32")
    params = {"prop_kind": _core.prop_kind.forward_inference, "algorithm": A.eltwise_linear}
    params |= {"src": desc, "dst": desc, "alpha": 1.0, "beta": beta}
    return made.described(engine, "eltwise_forward", params, None)


def test_equal_parameters_give_one_descriptor_and_primitive(engine):
    result, desc = Descriptors(), layout.row_major((4, 4), "float32")
    first, second = (binary(result, engine, desc) for _ in range(2))
    assert first is second
    assert result.primitive(first) is result.primitive(second)
    assert result.primitive(first, True) is not result.primitive(first)
    assert binary(result, engine, desc, A.binary_mul) is not first


def test_keys_distinguish_signed_zeros_but_not_strides_of_length_1(engine):
    result = Descriptors()
    by_row, by_column = (layout.strided((1, 4), "float32", s) for s in ((4, 1), (1, 1)))
    assert by_row == by_column
    assert binary(result, engine, by_row) is binary(result, engine, by_column)
    assert eltwise(result, engine, 0.0) is not eltwise(result, engine, -0.0)
    assert eltwise(result, engine, 0.0) is eltwise(result, engine, 0.0)


def test_attributes_are_compared_by_value(engine):
    def attr(alpha):
        ops, found = _core.PostOps(), _core.PrimitiveAttr()
        ops.append_eltwise(A.eltwise_relu, alpha, 0.0)
        found.set_post_ops(ops)
        return found

    result, desc = Descriptors(), layout.row_major((4, 4), "float32")
    found = [binary(result, engine, desc, attr=a) for a in (attr(0.0), attr(0.0), attr(0.5), None)]
    assert found[0] is found[1]
    assert len({id(pd) for pd in found}) == 3
    assert result.work(found[0]) != result.work(found[2])


def test_refusals_are_remembered(engine, monkeypatch):
    n_made = counter(monkeypatch, Descriptors, "_created")
    result, desc = Descriptors(), layout.row_major((4, 4), "float32")
    params = {"algorithm": A.eltwise_relu, "src0": desc, "src1": desc, "dst": desc}
    for _ in range(2):
        assert result.described_or_none(engine, "binary", params, None) is None
    assert n_made() == 1
    with pytest.raises(errors.DnnlError):
        result.described(engine, "binary", params, None)


def test_implementations_can_be_chosen(engine):
    result, desc = Descriptors(), layout.row_major((4, 4), "float32")
    params = {"src": desc, "weights": desc, "dst": desc}
    usual = result.described(engine, "matmul", params, None)
    chosen, again = (result.described(engine, "matmul", params, None, "gemm") for _ in range(2))
    assert "gemm" in chosen.impl_info != usual.impl_info
    assert chosen is again
    assert (result.words(chosen), result.words(usual)) == ("gemm", None)
    # Without such an implementation it is oneDNN's choice.
    assert result.described(engine, "matmul", params, None, "none").impl_info == usual.impl_info


def test_the_least_recently_used_is_evicted(engine):
    result = Descriptors(capacity=2)
    descs = [layout.row_major((n, 4), "float32") for n in (2, 3, 4)]
    kept, gone = binary(result, engine, descs[0]), binary(result, engine, descs[1])
    assert binary(result, engine, descs[0]) is kept
    binary(result, engine, descs[2])
    assert len(result) == 2
    assert binary(result, engine, descs[0]) is kept
    assert binary(result, engine, descs[1]) is not gone
    # One that is no longer kept still has a primitive.
    assert result.primitive(gone).name == "binary"
    result.clear()
    assert len(result) == 0


def test_equal_layers_and_other_shapes_share_descriptors(queue, monkeypatch):
    monkeypatch.setattr(shared_descriptors, "shared", Descriptors())
    n_made = counter(monkeypatch, Descriptors, "_created")

    def layers(weights, x):
        for w in weights:
            x = F.relu(F.linear(x, w)) * 2.0
        return x, [w * 0.5 for w in weights]

    def counted(n_layers, batch):
        before = n_made()
        weights = [dpnp.ones((8, 8), dtype="f4", sycl_queue=queue) for _ in range(n_layers)]
        compiled = sycl_dnn.compile(layers)
        compiled(weights, dpnp.ones((batch, 8), dtype="f4", sycl_queue=queue))
        return n_made() - before

    first = counted(4, 4)
    assert counted(8, 4) == 0
    assert 0 < counted(4, 5) <= first
