# SPDX-License-Identifier: Apache-2.0
"""Cases of matmul and inner product."""

from dataclasses import replace

from .case import Case, backward_of

# name: src, weights, bias or None, tags
MATMULS = {
    "plain": ((3, 4), (4, 5), None, {}),
    "bias_row": ((7, 16), (16, 8), (1, 8), {}),
    "bias_full": ((5, 3), (3, 4), (5, 4), {}),
    "bias_column": ((5, 3), (3, 4), (5, 1), {}),
    "bias_scalar": ((5, 3), (3, 4), (1, 1), {}),
    "one_row": ((1, 31), (31, 17), None, {}),
    "one_column": ((13, 6), (6, 1), (1, 1), {}),
    "one_term": ((6, 1), (1, 7), None, {}),
    "ones": ((1, 1), (1, 1), (1, 1), {}),
    "primes": ((17, 37), (37, 29), (1, 29), {}),
    "src_transposed": ((6, 9), (9, 4), None, {"src": "ba"}),
    "weights_transposed": ((6, 9), (9, 4), (1, 4), {"weights": "ba"}),
    "dst_transposed": ((6, 9), (9, 4), None, {"dst": "ba"}),
    "batch": ((3, 4, 5), (3, 5, 2), None, {}),
    "batch_bias": ((3, 4, 5), (3, 5, 2), (3, 1, 2), {}),
    "batch_transposed": ((3, 4, 5), (3, 5, 2), None, {"weights": "acb"}),
    "one_weights_for_batch": ((3, 4, 5), (1, 5, 2), (1, 1, 2), {}),
    "one_src_for_batch": ((1, 4, 5), (3, 5, 2), None, {}),
    "both_batches_broadcast": ((2, 1, 3, 4), (1, 5, 4, 2), None, {}),
    "heads": ((2, 3, 7, 8), (2, 3, 8, 7), (2, 1, 1, 7), {"weights": "abdc"}),
    "5d": ((2, 1, 3, 2, 5), (2, 2, 3, 5, 4), None, {}),
}

# name: src, weights, bias?, inference?
INNER_PRODUCTS = {
    "plain": ((3, 5), (4, 5), False, False),
    "bias": ((2, 16), (32, 16), True, False),
    "primes": ((7, 37), (13, 37), True, True),
    "1d": ((2, 3, 7), (5, 3, 7), True, False),
    "2d": ((3, 4, 5, 6), (7, 4, 5, 6), False, False),
    "2d_ones": ((2, 8, 1, 1), (3, 8, 1, 1), True, False),
    "3d": ((2, 3, 2, 3, 4), (5, 3, 2, 3, 4), True, True),
    "one_sample": ((1, 19), (11, 19), False, True),
    "one_output": ((6, 9), (1, 9), True, False),
    "ones": ((1, 1), (1, 1), True, False),
}


def _product(src, weights):
    """Shape of a matrix product with broadcast batch axes."""
    pairs = zip(src[:-2], weights[:-2], strict=True)
    return (*(max(pair) for pair in pairs), src[-2], weights[-1])


def _matmul(name, src, weights, bias, tags):
    shapes = {"src": src, "weights": weights, "dst": _product(src, weights)}
    if bias:
        shapes["bias"] = bias
    return Case(name, "matmul", {}, shapes, tags=tags)


def _inner_product(name, src, weights, bias, inference):
    shapes = {"src": src, "weights": weights, "dst": (src[0], weights[0])}
    if bias:
        shapes["bias"] = (weights[0],)
    params = {"prop_kind": "forward_inference" if inference else "forward_training"}
    return Case(name, "inner_product_forward", params, shapes)


def _inner_product_backward(case, target):
    """The gradient in ``target``, which is ``data`` or ``weights``."""
    renamed = ("src", "dst") if target == "data" else ("weights", "bias", "dst")
    kept = ("weights",) if target == "data" else ("src",)
    shapes = {f"diff_{n}": dims for n, dims in case.shapes.items() if n in renamed}
    shapes |= {n: dims for n, dims in case.shapes.items() if n in kept}
    return backward_of(case, f"inner_product_backward_{target}", shapes, {})


_forward = [_inner_product(name, *rest) for name, rest in INNER_PRODUCTS.items()]
_misread = _inner_product("channels_last", (4, 32, 2), (16, 32, 2), False, True)
_misread = replace(
    _misread,
    tags={"src": "acb", "weights": "bca"},
    fault="oneDNN's inner product takes weights (I, *S, O) for a channels-last source and reads "
    "them as (*S, I, O).",
    faulty=("dst",),
)
_training = [_inner_product(name, *rest[:3], False) for name, rest in INNER_PRODUCTS.items()]

CASES = {
    "matmul": [_matmul(name, *rest) for name, rest in MATMULS.items()],
    "inner_product_forward": [*_forward, _misread],
    "inner_product_backward_data": [_inner_product_backward(c, "data") for c in _training],
    "inner_product_backward_weights": [_inner_product_backward(c, "weights") for c in _training],
}
