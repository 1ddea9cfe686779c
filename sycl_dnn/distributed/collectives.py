# SPDX-License-Identifier: Apache-2.0
"""The collectives, for arrays, traced arrays and trees."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dpnp

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn._dpnp import place, usm_array
from sycl_dnn.distributed import group as groups
from sycl_dnn.distributed.collective import Collective
from sycl_dnn.distributed.group import Group
from sycl_dnn.distributed.traced_collectives import recorded
from sycl_dnn.onednn import dtypes
from sycl_dnn.program.place import place_of
from sycl_dnn.trace import array_writes
from sycl_dnn.trace.array import Array, array_over, carrier
from sycl_dnn.trace.array_function import array_function
from sycl_dnn.trace.values import Tensor

OPS = ("sum", "mean", "max", "min", "prod")
#: Its sum may be infinite where the mean is not, so it is computed in float32.
_OVERFLOWING = ("mean", "float16")


def chosen(group: Group | None) -> Group:
    """Return ``group``, or by default the group of ``init``."""
    return groups.current() if group is None else group


def _dtype(x: Any, function: str) -> str:
    if isinstance(x, (Tensor, Array)):
        name = str(x.dtype)
        if name in dtypes.PACKED:
            raise TypeError(f"{function}: x must not be of 4-bit numbers, got {name}")
        return name
    if isinstance(x, dpnp.ndarray):
        return dtypes.name_of(x.dtype)
    raise TypeError(f"{function}: x must be a dpnp array, got {type(x).__name__}")


def _run(
    x: Any, collective: Collective, group: Group, shape: tuple[int, ...],
    gradient: Callable[[Tensor], Any] | None = None, out: Any = None,
) -> Any:  # fmt: skip
    """Submit a collective over an array, or record it over a traced one; return its result."""
    if isinstance(x, Tensor):
        return recorded(x, collective, group, shape, gradient)
    src = dpnp.ascontiguousarray(carrier(x)).reshape(x.shape)
    result = carrier(out)
    if result is None or not result.flags.c_contiguous:
        result = dpnp.empty(
            shape, dtype=src.dtype, sycl_queue=src.sycl_queue, usm_type=src.usm_type
        )
    stream = place_of(src.sycl_queue)[1]
    collective.submit(group, stream, place(usm_array(src)), place(usm_array(result)))
    if out is None:
        return array_over(result, collective.dtype)
    if result is carrier(out):
        array_writes.note(result)
    else:
        array_writes.assign(carrier(out), result)
    return out


def _copied(x: Any, out: Any = None) -> Any:
    """Return the result in a group of one: a copy."""
    if isinstance(x, Tensor):
        return x
    if out is None:
        return array_over(dpnp.copy(carrier(x), order="C"), _dtype(x, "copy"))
    if carrier(out) is not carrier(x):
        array_writes.assign(carrier(out), carrier(x))
    return out


def _check_out(function: str, x: Any, out: Any, shape: tuple[int, ...]) -> None:
    if out is None:
        return
    if isinstance(x, Tensor):
        raise TypeError(f"{function}: out must be None in a traced function")
    if tuple(out.shape) != shape or out.dtype != x.dtype:
        raise ValueError(
            f"{function}: out must have shape {shape} and dtype {x.dtype}, got {out.shape} and "
            f"{out.dtype}"
        )


def each(function: Callable[[Any, Any], Any], x: Any, out: Any = None) -> Any:
    """Apply a function to the leaves of a tree in order."""
    leaves, form = tree.flatten(x)
    if out is None:
        return tree.unflatten(form, [function(leaf, None) for leaf in leaves])
    destinations = tree.leaves(out)
    if len(destinations) != len(leaves):
        raise ValueError(f"out must have {len(leaves)} arrays, as x, got {len(destinations)}")
    pairs = zip(leaves, destinations, strict=True)
    return tree.unflatten(form, [function(leaf, destination) for leaf, destination in pairs])


def _scaled(x: Any, group: Group) -> Any:
    """Turn a sum over the ranks into their mean; arrays are overwritten."""
    scale = 1.0 / group.size
    if isinstance(x, Tensor) and x.dtype == "float64":
        return array_function(
            lambda a: a * scale, x, shape=x.shape, dtype="float64",
            gradient=lambda a, dy: dy * scale,
        )  # fmt: skip
    if isinstance(x, Tensor):
        return F.mul(x, scale)
    if isinstance(x, Array):
        array_writes.assign(x, F.mul(x, scale))
    else:
        array_writes.assign(x, x * scale)
    return x


def _check_op(function: str, op: str, dtype: str) -> None:
    if op not in OPS:
        raise ValueError(f"{function}: op must be one of {', '.join(OPS)}, got {op!r}")
    if op == "mean" and not dtypes.is_float(dtype):
        raise TypeError(f"{function}: op must not be 'mean' for {dtype}; take 'sum'")


def all_reduce(x: Any, op: str = "sum", out: Any = None, group: Group | None = None) -> Any:
    """Reduce over the ranks; all ranks get the result.

    Parameters
    ----------
    x : array or tree of arrays
        float32, float64, float16, bfloat16, or integers of 8, 32 or 64 bits; bool for "max" and
        "min". Shapes must be equal on all ranks.
    op : {"sum", "mean", "max", "min", "prod"}
    out : array or tree of arrays, optional
        Destination; may be ``x``.
    group : Group, optional
        By default the group of ``init``.

    Returns
    -------
    array or tree of arrays
        Shapes and dtypes of ``x``, bitwise equal on all ranks.

    Raises
    ------
    MismatchError
        Ranks called different collectives; see ``init``.
    RuntimeError
        A rank has ended.
    TypeError
        The dtype does not support ``op``.
    ValueError
        ``op`` or ``out`` is invalid.

    Notes
    -----
    In traced functions it is a step of the program. The gradient of "sum" is the sum of the ranks'
    gradients, as if the loss were the sum of all ranks' losses; the gradient of "mean" is their
    mean. Other operations are not differentiable. Source: ``torch.distributed.nn.functional``.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> sycl_dnn.distributed.all_reduce(dpnp.ones(2)).tolist()
    [1.0, 1.0]
    """
    group = chosen(group)
    return each(lambda leaf, destination: all_reduce_one(leaf, op, destination, group), x, out)


def all_reduce_one(x: Any, op: str, out: Any, group: Group, of: str = "") -> Any:
    """Reduce one array; comparisons with other ranks include what it is."""
    dtype = _dtype(x, "all_reduce")
    _check_op("all_reduce", op, dtype)
    _check_out("all_reduce", x, out, tuple(x.shape))
    if group.size == 1:
        return _copied(x, out)
    return _reduced(
        "all_reduce", x, dtype, op, tuple(x.shape), group,
        lambda dy: all_reduce_one(dy, "sum", None, group), out, of,
    )  # fmt: skip


def _reduced(
    name: str, x: Any, dtype: str, op: str, shape: tuple[int, ...], group: Group,
    gradient: Callable[[Tensor], Any], out: Any = None, of: str = "",
) -> Any:  # fmt: skip
    """Return a reduction whose result on each rank has ``shape``; ``gradient`` is a sum's."""
    if (op, dtype) == _OVERFLOWING:
        wide = F.astype(x, "float32")
        mean = F.astype(
            _reduced(name, wide, "float32", op, shape, group, gradient, None, of), dtype
        )
        return mean if out is None else _copied(mean, out)
    kind = "sum" if op == "mean" else op
    collective = Collective(name, dtype, shape, math.prod(shape), kind, of=of)
    collective.check()
    result = _run(x, collective, group, shape, gradient if kind == "sum" else None, out)
    return _scaled(result, group) if op == "mean" else result


