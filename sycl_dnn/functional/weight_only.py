# SPDX-License-Identifier: Apache-2.0
"""Products of floating-point rows with quantised weights, which are decompressed on the way."""

from __future__ import annotations

from sycl_dnn._core import PrimitiveAttr, data_type, fpmath_mode
from sycl_dnn.dispatch.broadcasting import laid_out
from sycl_dnn.dispatch.primitives import sum_to, untaped
from sycl_dnn.dispatch.record import Entry, Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape, transpose
from sycl_dnn.functional.product import product, recorded, swapped
from sycl_dnn.functional.quantization import dequantized
from sycl_dnn.functional.quantized_tensor import QuantizedTensor, checked

#: In matmul's weights (K, N): one value for all, one for each column.
_ALL, _COLUMNS, _BOTH = 0, 2, 3


def weight_scales(name: str, weight: QuantizedTensor, attr: PrimitiveAttr) -> dict[str, Tensor]:
    """Set scales and zero points of weights (N, K); return them by execution argument."""
    given = {"attr_scales_weights": weight.scale, "attr_zero_points_weights": weight.zero_point}
    given = {n: t for n, t in given.items() if t is not None}
    if weight.group_size is not None:
        _check_groups(name, weight)
        mask, groups = _BOTH, (weight.group_size, 1)
        given = {n: laid_out(transpose(t, (1, 0)), (0, 1)) for n, t in given.items()}
    elif weight.axis in (None, 0):
        mask, groups = _ALL if weight.axis is None else _COLUMNS, ()
        given = {n: laid_out(reshape(t, (-1,)), (0,)) for n, t in given.items()}
    else:
        raise ValueError(f"{name}: axis of the weights must be that of outputs, got {weight.axis}")
    attr.set_scales("weights", mask, groups, data_type.f32)
    if weight.zero_point is not None:
        attr.set_zero_points("weights", mask, groups, data_type.s32)
    return given


def _check_groups(name: str, weight: QuantizedTensor) -> None:
    if weight.axis != 1 or (weight.group_size or 0) % 16:
        raise ValueError(
            f"{name}: groups of the weights must be of a multiple of 16 inputs, got groups of "
            f"{weight.group_size} along axis {weight.axis}"
        )


def weight_only_product(
    name: str, x: Tensor, weight: QuantizedTensor, bias: Tensor | None
) -> Tensor:
    """Return ``x @ weight.T + bias`` for floating-point ``x`` (M, K) and ``weight`` (N, K)."""
    weight = checked(name, "weight", weight)
    n = weight.shape[0]
    with untaped(x.trace):
        if not (x.size and n):
            dense = dequantized(weight, x.dtype)
            made = product(x, swapped(dense), bias)
        else:
            attr = PrimitiveAttr()
            inputs = {"src": x, "weights": swapped(weight.data)}
            inputs |= weight_scales(name, weight, attr)
            if bias is not None:
                inputs["bias"] = reshape(bias, (1, n))
            # The mode that makes oneDNN take integers as numbers to multiply floats with.
            attr.set_fpmath_mode(fpmath_mode.strict, True)
            made = recorded(inputs, Out((x.shape[0], n), x.dtype), attr)
    inputs = {"0": x} if bias is None else {"0": x, "1": bias}

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        dy = grads["dst"]
        found = {"0": product(dy, dequantized(weight, x.dtype))}
        return found if bias is None else found | {
            "1": x.trace.convert(sum_to(dy, bias.shape), bias.dtype)
        }  # fmt: skip

    x.trace.tape.append(Entry("weight_only", inputs, {"dst": made}, rule=rule))
    return made
