# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import Checks
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F

LAYOUTS = ("plain", "channels_last", "strided", "reversed", "transposed")


def by_torch(name):
    """torch's function, or a tensor's method where torch has no function of that name."""

    def call(*args, **kwargs):
        import torch

        return getattr(torch, name)(*args, **kwargs)

    return call


def channel_shuffle(x, groups):
    n, c, *s = x.shape
    return x.reshape(n, groups, c // groups, *s).swapaxes(1, 2).reshape(x.shape)


def pixel_shuffle(x, r):
    *b, c, h, w = x.shape
    k = len(b)
    split = x.reshape(*b, c // (r * r), r, r, h, w)
    order = (*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return split.transpose(order).reshape(*b, c // (r * r), h * r, w * r)


def pixel_unshuffle(x, r):
    *b, c, h, w = x.shape
    k = len(b)
    split = x.reshape(*b, c, h // r, r, w // r, r)
    order = (*range(k), k, k + 2, k + 4, k + 1, k + 3)
    return split.transpose(order).reshape(*b, c * r * r, h // r, w // r)


MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(x, widths, mode="constant", value=None):
    pairs = list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    added = [(max(b, 0), max(a, 0)) for b, a in pairs]
    cut = tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(x.shape, pairs, strict=True))
    if mode in ("constant", "circular"):
        more = {"constant_values": value or 0} if mode == "constant" else {}
        return np.pad(x[cut], added, MODES[mode], **more)
    whole = np.pad(x, added, MODES[mode])
    end = [slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(whole.shape, pairs, strict=True)]
    return whole[tuple(end)]


def _pairs(*values):
    return [v if isinstance(v, tuple) else (v, v) for v in values]


def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    k, d, p, s = _pairs(kernel_size, dilation, padding, stride)
    alone = x.ndim == 3
    x = np.pad(x[None] if alone else x, ((0, 0), (0, 0), (p[0],) * 2, (p[1],) * 2))
    n, c, h, w = x.shape
    oh, ow = ((m - e * (j - 1) - 1) // t + 1 for m, j, e, t in zip((h, w), k, d, s, strict=True))
    parts = [
        x[:, :, i * d[0] :, j * d[1] :][:, :, : (oh - 1) * s[0] + 1 : s[0],
                                        : (ow - 1) * s[1] + 1 : s[1]].reshape(n, c, 1, oh * ow)
        for i in range(k[0]) for j in range(k[1])
    ]  # fmt: skip
    made = np.concatenate(parts, axis=2).reshape(n, c * k[0] * k[1], oh * ow)
    return made[0] if alone else made


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The transposed linear map of unfold, by its matrix."""
    k, size = _pairs(kernel_size, output_size)
    c = x.shape[-2] // (k[0] * k[1])
    n_in = c * size[0] * size[1]
    images = np.eye(n_in).reshape(n_in, c, *size)
    matrix = unfold(images, kernel_size, dilation, padding, stride).reshape(n_in, -1)
    return (x.reshape(*x.shape[:-2], -1) @ matrix.T).reshape(*x.shape[:-2], c, *size)


def _named(name, function, reference, args, torch="", **kwargs):
    options = {k: kwargs.pop(k) for k in ("dtype", "slack", "on_gpu") if k in kwargs}
    torch = by_torch(function.__name__) if torch == "" else torch
    return Case(name, function, reference, args, kwargs, torch, **options)


X = Spec((3, 4, 5))
IMAGE = (2, 8, 5, 7)

VIEWS = [
    _named("reshape", F.reshape, np.reshape, (X, (5, 12)), on_gpu=True),
    _named("reshape-open", F.reshape, np.reshape, (X, (2, -1, 3))),
    _named("reshape-empty", F.reshape, np.reshape, (Spec((0, 4)), (2, 0))),
    _named("reshape-scalar", F.reshape, np.reshape, (Spec((1, 1)), ())),
    _named("flatten", F.flatten, lambda x: x.reshape(-1), (X,)),
    _named("flatten-1", F.flatten, lambda x, start_dim: x.reshape(3, -1), (X,), start_dim=1),
    _named("flatten-scalar", F.flatten, lambda x: x.reshape(1), (Spec(()),)),
    _named("unflatten", F.unflatten, lambda x, d, s: x.reshape(3, 2, 2, 5), (X, 1, (2, -1))),
    _named("permute", F.permute, np.transpose, (X, (2, 0, 1))),
    _named("permute-negative", F.permute, np.transpose, (X, (-1, 0, -2))),
    _named("transpose", F.transpose, np.swapaxes, (X, 0, -1)),
    _named("squeeze", F.squeeze, np.squeeze, (Spec((1, 3, 1, 4)),)),
    _named("squeeze-other", F.squeeze, lambda x, d: x, (X, 1)),
    _named("squeeze-one", F.squeeze, np.squeeze, (Spec((1, 3, 1)), -1)),
    _named("unsqueeze", F.unsqueeze, np.expand_dims, (X, -2)),
    _named("narrow", F.narrow, lambda x, d, s, n: x[:, 1:3], (X, 1, 1, 2)),
    _named("narrow-end", F.narrow, lambda x, d, s, n: x[..., -2:], (X, -1, -2, 2)),
    _named("narrow-nothing", F.narrow, lambda x, d, s, n: x[:0], (X, 0, 1, 0)),
]
VIEWS += [
    _named(f"{f.__name__}-{layout}", f, r, (Spec(IMAGE, layout=layout), *more))
    for layout in LAYOUTS[1:]
    for f, r, more in (
        (F.reshape, np.reshape, ((4, 4, 35),)),
        (F.permute, np.transpose, ((0, 2, 3, 1),)),
        (F.flatten, lambda x, d: x.reshape(2, -1), (1,)),
        (F.narrow, lambda x, d, s, n: x[:, 2:5], (1, 2, 3)),
    )
]


def cat(parts, dim=0):
    return np.concatenate([p for p in parts if p.shape != (0,)], axis=dim)


def split(x, sizes, dim=0):
    ends = np.cumsum(sizes)[:-1] if isinstance(sizes, (tuple, list)) else range(
        sizes, x.shape[dim], sizes)  # fmt: skip
    return tuple(np.split(x, list(ends), axis=dim))


def images(*channels, layout="plain"):
    return [Spec((2, c, 5, 7), layout=layout) for c in channels]


JOINS = [
    _named("cat", F.cat, cat, ([Spec((2, 3)), Spec((4, 3)), Spec((1, 3))],), on_gpu=True),
    _named("cat-one", F.cat, cat, ([X],)),
    _named("cat-channels", F.cat, cat, (images(3, 16, 1), 1)),
    _named("cat-last", F.cat, cat, ([Spec((2, 3)), Spec((2, 5))], -1)),
    _named("cat-left-out", F.cat, cat, ([Spec((0,)), Spec((2, 3))], 1)),
    _named("cat-empty", F.cat, cat, ([Spec((2, 0)), Spec((2, 3)), Spec((2, 0))], 1)),
    _named("cat-all-empty", F.cat, cat, ([Spec((2, 0)), Spec((2, 0))], 1)),
    _named("cat-many", F.cat, cat, ([Spec((1, 3))] * 20,)),
    _named("stack", F.stack, np.stack, ([X, X, X],)),
    _named("stack-last", F.stack, np.stack, ([X, X], -1)),
    _named("stack-scalars", F.stack, np.stack, ([Spec(()), Spec(())],)),
    _named("split", F.split, split, (X, 2, 2)),
    _named("split-sizes", F.split, split, (X, [3, 0, 1], 1)),
    _named("split-strided", F.split, split, (Spec((6, 4), layout="strided"), 4)),
    _named("chunk", F.chunk, lambda x, n, d: split(x, 2, d), (X, 3, 2)),
    _named("chunk-few", F.chunk, lambda x, n: split(x, 1), (X, 7)),
]
JOINS += [
    _named(f"cat-{layout}", F.cat, cat, (images(3, 8, layout=layout), 1)) for layout in LAYOUTS[1:]
]
SHUFFLES = [
    _named(name, f, r, (Spec(shape, layout=layout), factor), f.__name__, on_gpu=layout == "plain")
    for layout in LAYOUTS
    for name, f, r, shape, factor in (
        (f"channel_shuffle-{layout}", F.channel_shuffle, channel_shuffle, IMAGE, 4),
        (f"pixel_shuffle-{layout}", F.pixel_shuffle, pixel_shuffle, IMAGE, 2),
        (f"pixel_unshuffle-{layout}", F.pixel_unshuffle, pixel_unshuffle, (2, 3, 6, 4), 2),
    )
]
SHUFFLES += [
    _named("channel_shuffle-3d", F.channel_shuffle, channel_shuffle, (Spec((1, 6, 3)), 3),
           "channel_shuffle"),
    _named("channel_shuffle-5d", F.channel_shuffle, channel_shuffle, (Spec((2, 6, 3, 1, 2)), 2),
           "channel_shuffle"),
    _named("pixel_shuffle-alone", F.pixel_shuffle, pixel_shuffle, (Spec((18, 3, 1)), 3),
           "pixel_shuffle"),
    _named("pixel_shuffle-batches", F.pixel_shuffle, pixel_shuffle, (Spec((2, 1, 4, 3, 2)), 2),
           "pixel_shuffle"),
    _named("pixel_shuffle-empty", F.pixel_shuffle, pixel_shuffle, (Spec((0, 4, 3, 2)), 2),
           None),
]  # fmt: skip

PADS = [
    _named(f"pad-{mode}-{name}", F.pad, pad, (Spec(shape), widths, mode), "pad")
    for mode in MODES
    for name, shape, widths in (
        ("1d", (2, 3, 7), (2, 1)),
        ("2d", (2, 3, 7, 5), (2, 1, 0, 3)),
        ("3d", (1, 2, 3, 4, 5), (1, 2, 3, 0, 2, 1)),
        ("alone", (3, 5), (4, 4)),
        ("one_side", (2, 3, 5), (0, 3)),
        ("crop", (2, 3, 7), (-2, -1)),
        ("crop_left", (2, 3, 7), (-2, 3)),
        ("crop_right", (2, 3, 7, 5), (3, -1, -1, 2)),
        ("no_batch", (0, 3, 7), (2, 1)),
        ("nothing", (2, 3, 7), (0, 0)),
    )
]
PADS += [
    _named(f"pad-{mode}-{layout}", F.pad, pad, (Spec(IMAGE, layout=layout), (2, 1, 1, 3), mode),
           "pad", on_gpu=mode == "constant")
    for mode in MODES
    for layout in LAYOUTS[1:]
]  # fmt: skip
PADS += [
    _named("pad-value", F.pad, pad, (X, (1, 2)), "pad", value=-2.5),
    _named("pad-all_axes", F.pad, pad, (X, (1, 0, -1, 2, 3, 4)), "pad", value=1.0),
    _named("pad-from_nothing", F.pad, pad, (Spec((2, 0)), (1, 2)), "pad", value=3.0),
    _named("pad-to_nothing", F.pad, pad, (X, (-3, -2)), "pad"),
    _named("pad-no_axes", F.pad, pad, (X, ()), "pad"),
]

FOLDS = [
    _named(f"unfold-{name}", F.unfold, unfold, (Spec(shape, layout=layout), *args), "unfold")
    for name, shape, layout, args in (
        ("plain", (2, 3, 6, 5), "plain", (3,)),
        ("all", (2, 3, 8, 7), "plain", ((3, 2), (2, 1), (1, 2), (2, 3))),
        ("one", (2, 3, 4, 4), "plain", (1,)),
        ("whole", (1, 2, 3, 5), "plain", ((3, 5),)),
        ("alone", (3, 6, 5), "plain", (2, 1, 1)),
        ("channels_last", (2, 3, 6, 5), "channels_last", (3, 1, 1)),
        ("strided", (2, 3, 6, 5), "strided", (3, 1, 0, 2)),
        ("no_batch", (0, 3, 6, 5), "plain", (3,)),
    )
]
FOLDS += [
    _named(f"fold-{name}", F.fold, fold, (Spec(shape, layout=layout), *args), "fold")
    for name, shape, layout, args in (
        ("plain", (2, 27, 12), "plain", ((6, 5), 3)),
        ("all", (2, 18, 15), "plain", ((8, 7), (3, 2), (2, 1), (1, 2), (2, 2))),
        ("square", (2, 8, 9), "plain", (4, 2)),
        ("alone", (8, 9), "plain", (4, 2)),
        ("transposed", (2, 27, 12), "transposed", ((6, 5), 3)),
    )
]
CASES = [*VIEWS, *JOINS, *SHUFFLES, *PADS, *FOLDS]
NARROW = (
    "reshape", "permute", "cat", "cat-channels", "stack", "split", "channel_shuffle-plain",
    "pixel_shuffle-channels_last", "pixel_unshuffle-plain", "pad-constant-2d", "pad-reflect-2d",
    "pad-replicate-2d", "pad-circular-2d", "pad-value", "unfold-all", "fold-all",
)  # fmt: skip
CASES += [c.as_dtype(d) for c in CASES for d in ("bfloat16", "float16") if c.name in NARROW]


class TestCases(Checks):
    cases = CASES


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "bool", "int16"])
def test_every_dtype_has_shapes(dtype, queue):
    values = (np.arange(24).reshape(2, 3, 4) % 2 == 0 if dtype == "bool"
              else np.arange(24).reshape(2, 3, 4)).astype(dtype)  # fmt: skip
    x = dpnp.asarray(values, sycl_queue=queue)
    pairs = [
        (F.permute(x, (2, 0, 1)), values.transpose(2, 0, 1)),
        (F.reshape(F.transpose(x, 0, 1), (4, 6)), values.swapaxes(0, 1).reshape(4, 6)),
        (F.cat([x, x], 1), np.concatenate([values, values], 1)),
        (F.stack([x, x]), np.stack([values, values])),
        (F.split(x, 2, 2)[1], values[..., 2:]),
        (F.pad(x, (1, -1), value=1), np.pad(values, ((0, 0), (0, 0), (1, 0)),
                                            constant_values=1)[..., :-1]),
        (F.pad(x, (1, 2), "circular"), np.pad(values, ((0, 0), (0, 0), (1, 2)), "wrap")),
    ]  # fmt: skip
    for got, wanted in pairs:
        assert got.dtype == values.dtype
        np.testing.assert_array_equal(dpnp.asnumpy(got), wanted)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
def test_integers_are_shuffled(dtype, queue):
    values = (np.arange(48).reshape(1, 4, 2, 6) % 5).astype(dtype)
    x = dpnp.asarray(values, sycl_queue=queue)
    for function, reference in (
        (F.channel_shuffle, channel_shuffle),
        (F.pixel_shuffle, pixel_shuffle),
        (F.pixel_unshuffle, pixel_unshuffle),
    ):
        made = function(x, 2)
        assert made.dtype == values.dtype
        np.testing.assert_array_equal(dpnp.asnumpy(made), reference(values, 2))


def test_cat_promotes(queue):
    a = to_device(np.ones((2, 3)), "float32", queue)
    b = to_device(np.ones((2, 3)), "bfloat16", queue)
    assert F.cat([a, b]).dtype == "float32"
    assert F.cat([b, b]).dtype == "bfloat16"
    n = dpnp.ones((2, 3), dtype="int32", sycl_queue=queue)
    assert F.cat([n, n.astype("int64")]).dtype == "int64"


def test_layouts_are_kept(queue):
    x = to_device(np.random.default_rng(0).standard_normal(IMAGE), "float32", queue,
                  "channels_last")  # fmt: skip
    for made in (
        F.channel_shuffle(x, 2), F.pixel_shuffle(x, 2), F.cat([x, x], 1), F.pad(x, (1, 1, 1, 1))
    ):  # fmt: skip
        c = made.shape[1]
        assert made.strides[1] == 4
        assert made.strides[3] == 4 * c


def test_a_view_of_a_result_is_not_copied(queue):
    x = to_device(np.ones((2, 3)), "float32", queue)
    made = F.permute(F.stack([x, x, x, x]), (2, 0, 1))
    assert made.shape == (3, 4, 2)
    assert [s.primitive.name for s in _steps(lambda v: F.permute(F.relu(v), (1, 0)), x)] == [
        "eltwise_forward"
    ]


def _steps(function, x):
    from sycl_dnn.dispatch.operation import operation
    from sycl_dnn.dispatch.places import place_of

    plan = operation(function).operation.build(place_of(x.sycl_queue)[0], (x,), {})
    return plan.executable._keep[0].steps


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: F.reshape(x, (5, 5)), r"reshape: shape must have 24 elements, got \(5, 5\)"),
        (lambda x: F.reshape(x, (-1, -1)), "reshape: shape must have at most one -1"),
        (lambda x: F.reshape(x, (-1, 5)), "reshape: shape must have 24 elements"),
        (lambda x: F.flatten(x, 2, 1), "flatten: start_dim must not come after end_dim"),
        (lambda x: F.permute(x, (0, 1)), "permute: dims must name 3 axes"),
        (lambda x: F.permute(x, (0, 1, 1)), "permute: dims must name 3 axes"),
        (lambda x: F.transpose(x, 0, 3), r"transpose: dim1 must be in \[-3, 2\], got 3"),
        (lambda x: F.unsqueeze(x, 4), r"unsqueeze: dim must be in \[-4, 3\], got 4"),
        (lambda x: F.narrow(x, 0, 1, 2), r"narrow: start \+ length must be at most 2, got 3"),
        (lambda x: F.cat([x, x[:, :1]]), "cat: tensors must have equal shapes but for axis 0"),
        (lambda x: F.cat(x), "cat: tensors must be a list"),
        (lambda x: F.stack([x, x[:1]]), "stack: tensors must have one shape"),
        (lambda x: F.split(x, [1, 2], 1), None),
        (lambda x: F.split(x, [1, 1], 1), "split: split_size_or_sections must add up to 3"),
        (lambda x: F.split(x, 0), "split: split_size_or_sections must be positive"),
        (lambda x: F.chunk(x, 0), "chunk: chunks must be at least 1, got 0"),
        (lambda x: F.channel_shuffle(x, 2), "groups must divide the 3 channels, got 2"),
        (lambda x: F.pixel_shuffle(x, 2), "channels in multiples of 4, got 2"),
        (lambda x: F.pixel_unshuffle(x, 2), "downscale_factor must divide height and width"),
        (lambda x: F.pad(x, (1,)), "pad: pad must have two numbers"),
        (lambda x: F.pad(x, (1,) * 8), "pad: pad must have two numbers"),
        (lambda x: F.pad(x, (-3, -2)), "pad: pad must leave at least 0 of 4 elements"),
        (lambda x: F.pad(x, (1, 1), "mirror"), "pad: mode must be one of 'constant', 'reflect'"),
        (lambda x: F.pad(x, (4, 0), "reflect"), "pad: pad must be at most 3 along an axis of 4"),
        (lambda x: F.pad(x, (0, 5), "circular"), "pad: pad must be at most 4 along an axis of 4"),
        (lambda x: F.pad(x, (1, 1, 1, 1, 1, 1), "reflect"), "one or two axes more"),
        (lambda x: F.pad(x, (1, 1), "reflect", 2.0), "pad: value must be None for mode 'reflect'"),
        (lambda x: F.unfold(x, 5), "unfold: kernel_size must fit into the image"),
        (lambda x: F.unfold(x[0], 2), "unfold: input must be of floats with 4 or 3 axes"),
        (lambda x: F.fold(x, 4, 2), "fold: input must have a multiple of 4 rows and 9 columns"),
    ],
)
def test_refusals(call, words, queue):
    x = to_device(np.zeros((2, 3, 4)), "float32", queue)
    if words is None:
        call(x)
        return
    with pytest.raises(ValueError, match=words):
        call(x)


def test_helpers_in_a_traced_function(queue):
    """The helpers compose, and their gradients with them."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4))

    def function(v):
        a, b, c = F.split(F.permute(v, (1, 0, 2)), 1)
        joined = F.cat([F.flatten(c), F.flatten(a)])
        return F.pad(F.unsqueeze(joined, 0), (1, 1))

    y, pullback = sycl_dnn.vjp(function, to_device(x, "float32", queue))
    wanted = np.pad(np.concatenate([x[:, 2].ravel(), x[:, 0].ravel()]), 1)[None]
    np.testing.assert_allclose(to_numpy(y), wanted, rtol=1e-6)
    dy = np.random.default_rng(1).standard_normal(y.shape)
    grad = np.zeros_like(x)
    grad[:, 2], grad[:, 0] = dy[0, 1:9].reshape(2, 4), dy[0, 9:17].reshape(2, 4)
    got = pullback(to_device(dy, "float32", queue))[0]
    np.testing.assert_allclose(to_numpy(got), grad, rtol=1e-6)
