# SPDX-License-Identifier: Apache-2.0
"""Complex numbers in traces: pairs of real ones, which all kernels and primitives compute with.

A complex tensor has the descriptor of its pairs, so views of it and copies need no rule of their
own. Gradients are those of the pairs seen as complex numbers, as torch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sycl_dnn._core import algorithm as A
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.algorithms import PAIRS
from sycl_dnn.lower.node_lowering import all_computed, computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.creation import iota
from sycl_dnn.ops.shape import broadcast_shape, broadcast_to
from sycl_dnn.trace import layout, pointwise
from sycl_dnn.trace.gradients import Grads, rule_for
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.reductions import reduce, sum_to
from sycl_dnn.trace.steps import Entry
from sycl_dnn.trace.values import Tensor, alias
from sycl_dnn.trace.views import filled, reshape, row_major, untaped

# --- Views and parts


def as_pairs(z: Tensor) -> Tensor:
    """Return a complex tensor as real and imaginary parts along one more axis: a view."""
    return z.trace.view(z, z.trace.plain(z).pairs(), as_numbers)


def as_numbers(x: Tensor) -> Tensor:
    """Return pairs along the last axis as complex numbers: a view, or a copy if not contiguous."""
    plain = x.trace.plain(x)
    if not _are_adjacent(plain):
        plain = row_major(x)
    shape, dtype = x.shape[:-1], dtypes.complex_of(str(x.dtype))
    if x.size:
        strides = tuple([s // 2 for s in plain.strides[:-1]])
    else:
        strides = layout.row_major_strides(shape)
    desc = layout.strided(shape, dtype, strides)
    z = Tensor(x.trace, plain.storage, desc, dtype, shape, plain.offset, strides)
    return x.trace.view(x, z, as_pairs)


def _are_adjacent(x: Tensor) -> bool:
    """Whether each pair is one complex number in memory."""
    *steps, last = x.strides
    is_aligned = x.offset % (dtypes.bits_of(x.dtype) // 4) == 0
    return last == 1 and is_aligned and all(s % 2 == 0 for s in steps)


def parts(z: Tensor) -> tuple[Tensor, Tensor]:
    """Return the real and the imaginary parts; views, if they were not computed separately."""
    if z.parts is not None:
        real, imag = map(alias, z.parts)
    else:
        pairs = z.trace.plain(z).pairs()
        real, imag = (pairs.view(z.shape, pairs.strides[:-1], n) for n in (0, 1))
    z.trace.tape.append(Entry("complex_parts", {"src": z}, {"real": real, "imag": imag}))
    return real, imag


@rule_for("complex_parts")
def _of_parts(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    z = entry.inputs["src"]
    zero = filled(trace, 0, (), dtypes.part_of(z.dtype))
    return {"src": joined(grads.get("real", zero), grads.get("imag", zero))}


def joined(real: Tensor, imag: Tensor) -> Tensor:
    """Return complex numbers with these parts, which broadcast."""
    shape = broadcast_shape(real.shape, imag.shape)
    with untaped(real.trace):
        columns = [reshape(x, (*x.shape, 1)) for x in (real, imag)]
        z = as_numbers(computed(_interleaved, *columns))
    is_fixed = all(x.storage.argument is None and x.shape == shape for x in (real, imag))
    z.parts = (real, imag) if is_fixed else None
    real.trace.tape.append(Entry("complex", {"real": real, "imag": imag}, {"dst": z}))
    return z


def _interleaved(real: Node, imag: Node) -> Node:
    shape = (*broadcast_shape(real.shape, imag.shape)[:-1], 2)
    is_real = ops.EQ(iota(2, -1, len(shape)), number(0, "int32"))
    return broadcast_to(ops.where(is_real, real, imag), shape)


@rule_for("complex")
def _of_joined(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    pairs = zip(("real", "imag"), parts(grads["dst"]), strict=True)
    return {n: _summed_to(part, entry.inputs[n].shape) for n, part in pairs if n in needed}


def _summed_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a gradient summed over the axes along which an operand was repeated."""
    return x if x.shape == shape else sum_to(x, shape)


