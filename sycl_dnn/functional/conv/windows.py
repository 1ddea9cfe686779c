# SPDX-License-Identifier: Apache-2.0
"""Sliding windows over spatial axes: arguments, sizes, and strided pieces."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sycl_dnn._core import PostOps, PrimitiveAttr
from sycl_dnn.call.operation import named, operation
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.selection import pad
from sycl_dnn.trace import layout
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow, reshape

#: One integer per spatial axis.
Sizes = tuple[int, ...]
#: Padding before and after each spatial axis.
Pads = tuple[tuple[int, int], ...]


def whole_number(value: Any) -> int | None:
    """Return a Python or NumPy integer; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        if isinstance(value, Tensor):
            raise  # a traced value, which has its own message
        return None


def per_axis(name: str, argument: str, value: Any, rank: int, minimum: int = 1) -> Sizes:
    """Expand one number or a sequence to ``rank`` numbers, each at least ``minimum``.

    Raises TypeError or ValueError for anything else.
    """
    items = value if isinstance(value, (tuple, list)) else [value]
    numbers = [n for n in map(whole_number, items) if n is not None]
    if len(numbers) < len(items):
        raise TypeError(f"{name}: {argument} must be an int or {rank} of them, got {value!r}")
    if len(numbers) == 1:
        numbers *= rank
    if len(numbers) != rank or min(numbers) < minimum:
        raise ValueError(
            f"{name}: {argument} must be an int or {rank} of them, each at least {minimum}, "
            f"got {value!r}"
        )
    return tuple(numbers)


def pads_per_axis(name: str, value: Any, rank: int) -> Pads:
    """Return (before, after) for each axis; entries may be numbers or pairs."""
    if isinstance(value, (tuple, list)) and any(isinstance(v, (tuple, list)) for v in value):
        if len(value) != rank:
            raise ValueError(f"{name}: padding must have {rank} entries, got {value!r}")
        pairs = (per_axis(name, "padding", v, 2, 0) for v in value)
        return tuple((before, after) for before, after in pairs)
    return tuple((p, p) for p in per_axis(name, "padding", value, rank, 0))


def extents(kernel: Sizes, dilation: Sizes) -> Sizes:
    """Return the number of elements that a dilated window spans."""
    return tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))


def batched(name: str, x: Tensor, rank: int, axes: str = "(N, C, *S) or (C, *S)") -> Tensor:
    """Add the batch axis if it is missing; raise ValueError for other ranks and empty axes."""
    if x.ndim not in (rank + 1, rank + 2):
        raise ValueError(
            f"{name}: input must have {rank + 2} or {rank + 1} axes, {axes}, got shape {x.shape}"
        )
    full = x if x.ndim == rank + 2 else reshape(x, (1, *x.shape))
    if 0 in full.shape[1:]:
        raise ValueError(f"{name}: input must have no empty axis but the batch, got {x.shape}")
    return full


def unbatched(x: Tensor, like: Tensor) -> Tensor:
    """Remove the batch axis if ``batched`` added one to ``like``."""
    return x if x.ndim == like.ndim else reshape(x, x.shape[1:])


class Axis(NamedTuple):
    """The windows along one spatial axis; right padding may differ from left."""

    size: int
    kernel: int
    stride: int = 1
    left: int = 0
    right: int = 0
    dilation: int = 1

    @property
    def extent(self) -> int:
        """Number of elements that a window spans."""
        return (self.kernel - 1) * self.dilation + 1

    def count(self, ceil: bool = False) -> int:
        """Return the number of windows; with ``ceil`` the last one may extend past the end."""
        free = self.size + self.left + self.right - self.extent
        count = (free + (self.stride - 1 if ceil else 0)) // self.stride + 1
        # As in PyTorch, the last window must start inside the input or its left padding.
        if ceil and (count - 1) * self.stride >= self.size + self.left:
            count -= 1
        return count


def shorten_single_windows(axes: Sequence[Axis], counts: Sizes) -> list[Axis]:
    """Shorten the strides of unpadded axes that have a single window.

    oneDNN's gradient of bfloat16 weights reads past a single-channel source that is smaller than
    the stride.
    """
    results = []
    for axis, count in zip(axes, counts, strict=True):
        unused = axis.size + axis.left - axis.extent
        shortened = axis._replace(stride=max(unused, 0) + 1, right=-unused)
        results.append(shortened if count == 1 else axis)
    return results


def check_counts(name: str, axes: Sequence[Axis], counts: Sizes) -> None:
    """Raise ValueError unless at least one window fits on every axis."""
    if min(counts) < 1:
        sizes = tuple(a.size for a in axes)
        reach = tuple(a.extent for a in axes)
        raise ValueError(
            f"{name}: kernel must fit into the padded input, got kernels that reach over {reach} "
            f"elements for sizes {sizes}"
        )


# --- Strided pieces of spatial axes: extraction and assembly


class Span(NamedTuple):
    """Elements start, start + step, ... of an axis."""

    start: int
    length: int
    step: int = 1


def cut(x: Tensor, spans: Sequence[Span]) -> Tensor:
    """Return a strided view of the spatial axes of (N, C, *S)."""
    for axis, (span, size) in enumerate(zip(spans, x.shape[2:], strict=True), start=2):
        if span != Span(0, size):
            x = narrow(x, axis, *span)
    return x


def _span_view(canvas: Tensor, spans: Sequence[Span]) -> Tensor:
    """Return ``cut`` of a plain tensor, without recording it."""
    strides = canvas.strides[2:]
    start = sum(s.start * n for s, n in zip(spans, strides, strict=True))
    steps = tuple(s.step * n for s, n in zip(spans, strides, strict=True))
    shape = (*canvas.shape[:2], *(s.length for s in spans))
    return canvas.view(shape, (*canvas.strides[:2], *steps), start)


