# SPDX-License-Identifier: Apache-2.0
"""Errors: their classes, their messages, and oneDNN's reasons, which are computed lazily."""

import pickle
import subprocess
import sys

import pytest
from small_calls import (
    ALG,
    HALF,
    INFERENCE,
    T,
    X,
    conv,
    f32,
    gru,
    pool,
    product,
    relu,
    relu_backward,
    rnn_attr,
    softmax_of_integers,
)

import sycl_dnn
from sycl_dnn import DnnlError, InvalidArguments, OutOfMemory, Unimplemented, errors
from sycl_dnn import onednn as dnnl

UNIMPLEMENTED = {
    "type": softmax_of_integers,
    "attribute": lambda e: product(e, (2, 3), (3, 4), (2, 4), attr=rnn_attr()),
    "rnn without bias": lambda e: gru(e, bias=None),
    "hint of inference": lambda e: dnnl.pooling_backward(
        e, algorithm=ALG.pooling_max, diff_src=X, diff_dst=HALF, strides=(2, 2), kernel=(2, 2),
        padding_l=(0, 0), padding_r=(0, 0), hint_fwd_pd=pool(e, prop_kind=INFERENCE),
    ),
    "reorder, where oneDNN gives no reason": lambda e: dnnl.reorder(
        e, src=dnnl.MemoryDesc((4, 4), T.e8m0), dst=dnnl.MemoryDesc((4, 4), T.s4)
    ),
}  # fmt: skip


def test_started_processes_are_recorded(spawned):
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert spawned() == 1


def test_reasons_whose_process_takes_too_long(engine, monkeypatch):
    """The caller gets the refusal itself, not the timeout of the explaining process."""
    monkeypatch.setattr("sycl_dnn.onednn.reasons._LONGEST", 0.001)
    with pytest.raises(Unimplemented) as refusal:
        UNIMPLEMENTED["type"](engine)
    assert refusal.value.reasons == ("(unknown: the helper process took longer than 0.001 s)",)
    assert "softmax_forward: unimplemented" in str(refusal.value)


@pytest.mark.slow
@pytest.mark.parametrize("case", UNIMPLEMENTED)
def test_reasons_are_computed_once_on_first_access(case, engine, spawned, capfd):
    with pytest.raises(Unimplemented) as refusal:
        UNIMPLEMENTED[case](engine)
    assert spawned() == 0
    reasons = refusal.value.reasons
    assert reasons
    assert all(isinstance(reason, str) and reason for reason in reasons)
    assert len(set(reasons)) == len(reasons)
    assert not [reason for reason in reasons if "helper process failed" in reason]
    text = str(refusal.value)
    assert all(reason in text for reason in reasons)
    assert refusal.value.reasons is reasons
    assert spawned() == 1
    assert capfd.readouterr() == ("", "")


def test_message_shows_descriptors_parameters_and_place(engine):
    with pytest.raises(InvalidArguments) as refusal:
        conv(engine, weights=f32(16, 4, 3, 3), attr=rnn_attr())
    lines = str(refusal.value).splitlines()
    assert "  src = f32 (2, 8, 9, 9) abcd" in lines
    assert "  weights = f32 (16, 4, 3, 3) abcd" in lines
    assert any("algorithm=convolution_direct" in line for line in lines)
    assert f"  on {engine!r} with PrimitiveAttr(set_rnn_data_qparams(2.0, 3.0))" in lines
    assert all(line.strip() for line in lines)


def test_probing_in_a_loop_starts_no_process(engine, spawned, capfd):
    for _ in range(200):
        with pytest.raises(Unimplemented):
            UNIMPLEMENTED["type"](engine)
        with pytest.raises(InvalidArguments):
            product(engine, (2, 3), (4, 3), (2, 3))
    assert spawned() == 0
    assert capfd.readouterr() == ("", "")


def test_allow_empty_returns_none_instead_of_unimplemented(engine, spawned):
    assert softmax_of_integers(engine, allow_empty=True) is None
    with pytest.raises(InvalidArguments, match="K=3"):
        product(engine, (2, 3), (4, 3), (2, 3), allow_empty=True)
    assert product(engine, (2, 3), (3, 4), (2, 4), allow_empty=True).name == "matmul"
    assert spawned() == 0


WRONG_TYPES = {
    "unknown parameter": lambda e: relu(e, gamma=1.0),
    "missing parameter": lambda e: dnnl.matmul(e, src=X, weights=X),
    "positional": lambda e: dnnl.matmul(e, X, X, X),
    "no hint": lambda e: relu_backward(e, hint_fwd_pd=None),
    "None for a tensor": lambda e: relu(e, src=None),
    "array for a descriptor": lambda e: relu(e, src=[1.0, 2.0]),
    "no engine": lambda e: relu("cpu"),
    "a number for an enum": lambda e: relu(e, algorithm=32),
    "attr of another type": lambda e: relu(e, attr=dnnl.PostOps()),
}


@pytest.mark.parametrize("case", WRONG_TYPES)
def test_wrong_types_are_type_errors(case, engine):
    with pytest.raises(TypeError):
        WRONG_TYPES[case](engine)


def test_unknown_names_are_attribute_errors():
    for name in ("conv2d", "Convolution_forward", "grouped", "sdpa"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(dnnl, name)
    with pytest.raises(AttributeError):
        dnnl.algorithm.convolution  # noqa: B018


@pytest.mark.parametrize(
    ("cls", "base", "status"),
    [
        (InvalidArguments, ValueError, "invalid_arguments"),
        (Unimplemented, NotImplementedError, "unimplemented"),
        (OutOfMemory, MemoryError, "out_of_memory"),
        (DnnlError, Exception, "runtime_error"),
    ],
)
def test_classes_are_also_pythons_own(cls, base, status):
    assert issubclass(cls, DnnlError)
    assert issubclass(cls, base)
    error = cls("text")
    assert str(error) == "text"
    assert error.reasons == ()
    assert error.status is dnnl.status[status]
    assert getattr(sycl_dnn, cls.__name__) is cls is getattr(errors, cls.__name__)


@pytest.mark.parametrize("status", [s for s in dnnl.status if s is not dnnl.status.success])
def test_every_status_becomes_an_error_that_knows_it(status):
    error = errors.from_status(status, "text")
    assert isinstance(error, DnnlError)
    assert error.status is status


@pytest.mark.slow
def test_errors_pickle_with_their_reasons(engine):
    with pytest.raises(Unimplemented) as refusal:
        UNIMPLEMENTED["type"](engine)
    twin = pickle.loads(pickle.dumps(refusal.value))
    assert type(twin) is Unimplemented
    assert twin.reasons == refusal.value.reasons != ()
    assert str(twin) == str(refusal.value)
