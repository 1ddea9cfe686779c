# SPDX-License-Identifier: Apache-2.0
"""Tensors as bytes: where elements are, rounding, and what is written out of place."""

import numpy as np
import pytest

from sycl_dnn.tools.cases import storage

LAYOUTS = ("abcd", "acdb", "cdba", "aBcd16b", "ABcd16b16a", "Acdb8a", "ABcd4a8b8a4b")


@pytest.mark.parametrize("tag", LAYOUTS)
def test_storage_matches_reorders(tag, cpu_stream):
    values = np.arange(2 * 17 * 3 * 4, dtype=np.float64).reshape(2, 17, 3, 4)
    plain = storage.write(values, storage.describe(values.shape, "f32", "abx"), cpu_stream)
    target = storage.Buffer(storage.describe(values.shape, "f32", tag), cpu_stream)
    storage._reorder(plain, target.memory)
    assert (storage.read(target) == values).all()
    assert storage.intrusion(target) == ""
    packed = storage.to_bytes(values, target.desc)
    assert (target.bytes()[: len(packed)] == packed).all()


def test_out_of_place_writes_are_detected(cpu_stream):
    desc = storage.describe((2, 3), "f32", None, (5, 1))
    assert storage.intrusion(storage.Buffer(desc, cpu_stream)) == ""
    for at, text in ((12, "gaps"), (40, "past the end")):
        buffer = storage.Buffer(desc, cpu_stream)
        host = buffer.bytes()
        host[at] ^= 1
        buffer._usm.copy_from_host(host)
        assert text in storage.intrusion(buffer)
    blocked = storage.describe((1, 3, 1, 1), "f32", "aBcd8b")
    buffer = storage.Buffer(blocked, cpu_stream)
    assert "padding" in storage.intrusion(buffer)


@pytest.mark.parametrize("dtype", ["f8_e4m3", "f8_e5m2", "bf16", "f16"])
def test_rounding_agrees_with_a_reorder(dtype, cpu_stream):
    values = np.random.default_rng(0).normal(0, 20, (64, 16)).astype(np.float32).astype(float)
    source = storage.write(values, storage.describe(values.shape, "f32", None), cpu_stream)
    target = storage.Buffer(storage.describe(values.shape, dtype, None), cpu_stream)
    storage._reorder(source, target.memory)
    assert (storage.read(target) == storage.rounded(values, dtype)).all()
