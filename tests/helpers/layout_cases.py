# SPDX-License-Identifier: Apache-2.0
"""Every layout of every primitive, as lines of cases: axes in each order, axes of length 1.

A row is a driver, its options and its problem; `{...}` in it stands for all values of that kind.
"""

import itertools
import math
from pathlib import Path

from sycl_dnn.tools.cases.case_files import Reader, words_of_text

#: By rank: base shapes, with one vector of channels and with one channel more.
SHAPES = {3: (3, 16, 5), 4: (2, 12, 3, 8)}
TYPES = "f32,bf16,f16"
BOTH = "--dir=FWD_D,BWD_D"

#: Driver: options that are the same for all cases, and those that hold layouts.
#: o: an order of the axes; r: row-major; all cases of a row use the same order for each {o}.
POINTWISE = {
    "eltwise": (
        f"{BOTH} --dt={TYPES} --alg=tanh --inplace=false",
        "--dt=f32,s8 --dir=FWD_I --alg=relu --attr-post-ops=add:f32:per_oc,mul:f32:per_tensor",
    ),
    "softmax": (
        f"{BOTH} --sdt=f32,bf16 --ddt=f32 --axis={{axis}} --inplace=false",
        "--dir=FWD_I --sdt=f32 --ddt=f32,s8 --axis={axis} --attr-post-ops=add:f32:{mask}",
    ),
    "lnorm": (
        "--dir=FWD_D,BWD_DW --dt=f32,bf16 --flags=CH --inplace=false",
        "--dir=FWD_I --dt=f32 --flags=,CH --inplace=false --attr-post-ops=add:f32:{mask}",
        "--dir=FWD_I --dt=f32 --flags=G,GCH --stat_tag={stat} --inplace=false",
    ),
    "shuffle": (f"{BOTH} --dt={TYPES} --axis={{axis}} --group=1",),
    "sum": ("--sdt=f32:f32,bf16:f32,s8:s8 --ddt=f32 --inplace=false",),
    "reorder": ("--sdt=f32,bf16,s8 --ddt=f32,bf16,s8",),
}
#: Drivers that name their layout `tag`; those of others are a source's and a result's.
ONE_TAG = {"eltwise", "lnorm", "shuffle", "bnorm", "gnorm", "lrn", "pool", "resampling"}

#: Drivers whose problems name sizes: images of N x C x W and N x C x H x W.
IMAGES = {
    "bnorm": "--dir=FWD_D,FWD_I,BWD_DW --dt=f32,bf16 --flags=CH,GCH --inplace=false",
    "gnorm": "--dir=FWD_D,BWD_DW --dt=f32,bf16 --flags=CH --inplace=false",
    "lrn": f"{BOTH} --dt=f32,bf16 --alg=ACROSS,WITHIN",
    "pool": f"{BOTH} --dt=f32,bf16 --alg=max,avg_np",
    "resampling": f"{BOTH} --sdt=f32,bf16 --ddt=f32 --alg=nearest,linear",
    "conv": "--dir=FWD_B,BWD_D,BWD_WB --dt=f32,bf16,u8:s8:f32",
    "deconv": "--dir=FWD_B,BWD_D,BWD_WB --dt=f32",
    "ip": "--dir=FWD_B,BWD_D,BWD_WB --dt=f32,bf16",
}  # fmt: skip


def orders(rank):
    """Every order of the axes, as oneDNN's tags."""
    return ["".join(order) for order in itertools.permutations("abcdef"[:rank])]


def with_ones(shape):
    """A shape, and all variants with some axes of length 1."""
    for kept in itertools.product((True, False), repeat=len(shape)):
        yield tuple(n if keep else 1 for n, keep in zip(shape, kept, strict=True))


def _text(shape):
    return "x".join(map(str, shape))


