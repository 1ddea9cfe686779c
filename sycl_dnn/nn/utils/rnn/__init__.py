# SPDX-License-Identifier: Apache-2.0
"""``torch.nn.utils.rnn``: sequences of different lengths without their padding."""

from sycl_dnn.functional import PackedSequence, pack_padded_sequence, pad_packed_sequence

__all__ = ["PackedSequence", "pack_padded_sequence", "pad_packed_sequence"]
