# SPDX-License-Identifier: Apache-2.0
"""4-bit tensors, two numbers in a byte: primitives that compute with them, and those refused."""

import dpnp
import numpy as np
import pytest
from lying_apart import unchecked

from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import Unimplemented

D, T = dnnl.MemoryDesc, dnnl.data_type
INFER = dnnl.prop_kind.forward_inference
SIZES, IMAGE, POOLED = (8, 16), (2, 3, 4, 4), (2, 3, 2, 2)


def binary(engine, a, dst):
    return dnnl.binary(engine, algorithm="binary_add", src0=D(SIZES, a), src1=D(SIZES, a), dst=dst)


def reduction(engine, a, dst):
    return dnnl.reduction(engine, algorithm="reduction_sum", src=D(SIZES, a), dst=dst)


def pooling(engine, a, dst):
    return dnnl.pooling_forward(
        engine, prop_kind=INFER, algorithm="pooling_max", src=D(IMAGE, a), dst=dst, strides=(2, 2),
        kernel=(2, 2), dilation=(0, 0), padding_l=(0, 0), padding_r=(0, 0),
    )  # fmt: skip


def prelu(engine, a, dst):
    return dnnl.prelu_forward(
        engine, prop_kind=INFER, src=D(SIZES, a), weights=D(SIZES, a), dst=dst
    )


def resampling(engine, a, dst):
    return dnnl.resampling_forward(
        engine, prop_kind=INFER, algorithm="resampling_nearest", src=D((2, 3, 4), a), dst=dst
    )


def shuffle(engine, a, dst):
    return dnnl.shuffle_forward(
        engine, prop_kind=INFER, src=D(SIZES, a), dst=dst, axis=0, group_size=4
    )


def shuffle_gradient(engine, a, dst):
    with unchecked():
        hint = dnnl.shuffle_forward(
            engine, prop_kind="forward_training", src=dst, dst=dst, axis=0, group_size=4
        )
    return dnnl.shuffle_backward(
        engine, diff_src=dst, diff_dst=D(SIZES, a), axis=0, group_size=4, hint_fwd_pd=hint
    )


#: How to make a descriptor, and the sizes of its result.
CASES = {
    "binary": (binary, SIZES),
    "reduction": (reduction, (SIZES[0], 1)),
    "pooling": (pooling, POOLED),
    "prelu": (prelu, SIZES),
    "resampling": (resampling, (2, 3, 16)),
    "shuffle": (shuffle, SIZES),
    "shuffle gradient": (shuffle_gradient, SIZES),
}
WHOLE_BYTES = "results must have whole bytes"


# GPUs refuse other cases: tests/gpu/test_faults_on_gpu.py
pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("half", [T.s4, T.u4], ids=["s4", "u4"])
@pytest.mark.parametrize("case", CASES)
def test_4_bit_results_are_refused(engine, case, half):
    """oneDNN counts one byte per element; several write past the end."""
    make, sizes = CASES[case]
    with pytest.raises(Unimplemented, match=WHOLE_BYTES):
        make(engine, half, D(sizes, half))


@pytest.mark.parametrize("types", [(T.s4, T.f32), (T.f32, T.u4)], ids=["src", "dst"])
def test_resampling_refuses_4_bit_tensors(engine, types):
    with pytest.raises(Unimplemented, match=WHOLE_BYTES):
        resampling(engine, types[0], D((2, 3, 16), types[1]))


def ran(primitive, engine, stream):
    """Return the inputs, and the bytes of the result and beyond, initially sevens."""
    rng, provided, rooms = np.random.default_rng(0), {}, {}
    for name, found in primitive.arguments.items():
        desc = found["desc"]
        room = np.full(desc.get_size() + 1024, 7, "u1")
        if desc.data_type in (T.s4, T.u4) and name != "dst":
            room[: desc.get_size()] = rng.integers(0, 256, desc.get_size())
            low_first = np.stack([room & 15, room >> 4], 1).ravel()[: np.prod(desc.dims)]
            signed = (low_first > 7) & (desc.data_type is T.s4)
            provided[name] = np.where(signed, low_first.astype("f4") - 16, low_first)
            provided[name] = provided[name].reshape(tuple(desc.dims))
        rooms[name] = dpnp.asarray(
            room.view("f4" if desc.data_type is T.f32 else "u1"), sycl_queue=stream.sycl_queue
        )
    stream.sycl_queue.wait()
    args = {n: dnnl.Memory(primitive.arguments[n]["desc"], engine, a) for n, a in rooms.items()}
    primitive.execute(stream, args).wait()
    return provided, rooms["dst"].asnumpy().view("u1")


@pytest.mark.parametrize("half", [T.s4, T.u4], ids=["s4", "u4"])
def test_sources_of_half_bytes_are_right(engine, stream, half):
    size = int(np.prod(SIZES)) * 4
    result = dnnl.Primitive(binary(engine, half, D(SIZES, T.f32)))
    provided, out = ran(result, engine, stream)
    np.testing.assert_array_equal(
        out[:size].view("f4").reshape(SIZES), provided["src_0"] + provided["src_1"]
    )
    result = dnnl.Primitive(reduction(engine, half, D((SIZES[0], 1), T.f32)))
    provided, out = ran(result, engine, stream)
    np.testing.assert_array_equal(out[: SIZES[0] * 4].view("f4"), provided["src"].sum(1))


@pytest.mark.parametrize("case", ["binary", "shuffle"])
def test_4_bit_results_are_still_wrong(engine, stream, case):
    with unchecked():
        make, sizes = CASES[case]
        desc = D(sizes, T.u4)
        provided, out = ran(dnnl.Primitive(make(engine, T.u4, desc)), engine, stream)
    if case == "binary":
        expected = np.minimum(provided["src_0"] + provided["src_1"], 15)
    else:
        expected = provided["src"].reshape(4, 2, -1).swapaxes(0, 1)
    packed = expected.ravel().astype("u1")
    packed = packed[::2] | (packed[1::2] << 4)
    assert (out[: desc.get_size()] != packed).any(), "oneDNN may have mended half-bytes: look"
