# SPDX-License-Identifier: Apache-2.0
"""Execution of a call: memories are created and filled, passed by name, and read back."""

from __future__ import annotations

import warnings
from typing import Any

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import OneDnnFaultWarning
from sycl_dnn.onednn.memory import Memory
from sycl_dnn.tools.cases import call as extra
from sycl_dnn.tools.cases import data, storage
from sycl_dnn.tools.cases.call import Call, Tensor, describe
from sycl_dnn.tools.cases.data import Arrays
from sycl_dnn.tools.cases.driver import Refusal
from sycl_dnn.tools.cases.drivers import DRIVERS


def memory(values: np.ndarray, tensor: Tensor, desc: Any, stream: Any) -> Any:
    """Return the Memory of a matrix in CSR (values, columns, row starts) or COO."""
    rows, columns = np.nonzero(values)
    codes = storage.encode(values[rows, columns], tensor.dtype)
    if tensor.encoding == "csr":
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=tensor.dims[0]))])
        parts = [codes, columns.astype(np.int32), starts.astype(np.int32)]
    else:
        parts = [codes, rows.astype(np.int32), columns.astype(np.int32)]
    arrays = [dpnp.asarray(part, sycl_queue=stream.sycl_queue) for part in parts]
    return dnnl.Memory(desc, stream.engine, arrays)


# --- One execution


def drawn(call: Call, name: str, tensor: Tensor, key: str) -> np.ndarray:
    """Return the values of an input, rounded to its type; ``key`` seeds random ones."""
    rng = data.generator(key, name)
    filler: Any = data.attribute_values if name.startswith("attr_") else DRIVERS[call.driver].fill
    values = filler(call, name, tensor, rng)
    if values is None:
        values = data.around(tensor.dtype, 4) if name == "old_dst" else data.usual(tensor.dtype)
    if isinstance(values, data.Fill):
        values = values.draw(rng, tensor.dims)
    return storage.rounded(values, tensor.dtype)


