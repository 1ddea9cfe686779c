# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked

import sycl_dnn
from sycl_dnn import functional as F


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    channels = x.shape[1]
    around = [slice(max(c - size // 2, 0), c + (size - 1) // 2 + 1) for c in range(channels)]
    squares = np.stack([(x[:, s] ** 2).sum(axis=1) for s in around], axis=1)
    return x / (k + alpha / size * squares) ** beta


#: name: shape of the input, size and the other arguments, layout.
_LRN = {
    "rows": ((2, 7, 5), (3,)),
    "images": ((2, 16, 5, 6), (5,)),
    "volumes": ((1, 7, 3, 4, 2), (3, 0.5)),
    "rank-6": ((1, 5, 2, 1, 3, 2), (3, 0.5)),
    "strong": ((2, 16, 3, 4), (5, 0.5, 0.6, 2.0)),
    "odd-channels": ((2, 31, 3, 5), (7, 0.5)),
    "odd-channels-narrow": ((2, 31, 3, 5), (5, 0.5)),
    "another-k": ((2, 16, 3, 4), (5, 0.5, 0.75, 2.0)),
    "wide": ((2, 32, 3, 5), (15, 0.5)),
    "wider": ((2, 32, 3, 5), (17, 0.5)),
    "one-of-images": ((2, 16, 3, 5), (1, 0.5)),
    "two": ((2, 7, 5), (2, 0.5)),
    "even": ((2, 16, 4, 5), (4, 0.5, 0.75, 1.5)),
    "even-volumes": ((1, 5, 2, 3, 2), (2, 0.5)),
    "one": ((2, 7, 5), (1, 0.5)),
    "wider-than-channels": ((2, 4, 5), (9, 0.5)),
    "even-wider-than-channels": ((2, 3, 5), (10, 0.5)),
    "one-channel": ((2, 1, 5), (3, 0.5)),
    "channels-last": ((2, 16, 5, 6), (5, 0.5), "channels_last"),
    "even-channels-last": ((2, 16, 5, 6), (4, 0.5), "channels_last"),
    "strided": ((2, 7, 4, 5), (3, 0.5), "strided"),
    "reversed": ((2, 7, 4, 5), (3, 0.5), "reversed"),
    "transposed": ((2, 7, 4, 5), (3, 0.5), "transposed"),
    "empty": ((0, 7, 4), (3,)),
}

CASES = [
    Case(name, F.local_response_norm,
         (Spec(shape, layout=layout[0] if layout else "plain"), *rest),
         torch="local_response_norm")
    for name, (shape, rest, *layout) in _LRN.items()
]  # fmt: skip
_NARROW = ("images", "strong", "odd-channels", "odd-channels-narrow", "even", "channels-last")
CASES += [c.as_dtype("bfloat16") for c in CASES if c.name in _NARROW]
TestCases = checked(CASES, sweep=6)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e25])
def test_nonfinite_channels_affect_only_their_windows(value, queue):
    """Sums over windows are products with zeros and ones; infinity times 0 is NaN."""
    x = np.arange(1, 41, dtype="f4").reshape(1, 8, 5, 1)
    expected = local_response_norm(x, 3)
    x[0, 3, 2] = value
    for call in (F.local_response_norm, sycl_dnn.compile(F.local_response_norm)):
        actual = dpnp.asnumpy(call(dpnp.asarray(x, sycl_queue=queue), 3))
        expected[0, 2:5, 2] = actual[0, 2:5, 2]
        np.testing.assert_allclose(actual, expected, rtol=1e-5)
        if queue.sycl_device.is_cpu:
            near = [0 if value == value else np.nan] * 2
            np.testing.assert_array_equal(actual[0, [2, 4], 2, 0], near)


@pytest.mark.cpu  # oneDNN's kernels for GPUs take no third power that could overflow
@pytest.mark.parametrize("size", [1e9, 1e12, 1e15, 1e18])
@pytest.mark.parametrize("beta", [0.75, 0.5])
def test_large_values_do_not_become_0(size, beta, queue):
    """The third power of the denominator overflows in oneDNN's kernel for CPUs."""
    x = (np.random.default_rng(0).standard_normal((2, 32, 3, 3)) * size).astype("f4")
    actual = dpnp.asnumpy(F.local_response_norm(dpnp.asarray(x, sycl_queue=queue), 5, beta=beta))
    expected = local_response_norm(x.astype("f8"), 5, beta=beta)
    np.testing.assert_allclose(actual, expected, rtol=3e-6)


def test_a_window_beyond_all_channels_takes_no_time_for_its_size(queue):
    x = dpnp.ones((1, 3, 2), dtype="f4", sycl_queue=queue)
    actual = F.local_response_norm(x, 2**31 - 1, 2.0**31 - 1, 1.0)
    np.testing.assert_allclose(dpnp.asnumpy(actual), 1 / 4, rtol=1e-6)
