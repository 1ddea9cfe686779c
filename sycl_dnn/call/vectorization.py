# SPDX-License-Identifier: Apache-2.0
"""``vmap``: a function of one sample as a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sycl_dnn import tree
from sycl_dnn.call.batched_values import Batching
from sycl_dnn.call.reverse import differentiated, named_after
from sycl_dnn.trace import functions as F
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor


def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Return a function that applies ``function`` to each sample of a batch.

    Parameters
    ----------
    function : callable
        Takes and returns trees of arrays, as those of one sample; runs once, as by ``vjp``.
    in_axes : int, None or tuple
        The axis of the batch in each positional argument: one for all, or a tuple with an entry for
        each. None: the same argument for all samples. For an argument that is a tree, an entry can
        also be one, with a number or None for each of its parts.
    out_axes : int, None or tree
        The axis of the batch in the results. None: the result is the same for all samples.

    Returns
    -------
    callable
        Takes what ``function`` does, with the batch as one more axis of mapped arrays; named
        arguments are the same for all samples.

    Raises
    ------
    ValueError
        On a call: ``in_axes`` does not fit the arguments, no array is mapped, sizes differ, or a
        result with ``out_axes`` None differs from sample to sample.
    TypeError
        On a call: code depends on a value, or writes samples to an array that all share.
    NotImplementedError
        On a call: more than 256 samples of a function that has to run for each of them.

    Notes
    -----
    Most functions run once over the whole batch. Others run for each sample, in one program: among
    them recurrent layers, batch normalization and indexing by arrays that differ.
    ``vmap(grad(f))`` computes the gradients of samples, ``vmap(f)`` inside ``grad`` that of all.
    Random numbers for a mapped array (``dropout``, ``rand_like``, ``bernoulli``) differ from sample
    to sample; those that a function draws for itself (``rand``) are the same.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> slope = sycl_dnn.grad(lambda x: x * x * x)
    >>> sycl_dnn.vmap(slope)(F.asarray([1.0, 2.0, 3.0])).tolist()
    [3.0, 12.0, 27.0]
    """
    if not callable(function):
        raise TypeError(f"vmap: function must be callable, got {type(function).__name__}")

    @named_after(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = _axes_of(in_axes, args)

        def of_batch(*args: Any, **kwargs: Any) -> Any:
            return _run(function, axes, out_axes, args, kwargs)

        of_batch.__name__ = getattr(function, "__name__", "vmap")
        if nested_arguments.trace_of((args, kwargs)) is not None:
            return of_batch(*args, **kwargs)
        return differentiated("vmap", of_batch, args, kwargs, ())[0]

    return mapped


def _run(
    function: Callable[..., Any], axes: tuple[Any, ...], out_axes: Any, args: Any, kwargs: Any
) -> Any:
    """Run a function over batched values; return its results over those of the trace."""
    size = _size(axes, args)
    root = running_trace()
    if root is None:  # ``debug_nans`` searches for the operation
        return [_of_sample(i, function, axes, args, kwargs) for i in range(size)]
    batching = Batching(root.batching or root, size)

    def batched(value: Any, axis: Any) -> Any:
        if axis is None:
            return value
        whole = batching.capture(value)
        return batching.wrapped(F.movedim(whole, axis, 0) if axis % whole.ndim else whole)

    try:
        with batching.running():
            result = function(*_with_axes("in_axes", batched, args, axes), **kwargs)
        unbatched = functools.partial(_unbatched, batching)
        return _with_axes("out_axes", unbatched, result, out_axes)
    finally:
        batching.is_ended = True


def _of_sample(
    number: int, function: Callable[..., Any], axes: tuple[Any, ...], args: Any, kwargs: Any
) -> Any:
    def sample(value: Any, axis: Any) -> Any:
        return value if axis is None else F.select(value, axis, number)

    return function(*_with_axes("in_axes", sample, args, axes), **kwargs)


def _axes_of(in_axes: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an entry of ``in_axes`` for each argument."""
    if in_axes is None or _is_axis(in_axes):
        return (in_axes,) * len(args)
    if not isinstance(in_axes, (tuple, list)):
        raise TypeError(
            f"vmap: in_axes must be an int, None or a tuple, got {type(in_axes).__name__}"
        )
    if len(in_axes) != len(args):
        raise ValueError(
            f"vmap: in_axes must have an entry for each positional argument, got {len(in_axes)} "
            f"for {len(args)}"
        )
    return tuple(in_axes)


def _is_axis(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _with_axes(name: str, function: Callable[[Any, Any], Any], value: Any, axes: Any) -> Any:
    """Return a tree of ``function(array, axis)``; ``axes`` is a tree with the same first levels."""
    if axes is None or _is_axis(axes):
        return tree.map(lambda v: function(v, axes) if _is_array(v) else v, value)
    entries, node = tree.opened(axes), tree.opened(value)
    if entries is None or node is None or len(entries.children) != len(node.children):
        raise ValueError(
            f"vmap: {name} must be an int, None or a tree like the values, got {axes!r} for "
            f"{type(value).__name__}"
        )
    pairs = zip(node.children, entries.children, strict=True)
    return node.rebuilt([_with_axes(name, function, v, a) for v, a in pairs])


def _size(axes: Any, args: tuple[Any, ...]) -> int:
    """Return the size of the mapped axes, which is the same for all arrays."""
    sizes: list[int] = []

    def note(array: Any, axis: Any) -> Any:
        if axis is not None:
            if not -array.ndim <= axis < array.ndim:
                raise ValueError(
                    f"vmap: in_axes must be axes of the arrays, got {axis} for shape "
                    f"{tuple(array.shape)}"
                )
            sizes.append(int(array.shape[axis]))
        return array

    _with_axes("in_axes", note, args, axes)
    if not sizes:
        raise ValueError("vmap: in_axes must name the axis of at least one array, got None for all")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: mapped axes must have the same size, got {sizes}")
    return sizes[0]


def _unbatched(batching: Batching, value: Any, axis: Any) -> Any:
    """Return a result with its batch as ``axis``."""
    if axis is None:
        if batching.is_batched(value):
            raise ValueError(
                "vmap: out_axes must be the axis of the batch where the result differs from "
                "sample to sample, got None"
            )
        return value
    whole = batching.whole_of(value)
    if not -whole.ndim <= axis < whole.ndim:
        raise ValueError(f"vmap: out_axes must be in [{-whole.ndim}, {whole.ndim}), got {axis}")
    return F.movedim(whole, 0, axis) if axis % whole.ndim else whole


def _is_array(value: Any) -> bool:
    return isinstance(value, Tensor) or nested_arguments.is_array(value)
