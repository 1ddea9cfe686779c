# SPDX-License-Identifier: Apache-2.0
"""A graph on a device: operations added, partitions compiled and run, memory watched."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn import _core
from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import DnnlError
from sycl_dnn.graph import Tensor
from sycl_dnn.tools.verify import storage
from sycl_dnn.tools.verify.driver import Failure, Refusal
from sycl_dnn.tools.verify.graph.document import Document, OpText, TensorText
from sycl_dnn.tools.verify.graph.evaluation import Values

#: Marks and functions of the caller: nothing to run.
_MARKS = ("End", "Wildcard")


def logical(tensor: TensorText) -> _core.LogicalTensor:
    """Return oneDNN's logical tensor."""
    return _core.LogicalTensor(
        tensor.id,
        tensor.dtype,
        tensor.shape,
        strides=tensor.strides,
        property_type=tensor.property,
    )


def partitions(document: Document, kind: str) -> list[Any]:
    """Return the partitions that hold something to run, in an order in which they can."""
    graph = _core.OpGraph(kind)
    graph.set_fpmath_mode(document.fpmath, document.fpmath_to_int)
    for op in document.ops:
        ins, outs = (
            [logical(document.tensors[n]) for n in side] for side in (op.inputs, op.outputs)
        )
        graph.add_op(_core.Op(op.id, op.kind, ins, outs, op.attrs, op.name))
    graph.finalize()
    kinds = {op.id: op.kind for op in document.ops}
    found = graph.get_partitions()
    return [p for p in found if not all(kinds[n] in _MARKS for n in p.ops)]


def describe(tensor: TensorText) -> Any:
    """Return the memory descriptor of the same elements; a tensor without axes has one element."""
    dtype = "u8" if tensor.dtype == "boolean" else tensor.dtype
    dims, strides = tensor.shape or (1,), tensor.strides or (1,)
    return dnnl.MemoryDesc(dims, dnnl.data_type[dtype], strides=strides)


class Device:
    """The tensors of a graph on a stream's device."""

    def __init__(self, document: Document, stream: Any) -> None:
        self.document, self.stream = document, stream
        self.buffers: dict[int, storage.Buffer] = {}
        self.numbers: dict[int, float] = {}

    def write(self, number: int, values: np.ndarray) -> None:
        """Make the memory of an input."""
        tensor = self.document.tensors[number]
        if tensor.property == "host_scalar":
            self.numbers[number] = values.item()
            return
        desc = describe(tensor)
        self.buffers[number] = storage.write(values.reshape(desc.dims), desc, self.stream)

    def read(self, number: int) -> np.ndarray:
        """Return the elements of a tensor as float64."""
        if number in self.numbers:
            return np.asarray(self.numbers[number], np.float64)
        return storage.read(self.buffers[number]).reshape(self.document.tensors[number].shape)

    def _tensor(self, number: int) -> Tensor:
        tensor = logical(self.document.tensors[number])
        if number in self.numbers:
            return Tensor(tensor, self.numbers[number])
        return Tensor(tensor, self.stream.engine, self.buffers[number].usm)

    def run(self, partition: Any) -> list[int]:
        """Compile and execute a partition; return its results' numbers.

        Raises
        ------
        Refusal
            oneDNN does not support it.
        Failure
            It did not run.
        """
        texts = self.document.tensors
        ins, outs = ports(partition)
        if not partition.is_supported:
            names = ", ".join(_names(self.document, partition))
            raise Refusal(f"oneDNN must support the partition, got {names}")
        compiled = partition.compile(
            [logical(texts[n]) for n in ins], [logical(texts[n]) for n in outs], self.stream.engine
        )
        for number in outs:
            desc = describe(self.document.tensors[number])
            self.buffers[number] = storage.Buffer(desc, self.stream)
        given = [self._tensor(n) for n in ins]
        try:
            compiled.execute(self.stream, given, [self._tensor(n) for n in outs]).wait()
        except DnnlError as error:
            raise Failure(f"execution: {error.args[0]}", "partition") from error
        return outs


def ports(partition: Any) -> tuple[list[int], list[int]]:
    """Return the tensors that a partition reads and writes, each once."""
    ins, outs = partition.input_ports, partition.output_ports
    return list(dict.fromkeys(t.id for t in ins)), list(dict.fromkeys(t.id for t in outs))


def _names(document: Document, partition: Any) -> list[str]:
    return [f"{op.kind} {op.id}" for op in members(document, partition)]


def members(document: Document, partition: Any) -> list[OpText]:
    """Return the operations of a partition in their order."""
    return [op for op in document.ops if op.id in set(partition.ops)]


def dropped_on(stream: Any, document: Document) -> Any:
    """Return the function that draws the random numbers of dropout on the stream's device."""

    def kept(op: OpText, values: Values) -> np.ndarray:
        import dpnp

        from sycl_dnn.graph.fallbacks import dropout_mask

        shape = document.tensors[op.inputs[0]].shape
        ones = dpnp.ones(shape, dtype="f4", sycl_queue=stream.sycl_queue)
        seed, offset, probability = (values[n].item() for n in op.inputs[1:4])
        mask = dropout_mask(ones, int(seed), int(offset), probability)
        return dpnp.asnumpy(mask).astype(np.float64)

    return kept
