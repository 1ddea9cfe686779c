# SPDX-License-Identifier: Apache-2.0
"""``torch.nn.utils.rnn``: padded and packed sequences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.functional import PackedSequence, pack_padded_sequence, pad_packed_sequence

__all__ = ["PackedSequence", "pack_padded_sequence", "pad_packed_sequence", "pad_sequence"]


def pad_sequence(
    sequences: Iterable[Any], batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:  # fmt: skip
    """Stack sequences of different lengths, padded, as ``torch.nn.utils.rnn.pad_sequence``.

    Parameters
    ----------
    sequences : iterable of arrays (T, *)
        Equal shapes except for the first axis.
    batch_first : bool
    padding_value : float
    padding_side : {"right", "left"}

    Returns
    -------
    array (T, N, *), or (N, T, *) with ``batch_first``
        T is the greatest length.

    Raises
    ------
    ValueError
        There are no sequences, or ``padding_side`` is neither of the two.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> nn.utils.rnn.pad_sequence([F.ones(3), F.ones(2)], batch_first=True).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    """
    if padding_side not in ("left", "right"):
        raise ValueError(
            f"pad_sequence: padding_side must be 'left' or 'right', got {padding_side!r}"
        )
    arrays = list(sequences)
    if not arrays:
        raise ValueError("pad_sequence: there must be at least one sequence, got none")
    longest = max(x.shape[0] for x in arrays)

    def padded(x: Any) -> Any:
        n_padding = longest - x.shape[0]
        widths = (0, n_padding) if padding_side == "right" else (n_padding, 0)
        return F.pad(x, (*(0, 0) * (x.ndim - 1), *widths), value=padding_value) if n_padding else x

    return F.stack([padded(x) for x in arrays], 0 if batch_first else 1)