class Execution:
    """An execution in preparation."""

    def __init__(self, call: Call, pd: Any, stream: Any, key: str) -> None:
        self.call, self.pd, self.stream, self.key = call, pd, stream, key
        self.primitive = dnnl.Primitive(pd)
        self.extra = extra.extra_tensors(call)
        self.arrays: Arrays = {}
        self.args: dict[str, Any] = {}
        self.buffers: dict[str, storage.Buffer] = {}

    def tensor(self, name: str) -> Tensor | None:
        """Return the case's specification of an argument."""
        return self.call.tensors.get(name) or self.extra.get(name)

    def values(self, name: str, tensor: Tensor) -> np.ndarray:
        """Return (and cache) an input's values, rounded to its type."""
        if name == "attr_precomputed_reductions_src":
            self.arrays[name] = data.reduced(self.arrays["src"], tensor.dims)
        if name not in self.arrays:
            self.arrays[name] = drawn(self.call, name, tensor, self.key)
        return self.arrays[name]

    def _desc(self, slot: dict, tensor: Tensor) -> Any:
        desc = slot.get("desc")
        if desc is None or desc.is_zero:
            return tensor.concrete()
        is_fixed = desc.format_kind is not dnnl.format_kind.any
        runtime = dnnl.RUNTIME_DIM_VAL in desc.dims
        return tensor.concrete() if runtime or not is_fixed else desc

    def add_input(self, name: str, slot: dict) -> None:
        """Create and fill the memory of an input."""
        tensor = self.tensor(name)
        if tensor is None:
            self.args[name] = self._number(name, slot)
            return
        values = self.values(name, tensor)
        if self._on_host(name):
            scalar = dnnl.MemoryDesc.host_scalar(dnnl.data_type[tensor.dtype])
            self.args[name] = Memory(scalar, float(values.reshape(-1)[0]))
        elif tensor.encoding in ("csr", "coo"):
            self.args[name] = memory(values, tensor, slot["desc"], self.stream)
        else:
            desc = self._desc(slot, tensor)
            values = values.reshape(desc.dims)
            if tensor.encoding == "packed":
                self.args[name] = storage.packed(values, desc, self.stream)
            else:
                self._keep(name, storage.write(values, desc, self.stream))

    def _keep(self, name: str, buffer: storage.Buffer) -> None:
        self.buffers[name], self.args[name] = buffer, buffer.memory

    def _on_host(self, name: str) -> bool:
        for kind, quantities in (
            ("scales", self.call.attr.scales),
            ("zero_points", self.call.attr.zero_points),
        ):
            for q in quantities:
                is_this = f"attr_{kind}_{extra.argument(self.call, q.arg)}" == name
                if is_this and q.policy == "host_scalar":
                    return True
        return False

    def _number(self, name: str, slot: dict) -> Any:
        """Return the memory of a seed, offset or probability."""
        dropout = self.call.attr.dropout
        values: dict[str, float] = {"attr_rounding_seed": 7}
        if dropout is not None:
            values |= {"attr_dropout_probability": dropout.p, "attr_dropout_seed": dropout.seed}
            values["attr_dropout_offset"] = dropout.offset or 0
        value = values[name]
        if dropout is not None and dropout.host and name != "attr_rounding_seed":
            return Memory(dnnl.MemoryDesc.host_scalar(slot["data_type"]), value)
        desc = dnnl.MemoryDesc((1,), slot["data_type"])
        raw = storage.encode(np.array([value]), slot["data_type"].name)
        return storage.Buffer(desc, self.stream, raw.view(np.uint8)).memory

    def add_output(self, name: str, slot: dict) -> None:
        """Create the memory of an output, filled with a pattern or initial values."""
        tensor = self.tensor(name)
        if self.call.inplace and name in ("dst", "diff_src") and self._share(name, slot):
            return
        desc = slot["desc"] if tensor is None else self._desc(slot, tensor)
        start = self._start(name, desc)
        if start is not None:
            self._keep(name, storage.write(start, desc, self.stream))
        else:
            self._keep(name, storage.Buffer(desc, self.stream))

    def _start(self, name: str, desc: Any) -> np.ndarray | None:
        """Return the initial values of an output, if it is accumulated into."""
        if name == "dst" and data.needs_old_dst(self.call):
            tensor = Tensor(desc.dims, desc.data_type.name)
            self.arrays["old_dst"] = drawn(self.call, "old_dst", tensor, self.key)
            return self.arrays["old_dst"]
        if name.startswith("diff_") and self.call.facts.get("accumulates", lambda n: False)(name):
            return np.zeros(desc.dims)
        return None

    def _share(self, name: str, slot: dict) -> bool:
        """Make the output share the memory of the first input if their layouts are equal."""
        first = "diff_dst" if name == "diff_src" else _first_source(self.buffers)
        source = self.buffers.get(first)
        if source is None or source.desc != slot["desc"]:
            return False
        self._keep(name, source)
        if data.needs_old_dst(self.call):
            self.arrays["old_dst"] = self.arrays[first]
        return True

    def run(self, memories: dict[str, Any]) -> None:
        """Execute; ``memories`` are those of the forward run by argument."""
        slots = self.primitive.arguments
        ordered = sorted(slots.items(), key=lambda item: item[1]["output"])
        for name, slot in ordered:
            if name in memories:
                self.args[name] = memories[name]
            elif name == "scratchpad":
                if self.call.attr.scratchpad == "user":
                    self._keep(name, storage.Buffer(slot["desc"], self.stream))
            elif slot["required"] or name in self.call.tensors:
                (self.add_output if slot["output"] else self.add_input)(name, slot)
        self.primitive.execute(self.stream, self.args).wait()

    def results(self) -> tuple[Arrays, dict[str, str]]:
        """Return outputs as float64 by name, and writes outside of them."""
        outputs, problems = {}, {}
        for name, slot in self.primitive.arguments.items():
            if not slot["output"] or name not in self.buffers:
                continue
            problem = storage.intrusion(self.buffers[name])
            if problem:
                problems[name] = problem
            if name in self.call.tensors or name.startswith("attr_"):
                outputs[name] = storage.read(self.buffers[name])
        return outputs, problems


def _first_source(names: Any) -> str:
    return next((n for n in ("src", "src_0", "multiple_src_0") if n in names), "src")


def stream_on(device: str) -> Any:
    """Return a Stream on a device: a dpctl filter, or empty for the default one."""
    queue = sycl_dnn.default_queue(device or None)
    return dnnl.Stream(dnnl.Engine(queue), queue)


# --- Descriptors


def _described(call: Call, engine: Any, hint: Any = None) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OneDnnFaultWarning)
        pd = describe(call, engine, hint, extra.build(call))
    _take_allowed(pd, call)
    texts = (str(w.message) for w in caught if issubclass(w.category, OneDnnFaultWarning))
    return pd, tuple(texts)


def _take_allowed(pd: Any, call: Call) -> None:
    """Advance to the first implementation that the case allows."""
    names = []
    while not call.attr.allows(pd.impl_info):
        names.append(pd.impl_info)
        if not pd.next_impl():
            raise Refusal(f"--impl and --skip-impl must leave one of {', '.join(names)}")


def prepare(call: Call, engine: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the descriptors of the call and the forward call (or None), and fault warnings."""
    hint = None if call.forward is None else _described(call.forward, engine)[0]
    pd, warned = _described(call, engine, hint)
    return pd, hint, warned


def from_forward(
    forward: Call, hint: Any, stream: Any, key: str, arrays: Arrays | None = None
) -> tuple[Arrays, dict[str, Any]]:
    """Run the forward call of a gradient.

    Values of inputs and outputs by argument, and the workspace, if any.
    """
    execution = Execution(forward, hint, stream, key)
    execution.arrays |= arrays or {}
    execution.run({})
    workspace = {n: m for n, m in execution.args.items() if n == "workspace"}
    return execution.arrays | execution.results()[0], workspace
