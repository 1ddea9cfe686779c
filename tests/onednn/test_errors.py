# SPDX-License-Identifier: Apache-2.0
"""Errors: their classes, what they say, and oneDNN's reasons, found only when looked at."""

import pickle
import subprocess
import sys

import pytest

import sycl_dnn
from sycl_dnn import DnnlError, InvalidArguments, OutOfMemory, Unimplemented, errors
from sycl_dnn import onednn as dnnl

T = dnnl.data_type
ALG = dnnl.algorithm
TRAINING = dnnl.prop_kind.forward_training
INFERENCE = dnnl.prop_kind.forward_inference
LEFT = dnnl.rnn_direction.unidirectional_left2right


def f32(*dims, tag=None):
    return dnnl.MemoryDesc(dims, T.f32, *([tag] if tag else []))


X = f32(2, 8, 4, 4)
HALF = f32(2, 8, 2, 2)


def conv(e, row="convolution_forward", **changes):
    """A 3x3 convolution of 8 to 16 channels that is right but for ``changes``."""
    given = {
        "prop_kind": TRAINING, "algorithm": ALG.convolution_direct, "src": f32(2, 8, 9, 9),
        "weights": f32(16, 8, 3, 3), "dst": f32(2, 16, 9, 9), "strides": (1, 1),
        "padding_l": (1, 1), "padding_r": (1, 1),
    }  # fmt: skip
    return getattr(dnnl, row)(e, **(given | changes))


def deconv(e, **changes):
    base = {"algorithm": ALG.deconvolution_direct}
    return conv(e, "deconvolution_forward", **(base | changes))


def pool(e, **changes):
    given = {
        "prop_kind": TRAINING, "algorithm": ALG.pooling_max, "src": X, "dst": HALF,
        "strides": (2, 2), "kernel": (2, 2), "padding_l": (0, 0), "padding_r": (0, 0),
    }  # fmt: skip
    return dnnl.pooling_forward(e, **(given | changes))


def relu(e, **changes):
    given = {"prop_kind": TRAINING, "algorithm": ALG.eltwise_relu, "src": X, "dst": X}
    return dnnl.eltwise_forward(e, **(given | changes))


def relu_backward(e, **changes):
    given = {"algorithm": ALG.eltwise_relu, "diff_src": X, "diff_dst": X, "data": X}
    return dnnl.eltwise_backward(e, **(given | changes))


def conv_backward(e, **changes):
    given = {
        "algorithm": ALG.convolution_direct, "diff_src": f32(2, 8, 9, 9),
        "weights": f32(16, 8, 3, 3), "diff_dst": f32(2, 16, 9, 9), "strides": (1, 1),
        "padding_l": (1, 1), "padding_r": (1, 1),
    }  # fmt: skip
    return dnnl.convolution_backward_data(e, **(given | changes))


def product(e, src, weights, dst, **options):
    return dnnl.matmul(e, src=f32(*src), weights=f32(*weights), dst=f32(*dst), **options)


def softmax(e, **changes):
    given = {
        "prop_kind": TRAINING,
        "algorithm": ALG.softmax_accurate,
        "src": X,
        "dst": X,
        "axis": 1,
    }
    return dnnl.softmax_forward(e, **(given | changes))


def shuffle(e, axis=1, group_size=2):
    return dnnl.shuffle_forward(
        e, prop_kind=TRAINING, src=X, dst=X, axis=axis, group_size=group_size
    )


def concat(e, axis, *srcs, **options):
    return dnnl.concat(e, concat_dimension=axis, srcs=list(srcs), **options)


def group_norm(e, groups):
    return dnnl.group_normalization_forward(
        e, prop_kind=TRAINING, src=X, dst=X, groups=groups, epsilon=1e-5
    )


def lrn(e, local_size):
    return dnnl.lrn_forward(
        e, prop_kind=TRAINING, algorithm=ALG.lrn_across_channels, src=X, dst=X,
        local_size=local_size, alpha=1.0, beta=0.5, k=1.0,
    )  # fmt: skip


