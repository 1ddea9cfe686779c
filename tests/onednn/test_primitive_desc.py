# SPDX-License-Identifier: Apache-2.0
"""Primitive descriptors: every query, layouts by argument, walking through implementations."""

import os
import subprocess
import sys

import numpy as np
import pytest
from descriptors import require
from primitive_cases import call_of, calls_by_row, described
from small_calls import softmax_of_integers
from small_matmul import download

from sycl_dnn import DnnlError, InvalidArguments, Unimplemented
from sycl_dnn import onednn as dnnl
from sycl_dnn.tools.cases import storage

T = dnnl.data_type


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


#: Parameters whose query has another name.
RENAMED = {"dilates": "dilations", "dilation": "dilations", "groups": "group_size",
           "eps": "epsilon", "activation": "activation_kind"}  # fmt: skip
#: Cases with different numbers along their axes.
UNEVEN = (
    "--conv ic8ih6iw9oc6oh2ow7kh3kw2sh3sw2dh1dw2ph1pw3",
    "--pool --alg=max --dir=FWD_D ic8ih7iw9oh3ow4kh2kw3sh2sw3ph0pw2dh1dw0",
    "--reduction --alg=norm_lp_sum --p=2 --eps=0.5 2x8x4x4:2x8x1x4",
    "--rnn --alg=VANILLA_RNN --activation=TANH --direction=concat l1t3mb2sic4",
)


@pytest.mark.parametrize("row", [*dnnl.PRIMITIVES, *UNEVEN])
def test_queries_give_back_the_parameters(row, engine):
    pd = made(engine, row) if row in dnnl.PRIMITIVES else described(call_of(row), engine)
    for name, value in pd.parameters.items():
        query = RENAMED.get(name, name)
        if query in PROPERTIES and value != [] and not isinstance(value, dnnl.MemoryDesc):
            expected = tuple(value) if isinstance(value, list) else value
            assert getattr(pd, query) == expected, name


def matmul(engine, n=16, **options):
    return dnnl.matmul(engine, src=desc(n, n), weights=desc(n, n), dst=desc(n, n), **options)


def test_queries_by_enum(engine):
    pd = made(engine, "lrn_forward")
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


def test_cache_blobs_are_unimplemented(engine):
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
    text = repr(described(call_of(UNEVEN[1]), engine))
    assert text.startswith("<pooling_forward ")
    assert "src=f32 (2, 8, 7, 9) abcd" in text
    assert "kernel=[2, 3]" in text


def test_properties_cannot_be_set(engine):
    pd = matmul(engine)
    for name in ("impl_info", "src_desc", "primitive_attr", "parameters", "name"):
        with pytest.raises(AttributeError):
            setattr(pd, name, None)
