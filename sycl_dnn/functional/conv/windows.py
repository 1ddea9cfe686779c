# SPDX-License-Identifier: Apache-2.0
"""Windows over spatial axes: arguments, sizes of results, pieces cut and put together."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sycl_dnn._core import PostOps, PrimitiveAttr
from sycl_dnn.trace import layout
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow, reshape

#: One whole number for each spatial axis.
Sizes = tuple[int, ...]
#: Elements added before and after, for each spatial axis.
Pads = tuple[tuple[int, int], ...]


def whole_number(value: Any) -> int | None:
    """Return an integer of Python's or NumPy's; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        if isinstance(value, Tensor):
            raise  # its own words: values are not known
        return None


def per_axis(name: str, argument: str, value: Any, rank: int, least: int = 1) -> Sizes:
    """Return one number for each of ``rank`` axes, from one for all or a sequence.

    Raises
    ------
    TypeError
        ``value`` is neither an integer nor a sequence of integers.
    ValueError
        There are not 1 or ``rank`` numbers, or one is less than ``least``.
    """
    items = value if isinstance(value, (tuple, list)) else [value]
    known = [whole_number(v) for v in items]
    numbers = [n for n in known if n is not None]
    if len(numbers) < len(known):
        raise TypeError(f"{name}: {argument} must be an int or {rank} of them, got {value!r}")
    if len(numbers) == 1:
        numbers *= rank
    if len(numbers) != rank or min(numbers) < least:
        raise ValueError(
            f"{name}: {argument} must be an int or {rank} of them, each at least {least}, "
            f"got {value!r}"
        )
    return tuple(numbers)


def pads_per_axis(name: str, value: Any, rank: int) -> Pads:
    """Return (before, after) for each axis; an axis may have its own pair."""
    if isinstance(value, (tuple, list)) and any(isinstance(v, (tuple, list)) for v in value):
        if len(value) != rank:
            raise ValueError(f"{name}: padding must have {rank} entries, got {value!r}")
        pairs = (per_axis(name, "padding", v, 2, 0) for v in value)
        return tuple((before, after) for before, after in pairs)
    return tuple((p, p) for p in per_axis(name, "padding", value, rank, 0))


def extents(kernel: Sizes, dilation: Sizes) -> Sizes:
    """Return how many elements a dilated window reaches over."""
    return tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))


def batched(name: str, x: Tensor, rank: int, axes: str = "(N, C, *S) or (C, *S)") -> Tensor:
    """Return ``x`` with a batch axis, which it may lack.

    Raises
    ------
    ValueError
        ``x`` has neither ``rank`` + 2 nor ``rank`` + 1 axes, or a channel or spatial axis is empty.
    """
    if x.ndim not in (rank + 1, rank + 2):
        raise ValueError(
            f"{name}: input must have {rank + 2} or {rank + 1} axes, {axes}, got shape {x.shape}"
        )
    full = x if x.ndim == rank + 2 else reshape(x, (1, *x.shape))
    if 0 in full.shape[1:]:
        raise ValueError(f"{name}: input must have no empty axis but the batch, got {x.shape}")
    return full


def unbatched(made: Tensor, like: Tensor) -> Tensor:
    """Return ``made`` without the batch axis that ``batched`` gave to ``like``."""
    return made if made.ndim == like.ndim else reshape(made, made.shape[1:])


class Axis(NamedTuple):
    """How windows lie on one spatial axis; right padding may differ from left."""

    size: int
    kernel: int
    stride: int = 1
    left: int = 0
    right: int = 0
    dilation: int = 1

    @property
    def extent(self) -> int:
        """Elements that a window reaches over."""
        return (self.kernel - 1) * self.dilation + 1

    def count(self, ceil: bool = False) -> int:
        """Return the number of windows; with ``ceil`` a last one may extend past the end."""
        free = self.size + self.left + self.right - self.extent
        count = (free + (self.stride - 1 if ceil else 0)) // self.stride + 1
        # PyTorch's rule: the last window must start inside the input or the padding before it.
        if ceil and (count - 1) * self.stride >= self.size + self.left:
            count -= 1
        return count


def lone_windows(axes: Sequence[Axis], counts: Sizes) -> list[Axis]:
    """Return the axes with short strides, and no padding to spare, where there is one window.

    oneDNN's gradient of bfloat16 weights reads past a source of one channel whose size is less
    than the stride.
    """
    made = []
    for axis, count in zip(axes, counts, strict=True):
        spare = axis.size + axis.left - axis.extent
        lone = axis._replace(stride=max(spare, 0) + 1, right=-spare)
        made.append(lone if count == 1 else axis)
    return made


def check_counts(name: str, axes: Sequence[Axis], counts: Sizes) -> None:
    """Raise ValueError unless every window fits at least once."""
    if min(counts) < 1:
        sizes = tuple(a.size for a in axes)
        reach = tuple(a.extent for a in axes)
        raise ValueError(
            f"{name}: kernel must fit into the padded input, got kernels that reach over {reach} "
            f"elements for sizes {sizes}"
        )


# --- Regular pieces of the spatial axes: cut out of tensors, put together to tensors


class Span(NamedTuple):
    """Elements start, start + step... of one axis."""

    start: int
    length: int
    step: int = 1