def reduce(x: Any, root: int = 0, op: str = "sum", group: Group | None = None) -> Any:
    """Reduce over the ranks; only ``root`` gets the result.

    Parameters
    ----------
    x : array or tree of arrays
        As for ``all_reduce``; traced arrays are not supported.
    root : int
        The rank that receives the result.
    op : {"sum", "mean", "max", "min", "prod"}
    group : Group, optional

    Returns
    -------
    array or tree of arrays
        On ranks other than ``root``, a copy of ``x``.

    Raises
    ------
    MismatchError, RuntimeError, TypeError, ValueError
        As for ``all_reduce``. ValueError: ``root`` is not a rank of the group.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> sycl_dnn.distributed.reduce(dpnp.ones(2)).tolist()
    [1.0, 1.0]
    """
    group = chosen(group)
    check_root("reduce", root, group)
    return each(lambda leaf, _: _reduce(leaf, root, op, group), x)


def _reduce(x: Any, root: int, op: str, group: Group) -> Any:
    dtype = not_traced("reduce", x, "all_reduce")
    _check_op("reduce", op, dtype)
    if group.size == 1:
        return _copied(x)
    if (op, dtype) == _OVERFLOWING:
        return F.astype(_reduce(F.astype(x, "float32"), root, op, group), dtype)
    shape, kind = tuple(x.shape), "sum" if op == "mean" else op
    collective = Collective("reduce", dtype, shape, math.prod(shape), kind, root)
    collective.check()
    result = _run(x, collective, group, shape)
    if group.rank != root:
        return _copied(x)
    return _scaled(result, group) if op == "mean" else result


