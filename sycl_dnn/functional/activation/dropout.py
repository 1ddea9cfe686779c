# SPDX-License-Identifier: Apache-2.0
"""Dropout and the sequence of random seeds; a new seed does not retrace."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.elementwise import check_float, written_over
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast, where
from sycl_dnn.ops.random_bits import trials
from sycl_dnn.trace.captured_inputs import of_this_call
from sycl_dnn.trace.frozen import Seed
from sycl_dnn.trace.pointwise import linear_map
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.torch_methods import is_torch, overwritten
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor

_SEEDS = 2**63
_DRAWN_ONCE = (
    "a function given to compile or plan would draw the random numbers of this call only once, "
    "since it captures all arrays of the call; pass one of them as an argument"
)
_lock = threading.Lock()
_generator = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """Seed the random number generator.

    Parameters
    ----------
    seed : int
        Nonnegative. If this function is never called, the initial seed is random.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> sycl_dnn.manual_seed(0)
    >>> first = F.randn(3)
    >>> sycl_dnn.manual_seed(0)
    >>> bool((F.randn(3) == first).all())
    True
    """
    global _generator
    result = np.random.default_rng(seed)
    with _lock:
        _generator = result


def get_rng_state() -> str:
    """Return the state of the random number generator, as a string that ``sycl_dnn.save`` accepts.

    Notes
    -----
    Source: ``torch.get_rng_state``, which returns bytes.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> state = sycl_dnn.get_rng_state()
    >>> first = F.randn(3)
    >>> sycl_dnn.set_rng_state(state)
    >>> bool((F.randn(3) == first).all())
    True
    """
    with _lock:
        return json.dumps(_generator.bit_generator.state)


def set_rng_state(state: str) -> None:
    """Restore a state returned by ``get_rng_state``.

    Parameters
    ----------
    state : str

    Raises
    ------
    ValueError
        ``state`` is not such a string.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> state = sycl_dnn.get_rng_state()
    >>> first = F.randn(3)
    >>> sycl_dnn.set_rng_state(state)
    >>> bool((F.randn(3) == first).all())
    True
    """
    global _generator
    result = np.random.default_rng(0)
    try:
        result.bit_generator.state = json.loads(state)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ValueError(
            f"set_rng_state: state must be a string from get_rng_state, got {state!r:.60} ({error})"
        ) from None
    with _lock:
        _generator = result


def next_seed() -> int:
    """Return the next seed of the sequence."""
    with _lock:
        return int(_generator.integers(_SEEDS))


class NextSeed(Seed):
    """A placeholder in a plan for the next seed, drawn anew on every call."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0)

    def drawn(self, numbers: Sequence[float] = ()) -> Seed:
        """Return the next seed of the sequence.

        Raises NeedsArrays if a function is being traced for compile or plan: all calls would have
        the same numbers.
        """
        trace = running_trace()
        if trace is not None and not hasattr(trace, "evaluated"):  # one that runs on each call
            raise NeedsArrays(_DRAWN_ONCE)
        return Seed(next_seed())


def _dropped(x: Tensor, p: float, seed: Tensor) -> Tensor:
    # oneDNN's own dropout keeps or drops groups of four neighboring elements together.
    wide = dtypes.wide(x.dtype)

    def masked(node: Node, seed: Node) -> Node:
        scaled = cast(node, wide) * (1 / (1 - p))
        return cast(where(trials(seed, x.shape, 1 - p), scaled, scaled * 0), x.dtype)

    return computed(masked, x, seed)


@operation
def _dropout(input: Tensor, seed: Tensor, p: float) -> Tensor:
    check_float("dropout", input=input)
    if p in (0, 1) or not input.size:
        return linear_map(input, 1.0 - p)
    return _dropped(input, p, seed)


def seed_of(name: str, seed: Any, is_traced: bool) -> Any:
    """Return the seed passed to a call, or the next one of the sequence."""
    if seed is None:
        # A trace keeps the object, which is evaluated in every call.
        return NextSeed() if is_traced else Seed(next_seed())
    if isinstance(seed, (Seed, Tensor)):
        return seed
    try:
        number = int(np.asarray(seed).astype(np.int64, casting="safe"))
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name}: seed must be an int64, got {seed!r}") from None
    return Seed(number)


def dropped(
    name: str, body: Any, input: Any, p: float, training: bool, inplace: bool, seed: Any, out: Any
) -> Any:
    """Call ``body(input, seed, p)`` with the arguments that all dropout functions share."""
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p must be in [0, 1], got {p}")
    if p and training:
        input = of_this_call(input)
    is_traced = isinstance(input, Tensor)
    p = float(p) if training else 0.0
    is_identity = p == 0 and out is None
    is_overwritten = inplace and (is_traced or is_torch())
    if is_identity:
        return input
    if is_overwritten:
        return overwritten(input, name, body(input, seed_of(name, seed, is_traced), p))
    call = functools.partial(body, input, seed_of(name, seed, is_traced), p)
    if inplace:
        return written_over(input, call)
    return call() if out is None else call(out=out)


def dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    seed: int | Seed | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Zero elements at random with probability ``p``; scale the others by ``1 / (1 - p)``.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*)
        float32, bfloat16 or float16; float64 if the device supports it.
    p : float
        Between 0 and 1.
    training : bool
        If False, the input itself is returned, as for ``p=0``.
    inplace : bool
        Write the result into ``input`` and return it. In a traced function the input, and tensors
        that share its memory, stand for the result from then on.
    seed : int or Seed, optional
        The same seed drops the same elements if shapes are equal, on every device. A new seed does
        not retrace; in ``vjp``, pass ``sycl_dnn.Seed(number)`` to achieve that. By default every
        call draws the next seed of the generator that ``manual_seed`` seeds.
    out : dpnp.ndarray or Array, optional
        Overwritten and returned; shape and dtype of the input.

    Returns
    -------
    dpnp.ndarray or Array (*)
        Shape, dtype and axis order of the input.

    Raises
    ------
    TypeError
        The dtype is not floating point, or ``seed`` is not an integer.
    ValueError
        ``p`` is not in [0, 1].

    Notes
    -----
    Random numbers are functions of the seed and of the place of an element, which kernels compute
    where they are needed. oneDNN's dropout attribute is not used, because on CPUs it drops elements
    in groups of four.

    Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
    2014.
    """
    return dropped("dropout", _dropout, input, p, training, inplace, seed, out)