def cut(x: Tensor, spans: Sequence[Span]) -> Tensor:
    """Return a view of (N, C, *S) with these elements of each spatial axis."""
    for axis, (span, size) in enumerate(zip(spans, x.shape[2:], strict=True), start=2):
        if span != Span(0, size):
            x = narrow(x, axis, *span)
    return x


def _view(whole: Tensor, spans: Sequence[Span]) -> Tensor:
    """Return ``cut`` of a plain tensor, not on the tape."""
    strides = whole.strides[2:]
    start = sum(s.start * n for s, n in zip(spans, strides, strict=True))
    steps = tuple(s.step * n for s, n in zip(spans, strides, strict=True))
    shape = (*whole.shape[:2], *(s.length for s in spans))
    return whole.view(shape, (*whole.strides[:2], *steps), start)


def _adding() -> PrimitiveAttr:
    attr, ops = PrimitiveAttr(), PostOps()
    ops.append_sum()
    attr.set_post_ops(ops)
    return attr


def cut_every(x: Tensor, every: Sequence[Sequence[Span]]) -> list[Tensor]:
    """Return ``cut`` for each of many pieces, whose gradients are added up in one place."""
    if len(every) == 1:
        return [cut(x, every[0])]
    trace = x.trace
    views = {str(i): _view(trace.plain(x), spans) for i, spans in enumerate(every)}

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        whole = trace.zeros(layout.channels_last(x.shape, x.dtype), x.shape)
        for name, grad in grads.items():
            place = _view(whole, every[int(name)])
            trace.steps.append(trace.copy_step(trace.plain(grad), place, _adding()))
        back = lambda e, g: {n: cut(g["dst"], every[int(n)]) for n in e.inputs}  # noqa: E731
        trace.tape.append(Entry("added pieces", dict(grads), {"dst": whole}, rule=back))
        return {"src": whole}

    trace.tape.append(Entry("pieces", {"src": x}, views, rule=rule))
    return list(views.values())


def assembled(
    trace: Trace,
    shape: tuple[int, ...],
    pieces: Sequence[tuple[Tensor, Sequence[Span]]],
    covered: bool = True,
) -> Tensor:
    """Return (N, C, *S), channels last, of tensors that lie at these elements of it.

    ``covered`` says that nothing is left over; else the rest is zero.
    """
    dtype = pieces[0][0].dtype
    # oneDNN takes no view whose last step would go beyond the end, so there is room for it.
    reach = [max(p[1][i].length * p[1][i].step for p in pieces) for i in range(len(shape) - 2)]
    room = (*shape[:2], *map(max, shape[2:], reach))
    desc = layout.channels_last(room, dtype)
    whole = trace.new(desc, room) if covered else trace.zeros(desc, room)
    for tensor, spans in pieces:
        trace.written_into(whole, _view(whole, spans), trace.plain(tensor))
    named = {str(i): tensor for i, (tensor, _) in enumerate(pieces)}
    every = [spans for _, spans in pieces]

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {str(i): cut(grads["dst"], spans) for i, spans in enumerate(every)}

    trace.tape.append(Entry("assembled", named, {"dst": whole}, rule=rule))
    return cut(whole, [Span(0, n) for n in shape[2:]])


def padded(x: Tensor, after: Sequence[int]) -> Tensor:
    """Return ``x`` with that many zeros after the end of each spatial axis."""
    if not any(after):
        return x
    sizes = [n + a for n, a in zip(x.shape[2:], after, strict=True)]
    spans = [Span(0, n) for n in x.shape[2:]]
    return assembled(x.trace, (*x.shape[:2], *sizes), [(x, spans)], covered=False)


#: Words of a function of images, and what a function of signals or of volumes says in their place.
_WORDS = (
    ("(N, C, H, W) or (C, H, W)", "(N, C, W) or (C, W)", "(N, C, D, H, W) or (C, D, H, W)"),
    (
        "tuple (H, W) or (N, C, H, W)",
        "tuple (W,) or (N, C, W)",
        "tuple (D, H, W) or (N, C, D, H, W)",
    ),
    ("KH, KW)", "K)", "KD, KH, KW)"),
    ("T, U)", "T)", "S, T, U)"),
    ("Sizes (T)", "Size (T,)", "Sizes (S, T, U)"),
    ("one image", "one signal", "one volume"),
    ("h * W + w", "w", "(d * H + h) * W + w"),
    ("((0, 1), (2, 2))", "((0, 1),)", "((0, 1), (2, 2), (0, 0))"),
)


def describe(of_images: Callable[..., Any], of_signals: Any, of_volumes: Any) -> None:
    """Give the functions of signals and volumes the text of that of images, with their shapes.

    Their own first lines stay, and parameters that they lack are left out.
    """
    for column, function in ((1, of_signals), (2, of_volumes)):
        text = inspect.getdoc(of_images) or ""
        for words in _WORDS:
            text = text.replace(words[0], words[column])
        if column == 1:
            text = re.sub(r"\bKH\b", "K", re.sub(r"\bH\b", "W", text))
        text = text.replace("2d", f"{2 * column - 1}d")
        lacked = {*inspect.signature(of_images).parameters} - {
            *inspect.signature(function).parameters
        }
        for name in lacked:
            text = re.sub(rf"^{name} : .*\n(    .*\n)*", "", text, flags=re.MULTILINE)
        function.__doc__ = (function.__doc__ or "") + text[text.index("\n") :]