def _sum_attribute() -> PrimitiveAttr:
    attr, ops = PrimitiveAttr(), PostOps()
    ops.append_sum()
    attr.set_post_ops(ops)
    return attr


def cut_all(x: Tensor, all_spans: Sequence[Sequence[Span]]) -> list[Tensor]:
    """Return ``cut`` for each of many pieces; their gradients are accumulated in one tensor."""
    if len(all_spans) == 1:
        return [cut(x, all_spans[0])]
    trace = x.trace
    views = {str(i): _span_view(trace.plain(x), spans) for i, spans in enumerate(all_spans)}

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        canvas = trace.zeros(layout.channels_last(x.shape, x.dtype), x.shape)
        for name, grad in grads.items():
            target = _span_view(canvas, all_spans[int(name)])
            trace.steps.append(trace.copy_step(trace.plain(grad), target, _sum_attribute()))
        back = lambda e, g: {n: cut(g["dst"], all_spans[int(n)]) for n in e.inputs}  # noqa: E731
        trace.tape.append(Entry("added pieces", dict(grads), {"dst": canvas}, rule=back))
        return {"src": canvas}

    trace.tape.append(Entry("pieces", {"src": x}, views, rule=rule))
    return list(views.values())


def assembled(
    trace: Trace, shape: tuple[int, ...], pieces: Sequence[tuple[Tensor, Sequence[Span]]]
) -> Tensor:
    """Assemble (N, C, *S), channels-last, from tensors at strided elements that cover it."""
    dtype = pieces[0][0].dtype
    # oneDNN refuses views whose last step would extend past the end, so leave room for it.
    reach = [max(p[1][i].length * p[1][i].step for p in pieces) for i in range(len(shape) - 2)]
    padded_shape = (*shape[:2], *map(max, shape[2:], reach))
    desc = layout.channels_last(padded_shape, dtype)
    canvas = trace.new(desc, padded_shape)
    for tensor, spans in pieces:
        trace.written_into(canvas, _span_view(canvas, spans), trace.plain(tensor))
    inputs = {str(i): tensor for i, (tensor, _) in enumerate(pieces)}
    all_spans = [spans for _, spans in pieces]

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {str(i): cut(grads["dst"], spans) for i, spans in enumerate(all_spans)}

    trace.tape.append(Entry("assembled", inputs, {"dst": canvas}, rule=rule))
    return cut(canvas, [Span(0, n) for n in shape[2:]])


def padded(x: Tensor, after: Sequence[int]) -> Tensor:
    """Append zeros to each spatial axis."""
    widths = [(0, 0), (0, 0), *((0, n) for n in after)]
    return computed(lambda node: pad(node, widths), x) if any(after) else x


# --- Families of functions over one, two and three axes

#: Terms in docstrings of 2-d functions, with their 1-d and 3-d equivalents.
_WORDS = (
    ("(N, C, H, W) or (C, H, W)", "(N, C, W) or (C, W)", "(N, C, D, H, W) or (C, D, H, W)"),
    ("tuple (H, W) or (N, C, H", "tuple (W,) or (N, C, H", "tuple (D, H, W) or (N, C, D, H"),
    ("(N, C, H, W)", "(N, C, W)", "(N, C, D, H, W)"),
    ("KH, KW)", "K)", "KD, KH, KW)"),
    ("T, U)", "T)", "S, T, U)"),
    ("Sizes (T)", "Size (T,)", "Sizes (S, T, U)"),
    ("image", "signal", "volume"),
    ("h * W + w", "w", "(d * H + h) * W + w"),
    ("((0, 1), (2, 2))", "((0, 1),)", "((0, 1), (2, 2), (0, 0))"),
    ("tuple[int, int]", "tuple[int]", "tuple[int, int, int]"),
    ("2d", "1d", "3d"),
)


def _in_words(text: str, rank: int) -> str:
    """Return a text about images for signals, images or volumes."""
    for words in _WORDS:
        text = text.replace(words[0], words[(1, 0, 2)[rank - 1]])
    return text if rank > 1 else re.sub(r"\bKH\b", "K", re.sub(r"\bH\b", "W", text))


def by_rank(definition: Callable[..., Any], absent_from_1d: str = "") -> Any:
    """Return the functions over one, two and three axes of a definition.

    It takes their name and the number of axes first, and is documented for images.
    ``absent_from_1d`` names a parameter that the function over one axis lacks.
    """
    return [
        _of_rank(f"{definition.__name__}{n}d", n, definition, absent_from_1d) for n in (1, 2, 3)
    ]


def _of_rank(name: str, rank: int, definition: Callable[..., Any], absent: str) -> Any:
    described = inspect.signature(definition)
    parameters = [
        p.replace(annotation=_in_words(p.annotation, rank))
        for n, p in list(described.parameters.items())[2:]
        if rank > 1 or n != absent
    ]
    signature = described.replace(parameters=parameters)

    def body(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        return definition(name, rank, *bound.args, **bound.kwargs)

    text = inspect.getdoc(definition) or ""
    if rank == 1 and absent:
        text = re.sub(rf"^{absent} : .*\n(    .*\n)*", "", text, flags=re.MULTILINE)
    body.__signature__ = signature  # type: ignore[attr-defined]
    body.__annotations__ = {p.name: p.annotation for p in parameters}
    body.__module__ = definition.__module__
    return operation(named(body, name, _in_words(text, rank)))
