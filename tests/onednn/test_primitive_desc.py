# SPDX-License-Identifier: Apache-2.0
"""Primitive descriptors: every query, layouts by argument, walking through implementations."""

import os
import subprocess
import sys

import numpy as np
import pytest
from descriptors import require
from primitive_cases import calls_by_row, described
from small_calls import softmax_of_integers
from small_matmul import download

from sycl_dnn import DnnlError, InvalidArguments, Unimplemented
from sycl_dnn import onednn as dnnl
from sycl_dnn.tools.cases import storage

T = dnnl.data_type
ALG = dnnl.algorithm
TRAINING = dnnl.prop_kind.forward_training


def desc(*dims, tag=None, data_type=T.f32):
    return dnnl.MemoryDesc(dims, data_type, *([tag] if tag else []))


def made(engine, row):
    try:
        return described(calls_by_row()[row][0], engine)
    except Unimplemented:
        return require(None, engine, row)


def kind_of(row):
    kind = row.removesuffix("_data").removesuffix("_weights")
    kind = kind.removesuffix("_forward").removesuffix("_backward")
    cell = kind in ("vanilla_rnn", "lstm", "gru", "lbr_gru", "augru", "lbr_augru")
    return dnnl.primitive_kind["rnn" if cell else kind]


PROPERTIES = [
    name
    for name in dir(dnnl.PrimitiveDesc)
    if isinstance(getattr(dnnl.PrimitiveDesc, name), property) and name != "time_estimate"
]


@pytest.mark.parametrize("row", dnnl.PRIMITIVES)
def test_every_query_answers_on_every_primitive(row, engine):
    pd = made(engine, row)
    answers = {name: getattr(pd, name) for name in PROPERTIES}
    assert len(answers) > 80
    assert answers["name"] == row
    assert answers["kind"] is kind_of(row)
    assert answers["engine"] == answers["dst_engine"] == engine
    assert answers["impl_info"] == answers["impl_info_str"] != ""
    assert answers["primitive_attr"] == dnnl.PrimitiveAttr()
    assert answers["cache_blob_id"] == b""
    assert answers["num_of_inputs"] >= 1
    assert answers["num_of_outputs"] >= 1
    assert answers["memory_consumption"] >= 0
    assert repr(pd).startswith(f"<{row} {pd.impl_info}")


@pytest.mark.parametrize("row", dnnl.PRIMITIVES)
def test_layouts_by_argument_agree(row, engine):
    pd = made(engine, row)
    for name, slot in dnnl.Primitive(pd).arguments.items():
        assert slot["id"] == dnnl.argument_id(name)
        assert pd.desc_of(name) == pd.desc_of(slot["id"]) == slot["desc"]
        assert pd.query_md(dnnl.query.exec_arg_md, slot["id"]) == slot["desc"]
        if not name.startswith("multiple_"):
            assert getattr(pd, f"{name}_desc") == slot["desc"]


@pytest.mark.parametrize("row", dnnl.PRIMITIVES)
def test_parameters_match_the_arguments(row, engine):
    pd = made(engine, row)
    provided = pd.parameters
    assert list(provided) == dnnl.ROWS[row][0].split()
    provided.clear()
    assert pd.parameters
    for name, value in pd.parameters.items():
        if isinstance(value, dnnl.MemoryDesc) and pd.desc_of(
            name if name in dnnl.ARGUMENTS else -1
        ):
            actual = pd.desc_of(name)
            assert (actual.dims, actual.data_type) == (value.dims, value.data_type)
            assert value.format_kind is dnnl.format_kind.any or actual == value


