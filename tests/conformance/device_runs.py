# SPDX-License-Identifier: Apache-2.0
"""A call run on a device, first its forward call if it needs one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance import expected_results
from sycl_dnn.errors import DnnlError
from sycl_dnn.tools.cases.call import Call
from sycl_dnn.tools.cases.data import Arrays
from sycl_dnn.tools.cases.execution import Execution, from_forward, prepare


class Failure(Exception):
    """oneDNN created a primitive and then refused to execute it.

    impl : name of the implementation
    """

    def __init__(self, text: str, impl: str) -> None:
        super().__init__(text)
        self.impl = impl


@dataclass
class Run:
    """The results of one execution."""

    impl: str
    inputs: Arrays
    outputs: Arrays
    problems: dict[str, str] = field(default_factory=dict)
    buffers: dict[str, Any] = field(default_factory=dict)
    warned: tuple[str, ...] = ()

    def dtype(self, name: str) -> str:
        """Return the actual data type of an output."""
        return self.buffers[name].desc.data_type.name


def _from_forward(
    forward: Call, read: Iterable[str], pd: Any, hint: Any, stream: Any, key: str
) -> tuple[Arrays, dict[str, Any]]:
    """Return the outputs of the forward run that a backward run, which reads ``read``, needs.

    That is values, and the workspace, by argument.
    """
    if pd.workspace_desc.is_zero:
        needed = not expected_results.forward_outputs(forward).isdisjoint(read)
        return (expected_results.referenced(forward, key) if needed else {}), {}
    return from_forward(forward, hint, stream, key)


def run(call: Call, stream: Any, key: str) -> Run:
    """Run a call once, after its forward call if it needs a workspace.

    Raises
    ------
    sycl_dnn.errors.DnnlError
        As raised by the low level while describing or executing.
    """
    pd, hint, warned = prepare(call, stream.engine)
    arrays: Arrays = {}
    workspace: dict[str, Any] = {}
    if call.forward is not None:
        before = call.forward
        arrays, workspace = _from_forward(before, call.tensors, pd, hint, stream, key)
    execution = Execution(call, pd, stream, key)
    execution.arrays |= arrays
    try:
        execution.run(workspace)
    except DnnlError as error:
        raise Failure(f"execution: {error.args[0]}", pd.impl_info) from error
    outputs, problems = execution.results()
    done = Run(pd.impl_info, execution.arrays, outputs, problems, execution.buffers, warned)
    if call.attr.dropout is not None:
        mask = outputs.get("attr_dropout_mask", outputs["dst"])
        done.inputs["dropped_mask"] = (mask != 0).astype(np.float64)
    return done
