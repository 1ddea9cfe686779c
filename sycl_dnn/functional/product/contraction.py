# SPDX-License-Identifier: Apache-2.0
"""Tensor contractions: einsum, tensordot, outer, dot and mv."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import mul
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import check_arrays, check_each
from sycl_dnn.functional.product.matmul import matmul
from sycl_dnn.functional.reduction.sums import sum as summed
from sycl_dnn.functional.shape.arrangement import spread
from sycl_dnn.functional.shape.reshaping import check_axis, checked_int
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow, reshape, transpose

_OF_MATRIX = """Return the product of a {first} with a vector.

Parameters
----------
input : array {shape}
{second} : array (n,)

Returns
-------
array {result}
    The promoted dtype.

Raises
------
TypeError
    An operand is not an array.
ValueError
    The shapes do not match.

Notes
-----
Source: ``torch.{name}``.
"""


def _with_vector(name: str, first: Any, second: Any, argument: str, n_axes: int) -> Any:
    for operand_name, x, axes in (("input", first, n_axes), (argument, second, 1)):
        check_arrays(name, **{operand_name: x})
        if x.ndim != axes:
            raise ValueError(f"{name}: {operand_name} must have {axes} axes, got shape {x.shape}")
    if first.shape[-1] != second.shape[0]:
        raise ValueError(
            f"{name}: {argument} must have {first.shape[-1]} elements, got {second.shape[0]}"
        )
    return matmul(first, second)


def dot(input: Tensor, tensor: Tensor) -> Tensor:  # noqa: D103
    return _with_vector("dot", input, tensor, "tensor", 1)


def mv(input: Tensor, vec: Tensor) -> Tensor:  # noqa: D103
    return _with_vector("mv", input, vec, "vec", 2)


dot.__doc__ = _OF_MATRIX.format(
    name="dot", first="vector", second="tensor", shape="(n,)", result="()"
)
mv.__doc__ = _OF_MATRIX.format(
    name="mv", first="matrix", second="vec", shape="(m, n)", result="(m,)"
)
dot, mv = operation(dot), operation(mv)


@operation
def tensordot(a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] = 2) -> Tensor:
    """Contract axes of two arrays.

    Parameters
    ----------
    a, b : arrays
    dims : int, or two sequences of int
        Number of last axes of ``a`` and first axes of ``b``, or the axes of each.

    Returns
    -------
    array
        The remaining axes of ``a``, then those of ``b``.

    Raises
    ------
    TypeError
        An operand is not an array.
    ValueError
        The axes do not match.

    Notes
    -----
    Source: ``torch.tensordot``.
    """
    check_arrays("tensordot", a=a, b=b)
    if isinstance(dims, int):
        count = checked_int("tensordot", "dims", dims, 0)
        if count > min(a.ndim, b.ndim):
            raise ValueError(f"tensordot: dims must be at most {min(a.ndim, b.ndim)}, got {count}")
        dims = ([*range(a.ndim - count, a.ndim)], [*range(count)])
    axes_a, axes_b = ([check_axis("tensordot", d, x.ndim, "dims") for d in axes]
                  for x, axes in zip((a, b), dims, strict=True))  # fmt: skip
    # An axis of one element stands for any size, as torch has it: the other one is summed.
    a, b = (
        _narrowed(x, axes, [y.shape[i] for i in others])
        for x, axes, y, others in ((a, axes_a, b, axes_b), (b, axes_b, a, axes_a))
    )
    if [a.shape[i] for i in axes_a] != [b.shape[i] for i in axes_b]:
        raise ValueError(
            f"tensordot: axes {axes_a} and {axes_b} must have one size, got shapes {a.shape} and "
            f"{b.shape}"
        )
    rest_a = [i for i in range(a.ndim) if i not in axes_a]
    rest_b = [i for i in range(b.ndim) if i not in axes_b]
    size = math.prod(a.shape[i] for i in axes_a)
    left, right = [a.shape[i] for i in rest_a], [b.shape[i] for i in rest_b]
    rows = reshape(transpose(a, [*rest_a, *axes_a]), (math.prod(left), size))
    columns = reshape(transpose(b, [*axes_b, *rest_b]), (size, math.prod(right)))
    return reshape(matmul(rows, columns), (*left, *right))


def _narrowed(x: Tensor, axes: list[int], sizes: list[int]) -> Tensor:
    wide = [i for i, size in zip(axes, sizes, strict=False) if size == 1 != x.shape[i]]
    return summed(x, wide, True, dtype=str(x.dtype)) if wide else x


#: An operand and its axis labels, each once.
Term = tuple[Tensor, str]
_LETTERS = string.ascii_letters


@operation
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return the outer product of two vectors.

    Parameters
    ----------
    input : array (n,)
    vec2 : array (m,)

    Returns
    -------
    array (n, m)
        The promoted dtype.

    Raises
    ------
    ValueError
        An operand is not a vector.

    Notes
    -----
    Source: ``torch.outer``.
    """
    check_arrays("outer", input=input, vec2=vec2)
    for argument, x in (("input", input), ("vec2", vec2)):
        if x.ndim != 1:
            raise ValueError(f"outer: {argument} must have one axis, got shape {x.shape}")
    return mul(reshape(input, (input.size, 1)), vec2)


