# SPDX-License-Identifier: Apache-2.0
"""Run a call on a device, its forward call first where it needs one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sycl_dnn.errors import DnnlError, OneDnnFaultWarning
from sycl_dnn.verify import attributes, inputs
from sycl_dnn.verify.call import Call, describe
from sycl_dnn.verify.errors import Failure, Refusal
from sycl_dnn.verify.execution import Execution
from sycl_dnn.verify.inputs import Arrays, Filler


@dataclass
class Run:
    """What one execution left behind."""

    impl: str
    inputs: Arrays
    outputs: Arrays
    problems: dict[str, str] = field(default_factory=dict)
    buffers: dict[str, Any] = field(default_factory=dict)
    warned: tuple[str, ...] = ()

    def dtype(self, name: str) -> str:
        """Return the data type that an output really has."""
        return self.buffers[name].desc.data_type.name


def _described(call: Call, engine: Any, hint: Any = None) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OneDnnFaultWarning)
        pd = describe(call, engine, hint, attributes.build(call))
    _take_allowed(pd, call)
    texts = (str(w.message) for w in caught if issubclass(w.category, OneDnnFaultWarning))
    return pd, tuple(texts)


def _take_allowed(pd: Any, call: Call) -> None:
    """Go on to the first implementation that the case allows."""
    names = []
    while not call.attr.allows(pd.impl_info):
        names.append(pd.impl_info)
        if not pd.next_impl():
            raise Refusal(f"--impl and --skip-impl must leave one of {', '.join(names)}")


def prepare(call: Call, engine: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the descriptor, that of the forward call (or None), and warnings of known faults."""
    hint = None if call.forward is None else _described(call.forward, engine)[0]
    pd, warned = _described(call, engine, hint)
    return pd, hint, warned


def _from_forward(
    forward: Call, read: Iterable[str], pd: Any, hint: Any, stream: Any, key: str, filler: Filler
) -> tuple[Arrays, dict[str, Any]]:
    """Return what a backward run, which reads ``read``, has from the forward one.

    That is values, and the workspace by argument.
    """
    if pd.workspace_desc.is_zero:
        needed = not inputs.forward_outputs(forward).isdisjoint(read)
        return (inputs.referenced(forward, key, filler) if needed else {}), {}
    execution = Execution(forward, hint, stream, key, filler)
    execution.run({})
    outputs, _ = execution.results()
    return execution.arrays | outputs, {"workspace": execution.args["workspace"]}


def run(call: Call, stream: Any, key: str, filler: Filler) -> Run:
    """Run a call once, its forward call first where it needs a workspace.

    Raises
    ------
    sycl_dnn.errors.DnnlError
        What the low level raises, while describing or executing.
    """
    pd, hint, warned = prepare(call, stream.engine)
    arrays: Arrays = {}
    given: dict[str, Any] = {}
    if call.forward is not None:
        before = call.forward
        arrays, given = _from_forward(before, call.tensors, pd, hint, stream, key, filler)
    execution = Execution(call, pd, stream, key, filler)
    execution.arrays |= arrays
    try:
        execution.run(given)
    except DnnlError as error:
        raise Failure(f"execution: {error.args[0]}", pd.impl_info) from error
    outputs, problems = execution.results()
    done = Run(pd.impl_info, execution.arrays, outputs, problems, execution.buffers, warned)
    if call.attr.dropout is not None:
        mask = outputs.get("attr_dropout_mask", outputs["dst"])
        done.inputs["dropped_mask"] = (mask != 0).astype(np.float64)
    return done
