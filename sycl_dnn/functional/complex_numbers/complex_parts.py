# SPDX-License-Identifier: Apache-2.0
"""complex, polar, real, imag, conj, angle, view_as_real, view_as_complex and is_complex."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn.call.complex_arguments import RULES
from sycl_dnn.call.operation import SMOOTH, described_as_torch, operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_same_dtype
from sycl_dnn.functional.arithmetic.operands import by_nodes, check_arrays
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.complex_values import Parts, as_numbers, as_pairs, elementwise, joined, parts
from sycl_dnn.lower.node_lowering import all_computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape

_PARTS = ("float32", "float64")
_COMPLEX = {"returns": "array (*) of complex64 or complex128",
            "types": "An argument is no array of float32 or float64, or the dtypes differ.",
            "errors": "The shapes do not broadcast.", "notes": SMOOTH}  # fmt: skip


def _check_parts(name: str, **arguments: Any) -> None:
    """Raise unless two arguments are floating-point arrays of one dtype that broadcast."""
    check_arrays(name, **arguments)
    for argument, x in arguments.items():
        if x.dtype not in _PARTS:
            raise TypeError(f"{name}: {argument} must be float32 or float64, got {x.dtype}")
    (first, a), (second, b) = arguments.items()
    check_same_dtype(name, first, second, a, b)
    try:
        broadcast_shape(a.shape, b.shape)
    except ValueError:
        shapes = f"{a.shape} and {b.shape}"
        raise ValueError(f"{name}: {second} must broadcast with {first}, got {shapes}") from None


def unlowered(x: Any) -> Any:
    """Return the float32 values of a tensor that a function compiled in a narrow dtype has."""
    is_narrow = isinstance(x, Tensor) and x.trace.is_lowered and x.dtype in ("bfloat16", "float16")
    return converted(x, "float32") if is_narrow else x


@operation
@described_as_torch(**_COMPLEX)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Return complex numbers with these parts.

    real, imag : array (*)
        float32 or float64.
    """
    real, imag = unlowered(real), unlowered(imag)
    _check_parts("complex", real=real, imag=imag)
    return joined(real, imag)


@operation
@described_as_torch(**_COMPLEX)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Return complex numbers with these absolute values and angles.

    abs, angle : array (*)
        float32 or float64.
    """
    abs, angle = unlowered(abs), unlowered(angle)
    _check_parts("polar", abs=abs, angle=angle)

    def definition(size: Node, turn: Node) -> tuple[Node, Node]:
        return size * ops.COS(turn), size * ops.SIN(turn)

    return joined(*all_computed(definition, abs, angle))


_OF_ONE: dict[str, str] = {"types": "``input`` is no array.", "notes": SMOOTH}
_COMPLEX_ONLY = {"types": "``input`` is not complex.", "notes": SMOOTH}


@operation
@described_as_torch(returns="array (*)\n    Real; ``input`` itself if that is.", **_OF_ONE)
def real(input: Tensor) -> Tensor:
    """Return the real parts.

    input : array (*)
    """
    check_arrays("real", input=input)
    return input


@operation
@described_as_torch(returns="array (*)\n    Real.", **_COMPLEX_ONLY)
def imag(input: Tensor) -> Tensor:
    """Return the imaginary parts.

    input : array (*)
        complex64 or complex128.
    """
    raise _not_complex("imag", input)


@operation
@described_as_torch(returns="array (*)\n    ``input`` itself if it is real.", **_OF_ONE)
def conj(input: Tensor) -> Tensor:
    """Return the complex conjugates.

    input : array (*)
    """
    check_arrays("conj", input=input)
    return input


@operation
@described_as_torch(returns="array (*)\n    In radians; 0 or pi for real numbers.", **_OF_ONE)
def angle(input: Tensor) -> Tensor:
    """Return the angles in the complex plane.

    input : array (*)
    """
    check_arrays("angle", input=input)
    dtype = str(input.dtype) if input.is_float else "float32"

    def definition(x: Node) -> Node:
        zero = number(0, dtype)
        turned = ops.where(ops.LT(x, zero), number(math.pi, dtype), zero)
        return ops.where(ops.ISNAN(x), ops.STOP_GRADIENT(x), turned)

    return by_nodes(definition, converted(input, dtype))


@operation
@described_as_torch(returns="array (*, 2)\n    Real and imaginary parts.", **_COMPLEX_ONLY)
def view_as_real(input: Tensor) -> Tensor:
    """Return the parts of complex numbers along one more axis.

    input : array (*)
        complex64 or complex128.
    """
    raise _not_complex("view_as_real", input)


@operation
@described_as_torch(
    returns="array (*) of complex64 or complex128", notes=SMOOTH,
    types="``input`` is no array of float32 or float64.", errors="The last axis is not of size 2.",
)  # fmt: skip
def view_as_complex(input: Tensor) -> Tensor:
    """Return pairs of real and imaginary parts as complex numbers.

    input : array (*, 2)
        float32 or float64.
    """
    check_arrays("view_as_complex", input=input)
    input = unlowered(input)
    if input.dtype not in _PARTS:
        raise TypeError(f"view_as_complex: input must be float32 or float64, got {input.dtype}")
    if input.shape[-1:] != (2,):
        raise ValueError(f"view_as_complex: input must have shape (*, 2), got {input.shape}")
    return as_numbers(input)


def _not_complex(name: str, x: Any) -> TypeError:
    check_arrays(name, input=x)
    return TypeError(f"{name}: input must be complex, got {x.dtype}")


for _name, _rule in {
    "real": lambda input: parts(input)[0],
    "imag": lambda input: parts(input)[1],
    "conj": lambda input: elementwise(lambda z: Parts(z.real, -z.imag), input),
    "angle": lambda input: elementwise(lambda z: ops.ATAN2(z.imag, z.real), input),
    "view_as_real": lambda input: as_pairs(input),
}.items():
    RULES[_name] = _rule


def is_complex(input: Any) -> bool:
    """Whether an array has a complex dtype."""
    return dtypes.is_complex(dtypes.name_of(input.dtype))
