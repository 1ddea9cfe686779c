# SPDX-License-Identifier: Apache-2.0
"""Which dtypes the arguments of losses may have, as torch has it."""

from __future__ import annotations

from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.convert import converted
from sycl_dnn.functional.pointwise import check_float
from sycl_dnn.onednn import dtypes


def check_dtypes(name: str, input: Tensor, **others: Tensor | None) -> None:
    """Raise TypeError unless all tensors are floating-point and of one dtype."""
    check_float(name, input=input, **others)
    for argument, tensor in others.items():
        if tensor is not None and tensor.dtype != input.dtype:
            raise TypeError(
                f"{name}: {argument} must have the dtype of input, {input.dtype}, got "
                f"{tensor.dtype}"
            )


def promoted(name: str, input: Tensor, **others: Tensor) -> list[Tensor]:
    """Return floating-point tensors in the dtype to which all of them are promoted."""
    check_float(name, input=input, **others)
    return _in_one_dtype(input, *others.values())


def promoted_with_integers(name: str, input: Tensor, target: Tensor) -> list[Tensor]:
    """Return both in the dtype to which they are promoted; the target may hold integers."""
    check_float(name, input=input)
    if target.dtype in dtypes.PACKED:
        raise TypeError(f"{name}: target must not be of 4-bit numbers, got {target.dtype}")
    return _in_one_dtype(input, target)


def _in_one_dtype(*tensors: Tensor) -> list[Tensor]:
    common = dtypes.promote(*(t.dtype for t in tensors))
    return [converted(t, common) for t in tensors]
