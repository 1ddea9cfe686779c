# SPDX-License-Identifier: Apache-2.0
"""Products of 8-bit integers at the ends of their ranges, which CPUs without VNNI saturate."""

import dpnp
import numpy as np
import pytest
from arithmetic import saturates
from graph_ops import download

from sycl_dnn.graph import Graph

N = 48
WINDOW = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "dilations": (1, 1),
          "data_format": "NCX", "weights_format": "OIX"}  # fmt: skip
FORMS = {
    "matmul": ((6, N), (8, N), lambda g, x, w: g.matmul(x, w, transpose_b=True)),
    "convolution": ((6, N, 4, 4), (8, N, 1, 1), lambda g, x, w: g.convolution(x, w, **WINDOW)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("source", ["uint8", "int8"])
@pytest.mark.parametrize("through", [None, "bf16"])
def test_largest_integers_are_multiplied_correctly(form, source, through, queue, kind):
    g, (of_x, of_w, product) = Graph(kind), FORMS[form]
    x = g.dequantize(g.input(of_x, source), scales=(0.5,), zps=(0,))
    w = g.dequantize(g.input(of_w, "int8"), scales=(0.25,))
    if through:
        x, w = (g.type_cast(t, dtype=through) for t in (x, w))
    g.relu(product(g, x, w))
    compiled, top = g.compile(queue), np.iinfo(source).max
    actual = download(
        compiled(
            dpnp.full(of_x, top, dtype=source, sycl_queue=queue),
            dpnp.full(of_w, 127, dtype="int8", sycl_queue=queue),
        )
    )
    assert np.abs(actual / (top * 127 * N / 8) - 1).max() < (1e-2 if through else 1e-6)
    assert ("in 16 bits" in compiled.summary()) is saturates(queue)


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**40])
def test_zero_points_beyond_32_bits_are_refused(kind, number):
    g = Graph(kind)
    with pytest.raises(ValueError, match="zps must be integers of 32 bits, got"):
        g.quantize(g.input((2, 3)), scales=(0.5,), zps=(number,), dtype="u8")
