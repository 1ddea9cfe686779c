# SPDX-License-Identifier: Apache-2.0
"""Faulty implementations are skipped: correct ones run instead, or the call is refused.

Operands of post-ops and slopes along each set of axes, over each order of axes; with CI_LONG=1 all
of them, otherwise a sample. Whether the faults are still there is tried in processes of their own.
"""

import contextlib
import os
import subprocess
import sys
from itertools import permutations
from random import Random

import dpnp
import numpy as np
import pytest
from lying_apart import transposed

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import Unimplemented
from sycl_dnn.onednn import faults
from sycl_dnn.onednn.fault import cpu_has_avx512

SHAPES = (
    *((3, 8, 16), (1, 8, 16), (3, 1, 16), (3, 8, 1)),
    *((2, 12, 3, 16), (2, 5, 3, 7), (1, 12, 3, 16), (2, 1, 3, 16), (2, 12, 1, 16), (2, 16, 1, 1)),
)
SAMPLE = None if os.environ.get("CI_LONG") else 250


@contextlib.contextmanager
def skipped_without_avx512():
    """Skip a test for the lack of a bfloat16 implementation, which only such CPUs have."""
    try:
        yield
    except Unimplemented:
        if cpu_has_avx512():
            raise
        pytest.skip(f"no implementation on a CPU of {dnnl.get_effective_cpu_isa().name}")


def rows_of(shape, order):
    """Return the strides of dense memory with these axes, outermost first."""
    strides, step = {}, 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides[a] for a in range(len(shape)))


def memory(values, order, stream):
    """Return memory with a given axis order; axes of length 1 as in row-major memory."""
    placed, rows = rows_of(values.shape, order), rows_of(values.shape, range(values.ndim))
    strides = [p if n > 1 else r for n, p, r in zip(values.shape, placed, rows, strict=True)]
    flat = np.zeros(values.size, "f4")
    places = [4 * by for by in strides]
    np.lib.stride_tricks.as_strided(flat, values.shape, places)[...] = values
    array = dpnp.asarray(flat, sycl_queue=stream.sycl_queue)
    desc = dnnl.MemoryDesc(values.shape, "f32", strides=strides)
    return dnnl.Memory(desc, stream.engine, array)