def _layouts(driver, order, rank):
    """Options that lay out the first tensor, the result, and all in an order of the axes."""
    row = "abcdef"[:rank]
    if driver in ONE_TAG:
        yield f"--tag={order}"
        if driver in ("eltwise", "lnorm") and order != row:
            yield f"--tag={order}:{row}"
        return
    yield f"--stag={order} --dtag={order}"
    if order != row:
        yield f"--stag={order} --dtag={row}"
        yield f"--stag={row} --dtag={order}"


def _shapes(driver, rank):
    """Shapes for a driver: a normalization over one element is 0, whatever is computed."""
    for shape in with_ones(SHAPES[rank]):
        normalized = {"lnorm": shape[-1:], "bnorm": (shape[0], *shape[2:])}.get(driver, ())
        if not normalized or math.prod(normalized) > 1:
            yield shape


def _pointwise(rank):
    """Primitives of one tensor, or of several of one shape."""
    for driver, rows in POINTWISE.items():
        for options, order in itertools.product(rows, orders(rank)):
            for layout in _layouts(driver, order, rank):
                for shape in _shapes(driver, rank):
                    for chosen in _choices(options, rank):
                        yield f"--{driver} {chosen} {layout} {_text(shape)}"


def _choices(options, rank):
    """The options once for all axes, all masks of a broadcast operand, and orders of statistics."""
    axes = ",".join(map(str, range(rank)))
    masks = [1, 2, 1 << (rank - 1), (1 << rank) - 1]
    operations = options.partition("--attr-post-ops=")
    if "{mask}" in options:
        head, name, _ = operations
        options = head + name + ",".join(f"add:f32:{m}" for m in masks)
    stats = ",".join(orders(rank - 1))
    yield options.format(axis=axes, stat=stats) if "{" in options else options


def _operands(shape):
    """Shapes that broadcast to another: equal, one or two axes of size 1, a single element."""
    rank = len(shape)
    for kept in range(1 << rank):
        if kept.bit_count() in (0, 1, rank - 1, rank):
            yield tuple(n if kept >> i & 1 else 1 for i, n in enumerate(shape))


def _broadcast(rank):
    """Two operands, of which the second broadcasts, each in every axis order."""
    row = "abcdef"[:rank]
    for order, shape in itertools.product(orders(rank), with_ones(SHAPES[rank])):
        for other in sorted(set(_operands(shape))):
            problem = f"{_text(shape)}:{_text(other)}"
            for tags in dict.fromkeys((f"{order}:{row}", f"{row}:{order}", f"{order}:{order}")):
                types = "--sdt=f32:f32,bf16:f32,s8:s8 --ddt=f32"
                yield f"--binary {types} --alg=SUB --stag={tags} --dtag={row},{order} {problem}"
                if tags != f"{row}:{order}":
                    kinds = "--dir=FWD_D,BWD_DW --sdt=f32:f32,bf16:bf16"
                    yield f"--prelu {kinds} --stag={tags} {problem}"


def _reduced(rank):
    """Reductions over every set of axes, concatenations along every axis."""
    for order, shape in itertools.product(orders(rank), with_ones(SHAPES[rank])):
        for layout in _layouts("reduction", order, rank):
            for other in sorted(set(_operands(shape)) - {shape}):
                kinds = "--sdt=f32,bf16 --ddt=f32 --alg=sum,max"
                yield f"--reduction {kinds} {layout} {_text(shape)}:{_text(other)}"
            axes = ",".join(map(str, range(rank)))
            parts = f"{_text(shape)}:{_text(shape)}"
            yield f"--concat --sdt=f32,s8 --ddt=f32 --axis={axes} {layout} {parts}"