# --- einsum: parsing


def _equation(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the equation and the operands, for both call signatures."""
    if args and isinstance(args[0], str):
        rest = args[1:]
        is_list = len(rest) == 1 and isinstance(rest[0], (tuple, list))
        return args[0].replace(" ", ""), list(rest[0] if is_list else rest)
    operands, lists = list(args[0::2]), list(args[1::2])
    result = operands.pop() if len(operands) > len(lists) else None
    terms = ["".join("..." if i is ... else _LETTERS[i] for i in axes) for axes in lists]
    output = ",".join(terms)
    if result is not None:
        output += "->" + "".join("..." if i is ... else _LETTERS[i] for i in result)
    return output, operands


def _checked_terms(equation: str, operands: list[Any]) -> list[str]:
    """Validate an equation and return its input terms."""
    terms = equation.split("->")[0].split(",")
    allowed = set(_LETTERS) | set(".,->")
    if set(equation) - allowed or equation.count("->") > 1 or not operands:
        raise ValueError(f"einsum: equation must be letters as in 'ij,jk->ik', got {equation!r}")
    if len(terms) != len(operands):
        raise ValueError(
            f"einsum: equation must have a term for each of {len(operands)} operands, got "
            f"{equation!r}"
        )
    check_each("einsum", "operands", operands)
    return terms


def _expanded_labels(equation: str, operands: list[Tensor]) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result, with ``...`` expanded."""
    terms = _checked_terms(equation, operands)
    n_dots = [x.ndim - len(t.replace("...", "")) for t, x in zip(terms, operands, strict=True)]
    for term, n, x in zip(terms, n_dots, operands, strict=True):
        if n < 0 or (n and "..." not in term):
            raise ValueError(f"einsum: {term!r} must name the {x.ndim} axes of shape {x.shape}")
    longest = max((n for t, n in zip(terms, n_dots, strict=True) if "..." in t), default=0)
    free = [c for c in _LETTERS if c not in equation]
    if longest > len(free):
        raise ValueError("einsum: there must be at most 52 axes")
    ellipsis = "".join(free[:longest])
    named = [t.replace("...", ellipsis[longest - n :]) for t, n in zip(terms, n_dots, strict=True)]
    if "->" in equation:
        result = equation.split("->")[1].replace("...", ellipsis)
    else:
        plain = "".join(terms).replace(".", "")
        result = ellipsis + "".join(sorted(c for c in set(plain) if plain.count(c) == 1))
    wrong = [c for c in result if result.count(c) > 1 or not any(c in t for t in named)]
    if wrong:
        raise ValueError(
            f"einsum: the result must name axes of operands once, got {wrong[0]!r} in {equation!r}"
        )
    return named, result


# --- einsum: evaluation


def _diagonal(x: Tensor, letters: str) -> Term:
    """Take the diagonal of repeated labels of an operand."""
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            a, b = letters.index(letter), letters.rindex(letter)
            n, m = x.shape[a], x.shape[b]
            if n != m:
                raise ValueError(f"einsum: axes {letter!r} must be equally long, got {n} and {m}")
            rest = [i for i in range(x.ndim) if i not in (a, b)]
            sizes = tuple(x.shape[i] for i in rest)
            square = reshape(transpose(x, (*rest, a, b)), (math.prod(sizes), n * n))
            x = reshape(narrow(square, 1, 0, n, n + 1) if n else square, (*sizes, n))
            letters = "".join(letters[i] for i in rest) + letter
    return x, letters


def _reduced(term: Term, retained: set[str], is_last: bool = False) -> Term:
    """Sum a term over the labels that are not retained; integer sums are int64."""
    x, letters = term
    axes = [i for i, c in enumerate(letters) if c not in retained]
    if not axes:
        return term
    rest = "".join(c for c in letters if c in retained)
    if is_last or any(x.shape[i] != 1 for i in axes):
        return summed(x, axes), rest
    return reshape(x, tuple(x.shape[i] for i in range(x.ndim) if i not in axes)), rest


def _arranged(term: Term, letters: str, sizes: dict[str, int]) -> Tensor:
    """Permute an operand to the order of ``letters`` and expand its axes."""
    x, labels = term
    x = transpose(x, [labels.index(c) for c in letters]) if labels != letters else x
    return spread(x, tuple(sizes[c] for c in letters))


def _contracted(a: Term, b: Term, retained: set[str], sizes: dict[str, int]) -> Term:
    """Multiply two operands, summing over the labels that need not be retained."""
    a, b = _reduced(a, retained | set(b[1])), _reduced(b, retained | set(a[1]))
    wide = dtypes.promote(a[0].dtype, b[0].dtype)
    a, b = (converted(a[0], wide), a[1]), (converted(b[0], wide), b[1])
    shared = [c for c in a[1] if c in b[1]]
    batch = "".join(c for c in shared if c in retained)
    inner = "".join(c for c in shared if c not in retained)
    left = "".join(c for c in a[1] if c not in shared)
    right = "".join(c for c in b[1] if c not in shared)

    def size(letters: str) -> int:
        return math.prod(sizes[c] for c in letters)

    if not inner:
        first = _arranged(a, batch + left, sizes)
        first = reshape(first, (*first.shape, *(1,) * len(right)))
        second = _arranged(b, batch + right, sizes)
        shape = (*(sizes[c] for c in batch), *(1,) * len(left), *(sizes[c] for c in right))
        return mul(first, reshape(second, shape)), batch + left + right
    lhs = reshape(_arranged(a, batch + left + inner, sizes), (size(batch), size(left), size(inner)))
    rhs = reshape(
        _arranged(b, batch + inner + right, sizes), (size(batch), size(inner), size(right))
    )
    result = batch + left + right
    if not batch:
        lhs, rhs = reshape(lhs, lhs.shape[1:]), reshape(rhs, rhs.shape[1:])
    return reshape(matmul(lhs, rhs), tuple(sizes[c] for c in result)), result


def _sizes(operands: list[Tensor], named: list[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for x, letters in zip(operands, named, strict=True):
        for n, c in zip(x.shape, letters, strict=True):
            if sizes.get(c, 1) == 1:
                sizes[c] = n
            elif n not in (1, sizes[c]):
                raise ValueError(f"einsum: axes {c!r} must be equally long, got {sizes[c]} and {n}")
    return sizes


def _order(named: list[str], result: str, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    """Return the contraction order with the lowest cost."""
    if len(named) < 3:
        return [tuple(range(len(named)))]
    shapes = [np.broadcast_to(np.float32(0), [sizes[c] for c in t]) for t in named]
    return np.einsum_path(f"{','.join(named)}->{result}", *shapes, optimize="greedy")[0][1:]


@operation
def einsum(*args: Any) -> Tensor:
    """Evaluate the Einstein summation convention.

    Parameters
    ----------
    *args : str and arrays
        An equation such as ``"bij,bjk->bik"`` and its operands: one term per operand, and the
        result's after ``->``. A label that the result lacks is summed over, a label repeated in a
        term takes the diagonal, and ``...`` matches any axes, which broadcast. Without ``->`` the
        result has the axes of ``...`` followed by the labels that occur once, in alphabetical
        order. Alternatively arrays, each followed by a list of axis numbers, and the result's list.

    Returns
    -------
    array
        The promoted dtype.

    Raises
    ------
    ValueError
        The equation does not match the operands.
    TypeError
        An operand is not an array.

    Notes
    -----
    Operands are contracted in pairs by matrix products, cheapest first. Differentiable to any
    order. Source: ``torch.einsum``; NumPy's ``einsum_path``.
    """
    equation, operands = _equation(args)
    named, result = _expanded_labels(equation, operands)
    dtype = dtypes.promote(*(x.dtype for x in operands))
    terms = [_diagonal(converted(x, dtype), t) for x, t in zip(operands, named, strict=True)]
    sizes = _sizes([x for x, _ in terms], [t for _, t in terms])
    for positions in _order([t for _, t in terms], result, sizes):
        group = [terms.pop(i) for i in sorted(positions, reverse=True)][::-1]
        output = group[0]
        for next_index, other in enumerate(group[1:], 2):
            later = "".join(t for _, t in (*terms, *group[next_index:]))
            output = _contracted(output, other, {*result, *later}, sizes)
        terms.append(output)
    x, letters = _reduced(terms[0], set(result), True)
    return transpose(x, [letters.index(c) for c in result]) if letters != result else x
