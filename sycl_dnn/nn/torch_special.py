# SPDX-License-Identifier: Apache-2.0
"""Special functions and parts of numbers under torch's names, each one generated kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sycl_dnn.call.operation import named, operation
from sycl_dnn.functional.arithmetic.elementwise import of_one, of_two
from sycl_dnn.functional.arithmetic.operands import (
    by_nodes,
    checked_array,
    checked_operands,
    float_dtype,
    result_dtype,
)
from sycl_dnn.functional.arithmetic.special import digamma
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.ir.node import Node
from sycl_dnn.nn.torch_docstrings import described
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import bessel_functions as bessel
from sycl_dnn.ops import number_parts, probability_functions
from sycl_dnn.ops import special_functions as special
from sycl_dnn.trace import functions
from sycl_dnn.trace.values import Tensor

_BESSEL = "Return the modified Bessel function of the first kind, of order {}{}."
_SCALED = ", times ``exp(-abs(x))``"
i0 = of_one("i0", _BESSEL.format(0, ""), bessel.I0)
i0e = of_one("i0e", _BESSEL.format(0, _SCALED), bessel.I0E)
i1 = of_one("i1", _BESSEL.format(1, ""), bessel.I1)
i1e = of_one("i1e", _BESSEL.format(1, _SCALED), bessel.I1E)
erfcx = of_one("erfcx", "Return ``exp(x**2) * erfc(x)``.", probability_functions.ERFCX)
log_ndtr = of_one(
    "log_ndtr", "Return the logarithm of the normal distribution's distribution function.",
    probability_functions.LOG_NDTR,
)  # fmt: skip
ndtri = of_one(
    "ndtri", "Return the inverse of the normal distribution's distribution function.",
    probability_functions.NDTRI,
)  # fmt: skip
entr = of_one("entr", "Return ``-x * log(x)``, 0 for 0, and negative infinity below.", special.ENTR)
xlog1py = of_two(
    "xlog1py", "Return ``input * log1p(other)``, and 0 where ``input`` is 0.", special.XLOG1PY
)
ldexp = of_two("ldexp", "Return ``input * 2**other``, also where the power overflows.",
               special.ldexp)  # fmt: skip


@operation
@described("array (*)", "``n`` is negative.", n="int")
def polygamma(n: int, input: Tensor) -> Tensor:
    """Return the ``n``-th derivative of ``digamma``."""
    n, x = checked_int("polygamma", "n", n, 0), checked_array("polygamma", "input", input)
    if not n:
        return digamma(x)
    return by_nodes(partial(special.POLYGAMMA, n=n), x, dtype=float_dtype(x))


class Parts(NamedTuple):
    """The result of ``frexp``."""

    mantissa: Any
    exponent: Any


@operation
@described("named tuple (mantissa, exponent)")
def frexp(input: Tensor) -> Parts:
    """Return mantissas from 1/2 to 1 and int32 exponents of 2."""
    x = checked_array("frexp", "input", input)
    if not x.is_float:
        raise TypeError(f"frexp: input must have a floating-point dtype, got {x.dtype}")
    wide = dtypes.wide(str(x.dtype))
    mantissa = by_nodes(number_parts.MANTISSA, x, dtype=str(x.dtype))
    return Parts(mantissa, by_nodes(number_parts.exponent, x, wide=wide, dtype="int32"))


@operation
@described("array (*)", notes="", other="array (*), or a number\n    Shapes broadcast.")
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """Return the next number of the dtype toward ``other``; not of float16."""
    a, b = checked_operands("nextafter", input=input, other=other)
    dtype = str(result_dtype(a, b))
    if dtype not in ("float32", "float64", "bfloat16"):
        raise TypeError(f"nextafter: dtype must be float32, float64 or bfloat16, got {dtype}")
    step = 1 << 16 if dtype == "bfloat16" else 1  # it has the first bits of float32
    return by_nodes(partial(number_parts.NEXTAFTER, step=step), a, b, dtype=dtype)


def _of_integers(name: str, summary: str, definition: Callable[[Node, Node], Node]) -> Any:
    def call(input: Tensor, other: Tensor) -> Tensor:
        a, b = checked_operands(name, input=input, other=other)
        dtype = str(result_dtype(a, b))
        if dtype not in ("uint8", "int8", "int16", "int32", "int64"):
            raise TypeError(f"{name}: input and other must be integers, got {dtype}")
        return by_nodes(definition, a, b, wide=dtype, dtype=dtype)

    return operation(described("array (*)", notes="")(named(call, name, summary)))


gcd = _of_integers("gcd", "Return the greatest common divisors.", number_parts.gcd)
lcm = _of_integers("lcm", "Return the least common multiples.", number_parts.lcm)


def _method_polygamma(input: Any, n: int) -> Any:
    return polygamma(n, input)


#: Those that are methods of arrays in torch, too.
functions.add_methods({
    "frexp": frexp, "gcd": gcd, "i0": i0, "lcm": lcm, "ldexp": ldexp, "nextafter": nextafter,
    "polygamma": _method_polygamma,
})  # fmt: skip