def _products(rank):
    """Products with operands, result and bias in every axis order."""
    sizes = (3, 4, 6, 5) if rank == 4 else (3, 6, 5)
    row = "abcdef"[:rank]
    for order, shape in itertools.product(orders(rank), with_ones((*sizes, 7))):
        *batch, m, k, n = shape
        problem = f"{_text((*batch, m, k))}:{_text((*batch, k, n))}"
        for place in ("s", "w", "d"):
            tags = " ".join(f"--{p}tag={order if p == place else row}" for p in "swd")
            yield f"--matmul --dt=f32,bf16,u8:s8:f32 {tags} {problem}"
        masks = f"{1 << (rank - 1)},{(1 << rank) - 1},{1 << (rank - 2)}"
        tags = f"--stag={order} --wtag={order} --dtag={row}"
        yield f"--matmul --dt=f32 --bia-dt=f32 --bia_mask={masks} {tags} {problem}"


def _image(driver, shape):
    """The problem of a driver for (N, C, W) or (N, C, H, W)."""
    n, c, *space = shape
    names = "hw"[-len(space) :]
    sizes = "".join(f"i{axis}{size}" for axis, size in zip(names, space, strict=True))
    if driver == "ip":
        return f"mb{n}ic{c}{sizes}oc9"
    if driver in ("conv", "deconv"):
        windows = "".join(f"k{axis}3p{axis}1" for axis in names)
        out = "".join(f"o{axis}{size}" for axis, size in zip(names, space, strict=True))
        return f"mb{n}ic{c}{sizes}oc8{out}{windows}"
    if driver == "pool":
        return f"mb{n}ic{c}{sizes}" + "".join(f"k{axis}1s{axis}1" for axis in names)
    if driver == "resampling":
        out = "".join(f"o{axis}{2 * size}" for axis, size in zip(names, space, strict=True))
        return f"mb{n}ic{c}{sizes}{out}"
    return ("g1" if driver == "gnorm" else "") + f"mb{n}ic{c}{sizes}"


def _images(rank):
    for driver, options in IMAGES.items():
        for order, shape in itertools.product(orders(rank), _shapes(driver, rank)):
            problem = _image(driver, shape)
            if driver in ("conv", "deconv", "ip"):
                row = "abcdef"[:rank]
                flat = "ab" if driver == "ip" else row
                yield f"--{driver} {options} --stag={order} --wtag=any --dtag={flat} {problem}"
                yield f"--{driver} {options} --stag={row} --wtag={order} --dtag={flat} {problem}"
                if driver != "ip":
                    tags = f"--stag={order} --wtag=any,{row} --dtag={order}"
                    yield f"--{driver} {options} {tags} {problem}"
            else:
                yield f"--{driver} {options} --tag={order} {problem}"


def with_post_ops():
    """Products by an operand over each set of axes, beside tensors in each order of theirs."""
    for rank, order in ((n, order) for n in SHAPES for order in orders(n)):
        row, masks = "abcdef"[:rank], range(1, 1 << rank)
        for shape, mask in itertools.product(with_ones(SHAPES[rank]), masks):
            text, ops = _text(shape), f"--attr-post-ops=mul:f32:{mask}"
            tags = f"--stag={order} --dtag={order}"
            for axis in range(rank):
                yield f"--softmax --dir=FWD_I --axis={axis} --inplace=false {tags} {ops} {text}"
            if shape[-1] > 1:
                yield f"--lnorm --dir=FWD_I --inplace=false --tag={order} {ops} {text}"
            yield f"--binary --stag={order}:{order} --dtag={order} {ops} {text}:{text}"
            left, right = (_text((*shape[:-2], *last)) for last in ((shape[-2], 5), (5, shape[-1])))
            yield f"--matmul --stag={row} --wtag={row} --dtag={order} {ops} {left}:{right}"


def lines():
    """All lines, each of which is a product of its lists."""
    for rank in SHAPES:
        for family in (_pointwise, _broadcast, _reduced, _products, _images):
            yield from family(rank)


def cases(chosen):
    for line in chosen:
        driver, _, rest = line.partition(" ")
        words = words_of_text(f"{driver} --reset {rest}", "layouts")
        yield from Reader().cases(words, Path())