def not_traced(function: str, x: Any, instead: str) -> str:
    """Return the dtype of an array; refuse a traced one."""
    if isinstance(x, Tensor):
        raise NotImplementedError(
            f"{function}: x must not be traced; in traced functions take {instead}"
        )
    return _dtype(x, function)


def check_root(function: str, root: int, group: Group, name: str = "root") -> None:
    """Raise ValueError unless ``root`` is a rank of the group."""
    if not 0 <= root < group.size:
        raise ValueError(f"{function}: {name} must be a rank below {group.size}, got {root}")


def broadcast(x: Any, root: int = 0, out: Any = None, group: Group | None = None) -> Any:
    """Send the values of one rank to all ranks.

    Parameters
    ----------
    x : array or tree of arrays
        Any dtype. Shapes and dtypes must be equal on all ranks; values matter only on ``root``.
    root : int
        The rank that sends.
    out : array or tree of arrays, optional
        Destination; may be ``x``.
    group : Group, optional

    Returns
    -------
    array or tree of arrays

    Raises
    ------
    MismatchError, RuntimeError
        As for ``all_reduce``.
    ValueError
        ``root`` is not a rank of the group, or ``out`` is invalid.

    Notes
    -----
    The gradient is the sum over the ranks on ``root``, and zeros elsewhere.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> sycl_dnn.distributed.broadcast(dpnp.arange(2)).tolist()
    [0, 1]
    """
    group = chosen(group)
    check_root("broadcast", root, group)
    return each(lambda leaf, destination: broadcast_one(leaf, root, destination, group), x, out)


def broadcast_one(x: Any, root: int, out: Any, group: Group, name: str = "") -> Any:
    """Broadcast one array; errors call it ``name``."""
    dtype = _dtype(x, "broadcast")
    _check_out("broadcast", x, out, tuple(x.shape))
    if group.size == 1:
        return _copied(x, out)
    shape = tuple(x.shape)
    collective = Collective("broadcast", dtype, shape, math.prod(shape), root=root, name=name)

    def gradient(dy: Tensor) -> Any:
        total = all_reduce_one(dy, "sum", None, group)
        return total if group.rank == root else F.mul(total, 0.0)

    return _run(x, collective, group, tuple(x.shape), gradient, out)


