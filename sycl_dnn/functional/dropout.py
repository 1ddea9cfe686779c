# SPDX-License-Identifier: Apache-2.0
"""dropout: oneDNN's attribute of that name, with seeds that cost no new trace."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from sycl_dnn._core import PrimitiveAttr, algorithm, data_type
from sycl_dnn.dispatch.arguments import Seed
from sycl_dnn.dispatch.broadcasting import axis_order, grid, laid_out
from sycl_dnn.dispatch.fused import fused, scale
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.pointwise import shown
from sycl_dnn.dispatch.primitives import linear_map
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Out
from sycl_dnn.functional.pointwise import check_float, refuse_inplace

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["dropout", "manual_seed"]

_SEEDS = 2**63
_lock = threading.Lock()
_generator = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """Start the sequence of seeds that ``dropout`` takes where it is given none.

    Parameters
    ----------
    seed : int
        Not negative. Without this function the sequence starts anywhere.
    """
    global _generator
    made = np.random.default_rng(seed)
    with _lock:
        _generator = made


def _next_seed() -> int:
    with _lock:
        return int(_generator.integers(_SEEDS))


class NextSeed(Seed):
    """A seed drawn anew for every call of a plan that holds it."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0)

    def bytes(self) -> bytes:
        """Return the next seed of the sequence."""
        return np.int64(_next_seed()).tobytes()


def _primitive(x: Tensor, p: float, seed: Tensor, mask: Out | None) -> dict[str, Tensor]:
    """Record dropout of (1, N): oneDNN has it for two to five axes only."""
    attr = PrimitiveAttr()
    desc = None if mask is None else mask.desc()
    attr.set_dropout(desc, data_type.s64, use_offset=False, use_host_scalars=True)
    outputs = {"dst": Out(x.shape, x.dtype)}
    if mask is not None:
        outputs["attr_dropout_mask"] = mask
    probability = x.trace.capture(Seed(p, "float32"))
    return x.trace.primitive(
        "eltwise_forward",
        {"src": x, "attr_dropout_probability": probability, "attr_dropout_seed": seed},
        outputs,
        attr=attr,
        prop_kind=x.trace.forward_kind,
        algorithm=algorithm.eltwise_linear,
        alpha=1.0,
        beta=0.0,
    )


def _dropped(x: Tensor, p: float, seed: Tensor) -> Tensor:
    shape, order = x.shape, axis_order(x, x.ndim)
    sizes = (1, x.size)
    masks: list[Tensor] = []

    def row(tensor: Tensor) -> Tensor:
        return grid(laid_out(tensor, order), sizes)

    def value() -> Tensor:
        made = _primitive(row(x), p, seed, Out(sizes, "uint8") if x.trace.training else None)
        masks[:] = [made["attr_dropout_mask"]] if x.trace.training else []
        return shown(made["dst"], shape, order, x.dtype)

    def gradient(dy: Tensor) -> dict[str, Tensor]:
        made = fused(algorithm.binary_mul, row(dy), masks[0], scale(1 / (1 - p)))
        return {"x": shown(made, shape, order, x.dtype)}

    return x.trace.closed({"x": x}, value, gradient)


@operation
def _dropout(input: Tensor, seed: Tensor, p: float) -> Tensor:
    check_float("dropout", input=input)
    if p in (0, 1) or not input.size:
        return linear_map(input, 1.0 - p)
    return _dropped(input, p, seed)


def _seed_of(seed: Any, is_traced: bool) -> Any:
    if seed is None:
        # A trace keeps the object and asks it at every call.
        return NextSeed() if is_traced else Seed(_next_seed())
    if isinstance(seed, (Seed, Tensor)):
        return seed
    try:
        number = int(np.asarray(seed).astype(np.int64, casting="safe"))
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"dropout: seed must be an int64, got {seed!r}") from None
    return Seed(number)


def dropout(
    input: dpnp.ndarray | Array,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    seed: int | Seed | None = None,
    out: dpnp.ndarray | Array | None = None,
) -> dpnp.ndarray | Array:
    """Set elements to zero at random, each with probability ``p``; divide the others by ``1 - p``.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*)
        float32, bfloat16 or float16, float64 where the device has it.
    p : float
        0 to 1.
    training : bool
        Otherwise the input itself is returned, as with ``p=0``.
    inplace : bool
        Write the result into ``input`` and return that. Not in traced functions.
    seed : int or Seed, optional
        The same seed drops the same elements of equal shapes and layouts. A new one costs no new
        trace; for that in ``vjp``, give ``sycl_dnn.dispatch.arguments.Seed(number)``. Without it
        every call takes the next seed of a sequence, which ``manual_seed`` starts.
    out : dpnp.ndarray or Array, optional
        Written and returned; shape and dtype of the input.

    Returns
    -------
    dpnp.ndarray or Array (*)
        Shape, dtype and order of axes of the input.

    Raises
    ------
    TypeError
        The dtype is not floating-point, or ``seed`` no integer.
    ValueError
        ``p`` is not in [0, 1].

    Notes
    -----
    On CPUs oneDNN has a plain loop for this, at the speed of torch.

    Source: oneDNN developer guide, "Primitive Attributes: dropout"; Srivastava et al., "Dropout: A
    Simple Way to Prevent Neural Networks from Overfitting", 2014.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p must be in [0, 1], got {p}")
    is_traced = isinstance(input, Tensor)
    if is_traced:
        refuse_inplace("dropout", inplace)
    p = float(p) if training else 0.0
    if p == 0 and out is None:
        return input
    target = input if inplace else out
    given = {} if target is None else {"out": target}
    return _dropout(input, _seed_of(seed, is_traced), p, **given)