# --- Element-wise functions over nodes


class Parts(NamedTuple):
    """The nodes of the parts of a complex number; arithmetic is torch's, also with infinities."""

    real: Node
    imag: Node

    def __add__(self, other: Any) -> Parts:
        return Parts(self.real + other.real, self.imag + other.imag)

    def __sub__(self, other: Parts) -> Parts:
        return Parts(self.real - other.real, self.imag - other.imag)

    def __mul__(self, other: Any) -> Parts:
        (a, b), (c, d) = self, other
        return Parts(a * c - b * d, a * d + b * c)

    def __truediv__(self, other: Parts) -> Parts:
        # Divided by the larger part first: squares of large numbers would overflow.
        sizes = ops.ABS(other.real), ops.ABS(other.imag)
        larger = ops.STOP_GRADIENT(ops.MAXIMUM(*sizes))
        one = number(1, larger.dtype)
        is_zero = ops.EQ(larger, number(0, larger.dtype))
        scale = ops.where(is_zero, one, larger)
        # Unselected values must be finite, or the gradient would be NaN.
        sizes = ops.where(is_zero, sizes[0], one), ops.where(is_zero, sizes[1], one)
        (a, b), (c, d) = ((z.real / scale, z.imag / scale) for z in (self, other))
        square = c * c + d * d
        real = ops.where(is_zero, a / sizes[0], (a * c + b * d) / square)
        return Parts(real, ops.where(is_zero, b / sizes[1], (b * c - a * d) / square))


def elementwise(definition: Callable[..., Any], *operands: Any) -> Tensor:
    """Record a function of the ``Parts`` of tensors and numbers, one of which is complex.

    It returns ``Parts``, or one node for real numbers.
    """
    part = dtypes.part_of(dtypes.result_dtype(*operands))
    trace = next(v.trace for v in operands if isinstance(v, Tensor))
    tensors: list[Tensor] = []
    for value in operands:
        if not isinstance(value, Tensor):
            tensors += [filled(trace, v, (), part) for v in (value.real, value.imag)]
        elif dtypes.is_complex(value.dtype):
            tensors += parts(value)
        else:
            real = value if value.dtype in dtypes.DATA_TYPES else value.trace.convert(value, part)
            tensors += [real, filled(trace, 0, (), part)]

    def nodes(*leaves: Node) -> tuple[Node, ...]:
        wide = [ops.cast(node, part) for node in leaves]
        pairs = zip(wide[::2], wide[1::2], strict=True)
        result = definition(*[Parts(*pair) for pair in pairs])
        return tuple(result) if isinstance(result, Parts) else (result,)

    results = all_computed(nodes, *tensors)
    return results[0] if len(results) == 1 else joined(*results)


# --- Parts of gradients


def complex_pair(kind: A, a: Tensor, b: Tensor, dtype: str) -> Tensor:
    """Compute a binary algorithm."""
    if kind in (A.binary_add, A.binary_sub) and a.dtype == b.dtype:
        return as_numbers(pointwise.binary(kind, as_pairs(a), as_pairs(b)))
    return elementwise(PAIRS[kind], a, b)


def complex_reduction(kind: A, z: Tensor, axes: tuple[int, ...], dtype: str) -> Tensor:
    """Reduce by an algorithm over axes, which remain with size 1."""
    if not z.ndim:
        return z
    return as_numbers(reduce(kind, as_pairs(z), axes, dtypes.part_of(dtype)))


def complex_conversion(x: Tensor, dtype: str) -> Tensor:
    """Convert a tensor to a complex dtype, or a complex tensor to a real one: its real part."""
    part = dtypes.part_of(dtype)
    real, imag = parts(x) if dtypes.is_complex(x.dtype) else (x, None)
    real = computed(lambda node: ops.cast(node, part), real)
    if not dtypes.is_complex(dtype):
        return real
    if imag is None:
        return joined(real, filled(x.trace, 0, (), part))
    return joined(real, computed(lambda node: ops.cast(node, part), imag))
