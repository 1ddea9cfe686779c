# SPDX-License-Identifier: Apache-2.0
"""Packing and unpacking sequences of different lengths."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


@pytest.mark.parametrize("batch_first", [False, True])
def test_packing_and_padding_match_torch(batch_first, queue):
    torch = pytest.importorskip("torch")
    rnn = torch.nn.utils.rnn
    x = np.random.default_rng(0).standard_normal((4, 3, 2) if not batch_first else (3, 4, 2))
    x, lengths = x.astype("f4"), [2, 4, 1]
    mine = dpnp.asarray(x, sycl_queue=queue)
    expected = rnn.pack_padded_sequence(torch.tensor(x), lengths, batch_first, enforce_sorted=False)
    actual = F.pack_padded_sequence(mine, lengths, batch_first, enforce_sorted=False)
    np.testing.assert_array_equal(actual.data.asnumpy(), expected.data.numpy())
    for name in ("batch_sizes", "sorted_indices", "unsorted_indices"):
        assert list(getattr(actual, name)) == getattr(expected, name).tolist()
    truth, counts = rnn.pad_packed_sequence(expected, batch_first, -1.0, 5)
    back, mine_counts = F.pad_packed_sequence(actual, batch_first, -1.0, 5)
    np.testing.assert_array_equal(back.asnumpy(), truth.numpy())
    assert list(mine_counts) == counts.tolist() == lengths


def test_gradients_ignore_the_padding(queue):
    x = dpnp.ones((3, 2, 2), dtype="f4", sycl_queue=queue)

    def function(x):
        packed = F.pack_padded_sequence(x, (3, 1))
        doubled = packed._replace(data=F.mul(packed.data, 2.0))
        return F.pad_packed_sequence(doubled)[0]

    y, pullback = sycl_dnn.vjp(function, x)
    np.testing.assert_array_equal(dpnp.asnumpy(y)[:, :, 0], [[2, 2], [2, 0], [2, 0]])
    (gradient,) = pullback(dpnp.ones_like(y))
    np.testing.assert_array_equal(dpnp.asnumpy(gradient)[:, :, 0], [[2, 2], [2, 0], [2, 0]])
    with pytest.raises(ValueError, match="pack_padded_sequence: lengths must fall"):
        F.pack_padded_sequence(x, (1, 3))
    with pytest.raises(ValueError, match="pack_padded_sequence: lengths must be 2 numbers"):
        F.pack_padded_sequence(x, (4, 3))
    with pytest.raises(ValueError, match="pad_packed_sequence: total_length must be at least 3"):
        F.pad_packed_sequence(F.pack_padded_sequence(x, (3, 1)), total_length=2)