def resampling(e, **options):
    return dnnl.resampling_forward(
        e, prop_kind=TRAINING, algorithm=ALG.resampling_nearest, src=X, **options
    )


def gru(e, row="gru_forward", **changes):
    given = {
        "prop_kind": TRAINING, "direction": LEFT, "src_layer": f32(3, 2, 4),
        "weights_layer": f32(1, 1, 4, 3, 4), "weights_iter": f32(1, 1, 4, 3, 4),
        "bias": f32(1, 1, 3, 4), "dst_layer": f32(3, 2, 4),
    }  # fmt: skip
    return getattr(dnnl, row)(e, **(given | changes))


#: call with an engine, what the error says: argument, rule, value
BROKEN_RULES = {
    "conv channels": (
        lambda e: conv(e, weights=f32(16, 4, 3, 3)),
        r"convolution_forward: weights must have 8 input channels \(8 of src / groups=1\), got "
        r"\(16, 4, 3, 3\)",
    ),
    "conv channels per group": (
        lambda e: conv(e, weights=f32(2, 8, 8, 3, 3)),
        r"weights must have 4 input channels \(8 of src / groups=2\)",
    ),
    "conv groups": (
        lambda e: conv(e, weights=f32(3, 16, 8, 3, 3)),
        r"groups must divide 8 \(channels of src\), got 3",
    ),
    "conv result channels": (
        lambda e: conv(e, dst=f32(2, 8, 9, 9)),
        r"dst must have 16 channels \(weights is \(16, 8, 3, 3\)\), got \(2, 8, 9, 9\)",
    ),
    "conv weights rank": (
        lambda e: conv(e, weights=f32(16, 8, 3)),
        r"weights must have 4 dimensions, or one more with groups, got \(16, 8, 3\)",
    ),
    "conv few strides": (
        lambda e: conv(e, strides=(1,)),
        r"strides must have one entry per spatial dimension of src \(2\), got \(1,\)",
    ),
    "conv few dilates": (lambda e: conv(e, dilates=(0,)), r"dilates must have .*\(2\), got \(0,\)"),
    "conv few paddings": (lambda e: conv(e, padding_r=(1,)), r"padding_r must have .*got \(1,\)"),
    "conv stride 0": (
        lambda e: conv(e, strides=(0, 1)), r"strides must be at least 1, got \(0, 1\)",
    ),
    "conv size": (
        lambda e: conv(e, padding_l=(0, 0)),
        r"dst must have size 8 in spatial dimension 0 \(\(9 - 3 \+ 1\) // 1 \+ 1\), got 9",
    ),
    "conv size, dilated": (
        lambda e: conv(e, dilates=(1, 1)), r"dst must have size 7 .*\(9 - 5 \+ 2\).*got 9",
    ),
    "conv kind": (
        lambda e: conv(e, prop_kind=dnnl.prop_kind.backward),
        "prop_kind must be forward_training or forward_inference, got backward",
    ),
    "deconv channels": (
        lambda e: deconv(e, weights=f32(16, 7, 3, 3)),
        "deconvolution_forward: weights must have 8 input channels",
    ),
    "deconv size": (
        lambda e: deconv(e, dst=f32(2, 16, 10, 9)), r"src must have size 10 .* got 9",
    ),
    "pool kernel 0": (lambda e: pool(e, kernel=(0, 2)), r"kernel must be at least 1, got \(0, 2\)"),
    "pool size": (
        lambda e: pool(e, dst=f32(2, 8, 3, 2)),
        "dst must have size 2 in spatial dimension 0 .*got 3",
    ),
    "hint of another primitive": (
        lambda e: conv_backward(e, hint_fwd_pd=relu(e)),
        "hint_fwd_pd must come from convolution_forward, got one from eltwise_forward",
    ),
    "any source": (
        lambda e: relu(e, src=f32(2, 8, 4, 4, tag="any")),
        r"src must have a concrete layout, got f32 \(2, 8, 4, 4\) any",
    ),
    "any source of softmax": (
        lambda e: softmax(e, src=f32(2, 8, 4, 4, tag="any")), "src must have a concrete layout",
    ),
    "any source of binary": (
        lambda e: dnnl.binary(
            e, algorithm=ALG.binary_add, src0=f32(2, 8, tag="any"), src1=f32(2, 8), dst=f32(2, 8)
        ),
        "src0 must have a concrete layout",
    ),
    "matmul K": (
        lambda e: product(e, (2, 3), (4, 3), (2, 3)),
        r"weights must have K=3 rows \(src is \(2, 3\)\), got \(4, 3\)",
    ),
    "matmul N": (
        lambda e: product(e, (2, 3), (3, 4), (2, 5)), r"dst must end in \(2, 4\), got \(2, 5\)",
    ),
    "matmul rank": (
        lambda e: product(e, (2, 3), (1, 3, 4), (2, 4)), "must have as many dimensions each",
    ),
    "softmax axis": (lambda e: softmax(e, axis=4), r"axis must be in \[0, 4\), got 4"),
    "softmax axis from the end": (
        lambda e: softmax(e, axis=-1), r"axis must be in \[0, 4\), got -1",
    ),
    "shuffle axis": (lambda e: shuffle(e, axis=4), r"axis must be in \[0, 4\), got 4"),
    "shuffle group": (
        lambda e: shuffle(e, group_size=3), r"group_size must divide 8 \(axis of src\), got 3",
    ),
    "shuffle group 0": (lambda e: shuffle(e, group_size=0), "group_size must divide 8 .*got 0"),
    "concat axis": (
        lambda e: concat(e, 2, f32(2, 8)), r"concat_dimension must be in \[0, 2\), got 2",
    ),
    "concat axis from the end": (
        lambda e: concat(e, -1, f32(2, 8)), r"concat_dimension must be in \[0, 2\), got -1",
    ),
    "concat of nothing": (lambda e: concat(e, 0), "srcs must hold at least one descriptor"),
    "sum scales": (
        lambda e: dnnl.sum(e, scales=[1.0], srcs=[f32(2), f32(2)]),
        r"scales must have one entry per source \(2\), got 1",
    ),
    "lrn size": (lambda e: lrn(e, 0), "local_size must be at least 1, got 0"),
    "lrn negative size": (lambda e: lrn(e, -5), "local_size must be at least 1, got -5"),
    "norm groups": (
        lambda e: group_norm(e, 3), r"groups must divide 8 \(channels of src\), got 3",
    ),
    "norm groups 0": (lambda e: group_norm(e, 0), "groups must divide 8 .*got 0"),
    "resampling factors": (
        lambda e: resampling(e, factors=[2.0]), r"factors must have .* of src \(2\), got \(2.0,\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_RULES)
def test_broken_rule_is_named_with_argument_and_value(case, engine, spawned):
    call, text = BROKEN_RULES[case]
    with pytest.raises(InvalidArguments, match=text) as refusal:
        call(engine)
    assert refusal.value.status is dnnl.status.invalid_arguments
    str(refusal.value)
    assert spawned() == 0


#: what oneDNN itself says, where no rule of ours explains the refusal
ONEDNN_SAYS = {
    "conv batch": (lambda e: conv(e, dst=f32(3, 16, 9, 9)), "src:0 is inconsistent with dst:0"),
    "conv bias": (lambda e: conv(e, bias=f32(8)), "bad dimension bias:0"),
    "conv algorithm": (lambda e: conv(e, algorithm=ALG.eltwise_relu), "bad algorithm"),
    "matmul bias": (
        lambda e: product(e, (2, 3), (3, 4), (2, 4), bias=f32(1, 5)),
        "bias:1 is inconsistent with dst:1",
    ),
    "concat any": (lambda e: concat(e, 0, f32(2, 8, tag="any")), "unsupported format tag for src"),
    "norm rank": (
        lambda e: dnnl.layer_normalization_forward(
            e, prop_kind=TRAINING, src=f32(8), dst=f32(8), epsilon=1e-5
        ),
        "src has a bad number of dimensions 1",
    ),
    "reduction power": (
        lambda e: dnnl.reduction(
            e, algorithm=ALG.reduction_norm_lp_sum, src=X, dst=f32(2, 1, 4, 4), p=0.5
        ),
        "bad param: p",
    ),
    "rnn shape": (
        lambda e: gru(e, weights_layer=f32(1, 1, 5, 3, 4)), "bad dimension weights_layer",
    ),
    "hint of other shape": (
        lambda e: relu_backward(e, diff_dst=f32(2, 8, 4, 5), hint_fwd_pd=relu(e)),
        "inconsistent with diff_dst",
    ),
    "reorder shape": (
        lambda e: dnnl.reorder(e, src=f32(2, 8), dst=f32(2, 7)), "inconsistent src and dst",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ONEDNN_SAYS)
def test_otherwise_onednn_own_words_are_shown(case, engine):
    call, text = ONEDNN_SAYS[case]
    with pytest.raises(InvalidArguments) as refusal:
        call(engine)
    assert any(text in reason for reason in refusal.value.reasons), refusal.value.reasons
    assert text in str(refusal.value)


UNIMPLEMENTED = {
    "type": lambda e: dnnl.matmul(
        e, src=f32(2, 3), weights=dnnl.MemoryDesc((3, 3), T.s8), dst=f32(2, 3)
    ),
    "attribute": lambda e: product(e, (2, 3), (3, 4), (2, 4), attr=rnn_attr()),
    "rnn without bias": lambda e: gru(e, bias=None),
    "hint of inference": lambda e: dnnl.pooling_backward(
        e, algorithm=ALG.pooling_max, diff_src=X, diff_dst=HALF, strides=(2, 2), kernel=(2, 2),
        padding_l=(0, 0), padding_r=(0, 0), hint_fwd_pd=pool(e, prop_kind=INFERENCE),
    ),
    "reorder, where oneDNN gives no reason": lambda e: dnnl.reorder(
        e, src=dnnl.MemoryDesc((4, 4), T.s4), dst=dnnl.MemoryDesc((4, 4), T.s4)
    ),
}  # fmt: skip


def rnn_attr():
    attr = dnnl.PrimitiveAttr()
    attr.set_rnn_data_qparams(2.0, 3.0)
    return attr


@pytest.fixture(scope="module")
def spawn_log():
    """Every process that Python starts, from an audit hook; such hooks cannot be removed."""
    log = []
    sys.addaudithook(lambda event, _: log.append(event) if event == "subprocess.Popen" else None)
    return log


@pytest.fixture
def spawned(spawn_log):
    start = len(spawn_log)
    return lambda: len(spawn_log) - start


def test_the_hook_sees_processes(spawned):
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert spawned() == 1


@pytest.mark.parametrize("case", UNIMPLEMENTED)
def test_reasons_are_found_when_looked_at_and_only_once(case, engine, spawned, capfd):
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
            BROKEN_RULES["matmul K"][0](engine)
    assert spawned() == 0
    assert capfd.readouterr() == ("", "")


def test_allow_empty_answers_none_instead_of_unimplemented(engine, spawned):
    d, s8 = f32(3, 3), dnnl.MemoryDesc((3, 3), T.s8)
    assert dnnl.matmul(engine, src=d, weights=s8, dst=d, allow_empty=True) is None
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
    "text for an enum": lambda e: relu(e, algorithm="eltwise_relu"),
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


def test_errors_pickle_with_their_reasons(engine):
    with pytest.raises(Unimplemented) as refusal:
        UNIMPLEMENTED["type"](engine)
    twin = pickle.loads(pickle.dumps(refusal.value))
    assert type(twin) is Unimplemented
    assert twin.reasons == refusal.value.reasons != ()
    assert str(twin) == str(refusal.value)


def test_lists_longer_than_the_spatial_dimensions_are_refused(engine):
    """oneDNN itself cuts them off silently."""
    with pytest.raises(InvalidArguments, match=r"strides must have .*\(2\), got \(1, 1, 5\)"):
        conv(engine, strides=(1, 1, 5))
