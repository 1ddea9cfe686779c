# SPDX-License-Identifier: Apache-2.0
"""All families of lines, with how often each is drawn."""

from differential import (
    control_lines,
    index_lines,
    loss_lines,
    pointwise_lines,
    product_lines,
    reduction_lines,
    shape_lines,
    window_lines,
    write_lines,
)

FAMILIES = {
    pointwise_lines.unary: 8, pointwise_lines.binary: 9, pointwise_lines.with_number: 6,
    pointwise_lines.chosen: 4, pointwise_lines.mixed: 3, pointwise_lines.converted: 2,
    pointwise_lines.prelu: 1, shape_lines.sliced: 6, shape_lines.moved: 9, shape_lines.reshaped: 3,
    shape_lines.grown: 2, shape_lines.parted: 3, shape_lines.joined: 3, shape_lines.padded: 2,
    shape_lines.created: 2, shape_lines.shuffled: 1, reduction_lines.reduced: 8,
    reduction_lines.softmax: 4, reduction_lines.running: 2, reduction_lines.sorted_: 2,
    reduction_lines.normalized: 7, reduction_lines.distances: 1, window_lines.convolved: 6,
    window_lines.pooled: 5, window_lines.unfolded: 2, window_lines.resized: 3,
    window_lines.sampled: 1, product_lines.multiplied: 5, product_lines.linear: 5,
    product_lines.small: 4, product_lines.attention: 3, product_lines.heads: 1,
    product_lines.recurrent: 2, index_lines.indexed: 6, index_lines.embedded: 2, index_lines.hot: 1,
    index_lines.masked: 2, loss_lines.loss: 3, loss_lines.classified: 3, loss_lines.triplets: 1,
    control_lines.looped: 2, control_lines.conditional: 2, control_lines.called: 2,
    control_lines.contained: 2, control_lines.stopped: 1, write_lines.written: 5,
}  # fmt: skip
#: Families whose lines take time in proportion to their elements, as programs of large arrays need.
LINEAR_FAMILIES = {
    family: weight
    for family, weight in FAMILIES.items()
    if family.__module__.removeprefix("differential.")
    in ("pointwise_lines", "shape_lines", "reduction_lines", "control_lines", "write_lines")
    and family != shape_lines.created
}
LINEAR_FAMILIES |= {loss_lines.loss: 3, index_lines.masked: 2}
