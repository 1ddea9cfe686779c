# SPDX-License-Identifier: Apache-2.0
"""Large transpositions into targets whose elements are apart."""

import functools

import dpnp
import numpy as np
import pytest
from lying_apart import transposed

import sycl_dnn
from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import OneDnnFaultWarning, Unimplemented
from sycl_dnn.onednn.fault import cpu_has_avx512


@pytest.mark.parametrize(
    ("shape", "strides", "to"),
    [
        ((300, 300), (1, 300), (600, 2)), ((300, 300), (300, 1), (3, 900)),
        ((5, 3, 128, 100), (12800, 64000, 1, 128), (2, 10, 30, 3840)),
        ((48, 32, 33), (1, 1584, 48), (2112, 66, 2)),
    ],
)  # fmt: skip
def test_transposition_into_gaps_leaves_other_elements(shape, strides, to, cpu_stream):
    if cpu_has_avx512():
        with pytest.raises(Unimplemented, match=r"must not be apart in dst; append_sum\(0\.0\)"):
            transposed(cpu_stream, shape, strides, to)
    ops, attr = dnnl.PostOps(), dnnl.PrimitiveAttr()
    ops.append_sum(0.0)
    attr.set_post_ops(ops)
    actual, right = transposed(cpu_stream, shape, strides, to, attr)
    np.testing.assert_array_equal(actual, right)


def test_concatenation_that_transposes_into_gaps_is_warned_about(cpu_stream):
    apart = dnnl.MemoryDesc((20000, 4, 1), "f32", strides=(1, 20000, 80000))
    rows = dnnl.MemoryDesc((20000, 4, 1), "f32")
    joined = dnnl.MemoryDesc((20000, 4, 2), "f32")
    make = functools.partial(dnnl.concat, cpu_stream.engine, concat_dimension=2, dst=joined)
    make(srcs=[rows, rows])
    if cpu_has_avx512():
        with pytest.warns(OneDnnFaultWarning, match="as if its part of dst were dense"):
            make(srcs=[rows, apart])


@pytest.mark.parametrize("how", [lambda f: f, sycl_dnn.compile], ids=["eager", "compiled"])
def test_large_columns_are_joined_and_stacked(how):
    rng, F = np.random.default_rng(6), sycl_dnn.functional
    a, b = rng.standard_normal((2, 4, 20000)).astype("f4")
    queue = sycl_dnn.default_queue("cpu")
    x, y = (dpnp.asarray(v, sycl_queue=queue).T for v in (a, b))
    z = dpnp.asarray(np.ascontiguousarray(b.T), sycl_queue=queue)
    stacked = how(lambda x, y, z: (F.stack([x, y], -1), F.stack([z, x], 2), F.stack([x, z], 1)))
    wanted = [((a.T, b.T), 2), ((b.T, a.T), 2), ((a.T, b.T), 1)]
    for actual, (parts, axis) in zip(stacked(x, y, z), wanted, strict=True):
        np.testing.assert_array_equal(actual.asnumpy(), np.stack(parts, axis))