def query_cases(e):
    """A descriptor, and for each of its queries the answer."""
    x, half = desc(2, 8, 4, 4), desc(2, 8, 2, 2)
    window = {"strides": (2, 2), "padding_l": (0, 1), "padding_r": (1, 0)}
    conv = dnnl.convolution_forward(
        e, prop_kind=TRAINING, algorithm=ALG.convolution_direct, src=x, weights=desc(6, 8, 2, 2),
        dst=desc(2, 6, 2, 2), dilates=(1, 1), **window,
    )  # fmt: skip
    pool = dnnl.pooling_forward(
        e, prop_kind=TRAINING, algorithm=ALG.pooling_max, src=x, dst=half, kernel=(2, 3),
        strides=(2, 2), padding_l=(0, 0), padding_r=(0, 1),
    )  # fmt: skip
    eltwise = dnnl.eltwise_forward(
        e, prop_kind=TRAINING, algorithm=ALG.eltwise_clip, src=x, dst=x, alpha=0.25, beta=0.5
    )
    softmax = dnnl.softmax_forward(
        e,
        prop_kind=dnnl.prop_kind.forward_inference,
        algorithm=ALG.softmax_log,
        src=x,
        dst=x,
        axis=2,
    )
    flags = dnnl.normalization_flags.use_scale | dnnl.normalization_flags.use_shift
    norm = dnnl.batch_normalization_forward(
        e, prop_kind=TRAINING, src=x, dst=x, epsilon=0.125, flags=flags
    )
    group = dnnl.group_normalization_forward(
        e, prop_kind=TRAINING, src=x, dst=x, groups=4, epsilon=0.125
    )
    lrn = dnnl.lrn_forward(
        e, prop_kind=TRAINING, algorithm=ALG.lrn_across_channels, src=x, dst=x, local_size=5,
        alpha=0.5, beta=0.75, k=2.0,
    )  # fmt: skip
    shuffle = dnnl.shuffle_forward(e, prop_kind=TRAINING, src=x, dst=x, axis=1, group_size=2)
    resampling = dnnl.resampling_forward(
        e, prop_kind=TRAINING, algorithm=ALG.resampling_linear, src=half, dst=x
    )
    reduction = dnnl.reduction(
        e, algorithm=ALG.reduction_norm_lp_sum, src=x, dst=desc(2, 8, 1, 4), p=2.0, eps=0.5
    )  # fmt: skip
    rnn = dnnl.vanilla_rnn_forward(
        e, prop_kind=TRAINING, activation=ALG.eltwise_tanh,
        direction=dnnl.rnn_direction.bidirectional_concat, src_layer=desc(3, 2, 4),
        weights_layer=desc(1, 2, 4, 1, 4, tag="any"), weights_iter=desc(1, 2, 4, 1, 4, tag="any"),
        bias=desc(1, 2, 1, 4), dst_layer=desc(3, 2, 8),
    )  # fmt: skip
    return {
        "convolution": (conv, {"algorithm": ALG.convolution_direct, "prop_kind": TRAINING,
            "strides": (2, 2), "dilations": (1, 1), "padding_l": (0, 1), "padding_r": (1, 0)}),
        "pooling": (pool, {"algorithm": ALG.pooling_max, "kernel": (2, 3), "strides": (2, 2),
            "dilations": (0, 0), "padding_l": (0, 0), "padding_r": (0, 1)}),
        "eltwise": (eltwise, {"algorithm": ALG.eltwise_clip, "alpha": 0.25, "beta": 0.5}),
        "softmax": (softmax, {"algorithm": ALG.softmax_log, "axis": 2,
            "prop_kind": dnnl.prop_kind.forward_inference}),
        "batch_normalization": (norm, {"flags": flags, "epsilon": 0.125}),
        "group_normalization": (group, {"group_size": 4, "epsilon": 0.125}),
        "lrn": (lrn, {"algorithm": ALG.lrn_across_channels, "local_size": 5, "alpha": 0.5,
            "beta": 0.75, "k": 2.0}),
        "shuffle": (shuffle, {"axis": 1, "group_size": 2}),
        "resampling": (resampling, {"algorithm": ALG.resampling_linear, "factors": (2.0, 2.0)}),
        "reduction": (reduction, {"algorithm": ALG.reduction_norm_lp_sum, "p": 2.0,
            "epsilon": 0.5}),
        "vanilla_rnn": (rnn, {"cell_kind": ALG.vanilla_rnn, "activation_kind": ALG.eltwise_tanh,
            "direction": dnnl.rnn_direction.bidirectional_concat}),
    }  # fmt: skip


QUERIED = (
    "convolution", "pooling", "eltwise", "softmax", "batch_normalization", "group_normalization",
    "lrn", "shuffle", "resampling", "reduction", "vanilla_rnn",
)  # fmt: skip


@pytest.mark.parametrize("kind", QUERIED)
def test_queries_give_back_the_parameters(kind, engine):
    pd, expected = query_cases(engine)[kind]
    assert {name: getattr(pd, name) for name in expected} == expected


def matmul(engine, n=16, **options):
    return dnnl.matmul(engine, src=desc(n, n), weights=desc(n, n), dst=desc(n, n), **options)


def test_queries_by_enum(engine):
    pd = query_cases(engine)["lrn"][0]
    assert pd.query_s64(dnnl.query.local_size_s64) == 5
    assert pd.query_md(dnnl.query.src_md) == pd.src_desc == pd.query_md(dnnl.query.src_md, 0)
    assert pd.query_md(dnnl.query.dst_md) == pd.dst_desc
    assert pd.query_md(dnnl.query.weights_md).is_zero
    assert pd.query_md(dnnl.query.src_md, 7).is_zero
    with pytest.raises(InvalidArguments, match="query"):
        pd.query_md(dnnl.query.kernel)