def softmaxed(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normed(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


# --- each primitive with an operand: its descriptor, its arguments, what it computes


def _softmax(src, x, provided, axis, **_):
    pd = dnnl.softmax_forward(
        src.engine, algorithm="softmax_accurate", axis=axis, src=src.desc, dst=src.desc, **provided
    )
    return pd, {"src": src}, softmaxed(x, axis)


def _layer(src, x, provided, **_):
    pd = dnnl.layer_normalization_forward(
        src.engine, epsilon=1e-5, src=src.desc, dst=src.desc, **provided
    )
    return pd, {"src": src}, normed(x)


def _binary(src, x, provided, **_):
    del provided["prop_kind"]
    pd = dnnl.binary(
        src.engine, algorithm="binary_add", src0=src.desc, src1=src.desc, dst=src.desc, **provided
    )
    return pd, {"src_0": src, "src_1": src}, 2 * x


def _matmul(src, x, provided, stream, draw, **_):
    del provided["prop_kind"]
    inner = 5
    a = draw((*x.shape[:-1], inner))
    b = draw((*x.shape[:-2], inner, x.shape[-1]))
    left, right = (memory(v, range(x.ndim), stream) for v in (a, b))
    pd = dnnl.matmul(src.engine, src=left.desc, weights=right.desc, dst=src.desc, **provided)
    return pd, {"src": left, "weights": right}, a.astype("f8") @ b


MADE = {"softmax": _softmax, "layer": _layer, "binary": _binary, "matmul": _matmul}


def cases():
    """Yield (primitive, shape, order of axes, axes of the operand, axis of softmax)."""
    for shape in SHAPES:
        wide = [a for a, n in enumerate(shape) if n > 1]
        sets = [[a for i, a in enumerate(wide) if bits >> i & 1] for bits in range(1 << len(wide))]
        for order in permutations(range(len(shape))):
            for axes in sets:
                yield from (("softmax", shape, order, axes, a) for a in range(len(shape)))
                yield from ((k, shape, order, axes, None) for k in ("layer", "binary", "matmul"))


def chosen(all, seed):
    all = list(all)
    return all if SAMPLE is None else Random(seed).sample(all, SAMPLE)


def with_operand(stream, name, shape, order, axes, axis):
    """Return the result of a primitive with a product by an operand, and the expected one."""
    rng = np.random.default_rng(0)

    def draw(shape):
        return rng.standard_normal(shape).astype("f4")

    x = draw(shape)
    spread = draw(tuple(n if a in axes else 1 for a, n in enumerate(shape)))
    src, operand = memory(x, order, stream), memory(spread, range(len(shape)), stream)
    ops, attr = dnnl.PostOps(), dnnl.PrimitiveAttr()
    ops.append_binary("binary_mul", operand.desc)
    attr.set_post_ops(ops)
    provided = {"attr": attr, "prop_kind": "forward_inference"}
    pd, args, right = MADE[name](src, x.astype("f8"), provided, axis=axis, stream=stream, draw=draw)
    dst = dnnl.Memory(src.desc, stream.engine)
    args |= {"dst": dst, "attr_post_op_0_src_1": operand}
    dnnl.Primitive(pd).execute(stream, args).wait()
    return dst.to_array().asnumpy(), right * spread


@pytest.fixture
def cpu_stream():
    queue = sycl_dnn.default_queue("cpu")
    return dnnl.Stream(dnnl.Engine(queue), queue, ordered=True)


@pytest.mark.slow
def test_operands_of_post_ops_are_read_where_they_are(cpu_stream):
    refused = 0
    for case in chosen(cases(), 1):
        try:
            actual, right = with_operand(cpu_stream, *case)
        except Unimplemented:
            refused += 1
            assert case[0] == "softmax", case
            continue
        np.testing.assert_allclose(actual, right, atol=1e-4, err_msg=str(case))
    assert refused < (SAMPLE or 7000) / 4


def slopes_gradients(x, w, g):
    spread = tuple(a for a, n in enumerate(w.shape) if n == 1)
    return {
        "diff_src": g * np.where(x > 0, 1, w),
        "diff_weights": (g * np.minimum(x, 0)).sum(spread, keepdims=True),
    }


def with_slopes(stream, shape, order, axes=(1,)):
    """Return prelu and its gradients for slopes along some axes, and the expected results."""
    rng, engine = np.random.default_rng(1), stream.engine
    x, g = (rng.standard_normal(shape).astype("f4") for _ in range(2))
    w = rng.random([n if a in axes else 1 for a, n in enumerate(shape)]).astype("f4")
    src, diff = memory(x, order, stream), memory(g, order, stream)
    slopes = memory(w, range(len(shape)), stream)
    inputs = {"src": src.desc, "weights": slopes.desc, "dst": src.desc}
    hint = dnnl.prelu_forward(engine, prop_kind="forward_training", **inputs)
    pd = dnnl.prelu_backward(
        engine, src=src.desc, weights=slopes.desc, diff_src=src.desc,
        diff_weights=slopes.desc, diff_dst=diff.desc, hint_fwd_pd=hint,
    )  # fmt: skip
    result = {n: dnnl.Memory(pd.desc_of(n), engine) for n in ("diff_src", "diff_weights")}
    dst = dnnl.Memory(src.desc, engine)
    args = {"src": src, "weights": slopes}
    dnnl.Primitive(hint).execute(stream, args | {"dst": dst}).wait()
    dnnl.Primitive(pd).execute(stream, args | result | {"diff_dst": diff}).wait()
    found = {"dst": dst} | result
    right = {"dst": np.where(x > 0, x, x * w)} | slopes_gradients(x, w, g)
    return {n: m.to_array().asnumpy() for n, m in found.items()}, right


def test_slopes_of_prelu_are_those_of_their_channels(cpu_stream):
    drawn = [(s, o) for s in SHAPES if s[1] > 1 for o in permutations(range(len(s)))]
    for shape, order in drawn if SAMPLE is None else Random(2).sample(drawn, 60):
        found, right = with_slopes(cpu_stream, shape, order)
        for name, actual in found.items():
            told = f"{name} {shape} {order}"
            np.testing.assert_allclose(actual, right[name], atol=1e-4, err_msg=told)


@pytest.mark.parametrize("shape", [(4, 2, 3, 8), (4, 1, 3, 8), (1, 2, 3, 8), (4, 2, 3, 1)])
def test_slopes_of_prelu_along_any_axes(cpu_stream, shape):
    for kept in range(16):
        axes = [a for a in range(4) if kept >> a & 1]
        slopes = [n if a in axes else 1 for a, n in enumerate(shape)]
        if slopes == [1, shape[1], 3, 1] and shape[3] > 1:
            with pytest.raises(Unimplemented, match="only the implementation ref:any, which"):
                with_slopes(cpu_stream, shape, range(4), axes)
            continue
        found, right = with_slopes(cpu_stream, shape, range(4), axes)
        for name, actual in found.items():
            np.testing.assert_allclose(actual, right[name], atol=1e-4, err_msg=f"{name} {axes}")


def lone_batch(stream):
    """Return a product with weights (1, 4, 6, 3) whose first axis has a small stride."""
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(s).astype("f4") for s in ((1, 4, 2, 6), (1, 4, 6, 3)))
    src = memory(a, range(4), stream)
    desc = dnnl.MemoryDesc(b.shape, "f32", strides=(24, 6, 1, 24))
    flat = dpnp.asarray(np.ascontiguousarray(b.transpose(3, 0, 1, 2)).ravel(),
                        sycl_queue=stream.sycl_queue)  # fmt: skip
    weights = dnnl.Memory(desc, stream.engine, flat)
    dst = dnnl.Memory(dnnl.MemoryDesc((1, 4, 2, 3), "f32"), stream.engine)
    pd = dnnl.matmul(stream.engine, src=src.desc, weights=desc, dst=dst.desc)
    dnnl.Primitive(pd).execute(stream, {"src": src, "weights": weights, "dst": dst}).wait()
    return dst.to_array().asnumpy(), a.astype("f8") @ b


def test_stride_of_a_batch_of_one_is_ignored(cpu_stream):
    actual, right = lone_batch(cpu_stream)
    np.testing.assert_allclose(actual, right, atol=1e-5)


def mask_of_batches(stream, dtype="bf16", batch=(2, 4), lead=(1, 1)):
    """Return a product (*batch, 32, 48) plus a mask (*lead, 32, 48)."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, (*batch, *s)) for s in ((32, 16), (16, 48)))
    mask = rng.integers(-9, 9, (*lead, 32, 48))
    src, weights = (_converted(v, dtype, stream) for v in (a, b))
    operand = _converted(mask, "f32", stream)
    ops, attr = dnnl.PostOps(), dnnl.PrimitiveAttr()
    ops.append_binary("binary_add", operand.desc)
    attr.set_post_ops(ops)
    dst = dnnl.Memory(dnnl.MemoryDesc((*batch, 32, 48), "f32"), stream.engine)
    inputs = {"src": src.desc, "weights": weights.desc, "dst": dst.desc}
    args = {"src": src, "weights": weights, "dst": dst, "attr_post_op_0_src_1": operand}
    dnnl.Primitive(dnnl.matmul(stream.engine, attr=attr, **inputs)).execute(stream, args).wait()
    return dst.to_array().asnumpy(), (a @ b + mask).astype("f8")


def _converted(values, dtype, stream):
    """Return a memory of small integers in a data type."""
    array = dpnp.asarray(values.astype("i1" if dtype == "s8" else "f4"),
                         sycl_queue=stream.sycl_queue)  # fmt: skip
    provided = dnnl.Memory(dnnl.MemoryDesc(values.shape, "s8" if dtype == "s8" else "f32"),
                        stream.engine, array)  # fmt: skip
    result = dnnl.Memory(dnnl.MemoryDesc(values.shape, dtype), stream.engine)
    pd = dnnl.reorder(stream.engine, src=provided.desc, dst=result.desc)
    dnnl.Primitive(pd).execute(stream, {"src": provided, "dst": result}).wait()
    return result


@pytest.mark.parametrize("dtype", ["bf16", "s8"])
@pytest.mark.parametrize(
    ("batch", "lead"),
    [((2, 4), (1, 1)), ((2, 4), (2, 1)), ((2, 4), (1, 4)), ((1, 4), (1, 1)), ((4, 1), (1, 1)),
     ((2, 2, 2), (1, 1, 1)), ((8,), (1,))],
)  # fmt: skip
def test_a_mask_of_all_batches_is_added_row_by_row(dtype, batch, lead, cpu_stream):
    with skipped_without_avx512():
        actual, right = mask_of_batches(cpu_stream, dtype, batch, lead)
    np.testing.assert_array_equal(actual, right)


def gaps(stream, dtype="bf16", kernel=(2, 1), strides=(2, 3)):
    """Return a transposed convolution of 5 x 4 images with a bias."""
    rng = np.random.default_rng(4)
    x, w = rng.integers(-3, 4, (2, 16, 5, 4)), rng.integers(-3, 4, (8, 16, *kernel))
    bias = rng.integers(1, 9, 8)
    size = [(n - 1) * by + k for n, by, k in zip((5, 4), strides, kernel, strict=True)]
    expected = np.zeros((2, 8, *size)) + bias[:, None, None]
    for i, j in np.ndindex(5, 4):
        at = (slice(i * strides[0], i * strides[0] + kernel[0]),
              slice(j * strides[1], j * strides[1] + kernel[1]))  # fmt: skip
        expected[(..., *at)] += np.einsum("nc,ocij->noij", x[:, :, i, j], w)
    src, weights, shift = (
        _converted(v, d, stream) for v, d in ((x, dtype), (w, dtype), (bias, "f32"))
    )
    dst = dnnl.Memory(dnnl.MemoryDesc(expected.shape, "f32"), stream.engine)
    pd = dnnl.deconvolution_forward(
        stream.engine, prop_kind="forward_inference", algorithm="deconvolution_direct",
        src=src.desc, weights=weights.desc, bias=shift.desc, dst=dst.desc, strides=strides,
        padding_l=(0, 0), padding_r=(0, 0),
    )  # fmt: skip
    args = {"src": src, "weights": weights, "bias": shift, "dst": dst}
    dnnl.Primitive(pd).execute(stream, args).wait()
    return dst.to_array().asnumpy(), expected


@pytest.mark.parametrize("dtype", ["bf16", "s8"])
@pytest.mark.parametrize(
    ("kernel", "strides"), [((2, 1), (2, 3)), ((1, 3), (2, 2)), ((2, 2), (2, 2)), ((3, 2), (4, 2))]
)
def test_elements_between_windows_have_the_bias(dtype, kernel, strides, cpu_stream):
    with skipped_without_avx512():
        actual, right = gaps(cpu_stream, dtype, kernel, strides)
    np.testing.assert_array_equal(actual, right)


def lone_axis(stream):
    """Return heads of one token times a row: the third axis has the stride of the tokens."""
    rng, shape, strides = np.random.default_rng(5), (8, 12, 1, 64), (768, 64, 768, 1)
    x, row = (rng.standard_normal(s).astype("f4") for s in (shape, (1, 1, 1, 64)))
    desc = dnnl.MemoryDesc(shape, "f32", strides=strides)
    flat = dpnp.asarray(x.ravel(), sycl_queue=stream.sycl_queue)
    src, other = dnnl.Memory(desc, stream.engine, flat), memory(row, range(4), stream)
    dst = dnnl.Memory(dnnl.MemoryDesc(shape, "f32"), stream.engine)
    pd = dnnl.binary(
        stream.engine, algorithm="binary_mul", src0=desc, src1=other.desc, dst=dst.desc
    )
    args = {"src_0": src, "src_1": other, "dst": dst}
    dnnl.Primitive(pd).execute(stream, args).wait()
    return dst.to_array().asnumpy(), x.astype("f8") * row


def test_stride_of_an_axis_of_one_is_ignored(cpu_stream):
    actual, right = lone_axis(cpu_stream)
    np.testing.assert_allclose(actual, right, atol=1e-5)


STRIDED = {"strides": [2, 2], "dilates": [0, 0], "padding_l": [0, 0]}


def channels_last(values, stream):
    """Return memory over images with their channels last."""
    return memory(values, (0, 2, 3, 1), stream)


def gradient_of_weights(stream, kind, channels):
    """Return the gradient of 1x1 weights over every second pixel, and the expected one."""
    rng, engine = np.random.default_rng(3), stream.engine
    few = rng.standard_normal((32, channels, 32, 32)).astype("f4")
    many = rng.standard_normal((32, 16, 16, 16)).astype("f4")
    right = np.einsum("nohw,nihw->oi", many.astype("f8"), few[:, :, ::2, ::2].astype("f8"))
    wide, narrow = channels_last(few, stream), channels_last(many, stream)
    transposed = kind == "deconvolution"
    src, diff = (narrow, wide) if transposed else (wide, narrow)
    shape = (channels, 16, 1, 1) if transposed else (16, channels, 1, 1)
    open_ = dnnl.MemoryDesc(shape, "f32", "any")
    provided = STRIDED | {"padding_r": [-1, -1], "algorithm": f"{kind}_direct"}
    forward, backward = (getattr(dnnl, f"{kind}_{way}") for way in ("forward", "backward_weights"))
    hint = forward(
        engine, prop_kind="forward_training", src=src.desc, weights=open_, dst=diff.desc, **provided
    )
    pd = backward(
        engine, src=src.desc, diff_weights=open_, diff_dst=diff.desc, hint_fwd_pd=hint, **provided
    )
    found = dnnl.Memory(pd.desc_of("diff_weights"), engine)
    args = {"src": src, "diff_dst": diff, "diff_weights": found}
    dnnl.Primitive(pd).execute(stream, args).wait()
    actual = dnnl.Memory(dnnl.MemoryDesc(shape, "f32", "abcd"), engine)
    copy = dnnl.Primitive(dnnl.reorder(engine, src=found.desc, dst=actual.desc))
    copy.execute(stream, {"src": found, "dst": actual}).wait()
    values = actual.to_array().asnumpy()[:, :, 0, 0]
    return values.T if transposed else values, right


@pytest.mark.parametrize("channels", [1, 3, 5, 8, 12, 15, 16])
def test_strided_gradients_of_few_channels(channels, cpu_stream):
    actual, right = gradient_of_weights(cpu_stream, "convolution", channels)
    np.testing.assert_allclose(actual, right, atol=1e-3)


@pytest.mark.parametrize("channels", [3, 16])
def test_transposed_strided_gradients_of_few_channels(channels, cpu_stream):
    if channels < 8 and dnnl.get_effective_cpu_isa().name != "sse41":  # which has another one
        with pytest.raises(Unimplemented, match="jit_1x1"):
            gradient_of_weights(cpu_stream, "deconvolution", channels)
        return
    actual, right = gradient_of_weights(cpu_stream, "deconvolution", channels)
    np.testing.assert_allclose(actual, right, atol=1e-3)


@pytest.mark.parametrize("how", [lambda f: f, sycl_dnn.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize("groups", [1, 2])
def test_functional_gradients_of_few_transposed_channels(how, groups):
    F, queue = sycl_dnn.functional, sycl_dnn.default_queue("cpu")
    rng = np.random.default_rng(4)
    x, w, g = (
        rng.standard_normal(s).astype("f4")
        for s in ((32, 16, 16, 16), (16, 3, 1, 1), (32, 3 * groups, 32, 32))
    )

    def loss(w, x, g):
        y = F.conv_transpose2d(x, w, stride=2, output_padding=1, groups=groups)
        return F.sum(y * g)

    step = how(sycl_dnn.grad(loss))
    actual = step(*(dpnp.asarray(a, sycl_queue=queue) for a in (w, x, g))).asnumpy()
    xs, gs = x.reshape(32, groups, -1, 16, 16), g[:, :, ::2, ::2].reshape(32, groups, -1, 16, 16)
    right = np.einsum("ngihw,ngohw->gio", xs.astype("f8"), gs.astype("f8")).reshape(16, 3)
    np.testing.assert_allclose(actual[:, :, 0, 0], right, atol=2e-3)


def many_columns(stream, kernel=(3, 19)):
    """Return a bfloat16 depthwise convolution of wide kernels, of which the sums are whole."""
    desc = dnnl.MemoryDesc((1, 16, 5, 64), "bf16", "acdb")
    weights = dnnl.MemoryDesc((16, 1, 1, *kernel), "bf16", "any")
    with skipped_without_avx512():
        pd = dnnl.convolution_forward(
            stream.engine, prop_kind="forward_inference", algorithm="convolution_direct", src=desc,
            weights=weights, dst=desc, strides=[1, 1], dilates=[0, 0], padding_l=[1, 9],
            padding_r=[1, 9],
        )  # fmt: skip
    x, w = (F.ones(*s, dtype="bfloat16", device=stream.sycl_queue)
            for s in (desc.dims, weights.dims))  # fmt: skip
    dnnl.Primitive(pd)
    result = F.conv2d(x, F.reshape(w, (16, 1, *kernel)), None, 1, (1, 9), 1, 16)
    taps = [np.convolve(np.ones(n), np.ones(k), "same") for n, k in ((5, 3), (64, 19))]
    return F.astype(result, "float32").asnumpy(), np.broadcast_to(np.outer(*taps), result.shape)


def test_wide_narrow_kernels_are_created(cpu_stream):
    actual, right = many_columns(cpu_stream)
    np.testing.assert_array_equal(actual, right)


def test_next_impl_skips_avoided_implementations(cpu_stream):
    x = np.ones((2, 12, 3, 16), "f4")
    src = memory(x, (0, 3, 1, 2), cpu_stream)
    slopes = memory(np.ones((1, 12, 1, 1), "f4"), range(4), cpu_stream)
    inputs = {"prop_kind": "forward_inference", "src": src.desc, "dst": src.desc}
    pd = dnnl.prelu_forward(cpu_stream.engine, weights=slopes.desc, **inputs)
    assert pd.impl_info.startswith("ref")
    while pd.next_impl():
        assert not faults.is_avoided(pd)


def test_refused_by_name_if_only_the_avoided_implementation_exists(cpu_stream):
    case = ("softmax", (2, 12, 3, 16), (0, 2, 1, 3), [1], 3)
    with pytest.raises(Unimplemented, match="softmax_forward: oneDNN has only the implementation"):
        with_operand(cpu_stream, *case)


# --- whether the faults are still there: by case, in a process without the register

FAULTY = {
    "post-op-operands": ("softmax", (2, 12, 3, 16), (0, 2, 1, 3), [1], 3),
    "post-op-operands of one pixel": ("binary", (2, 16, 1, 1), (0, 1, 2, 3), [1], None),
    "post-op-operands of products": ("matmul", (2, 12, 3, 16), (0, 2, 1, 3), [3], None),
    "layer-norm-post-op-operands": ("layer", (3, 8, 16), (1, 0, 2), [0], None),
    "prelu-slopes-between": ((2, 12, 3, 16), (0, 3, 1, 2)),
    "matmul-lone-batch": lone_batch,
    "matmul-mask-of-batches": mask_of_batches,
    "deconv-gaps": gaps,
    "binary-lone-axis": lone_axis,
    "reorder-transposed-gaps": transposed,
    "conv-depthwise-columns": many_columns,
    "conv-narrow-strided-weights": ("convolution", 3),
    "conv-narrow-strided-weights of transposed": ("deconvolution", 3),
}


def run(name, stream):
    """Return whether a case is correct without the register."""
    case = FAULTY[name]
    if callable(case):
        actual, right = case(stream)
    elif name.startswith("prelu"):
        found, expected = with_slopes(stream, *case)
        actual, right = found["dst"], expected["dst"]
    elif len(case) == 2:
        actual, right = gradient_of_weights(stream, *case)
    else:
        actual, right = with_operand(stream, *case)
    return bool(np.abs(actual - right).max() < 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTY)
def test_onednn_still_has_the_fault(name):
    command = [sys.executable, "-W", "ignore", __file__, name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    seconds = 30 if FAULTY[name] is many_columns else 300  # without the register it never ends
    try:
        child = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        assert FAULTY[name] is many_columns
        return
    if child.stdout == "right\n":
        pytest.skip(f"{name}: right on a CPU of {dnnl.get_effective_cpu_isa().name}")
    assert child.returncode < 0 or child.stdout == "wrong\n", child.stderr[-2000:]


if __name__ == "__main__":
    _core._watch(set(), faults.check)
    chosen_queue = sycl_dnn.default_queue("cpu")
    ordered = dnnl.Stream(dnnl.Engine(chosen_queue), chosen_queue, ordered=True)
    print("right" if run(sys.argv[1], ordered) else "wrong")
