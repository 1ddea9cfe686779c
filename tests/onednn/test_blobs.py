# SPDX-License-Identifier: Apache-2.0
"""Untrusted sizes and blobs: the constructors could have created whatever is accepted."""

import numpy as np
import pytest
from descriptors import FORMS
from fuzz.layouts import checksum

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

T = dnnl.data_type
D = dnnl.MemoryDesc


@pytest.mark.parametrize(
    "call",
    [
        lambda: D((2**40, 2**40), T.f32),
        lambda: D((2**62,), T.u8),
        lambda: D((2**31, 2**31), T.f32, "ba"),
        lambda: D((4, 4), T.f32, strides=(2**60, 1)),
        lambda: D((2**30, 2**30), T.f32, strides=(0, 0)),
        lambda: D.csr((4, 4), T.f32, 2**60, T.s32, T.s32),
    ],
)
def test_sizes_beyond_arithmetic_are_refused(call):
    with pytest.raises(InvalidArguments, match=r"fewer than 2\*\*56 elements"):
        call()


def forged(blob, payload):
    """A blob whose header is right for another payload."""
    mark, version, *_ = blob[: blob.index(b"\n")].split(b":")
    numbers = str(len(payload)).encode(), str(checksum(payload)).encode()
    return b":".join((mark, version, *numbers)) + b"\n" + payload


def payload_of(blob):
    return blob[blob.index(b"\n") + 1 :]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.sweep(6)
def test_forged_blobs_are_valid_descriptors_or_refused(form):
    """Every word of the structure replaced: what is accepted, constructors could have created."""
    payload = payload_of(FORMS[form].blob)
    rng = np.random.default_rng(0)
    refused = 0
    for at in range(0, len(payload), 4):
        for word in (-1, 2**31 - 1, 0, int(rng.integers(0, 64))):
            changed = (
                payload[:at] + int(word).to_bytes(4, "little", signed=True) + payload[at + 4 :]
            )
            try:
                result = D.from_blob(forged(FORMS[form].blob, changed))
            except InvalidArguments:
                refused += 1
                continue
            assert result == D.from_blob(result.blob)
            assert result.ndims <= 12
            assert all(0 <= n < 2**56 or n == dnnl.RUNTIME_DIM_VAL for n in result.dims)
    assert refused > 0


def test_short_payload_with_a_right_header_is_refused():
    blob = FORMS["row-major"].blob
    for payload in (b"", b"\0" * 4, payload_of(blob)[:-8], payload_of(blob) + b"\0" * 8):
        with pytest.raises(InvalidArguments, match="is damaged"):
            D.from_blob(forged(blob, payload))


def test_blobs_of_equal_descriptors_are_equal():
    """Unused fields hold stack contents until the blob is created."""
    first = {name: form.blob for name, form in FORMS.items()}
    for dims in ((2,) * 12, (3, 5), (2, 2, 2)):
        D(dims, T.f32, strides=[2 * 3**i for i in range(len(dims))])
        again = {name: D.from_blob(blob).blob for name, blob in first.items()}
        assert again == first
    assert D((2, 3), T.f32, "ab").blob == D((2, 3), T.f32, strides=(3, 1)).blob