def all_gather(x: Any, group: Group | None = None) -> Any:
    """Concatenate the arrays of all ranks along the first axis.

    Parameters
    ----------
    x : array or tree of arrays, (N, ...)
        Any dtype. Shapes must be equal on all ranks. A 0-d array counts as one element.
    group : Group, optional

    Returns
    -------
    array or tree of arrays, (size * N, ...)

    Raises
    ------
    MismatchError, RuntimeError
        As for ``all_reduce``.

    Notes
    -----
    The gradient is a ``reduce_scatter``: each rank gets the sum for its part.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> sycl_dnn.distributed.all_gather(dpnp.arange(2)).tolist()
    [0, 1]
    """
    group = chosen(group)
    return each(lambda leaf, _: _all_gather(leaf, group), x)


def _all_gather(x: Any, group: Group) -> Any:
    dtype = _dtype(x, "all_gather")
    x = x if x.shape else x.reshape(1)
    if group.size == 1:
        return _copied(x)
    shape = (x.shape[0] * group.size, *x.shape[1:])
    collective = Collective("all_gather", dtype, tuple(x.shape), math.prod(shape))
    return _run(x, collective, group, shape, lambda dy: reduce_scatter_one(dy, "sum", group))


def reduce_scatter(x: Any, op: str = "sum", group: Group | None = None) -> Any:
    """Reduce over the ranks; each rank gets its part of the result.

    Parameters
    ----------
    x : array or tree of arrays, (size * N, ...)
        As for ``all_reduce``; the first axis is split among the ranks.
    op : {"sum", "mean", "max", "min", "prod"}
    group : Group, optional

    Returns
    -------
    array or tree of arrays, (N, ...)

    Raises
    ------
    MismatchError, RuntimeError, TypeError
        As for ``all_reduce``.
    ValueError
        The first axis is not divisible by the number of ranks, or ``op`` is invalid.

    Notes
    -----
    The gradient of a sum is an ``all_gather`` of the gradients.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> sycl_dnn.distributed.reduce_scatter(dpnp.ones(2)).tolist()
    [1.0, 1.0]
    """
    group = chosen(group)
    return each(lambda leaf, _: reduce_scatter_one(leaf, op, group), x)


def _check_divisible(function: str, x: Any, group: Group) -> None:
    if not x.shape or x.shape[0] % group.size:
        raise ValueError(
            f"{function}: the first axis of x must be divisible by {group.size} ranks, got shape "
            f"{tuple(x.shape)}"
        )


def reduce_scatter_one(x: Any, op: str, group: Group, of: str = "") -> Any:
    """Reduce and split one array; comparisons with other ranks include what it is."""
    dtype = _dtype(x, "reduce_scatter")
    _check_op("reduce_scatter", op, dtype)
    _check_divisible("reduce_scatter", x, group)
    if group.size == 1:
        return _copied(x)
    shape = (x.shape[0] // group.size, *x.shape[1:])
    back = lambda dy: _all_gather(dy, group)  # noqa: E731
    return _reduced("reduce_scatter", x, dtype, op, shape, group, back, None, of)


def all_to_all(x: Any, group: Group | None = None) -> Any:
    """Exchange parts: rank ``i`` receives part ``i`` of every rank, in rank order.

    Parameters
    ----------
    x : array or tree of arrays, (size * N, ...)
        Any dtype. Shapes must be equal on all ranks. Part ``i`` of the first axis is sent to rank
        ``i``.
    group : Group, optional

    Returns
    -------
    array or tree of arrays, (size * N, ...)

    Raises
    ------
    MismatchError, RuntimeError
        As for ``all_reduce``.
    ValueError
        The first axis is not divisible by the number of ranks.

    Notes
    -----
    The gradient is the reverse exchange.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> sycl_dnn.distributed.all_to_all(dpnp.arange(2)).tolist()
    [0, 1]
    """
    group = chosen(group)
    return each(lambda leaf, _: _all_to_all(leaf, group), x)


def _all_to_all(x: Any, group: Group) -> Any:
    dtype = _dtype(x, "all_to_all")
    _check_divisible("all_to_all", x, group)
    if group.size == 1:
        return _copied(x)
    collective = Collective("all_to_all", dtype, tuple(x.shape), x.size)
    return _run(x, collective, group, tuple(x.shape), lambda dy: _all_to_all(dy, group))
