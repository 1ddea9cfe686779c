# SPDX-License-Identifier: Apache-2.0
"""Several element-wise steps in one pass over memory: a binary primitive with post-ops."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn import _core, errors
from sycl_dnn._core import algorithm
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.broadcasting import untaped
from sycl_dnn.dispatch.record import Entry, NeedsAnotherDevice, Out
from sycl_dnn.dispatch.tensor import Tensor

ABS = (algorithm.eltwise_abs,)
EXP = (algorithm.eltwise_exp,)
LOG = (algorithm.eltwise_log,)
RELU = (algorithm.eltwise_relu,)
SQUARE = (algorithm.eltwise_square,)
TANH = (algorithm.eltwise_tanh,)
LARGEST = 3.4028234663852886e38
#: Multiplied twice, it takes the smallest float32 beyond 1.
_HUGE = (algorithm.eltwise_linear, 1e30, 0.0)


def scale(by: float, shift: float = 0.0) -> tuple[Any, ...]:
    """Return the step ``by * v + shift``."""
    return (algorithm.eltwise_linear, float(by), float(shift))


def clip(low: float, high: float) -> tuple[Any, ...]:
    """Return the step that bounds values."""
    return (algorithm.eltwise_clip_v2, float(low), float(high))


def power(exponent: float) -> tuple[Any, ...]:
    """Return the step ``v ** exponent``."""
    return (algorithm.eltwise_pow, 1.0, float(exponent))


def plus(tensor: Tensor) -> tuple[Any, ...]:
    """Return the step that adds a tensor."""
    return (algorithm.binary_add, tensor)


def minus(tensor: Tensor) -> tuple[Any, ...]:
    """Return the step that subtracts a tensor."""
    return (algorithm.binary_sub, tensor)


def times(tensor: Tensor) -> tuple[Any, ...]:
    """Return the step that multiplies by a tensor."""
    return (algorithm.binary_mul, tensor)


#: -1, 0 or 1; NaN gives -1.
SIGN = (_HUGE, _HUGE, clip(-1.0, 1.0))
#: 1 where the value is positive, else 0.
IS_POSITIVE = (_HUGE, _HUGE, clip(0.0, 1.0))


def rectified(x: Tensor) -> tuple[Any, ...]:
    """Return the step ``max(v, 0)`` for where ``x`` is.

    oneDNN's own multiplies negative values by its slope of 0 on GPUs: NaN for minus infinity.
    """
    on_gpu = x.trace.engine.kind is _core.engine_kind.gpu
    return clip(0.0, math.inf) if on_gpu else RELU


def _post_ops(
    a: Tensor, steps: tuple[tuple[Any, ...], ...], inputs: dict[str, Tensor]
) -> _core.PrimitiveAttr:
    """Return the attribute of ``steps``, and put their operands among the inputs."""
    post_ops = _core.PostOps()
    for index, (step, *rest) in enumerate(steps):
        if rest and isinstance(rest[0], Tensor):
            operand = _alike(rest[0], a)
            post_ops.append_binary(step, operand.desc)
            inputs[f"attr_post_op_{index}_src_1"] = operand
        else:
            post_ops.append_eltwise(step, *rest)
    attr = _core.PrimitiveAttr()
    attr.set_post_ops(post_ops)
    return attr


def fused(
    kind: algorithm, a: Tensor, b: Tensor, *steps: tuple[Any, ...], dtype: str | None = None
) -> Tensor:
    """Return ``a kind b`` after ``steps``, rounded once, in the layout and shape of ``a``.

    A step is an element-wise algorithm with its alpha and beta, or a binary algorithm with its
    right operand. Tensors have the rank of ``a`` and broadcast to it.
    """
    inputs = {"src_0": a, "src_1": b}
    with untaped(a.trace):
        attr = _post_ops(a, steps, inputs)
        ask = {"src_0": a, "src_1": a if b.shape == a.shape else b}
        made = _binary(a, inputs, ask, attr, kind, dtype)
    return _taped("fused", {"src_0": a, "src_1": b}, made, steps, algorithm=kind)


def _taped(
    row: str, inputs: dict[str, Tensor], made: Tensor, steps: tuple[Any, ...], **params: Any
) -> Tensor:
    operands = {str(i): s[1] for i, s in enumerate(steps) if _is_binary(s)}
    params["steps"] = steps
    made.trace.tape.append(Entry(row, {**inputs, **operands}, {"dst": made}, params))
    return made


def _is_binary(step: tuple[Any, ...]) -> bool:
    return len(step) == 2 and isinstance(step[1], Tensor)


def _binary(
    a: Tensor,
    inputs: dict[str, Tensor],
    ask: dict[str, Tensor],
    attr: _core.PrimitiveAttr,
    kind: algorithm,
    dtype: str | None = None,
) -> Tensor:
    out = Out(a.shape, dtype or a.dtype, a)
    try:
        made = a.trace.primitive("binary", inputs, {"dst": out}, ask=ask, attr=attr, algorithm=kind)
    except errors.InvalidArguments as refusal:
        if a.dtype != "float64":
            raise
        # What an engine that lacks float64 says of steps after it.
        lack = errors.Unimplemented(Exception.__str__(refusal))
        raise NeedsAnotherDevice("binary", lack) from None
    return made["dst"]


def chain(x: Tensor, *steps: tuple[Any, ...], dtype: str | None = None) -> Tensor:
    """Return ``x`` after ``steps``, see ``fused``."""
    # A maximum with itself: oneDNN's element-wise primitives take no post-ops that are fast.
    return fused(algorithm.binary_max, x, x, *steps, dtype=dtype)


def choose(condition: Tensor, yes: Tensor, no: Tensor, *steps: tuple[Any, ...]) -> Tensor:
    """Return ``yes`` where the int8 ``condition`` is not 0, else ``no``, after ``steps``.

    ``no`` broadcasts to the shape of the others.
    """
    given = {"src_0": yes, "src_1": no, "src_2": condition}
    inputs = dict(given)
    with untaped(yes.trace):
        attr = _post_ops(yes, steps, inputs)
        ask = {"src_0": yes, "src_1": yes if no.shape == yes.shape else no, "src_2": yes}
        made = _binary(yes, inputs, ask, attr, algorithm.binary_select)
    return _taped("chosen", given, made, steps)


def _alike(tensor: Tensor, a: Tensor) -> Tensor:
    """Return a post-op's operand in the layout of ``a``, in a dtype that every engine takes."""
    dtype = "float32" if tensor.dtype == "float16" else tensor.dtype
    like = a if tensor.shape == a.shape else tensor
    wanted = layout.like(like.desc, dtype)
    return tensor if tensor.desc == wanted else tensor.trace.reorder(tensor, wanted)


def slope(kind: algorithm, x: Tensor, dy: Tensor, alpha: float = 0.0, beta: float = 0.0) -> Tensor:
    """Return ``dy`` times the derivative of an element-wise function at ``x``."""
    desc = layout.like(x.desc, x.dtype)
    given: dict[str, Any] = {"algorithm": kind, "alpha": alpha, "beta": beta}
    training = _core.prop_kind.forward_training
    try:
        forward = _core.eltwise_forward(
            x.trace.engine, prop_kind=training, src=desc, dst=desc, attr=None, **given
        )
    except errors.Unimplemented:
        if x.dtype in ("float32", "float64"):
            raise
        wide, wide_dy = (x.trace.convert(t, "float32") for t in (x, dy))
        return x.trace.convert(slope(kind, wide, wide_dy, alpha, beta), x.dtype)
    made = x.trace.primitive(
        "eltwise_backward",
        {"src": x, "diff_dst": dy},
        {"diff_src": Out(x.shape, x.dtype, x)},
        ask={"src": x, "diff_dst": x},
        data=desc,
        hint_fwd_pd=forward,
        **given,
    )
    return made["diff_src"]
