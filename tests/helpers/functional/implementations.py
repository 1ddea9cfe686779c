# SPDX-License-Identifier: Apache-2.0
"""oneDNN implementations that a function and its gradient run."""

from __future__ import annotations

from typing import Any

from functional.case import Case
from functional.on_device import device_arguments

from sycl_dnn.call.arguments import traced
from sycl_dnn.onednn import get_effective_cpu_isa
from sycl_dnn.program.place import place_of
from sycl_dnn.program.segments import live_steps
from sycl_dnn.trace.gradients import propagate
from sycl_dnn.trace.nested_arguments import arguments_of
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Step, is_kernel

#: Rows whose reference implementations are composed of fast products and copies.
FAST = ("lstm", "gru", "lbr_gru", "vanilla_rnn", "concat")
#: Instruction set -> rows of which it has only the reference for some cases: select, images of one
#: channel beside channels-last ones, groups of channels-last ones.
LACKS = {"sse41": ("binary", "convolution", "group_normalization")}
#: Likewise if bfloat16 is computed in float32, with an unsupported mask as post-op.
LACKS_OF_BFLOAT16 = {"sse41": ("matmul",)}


def implementations(case: Case, queue: Any, training: bool = True) -> list[tuple[str, str]]:
    """Return row and implementation of every primitive that the case runs."""
    place, _ = place_of(queue)
    trace = Trace(place.engine, training=training)
    provided = list(device_arguments(case, queue))
    args, kwargs = traced(trace, provided, case.kwargs)
    body = case.function.operation.body
    results, _ = arguments_of(body(*args, **kwargs))
    expected = [t.storage for t in results]
    if training:
        floats = [t for t in results if t.is_float]
        seeds = {id(t): trace.argument(t.shape, t.dtype, t.strides) for t in floats}
        leaves = [t for t in arguments_of(args_only(args))[0] if t.is_float]
        found = propagate(trace, list(trace.tape), seeds, leaves)
        expected += [t.storage for t in found if t is not None]
    return [
        (s.primitive.name, s.primitive.primitive_desc.impl_info)
        for s in live_steps(trace.steps, expected)
        if isinstance(s, Step)
        and not (s.primitive is None or is_kernel(s.primitive))
        and _has_work(s)
    ]


def _has_work(step: Step) -> bool:
    return all(t.size for t in (*step.inputs.values(), *step.outputs.values()))


def args_only(values: Any) -> Any:
    """Return nested arguments with None in place of everything that is not a tensor."""
    from sycl_dnn.trace.values import Tensor

    if isinstance(values, (list, tuple)):
        return [args_only(v) for v in values]
    return values if isinstance(values, Tensor) else None


def assert_no_reference(case: Case, queue: Any) -> None:
    """Fail if inference, training or the gradient runs a reference implementation."""
    isa = get_effective_cpu_isa().name
    expected = (*FAST, *LACKS.get(isa, ()))
    if case.dtype == "bfloat16":
        expected += LACKS_OF_BFLOAT16.get(isa, ())
    for training in (False, True) if case.has_gradient else (False,):
        slow = [
            (row, name)
            for row, name in implementations(case, queue, training)
            if not row.startswith(expected)
            and any(part.startswith("ref") for part in name.replace("+", ":").split(":"))
        ]
        assert not slow, f"{case}: reference implementations: {slow}"
