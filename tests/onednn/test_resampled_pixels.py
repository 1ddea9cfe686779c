# SPDX-License-Identifier: Apache-2.0
"""One-pixel images: no stride reveals the number of channels."""

import dpnp
import numpy as np
import pytest

from sycl_dnn import onednn as dnnl

_AROUND = 4096
_STRIDES = {"channels last": lambda c: (c, 1, c, c), "row-major": lambda c: (c, 1, 1, 1)}


def _guarded(desc, engine, queue):
    """Return memory surrounded by guard values that must not change."""
    size = desc.size // 4
    room = dpnp.full(size + 2 * _AROUND, 7.0, dtype="f4", sycl_queue=queue)
    queue.wait()
    return room, dnnl.Memory(desc, engine, room[_AROUND : _AROUND + size])


def _is_kept(room):
    left = dpnp.asnumpy(room)
    return bool((left[:_AROUND] == 7).all() and (left[-_AROUND:] == 7).all())


@pytest.fixture
def stream(engine, queue):
    return dnnl.Stream(engine, queue)


# Both orders: oneDNN's cache considers the two descriptors equal.
@pytest.mark.parametrize("layout", ["acdb", "abcd"])
@pytest.mark.parametrize("first", _STRIDES)
@pytest.mark.parametrize("algorithm", ["resampling_nearest", "resampling_linear"])
@pytest.mark.parametrize("channels", [1, 3, 15, 16, 17])
@pytest.mark.sweep(3)
def test_resampling_one_pixel(layout, first, algorithm, channels, engine, queue, stream):
    dst = dnnl.MemoryDesc((2, channels, 3, 5), "f32", layout)
    x = np.random.default_rng(0).standard_normal((2, channels), "f4")
    diff = np.random.default_rng(1).standard_normal((2, 15, channels), "f4")
    laid = diff if layout == "acdb" else diff.swapaxes(1, 2)
    for lies in (first, *(set(_STRIDES) - {first})):
        src = dnnl.MemoryDesc((2, channels, 1, 1), "f32", strides=_STRIDES[lies](channels))
        forward = dnnl.resampling_forward(
            engine, prop_kind="forward_training", algorithm=algorithm, src=src, dst=dst
        )
        pixels = dpnp.asarray(x.ravel(), sycl_queue=queue)
        room, memory = _guarded(dst, engine, queue)
        args = {"src": dnnl.Memory(src, engine, pixels), "dst": memory}
        dnnl.Primitive(forward).execute(stream, args).wait()
        result = dpnp.asnumpy(room)[_AROUND:-_AROUND].reshape(laid.shape)
        result = result if layout == "acdb" else result.swapaxes(1, 2)
        np.testing.assert_allclose(result, np.broadcast_to(x[:, None], result.shape), rtol=1e-6)
        assert _is_kept(room)

        backward = dnnl.resampling_backward(
            engine, algorithm=algorithm, diff_src=src, diff_dst=dst, hint_fwd_pd=forward
        )
        room, memory = _guarded(src, engine, queue)
        diff_dst = dnnl.Memory(dst, engine, dpnp.asarray(laid.ravel(), sycl_queue=queue))
        queue.wait()
        args = {"diff_dst": diff_dst, "diff_src": memory}
        dnnl.Primitive(backward).execute(stream, args).wait()
        result = dpnp.asnumpy(room)[_AROUND:-_AROUND].reshape(2, channels)
        np.testing.assert_allclose(result, diff.sum(1), rtol=1e-5, atol=1e-5)
        assert _is_kept(room)