def test_unused_and_unknown_arguments(engine):
    pd = matmul(engine)
    for name in ("bias", "mean", "attr_scales_src", "attr_post_op_0_src_1", "workspace"):
        assert pd.desc_of(name).is_zero
    assert pd.desc_of(-1).is_zero
    with pytest.raises(InvalidArguments, match="'source' is not an execution argument"):
        pd.desc_of("source")


def test_time_is_not_estimated(engine):
    pd = matmul(engine)
    with pytest.raises(Unimplemented):
        _ = pd.time_estimate


def test_there_are_no_cache_blobs(engine):
    with pytest.raises(Unimplemented):
        dnnl.Primitive(matmul(engine)).get_cache_blob()


def test_attr_is_a_copy(engine):
    attr = dnnl.PrimitiveAttr()
    pd = matmul(engine, attr=attr)
    attr.set_deterministic(True)
    assert pd.primitive_attr == dnnl.PrimitiveAttr()
    pd.primitive_attr.set_deterministic(True)
    assert pd.primitive_attr == dnnl.PrimitiveAttr()


@pytest.mark.parametrize("row", ["matmul", "convolution_forward", "eltwise_forward", "reorder"])
def test_next_impl_ends_after_the_last_implementation(row, engine):
    pd = made(engine, row)
    seen = [pd.impl_info]
    while pd.next_impl():
        seen.append(pd.impl_info)
        assert pd.name == row
        dnnl.Primitive(pd)
    assert len(seen) < 100
    last = pd.impl_info
    assert pd.next_impl() is False
    assert pd.impl_info == last == seen[-1]


def test_each_implementation_computes_the_same(engine, stream):
    pd = matmul(engine)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (16, 16)).astype("f4") for _ in "ab")
    src, weights = (
        storage.write(a, pd.src_desc, stream).memory,
        storage.write(b, pd.weights_desc, stream).memory,
    )
    primitives = [dnnl.Primitive(pd)]
    while pd.next_impl():
        primitives.append(dnnl.Primitive(pd))
    for primitive in primitives:
        dst = dnnl.Memory(desc(16, 16), engine)
        primitive.execute(stream, {"src": src, "weights": weights, "dst": dst}).wait()
        np.testing.assert_array_equal(download(dst, stream), a @ b)


WALK = """
from sycl_dnn import onednn as dnnl
engine = dnnl.Engine("cpu")
d = dnnl.MemoryDesc((16, 16), dnnl.data_type.f32)
pd = dnnl.matmul(engine, src=d, weights=d, dst=d)
first, early = pd.impl_info, dnnl.Primitive(pd)
while pd.next_impl():
    pass
args = {name: dnnl.Memory(d, engine) for name in ("src", "weights", "dst")}
for primitive in (early, dnnl.Primitive(pd)):
    primitive.execute(dnnl.Stream(engine), args).wait()
print("IMPLEMENTATIONS", first, pd.impl_info, sep=",", flush=True)
"""


@pytest.mark.slow
def test_a_primitive_keeps_its_implementation():
    """oneDNN's own log tells which implementation ran."""
    env = {**os.environ, "ONEDNN_VERBOSE": "profile_exec"}
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    lines = [line.split(",") for line in done.stdout.splitlines()]
    ran = [f[f.index("matmul") + 1] for f in lines if "exec" in f and "matmul" in f]
    (chosen,) = [f[1:] for f in lines if f[0] == "IMPLEMENTATIONS"]
    assert chosen[0] != chosen[1]
    assert ran == chosen


def test_a_descriptor_without_implementation_raises(engine):
    with pytest.raises(DnnlError):
        softmax_of_integers(engine)
    assert softmax_of_integers(engine, allow_empty=True) is None
    with pytest.raises(TypeError):
        dnnl.Primitive(None)


def test_reorder_between_engines_names_both(engine, queue):
    import dpctl

    other = dnnl.Engine(
        dpctl.SyclQueue(dpctl.SyclContext([engine.sycl_device]), engine.sycl_device)
    )
    pd = dnnl.reorder(engine, src=desc(2, 3), dst=desc(2, 3), dst_engine=other, allow_empty=True)
    if pd is not None:
        assert (pd.engine, pd.dst_engine) == (engine, other)
        assert pd.parameters["dst_engine"] == other


def test_repr_shows_parameters(engine):
    text = repr(query_cases(engine)["pooling"][0])
    assert text.startswith("<pooling_forward ")
    assert "src=f32 (2, 8, 4, 4) abcd" in text
    assert "kernel=[2, 3]" in text


def test_properties_cannot_be_set(engine):
    pd = matmul(engine)
    for name in ("impl_info", "src_desc", "primitive_attr", "parameters", "name"):
        with pytest.raises(AttributeError):
            setattr(pd, name, None)
