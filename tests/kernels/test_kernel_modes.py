# SPDX-License-Identifier: Apache-2.0
"""Kernels next to primitives that compiled functions fuse: every mode, every way to call."""

import re
from pathlib import Path

import numpy as np
import pytest
from kernel_cases import host, kernels_of, placed

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import functional as F
from sycl_dnn.kernels import building
from sycl_dnn.trace import policy

#: Functions of (N, C, H, W) that are kernels under "always".
KERNELS = {
    "batch_norm": lambda x, w: F.batch_norm(x, None, None, w, training=True),
    "given_batch_norm": lambda x, w: F.batch_norm(x, w, w * w + 0.5, w, w),
    "group_norm": lambda x, w: F.group_norm(x, 2, w, w),
    "instance_norm": lambda x, w: F.instance_norm(x, None, None, w, w),
    "average": lambda x, w: F.adaptive_avg_pool2d(x, 1) + x * 0.5,
    "relu": lambda x, w: F.relu(x),
    "silu": lambda x, w: F.silu(x),
    "softmax": lambda x, w: F.softmax(x, 1),
    "softmax_of_rows": lambda x, w: F.softmax(x, -1),
    "log_softmax": lambda x, w: F.log_softmax(x, 1),
    "log_softmax_of_moved": lambda x, w: F.log_softmax(F.movedim(x, 1, 3), -1),
    "max_pool": lambda x, w: F.max_pool2d(x, 3, 1, 1),
    "interpolate": lambda x, w: F.interpolate(x, (6, 8), mode="bilinear"),
    "selected": lambda x, w: F.flip(x, 1),
}
#: What follows, which compiled functions fuse into a primitive.
FOLLOWING = {
    "number": lambda y, x, w: y * 2.0 + 1.0,
    "operand": lambda y, x, w: F.tanh(y * F.reshape(w, (8, 1, 1)) + 1.0) if y.shape[1] == 8 else y,
    "sum_and_copy": lambda y, x, w: F.permute(y + 1.0, (0, 2, 3, 1)),
    "rounded": lambda y, x, w: F.astype(F.astype(y, "bfloat16"), "float32"),
    "itself": lambda y, x, w: y * y,
    "matmul": lambda y, x, w: F.matmul(y, F.expand(F.reshape(w[:3], (1, 3)), (y.shape[-1], 3))),
    "convolution": lambda y, x, w: F.conv2d(
        F.reshape(y, (2, 8, 6, 8)), F.expand(F.reshape(w, (8, 1, 1)), (4, 8, 3, 3))
    ),
    "softmax": lambda y, x, w: F.softmax(y, -1) * F.softmax(y, 1),
    "reduction": lambda y, x, w: F.sum(y, -1) * 3.0,
    "preceded": lambda y, x, w: F.relu(y) * F.sigmoid(y),
}


def _weighted(function):
    return lambda *a: F.sum(F.square(function(*a)))


#: What returns the value or both gradients, by way to call.
WAYS = {
    "eager": lambda f, a: [f(*a)],
    "compile": lambda f, a: [sycl_dnn.compile(f)(*a)],
    "plan": lambda f, a: [sycl_dnn.plan(f, *a)()],
    "grad": lambda f, a: sycl_dnn.grad(_weighted(f), argnums=(0, 1))(*a),
    "compiled grad": lambda f, a: sycl_dnn.compile(sycl_dnn.grad(_weighted(f), argnums=(0, 1)))(*a),
    "planned grad": lambda f, a: sycl_dnn.plan(sycl_dnn.grad(_weighted(f), argnums=(0, 1)), *a)(),
}


def _cases():
    for kernel in KERNELS:
        yield from ((kernel, following, "row_major") for following in FOLLOWING)
        yield from ((kernel, n, "channels_last") for n in ("operand", "sum_and_copy", "softmax"))


#: In every mode; the rest under "always" only.
_EVERYWHERE = ("compile", "compiled grad")


@pytest.mark.sweep(48)
@pytest.mark.parametrize(("kernel", "following", "layout"), list(_cases()))
def test_kernels_next_to_primitives(queue, kernel, following, layout):
    rng = np.random.default_rng(3)
    arrays = [placed(rng.standard_normal((2, 8, 6, 8)), queue, layout)]
    arrays.append(placed(rng.uniform(0.5, 1.5, 8), queue))

    def function(x, w):
        return FOLLOWING[following](KERNELS[kernel](x, w), x, w)

    tolerance = 2e-2 if following == "rounded" else 3e-4
    with sycl_dnn.kernel_mode("never"):
        expected = [host(a) for a in (function(*arrays), *WAYS["grad"](function, arrays))]
    for mode in ("always", "auto", "never"):
        for way in WAYS if mode == "always" else _EVERYWHERE:
            with sycl_dnn.kernel_mode(mode):
                result = WAYS[way](function, arrays)
            other = expected[:1] if len(result) == 1 else expected[1:]
            for mine, known in zip(result, other, strict=True):
                limit = tolerance * max(np.abs(known).max(), 1)
                assert np.abs(host(mine) - known).max() < limit, (mode, way)


def _pooled(x):
    return F.max_pool2d(x, 3, 1, 1)


def test_modes(queue):
    """By default where it is faster; on request wherever supported, or never."""
    x = placed(np.random.default_rng(0).standard_normal((8, 16, 32, 32)), queue, "channels_last")
    assert "maxima_forward" in kernels_of(_pooled, x)
    assert "maxima_forward" not in kernels_of(_pooled, x, mode="never")
    with pytest.raises(ValueError, match="mode must be one of"):
        sycl_dnn.set_kernels("sometimes")


def test_without_a_compiler(queue, monkeypatch, clean_cache):
    x = placed(np.random.default_rng(0).standard_normal((2, 16, 4, 4)), queue, "channels_last")
    with sycl_dnn.kernel_mode("never"):
        expected = host(_pooled(x))
    monkeypatch.setattr(building, "_OPTIONS", "-no-such-option")
    monkeypatch.setattr(building, "_is_cpu_with_compiler", lambda device: False)
    monkeypatch.setattr(building, "_made", type(building._made)())
    monkeypatch.setattr(policy, "_warned", set())
    with pytest.warns(policy.FallbackWarning, match="cannot compile"):
        assert "maxima_forward" not in kernels_of(_pooled, x)
    with sycl_dnn.kernel_mode("always"):
        assert np.abs(host(_pooled(x)) - expected).max() < 1e-5


def test_the_program_cache_is_bounded(queue, monkeypatch):
    monkeypatch.setattr(building, "_made", type(building._made)())
    monkeypatch.setattr(building, "_MOST", 2)
    sources = [f"__kernel void f(__global int *p) {{ *p = {i}; }}" for i in range(3)]
    for source in sources:
        assert building.compiled(queue, source, "f") is not None
    assert len(building._made) == 2
    kept = next(reversed(building._made.values()))
    assert building.compiled(queue, sources[2], "f") is not None
    assert next(reversed(building._made.values())) is kept


def test_no_kernel_has_the_name_of_a_primitive():
    """Compiled functions recognize primitives by name."""
    folder = Path(sycl_dnn.__file__).parent / "kernels"
    texts = [path.read_text() for path in folder.glob("*.py")]
    names = [n for text in texts for n in re.findall(r"__kernel void (\w+)", text)]
    assert len(names) > 10
    assert not set(names) & set(_core.ROWS)
    assert len(set(names)) == len(names)
