# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks as operations of host tasks; oneDNN computes their products step by step."""

from __future__ import annotations

from sycl_dnn._core import MemoryDesc, rnn_direction
from sycl_dnn._core import algorithm as A
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.host_post_ops import Operation
from sycl_dnn.lower.packed_weights import before_packing, in_order
from sycl_dnn.lower.step_graph import Graph, Node, has_only_post_ops
from sycl_dnn.onednn.apart import is_row_major
from sycl_dnn.trace.values import Tensor

#: Maximum number of multiplications of all steps, and of weights of the state: more do not stay in
#: the cache of a core.
_MAX_RECURRENCE, _MAX_STATE_WEIGHTS = 7_000_000, 1 << 17
#: Kinds of recurrent networks by their number in csrc/program/host_recurrence.cpp.
_CELLS = ("lstm", "gru", "tanh", "relu")
#: Their arguments in order; the last ones are those of an LSTM.
_READ = ("src_layer", "weights_layer", "weights_iter", "bias", "src_iter", "src_iter_c")
_WRITTEN = ("dst_layer", "dst_iter", "dst_iter_c")


def recurrence_of(graph: Graph, node: Node) -> Operation | None:
    """Return one layer and direction of a network whose constant weights are yet to be packed."""
    cell, inputs, outputs = _cell_of(node), node.inputs, node.outputs
    if cell is None or not has_only_post_ops(node.attr) or not _is_recurrence(graph, node, cell):
        return None
    (steps, samples, channels), hidden = inputs["src_layer"].shape, outputs["dst_iter"].shape[-1]
    n = inputs["weights_iter"].size // hidden
    is_small = 0 < steps * samples * n * (channels + hidden) <= _MAX_RECURRENCE
    if not is_small or n * hidden > _MAX_STATE_WEIGHTS:
        return None
    is_reversed = node.params["direction"] is rnn_direction.unidirectional_right2left
    step = _row_step(outputs["dst_layer"].desc)
    sizes = (_CELLS.index(cell), steps, samples, channels, hidden, int(is_reversed), step)
    has_cells = cell == "lstm"
    read, written = _READ[: 5 + has_cells], _WRITTEN[: 2 + has_cells]
    tensors = tuple(inputs[n] for n in read), tuple(outputs[n] for n in written)
    return Operation("recurrence", *tensors, (sizes, (), ()))


def _is_recurrence(graph: Graph, node: Node, cell: str) -> bool:
    """Whether a network has constant weights, other operands in rows, and no projection."""
    has_cells, constant = cell == "lstm", constant_ids(graph)
    if node.inputs.keys() != set(_READ[: 5 + has_cells]):
        return False
    operands = {**node.inputs, **node.outputs}
    weights = [operands.pop(name) for name in _READ[1:3]]
    is_known = all(id(t.storage) in constant and t.dtype == "float32" for t in weights)
    is_written = node.outputs.keys() == set(_WRITTEN[: 2 + has_cells])
    is_known &= is_written and _row_step(operands.pop("dst_layer").desc) > 0
    return is_known and all(map(_is_in_rows, operands.values()))


def _row_step(desc: MemoryDesc) -> int:
    """Return the elements between rows of (T, N, C), such as parts of wider ones; 0 without one."""
    if not desc.is_plain:
        return 0
    (steps, samples, channels), (outer, row, inner) = desc.dims, desc.strides
    step = row if samples > 1 else outer if steps > 1 else channels
    is_even = samples == 1 or steps == 1 or outer == samples * row
    return step if is_even and (inner == 1 or channels == 1) else 0


def _cell_of(node: Node) -> str | None:
    """Return the kind of a recurrent network; None if it is not one that the host computes."""
    directions = rnn_direction.unidirectional_left2right, rnn_direction.unidirectional_right2left
    if node.params.get("direction") not in directions:
        return None
    if node.row == "vanilla_rnn_forward":
        return {A.eltwise_tanh: "tanh", A.eltwise_relu: "relu"}.get(node.params["activation"])
    return {"lstm_forward": "lstm", "lbr_gru_forward": "gru"}.get(node.row)


def _is_in_rows(tensor: Tensor) -> bool:
    desc = tensor.desc
    return tensor.dtype == "float32" and desc.is_plain and is_row_major(desc.dims, desc.strides)


def with_packed_matrices(graph: Graph, operation: Operation) -> tuple[Operation, list[Node]]:
    """Return a recurrence whose weights have the gates of an element in rows, and their copies."""
    src, *weights = operation.inputs[:3]
    sources = [before_packing(graph, w) for w in weights if w is not None]
    packed, copies = zip(*(in_order(graph, w, range(5)) for w in sources), strict=True)
    inputs = (src, *packed, *operation.inputs[3:])
    return operation._replace(inputs=inputs), [n for nodes in copies for n in nodes]
