# SPDX-License-Identifier: Apache-2.0
"""What the arithmetic of an engine can do, found out by asking it and by computing."""

from __future__ import annotations

import functools
from typing import Any

import dpnp

from sycl_dnn import _core
from sycl_dnn.dispatch import dtypes, layout
from sycl_dnn.dispatch.places import place_of
from sycl_dnn.errors import DnnlError, Unimplemented

__all__ = ["adds_integers_exactly", "multiplies"]

#: A product and a convolution whose sums of 64 terms do not fit into 16 bits.
_SIZE = 64
_SHAPES = {
    "matmul": ((_SIZE, _SIZE), (_SIZE, _SIZE)),
    "convolution_forward": ((1, _SIZE, 4, 4), (_SIZE, _SIZE, 1, 1)),
}


@functools.cache
def multiplies(engine: Any, dtype: str) -> bool:
    """Return whether an engine multiplies matrices of a dtype.

    A CPU without AVX-512 mostly has no bfloat16, and few have float16.

    Parameters
    ----------
    engine : Engine
    dtype : str
        A floating-point dtype.
    """
    desc = layout.row_major((16, 16), dtype)
    try:
        _core.matmul(engine, src=desc, weights=desc, dst=desc)
    except Unimplemented:
        return False
    return True


@functools.cache
def adds_integers_exactly(engine: Any) -> bool:
    """Return whether products of uint8 and int8 are added without a loss.

    CPUs without VNNI add two of them in 16 bits, which do not hold every such sum. They are
    exact where the int8 factors are at most 64.

    Parameters
    ----------
    engine : Engine

    Notes
    -----
    Source: oneDNN developer guide, "Nuances of int8 Computations".
    """
    if not engine.sycl_device.is_cpu:
        return True
    return all(_is_exact(engine, row) for row in _SHAPES)


def _is_exact(engine: Any, row: str) -> bool:
    """Return whether a sum of the largest products is right."""
    src, weights = _SHAPES[row]
    dst = (*src[:1], weights[0], *src[2:])
    params = {"prop_kind": _core.prop_kind.forward_inference,
              "algorithm": _core.algorithm.convolution_direct,
              "strides": (1, 1), "padding_l": (0, 0), "padding_r": (0, 0)}  # fmt: skip
    try:
        pd = getattr(_core, row)(
            engine, src=layout.any_layout(src, "uint8"), weights=layout.any_layout(weights, "int8"),
            dst=layout.any_layout(dst, "int32"), **(params if row != "matmul" else {}),
        )  # fmt: skip
    except DnnlError:
        return True
    queue = engine.sycl_queue
    _, stream = place_of(queue)
    # All elements of a tensor are equal, so its layout does not matter.
    arrays = {
        name: dpnp.full(pd.desc_of(name).get_size() // dtypes.array_dtype(dtype).itemsize, value,
                        dtype=dtype, sycl_queue=queue)
        for name, dtype, value in (("src", "uint8", 255), ("weights", "int8", 127),
                                   ("dst", "int32", 0))
    }  # fmt: skip
    _core.Primitive(pd).execute(stream, _memories(pd, engine, arrays))
    return bool((arrays["dst"] == 255 * 127 * _SIZE).all())


def _memories(pd: Any, engine: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    from sycl_dnn.onednn._memory import Memory

    return {name: Memory(pd.desc_of(name), engine, array) for name, array in arrays.items()}
